// A second, independent client: acpx, with an SDK of its own, runs one prompt against the binary.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Scratch, ZUNO, call, needsZuno } from "./harness.mjs";
import { Referee } from "./referee.mjs";

const ACPX = path.join(path.dirname(fileURLToPath(import.meta.url)), "node_modules/acpx/dist/cli.js");

/** What acpx offers an agent. */
const OFFERED = { fs: { readTextFile: true, writeTextFile: true }, terminal: true };

const CLIENT_METHODS = new Set(
  ["new", "load", "resume", "close", "list", "prompt", "cancel", "set_mode", "set_config_option"].map((verb) => `session/${verb}`),
).add("initialize");

/** An answer belongs to the side that was asked; where both number alike, only a client answers with an outcome. */
function answeringSide({ id, result }, asked) {
  const answersAgent = asked.agent.has(id) && (!asked.client.has(id) || result?.outcome !== undefined);
  asked[answersAgent ? "agent" : "client"].delete(id);
  return answersAgent ? "client" : "agent";
}

function run(args, { env, cwd }) {
  return new Promise((resolve) =>
    execFile(process.execPath, [ACPX, ...args], { env, cwd, timeout: 60_000, maxBuffer: 16 << 20 }, (error, stdout, stderr) =>
      resolve({ code: error ? (error.code ?? error.signal) : 0, stdout, stderr }),
    ),
  );
}

// spec: A001 D133
test("acpx runs a prompt with a write and a shell command", { skip: needsZuno, timeout: 120_000 }, async (t) => {
  const scratch = new Scratch(t);
  scratch.script([
    { calls: [call("write", { filePath: "${cwd}/made.txt", content: "by zuno\n" }), call("shell", { command: "cp made.txt copied.txt" })] },
    { text: "Written for acpx." },
  ]);
  const flags = ["--agent", `"${ZUNO}" acp`, "--approve-all", "--cwd", scratch.work, "--timeout", "50", "--format", "json", "--json-strict"];
  const { code, stdout, stderr } = await run([...flags, "exec", "write it"], { env: scratch.env, cwd: scratch.work });
  assert.equal(code, 0, `${stderr}\n${stdout}`);

  // acpx prints the messages of both sides as they passed, without saying whose they are.
  const referee = new Referee({ capabilities: OFFERED });
  const asked = { client: new Set(), agent: new Set() };
  let last;
  let text = "";
  for (const line of stdout.split("\n").filter(Boolean)) {
    const message = JSON.parse(line);
    const side = message.method ? (CLIENT_METHODS.has(message.method) ? "client" : "agent") : answeringSide(message, asked);
    if (message.method && message.id !== undefined) asked[side].add(message.id);
    side === "client" ? referee.clientLine(line) : referee.agentLine(line);
    if (message.result?.stopReason) last = message.result;
    const update = message.params?.update;
    if (update?.sessionUpdate === "agent_message_chunk") text += update.content.text;
  }
  assert.deepEqual(referee.violations, []);
  assert.equal(last?.stopReason, "end_turn");
  assert.equal(text, "Written for acpx.");
  assert.equal(fs.readFileSync(scratch.path("made.txt"), "utf8"), "by zuno\n");
  assert.equal(fs.readFileSync(scratch.path("copied.txt"), "utf8"), "by zuno\n");
});
