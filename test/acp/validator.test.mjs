// The tests of the tests: the referee and the client must fail a bad agent and pass a good one.
import assert from "node:assert/strict";
import path from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { Client } from "./client.mjs";
import { Editor } from "./editor.mjs";
import { rawMember } from "./jsontext.mjs";
import { Referee } from "./referee.mjs";
import { Schema } from "./schema.mjs";

const schema = new Schema();
const FAKE = path.join(path.dirname(fileURLToPath(import.meta.url)), "fake-agent.mjs");

// ---- transcripts: "c" lines are the client's, "a" lines the agent's

const c = (message) => ["c", JSON.stringify({ jsonrpc: "2.0", ...message })];
const a = (message) => ["a", JSON.stringify({ jsonrpc: "2.0", ...message })];
const raw = (line) => ["a", line];
const draw = (update, sessionId = "s") => a({ method: "session/update", params: { sessionId, update } });
const say = (text, more) => draw({ sessionUpdate: "agent_message_chunk", content: { type: "text", text }, ...more });
const turnOf = (turnId) => ({ _meta: { zuno: { turnId } } });

const opened = [
  c({ id: 1, method: "session/new", params: { cwd: "/w", mcpServers: [] } }),
  a({ id: 1, result: { sessionId: "s" } }),
];
const asked = [...opened, c({ id: 2, method: "session/prompt", params: { sessionId: "s", prompt: [] } })];
const ended = a({ id: 2, result: { stopReason: "end_turn", _meta: { zuno: { receipt: { turnId: "t1" } } } } });
const card = draw({ sessionUpdate: "tool_call", toolCallId: "k", title: "T" });
const cardDone = draw({ sessionUpdate: "tool_call_update", toolCallId: "k", status: "completed" });
const load = c({ id: 5, method: "session/load", params: { sessionId: "s", cwd: "/w", mcpServers: [] } });
const resume = c({ id: 5, method: "session/resume", params: { sessionId: "s", cwd: "/w" } });
const history = draw({ sessionUpdate: "user_message_chunk", content: { type: "text", text: "hi" } });
const question = (params) => a({ id: "q", method: "session/request_permission", params: { sessionId: "s", ...params } });
const yes = { optionId: "y", name: "Yes", kind: "allow_once" };

function judge(transcript, capabilities) {
  const referee = new Referee({ schema, capabilities });
  for (const [side, line] of transcript) side === "c" ? referee.clientLine(line) : referee.agentLine(line);
  return referee;
}

// spec: D143
test("a correct conversation has no violation and every line is counted", () => {
  const transcript = [
    ...asked,
    say("hello", turnOf("t1")),
    card,
    question({ toolCall: { toolCallId: "k" }, options: [yes] }),
    c({ id: "q", result: { outcome: { outcome: "selected", optionId: "y" } } }),
    cardDone,
    draw({ sessionUpdate: "usage_update", used: 1, size: 100 }),
    ended,
    load,
    history,
    card,
    cardDone,
    a({ id: 5, result: {} }),
    draw({ sessionUpdate: "available_commands_update", availableCommands: [] }),
    a({ method: "$/cancel_request", params: { requestId: "q" } }),
    a({ method: "_zuno/anything", params: { free: true } }),
  ];
  const referee = judge(transcript);
  assert.deepEqual(referee.violations, []);
  assert.equal(referee.counts.agentLines, transcript.filter(([side]) => side === "a").length);
  assert.equal(referee.counts.clientLines, transcript.filter(([side]) => side === "c").length);
  assert.deepEqual(referee.counts.requests, { "session/request_permission": 1 });
  assert.equal(referee.counts.updates.tool_call, 2);
});

const SEEDED = {
  "framing: text on stdout": ["framing", [raw("zuno: starting")]],
  "framing: a blank line": ["framing", [raw("")]],
  "framing: a batch": ["framing", [raw("[]")]],
  "framing: a scalar": ["framing", [raw("42")]],
  "envelope: no version": ["envelope", [raw('{"method":"$/x","params":{}}')]],
  "envelope: a custom root member": ["envelope", [a({ method: "$/x", params: {}, turn: 1 })]],
  "envelope: neither method nor id": ["envelope", [a({ params: {} })]],
  "envelope: a method that is no string": ["envelope", [a({ id: 1, method: 7 })]],
  "envelope: a result beside an error": [
    "envelope",
    [opened[0], a({ id: 1, result: { sessionId: "s" }, error: { code: -32603, message: "x" } })],
  ],
  "envelope: a request with id null": ["envelope", [...asked, a({ id: null, method: "_zuno/x", params: {} })]],
  "envelope: a request id in use": [
    "envelope",
    [a({ id: 1, method: "_zuno/x", params: {} }), a({ id: 1, method: "_zuno/x", params: {} })],
  ],
  "envelope: a second answer": ["envelope", [...asked, ended, ended]],
  "envelope: an answer to nothing": ["envelope", [a({ id: 99, result: {} })]],
  "envelope: an id of another type": ["envelope", [opened[0], a({ id: "1", result: { sessionId: "s" } })]],
  "envelope: an id written otherwise": ["envelope", [opened[0], raw('{"jsonrpc":"2.0","id":1.0,"result":{"sessionId":"s"}}')]],
  "envelope: an answer to a cancel": ["envelope", [...opened, a({ id: null, error: { code: -32602, message: "x" } })]],
  "method: one that does not exist": ["method", [a({ id: 1, method: "session/ask", params: {} })]],
  "method: a notification that does not exist": ["method", [a({ method: "session/updates", params: {} })]],
  "schema: a stop reason": ["schema", [...asked, a({ id: 2, result: { stopReason: "stopped" } })]],
  "schema: null for a list": ["schema", [...opened, draw({ sessionUpdate: "available_commands_update", availableCommands: null })]],
  "schema: a status": [
    "schema",
    [...asked, card, draw({ sessionUpdate: "tool_call_update", toolCallId: "k", status: "cancelled" })],
  ],
  "schema: a kind of update": ["schema", [...asked, draw({ sessionUpdate: "mood", mood: "good" })]],
  "schema: a missing field": ["schema", [...asked, draw({ sessionUpdate: "current_mode_update", modeId: "build" })]],
  "schema: an error without a code": ["schema", [opened[0], a({ id: 1, error: { message: "x" } })]],
  "unknown field: in an update": ["unknown-field", [...asked, say("x", { turnId: "t1" })]],
  "unknown field: deep in content": [
    "unknown-field",
    [
      ...asked,
      draw({
        sessionUpdate: "tool_call",
        toolCallId: "k",
        title: "T",
        content: [{ type: "content", content: { type: "text", text: "x", lang: "go" } }],
      }),
    ],
  ],
  "unknown field: in a result": ["unknown-field", [...asked, a({ id: 2, result: { stopReason: "end_turn", receipt: {} } })]],
  "capability: reading the client's files": [
    "capability",
    [...asked, a({ id: "f", method: "fs/read_text_file", params: { sessionId: "s", path: "/w/a" } })],
  ],
  "capability: a terminal": [
    "capability",
    [...asked, a({ id: "f", method: "terminal/create", params: { sessionId: "s", command: "ls" } })],
  ],
  "capability: a form": [
    "capability",
    [
      ...asked,
      a({
        id: "f",
        method: "elicitation/create",
        params: { mode: "form", sessionId: "s", message: "?", requestedSchema: { type: "object", properties: {} } },
      }),
    ],
  ],
  "capability: a native notice": ["capability", [...opened, draw({ sessionUpdate: "notice", severity: "info", title: "x" })]],
  "capability: a boolean option": [
    "capability",
    [
      opened[0],
      a({ id: 1, result: { sessionId: "s", configOptions: [{ id: "x", name: "X", type: "boolean", currentValue: true }] } }),
    ],
  ],
  "path: a relative location": [
    "path",
    [...asked, draw({ sessionUpdate: "tool_call", toolCallId: "k", title: "T", status: "completed", locations: [{ path: "a.txt" }] })],
  ],
  "path: a relative diff": [
    "path",
    [
      ...asked,
      card,
      draw({
        sessionUpdate: "tool_call_update",
        toolCallId: "k",
        status: "completed",
        content: [{ type: "diff", path: "a.txt", newText: "x" }],
      }),
    ],
  ],
  "path: a relative folder in the list": [
    "path",
    [c({ id: 9, method: "session/list", params: {} }), a({ id: 9, result: { sessions: [{ sessionId: "s", cwd: "w" }] } })],
  ],
  "order: an update before session/new is answered": [
    "order",
    [opened[0], draw({ sessionUpdate: "available_commands_update", availableCommands: [] }), opened[1]],
  ],
  "order: an update of a finished turn": ["order", [...asked, say("x", turnOf("t1")), ended, say("late", turnOf("t1"))]],
  "order: a message while no prompt runs": ["order", [...asked, ended, say("late")]],
  "order: an update after close": [
    "order",
    [...opened, c({ id: 3, method: "session/close", params: { sessionId: "s" } }), a({ id: 3, result: {} }), say("x", turnOf("t9"))],
  ],
  "order: an unknown card": ["order", [...asked, cardDone]],
  "order: a question for an unknown card": ["order", [...asked, question({ toolCall: { toolCallId: "z" }, options: [yes] })]],
  "order: history after the load's answer": ["order", [...opened, load, a({ id: 5, result: {} }), say("old")]],
  "semantic: a card announced twice": ["semantic", [...asked, card, card]],
  "semantic: a final status left": [
    "semantic",
    [...asked, card, cardDone, draw({ sessionUpdate: "tool_call_update", toolCallId: "k", status: "in_progress" })],
  ],
  "semantic: a card left open by its turn": ["semantic", [...asked, card, ended]],
  "semantic: a question without options": ["semantic", [...asked, card, question({ toolCall: { toolCallId: "k" }, options: [] })]],
  "semantic: equal options": ["semantic", [...asked, card, question({ toolCall: { toolCallId: "k" }, options: [yes, yes] })]],
  "semantic: a current mode that is not available": [
    "semantic",
    [opened[0], a({ id: 1, result: { sessionId: "s", modes: { currentModeId: "x", availableModes: [{ id: "b", name: "B" }] } } })],
  ],
  "semantic: a window of size zero": ["semantic", [...asked, draw({ sessionUpdate: "usage_update", used: 1, size: 0 })]],
  "semantic: a notice without a code": [
    "semantic",
    [
      ...opened,
      draw({
        sessionUpdate: "agent_thought_chunk",
        content: { type: "text", text: "x" },
        _meta: { zuno: { notice: { severity: "info" } } },
      }),
    ],
  ],
  "semantic: an id given twice": [
    "semantic",
    [...opened, c({ id: 3, method: "session/new", params: { cwd: "/w", mcpServers: [] } }), a({ id: 3, result: { sessionId: "s" } })],
  ],
  "replay: the prompt echoed": ["replay", [...asked, history]],
  "replay: history during resume": ["replay", [...opened, resume, say("old")]],
};

describe("a seeded fault is found", () => {
  for (const [name, [kind, transcript]] of Object.entries(SEEDED)) {
    // spec: D143
    test(name, () => {
      const kinds = new Set(judge(transcript).violations.map((v) => v.kind));
      assert.deepEqual([...kinds], [kind], "this kind and no other");
    });
  }
});

test("the closed schema accepts what the protocol allows", () => {
  const text = { type: "text", text: "x", annotations: { audience: ["user"], priority: 0.5 }, _meta: { a: 1 } };
  const select = {
    id: "m",
    name: "M",
    category: "mode",
    type: "select",
    currentValue: "a",
    options: [{ group: "g", name: "G", options: [{ value: "a", name: "A", description: null }] }],
  };
  const toggle = { id: "b", name: "B", description: "x", type: "boolean", currentValue: false, _meta: { any: {} } };
  const call = {
    toolCallId: "k",
    title: "T",
    kind: "edit",
    status: "in_progress",
    rawInput: { free: { form: [1] } },
    rawOutput: ["free"],
    locations: [{ path: "/a", line: 1, _meta: {} }],
    content: [
      { type: "content", content: text },
      { type: "content", content: { type: "resource_link", uri: "file:///a", name: "a", size: 3 } },
      { type: "content", content: { type: "resource", resource: { uri: "file:///a", text: "x", mimeType: null } } },
      { type: "diff", path: "/a", oldText: null, newText: "x" },
      { type: "terminal", terminalId: "t" },
    ],
  };
  const updates = {
    user_message_chunk: { content: text, messageId: "m" },
    agent_message_chunk: { content: { type: "image", data: "aGk=", mimeType: "image/png", uri: null } },
    agent_thought_chunk: { content: text, _meta: { zuno: { notice: { severity: "info", code: "x" } } } },
    tool_call: call,
    tool_call_update: { ...call, status: "completed" },
    plan: { entries: [{ content: "x", priority: "medium", status: "pending", _meta: { zuno: {} } }] },
    available_commands_update: { availableCommands: [{ name: "x", description: "x", input: { hint: "x" } }] },
    current_mode_update: { currentModeId: "build" },
    config_option_update: { configOptions: [select, toggle] },
    session_info_update: { title: null, updatedAt: "2026-01-01T00:00:00Z" },
    usage_update: { used: 1, size: 2, cost: { amount: 0.1, currency: "USD" } },
  };
  for (const [sessionUpdate, fields] of Object.entries(updates))
    assert.deepEqual(schema.problems("SessionNotification", { sessionId: "s", update: { sessionUpdate, ...fields } }), []);
  const result = { sessionId: "s", modes: { currentModeId: "b", availableModes: [{ id: "b", name: "B" }] }, configOptions: [select, toggle] };
  assert.deepEqual(schema.problems("NewSessionResponse", result), []);
  assert.deepEqual(schema.problems("LoadSessionResponse", { modes: null, configOptions: null }), []);
  const capabilities = { loadSession: true, mcpCapabilities: { http: false, sse: false }, sessionCapabilities: { list: {}, close: {} }, _meta: { zuno: {} } };
  assert.deepEqual(schema.problems("InitializeResponse", { protocolVersion: 1, agentCapabilities: capabilities, authMethods: [] }), []);
});

test("offered capabilities may be used", () => {
  const capabilities = { fs: { readTextFile: true }, terminal: true, elicitation: { form: {} }, session: { notices: {} } };
  const transcript = [
    ...asked,
    a({ id: "f", method: "fs/read_text_file", params: { sessionId: "s", path: "/w/a" } }),
    a({ id: "g", method: "terminal/create", params: { sessionId: "s", command: "ls" } }),
    draw({ sessionUpdate: "notice", severity: "info", title: "x" }),
  ];
  assert.deepEqual(judge(transcript, capabilities).violations, []);
});

test("raw members keep the way a number or string was written", () => {
  const line = String.raw`{ "x":{"id":1,"y":"}"}, "a":["id",{"id":2}], "id" : 7.0 ,"e":"\"id\":3"}`;
  assert.equal(rawMember(line, "id"), "7.0");
  assert.equal(rawMember(line, "x"), '{"id":1,"y":"}"}');
  assert.equal(rawMember(String.raw`{"id":"\u0061\"","z":1}`, "id"), String.raw`"\u0061\""`);
  assert.equal(rawMember('{"id":null}', "id"), "null");
  assert.equal(rawMember('{"a":1}', "id"), undefined);
  assert.equal(rawMember("[1]", "id"), undefined);
});

test("the editor's fold joins chunks and replaces what an update replaces", () => {
  const one = new Editor();
  const two = new Editor();
  const chunk = (text) => ({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
  one.prompted([{ type: "text", text: "hi" }]);
  for (const text of ["a", "b", "c"]) one.apply(chunk(text));
  two.apply({ sessionUpdate: "user_message_chunk", messageId: "m", content: { type: "text", text: "hi" } });
  two.apply(chunk("abc"));
  assert.deepEqual(one.snapshot(), two.snapshot());

  const content = [{ type: "content", content: { type: "text", text: "x" } }];
  one.apply({ sessionUpdate: "tool_call", toolCallId: "k", title: "T", content });
  one.apply({ sessionUpdate: "tool_call_update", toolCallId: "k", status: "completed", content: [] });
  two.apply({ sessionUpdate: "tool_call", toolCallId: "k", title: "T", status: "completed" });
  assert.deepEqual(one.snapshot(), two.snapshot());
  two.apply(chunk("more"));
  assert.notDeepEqual(one.snapshot(), two.snapshot());
});

// ---- the client, against a process

function start(t, fault, options = {}) {
  const client = new Client({ command: [process.execPath, FAKE, fault], ...options });
  t.after(() => client.dispose());
  return client;
}

async function begin(client) {
  await client.initialize();
  return (await client.newSession("/w")).sessionId;
}

test("the client drives a correct agent", async (t) => {
  const client = start(t, "none");
  const session = await begin(client);
  const answer = await client.prompt(session, "write");
  assert.equal(answer.stopReason, "end_turn");
  assert.match(answer._meta.zuno.receipt.turnId, /^turn-/, "the SDK keeps _meta");
  assert.deepEqual(client.editor(session).texts("agent"), ["I write the file.", "Done."]);
  assert.equal(client.permissions.length, 1);
  assert.equal((await client.malformed("{oops")).code, -32700);
  await client.fence();
  assert.equal((await client.rawRequest('"x-1"', "session/nope", {})).error.code, -32601);
  await assert.rejects(client.prompt("nobody", "hi"), { name: "Error", code: -32002 });
  await client.stop();
  assert.ok(client.referee.counts.agentLines > 10);
});

test("the client sees the same state after live and after load", async (t) => {
  const client = start(t, "none");
  const session = await begin(client);
  await client.prompt(session, "write");
  const live = client.editor(session).snapshot();
  await client.loadSession(session, "/w");
  await client.fence();
  assert.deepEqual(client.editor(session).snapshot(), live);
  await client.stop();
});

test("the client rejects, holds and cancels", async (t) => {
  let choice = "reject_once";
  const client = start(t, "none", { permission: () => choice });
  const session = await begin(client);
  await client.prompt(session, "write");
  assert.equal(client.editor(session).cards[0].status, "failed");
  choice = "hold";
  const answer = client.prompt(session, "write again");
  await client.waitFor(() => client.permissions.length === 2, "the second question");
  await client.cancel(session);
  assert.equal((await answer).stopReason, "cancelled");
  await client.stop();
});

describe("the client fails a bad agent", () => {
  for (const [fault, kind] of Object.entries({ noise: "framing", encoding: "framing", frame: "unknown-field" })) {
    // spec: D143
    test(fault, async (t) => {
      const client = start(t, fault);
      await client.prompt(await begin(client), "write");
      await assert.rejects(client.stop(), new RegExp(`protocol violation.*\n  ${kind}: `));
    });
  }
  for (const [fault, text] of Object.entries({ partial: "the last line has no end", death: "the agent exited by itself" })) {
    test(fault, async (t) => {
      const client = start(t, fault);
      const session = await begin(client);
      await assert.rejects(client.prompt(session, "write"), /the agent exited/);
      await client.waitFor(() => client.referee.violations.length > 0, "the verdict").catch(() => {});
      await client.dispose();
      assert.throws(() => client.assertClean(), new RegExp(text));
    });
  }
  test("silence", async (t) => {
    const client = start(t, "silence");
    const session = await begin(client);
    const params = { sessionId: session, prompt: [] };
    await assert.rejects(client.request("session/prompt", params, { deadline: 50 }), /none within 50 ms/);
  });
});
