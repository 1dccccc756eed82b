// The configuration that the README gives for Zed, taken at its word: the binary and its arguments, an environment with
// nothing of ours in it, and the requests in the order in which Zed sends them.
import assert from "node:assert/strict";
import fs from "node:fs";
import { test } from "node:test";
import { Client } from "./client.mjs";
import { Scratch, ZUNO, needsZuno } from "./harness.mjs";

/** What Zed tells of itself. */
const CAPABILITIES = {
  fs: { readTextFile: true, writeTextFile: true },
  terminal: true,
  auth: { terminal: true },
  session: { configOptions: { boolean: {} } },
  elicitation: { form: {}, url: {} },
  _meta: { terminal_output: true, "terminal-auth": true },
};

/** The command line of the README's settings, with the binary under test in the place of its path. */
function documented() {
  const page = fs.readFileSync(new URL("../../README.md", import.meta.url), "utf8");
  const settings = [...page.matchAll(/```json\n(.*?)```/gs)].map((m) => m[1]).find((text) => text.includes("agent_servers"));
  const { type, command, args, ...rest } = JSON.parse(settings).agent_servers.zuno;
  assert.equal(type, "custom");
  assert.deepEqual(rest, {}, "nothing else is configured");
  assert.equal(command, "/path/to/zuno");
  return [ZUNO, ...args];
}

// spec: A003 D256 D259 D262 D264
test("the documented settings complete a session", { skip: needsZuno, timeout: 120_000 }, async (t) => {
  const scratch = new Scratch(t);
  const { PATH, HOME } = scratch.env;
  const start = () => {
    const client = new Client({ command: documented(), env: { PATH, HOME }, cwd: scratch.work, capabilities: CAPABILITIES });
    t.after(() => client.dispose());
    return client;
  };

  const client = start();
  const { agentCapabilities } = await client.initialize();
  assert.equal(agentCapabilities.loadSession, true);
  assert.deepEqual(agentCapabilities.promptCapabilities, { image: true, embeddedContext: true });
  assert.deepEqual(Object.keys(agentCapabilities.sessionCapabilities).sort(), ["close", "delete", "list", "resume"]);

  // Zed sets its user's defaults without waiting, and sends the first prompt.
  const { sessionId, modes, configOptions } = await client.newSession(scratch.work);
  assert.deepEqual(configOptions.map((o) => o.id), ["mode", "agent", "model", "reasoning"]);
  const [mode, option, answer] = await Promise.all([
    client.request("session/set_mode", { sessionId, modeId: modes.currentModeId }),
    client.request("session/set_config_option", { sessionId, configId: "model", value: "scripted/demo" }),
    client.prompt(sessionId, "What is in this folder?"),
  ]);
  assert.deepEqual(mode, {});
  assert.equal(option.configOptions.length, 4);
  assert.equal(answer.stopReason, "end_turn");
  const shown = client.editor(sessionId).snapshot();
  assert.ok(shown.entries.some((e) => e.role === "agent"), "the agent has answered");
  assert.equal(shown.title, "What is in this folder?");
  assert.equal(client.updatesOf(sessionId, "user_message_chunk").length, 0, "the prompt is not sent back");
  await client.request("session/close", { sessionId });
  await client.stop();

  // Another day: the list, a load, a resume, and at last the session is deleted.
  const again = start();
  await again.initialize();
  const listed = (await again.request("session/list", { cwd: scratch.work })).sessions;
  assert.deepEqual(listed.map((s) => [s.sessionId, s.title]), [[sessionId, shown.title]]);
  await again.loadSession(sessionId, scratch.work);
  await again.fence();
  assert.deepEqual(again.editor(sessionId).snapshot(), shown);
  await again.request("session/close", { sessionId });
  await again.fence();
  const before = again.updatesOf(sessionId).length;
  await again.request("session/resume", { sessionId, cwd: scratch.work });
  await again.update(sessionId, () => again.updatesOf(sessionId, "session_info_update").length > 1, "the title");
  const told = again.updatesOf(sessionId).slice(before).map((u) => u.sessionUpdate);
  assert.deepEqual(told.slice(0, 4), ["current_mode_update", "config_option_update", "available_commands_update", "session_info_update"]);
  assert.ok(!told.some((kind) => /chunk|tool_call/.test(kind)), `nothing of the conversation: ${told}`);
  await again.request("session/delete", { sessionId });
  assert.deepEqual((await again.request("session/list", {})).sessions, []);
  await again.stop();
  for (const { referee } of [client, again])
    assert.deepEqual(Object.keys(referee.counts.requests).filter((m) => m !== "session/request_permission"), [], "fs and terminal are never asked for");
});
