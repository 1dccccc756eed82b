// A second, independent client: acpx, with an SDK of its own, runs one prompt against the binary.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
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

function exec(scratch, prompt) {
  const flags = ["--agent", `"${ZUNO}" acp`, "--approve-all", "--cwd", scratch.work, "--timeout", "50", "--format", "json", "--json-strict"];
  return run([...flags, "exec", prompt], { env: scratch.env, cwd: scratch.work });
}

/** What acpx prints are the messages of both sides as they passed, without whose they are. */
function follow(stdout) {
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
  return { violations: referee.violations, last, text };
}

/** A server that speaks chat completions: each request gets the next list of deltas. */
async function provider(t, answers) {
  const requests = [];
  const server = http.createServer((request, response) => {
    let body = "";
    request.on("data", (b) => (body += b));
    request.on("end", () => {
      requests.push({ path: request.url, key: request.headers.authorization, body: JSON.parse(body) });
      const deltas = answers[requests.length - 1];
      if (!deltas) return response.writeHead(400).end();
      response.writeHead(200, { "Content-Type": "text/event-stream" });
      const chunk = (delta, finish_reason = null) =>
        response.write(`data: ${JSON.stringify({ object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] })}\n\n`);
      for (const delta of deltas) chunk(delta);
      chunk({}, deltas.some((d) => d.tool_calls) ? "tool_calls" : "stop");
      response.end("data: [DONE]\n\n");
    });
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  t.after(() => server.close());
  return { requests, baseURL: `http://127.0.0.1:${server.address().port}/v1` };
}

// spec: A001 D133
test("acpx runs a prompt with a write and a shell command", { skip: needsZuno, timeout: 120_000 }, async (t) => {
  const scratch = new Scratch(t);
  scratch.script([
    { calls: [call("write", { filePath: "${cwd}/made.txt", content: "by zuno\n" }), call("shell", { command: "cp made.txt copied.txt" })] },
    { text: "Written for acpx." },
  ]);
  const { code, stdout, stderr } = await exec(scratch, "write it");
  assert.equal(code, 0, `${stderr}\n${stdout}`);

  const { violations, last, text } = follow(stdout);
  assert.deepEqual(violations, []);
  assert.equal(last?.stopReason, "end_turn");
  assert.equal(text, "Written for acpx.");
  assert.equal(fs.readFileSync(scratch.path("made.txt"), "utf8"), "by zuno\n");
  assert.equal(fs.readFileSync(scratch.path("copied.txt"), "utf8"), "by zuno\n");
});

// spec: D236
test("acpx runs a prompt against a provider's server", { skip: needsZuno, timeout: 120_000 }, async (t) => {
  const scratch = new Scratch(t);
  scratch.write("a.txt", "alpha\n");
  const args = JSON.stringify({ filePath: scratch.path("a.txt") });
  const { requests, baseURL } = await provider(t, [
    [{ content: "I look. " }, { tool_calls: [{ index: 0, id: "one", type: "function", function: { name: "read", arguments: args } }] }],
    [{ content: "It says " }, { content: "alpha." }],
  ]);
  scratch.env.ZUNO_CONFIG_CONTENT = JSON.stringify({
    model: "local/m1",
    provider: { local: { type: "openai", options: { baseURL, apiKey: "key-of-the-test" } } },
  });
  const { code, stdout, stderr } = await exec(scratch, "What does a.txt say?");
  assert.equal(code, 0, `${stderr}\n${stdout}`);
  const { violations, last, text } = follow(stdout);
  assert.deepEqual(violations, []);
  assert.equal(last?.stopReason, "end_turn");
  assert.equal(text, "I look. It says alpha.");
  assert.deepEqual(requests.map((r) => [r.path, r.key, r.body.model]), Array(2).fill(["/v1/chat/completions", "Bearer key-of-the-test", "m1"]));
  assert.match(JSON.stringify(requests[1].body.messages), /1: alpha/);
});
