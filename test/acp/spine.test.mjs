// The spine of the protocol, driven through the built binary as an editor drives it: handshake,
// sessions, prompts, cards, permission, cancel, load. Every line is judged by the referee; `stop`
// and `kill` throw its violations.
import assert from "node:assert/strict";
import fs from "node:fs";
import { describe, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { ENDLESS, Scratch, alive, call, literal, needsZuno, poll } from "./harness.mjs";

const zuno = (name, body) => test(name, { skip: needsZuno, timeout: 120_000 }, body);

const receiptOf = (answer) => answer._meta?.zuno?.receipt;
const headOf = (answer) => answer._meta?.zuno?.head;
const turnOf = (update) => update._meta?.zuno?.turnId;
const diffs = (card) => card.content.filter((item) => item.type === "diff");
const contentText = (card) => card.content.map((item) => item.content?.text ?? "").join("");

const TURN_SCOPED = ["agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "usage_update"];

describe("handshake", () => {
  // spec: A001 A304 D140 D143
  zuno("initialize names the agent and advertises only what exists", async (t) => {
    const client = new Scratch(t).spawn();
    const answer = await client.initialize();
    assert.equal(answer.protocolVersion, 1);
    assert.equal(answer.agentInfo?.name, "zuno");
    assert.deepEqual(answer.authMethods ?? [], []);
    const capabilities = answer.agentCapabilities;
    assert.equal(capabilities.loadSession, true);
    assert.deepEqual({ http: false, sse: false, ...capabilities.mcpCapabilities }, { http: false, sse: false });
    assert.ok(capabilities.sessionCapabilities?.list && capabilities.sessionCapabilities?.close);
    await client.stop();
    assert.ok(client.referee.counts.agentLines > 0, "messages were counted");
  });

  zuno("a newer or older protocol version is answered with ours", async (t) => {
    const client = new Scratch(t).spawn();
    for (const protocolVersion of [2, 0, 1]) assert.equal((await client.initialize({ protocolVersion })).protocolVersion, 1);
    await client.stop();
  });

  // spec: D130
  zuno("an id comes back byte for byte", async (t) => {
    const client = new Scratch(t).spawn();
    const params = { protocolVersion: 1, clientCapabilities: {} };
    const first = await client.rawRequest('"init"', "initialize", params);
    assert.equal(first.rawId, '"init"');
    for (const id of ["7", '"7"', "-3", "7.0", '""', '"\\u0041"', "9007199254740993"]) {
      const answer = await client.rawRequest(id, "session/list", {});
      assert.equal(answer.rawId, id);
      assert.deepEqual(answer.result?.sessions, []);
    }
    await client.stop();
  });

  // spec: D129
  zuno("a malformed line is answered and the connection goes on", async (t) => {
    const client = await new Scratch(t).start();
    const lines = [
      ["{oops", -32700],
      [Buffer.from([0x22, 0xff, 0xfe, 0x22]), -32700],
      ["[]", -32600],
      ['[{"jsonrpc":"2.0","id":1,"method":"session/list","params":{}}]', -32600],
      ["42", -32600],
      ['{"jsonrpc":"2.0","method":7}', -32600],
    ];
    for (const [line, code] of lines) {
      assert.equal((await client.malformed(line)).code, code, String(line));
      await client.fence();
    }
    await client.stop();
  });

  // spec: D153
  zuno("unknown methods are refused and unknown notifications ignored", async (t) => {
    const client = await new Scratch(t).start();
    for (const method of ["session/nope", "_other/thing", "nope"])
      await assert.rejects(client.request(method, {}), { code: -32601 });
    for (const method of ["session/nope", "_other/thing", "$/progress"]) await client.notify(method, {});
    await client.fence();
    await client.stop();
  });
});

describe("sessions", () => {
  // spec: A009 A011 D133 D140
  zuno("session/new answers an id and then sends the list of commands", async (t) => {
    const scratch = new Scratch(t);
    scratch.script([]);
    const client = await scratch.start();
    const opened = await client.newSession(scratch.work);
    assert.match(opened.sessionId, /\S/);
    const commands = await client.update(opened.sessionId, (u) => u.sessionUpdate === "available_commands_update", "the commands");
    assert.deepEqual(commands.availableCommands.map((command) => command.name), ["resume", "inspect-outcome"]);
    if (opened.modes) assert.deepEqual(opened.modes.availableModes.map((mode) => mode.id), ["build"]);
    const other = await client.newSession(scratch.work);
    assert.notEqual(other.sessionId, opened.sessionId);
    await client.update(other.sessionId, (u) => u.sessionUpdate === "available_commands_update", "the commands");
    await client.fence();
    assert.equal(client.updatesOf(opened.sessionId, "available_commands_update").length, 1, "sent once");
    await client.stop();
  });

  // spec: A014
  zuno("a session that is never used leaves nothing behind", async (t) => {
    const scratch = new Scratch(t);
    scratch.script([]);
    const before = scratch.dataFiles();
    const client = await scratch.start();
    const closed = await client.newSession(scratch.work);
    await client.newSession(scratch.work);
    assert.deepEqual((await client.request("session/list", {})).sessions, []);
    await client.request("session/close", { sessionId: closed.sessionId });
    await client.stop();
    assert.deepEqual(scratch.dataFiles(), before);
  });

  // spec: D141
  zuno("a used session is listed, closed, and opened at once by another process", async (t) => {
    const scratch = new Scratch(t);
    scratch.script([{ text: "one" }, { text: "two" }]);
    const first = await scratch.start();
    const { sessionId } = await first.newSession(scratch.work);
    await first.prompt(sessionId, "begin");
    const { sessions } = await first.request("session/list", {});
    assert.deepEqual(sessions.map((s) => [s.sessionId, s.cwd]), [[sessionId, scratch.work]]);
    assert.ok(!Number.isNaN(Date.parse(sessions[0].updatedAt)), "updatedAt is a time");
    assert.deepEqual((await first.request("session/list", { cwd: scratch.folder("elsewhere") })).sessions, []);
    await first.request("session/close", { sessionId });

    const second = await scratch.start();
    await second.loadSession(sessionId, scratch.work);
    assert.equal((await second.prompt(sessionId, "go on")).stopReason, "end_turn");
    assert.deepEqual(second.editor(sessionId).texts("agent"), ["one", "two"]);
    await second.stop();
    await first.stop();
  });

  // spec: D139 D154
  zuno("missing and odd session ids are typed errors that touch no file", async (t) => {
    const scratch = new Scratch(t);
    scratch.script([{ text: "never" }]);
    const client = await scratch.start();
    const before = scratch.dataFiles();
    const prompt = [{ type: "text", text: "hi" }];
    let count = 0;
    for (const id of ["01ARZ3NDEKTSV4RRFFQ69G5FAV", "", "../x", "/etc", "a\u0000b\n", "x".repeat(10_000), 7, null]) {
      for (const [method, params] of [
        ["session/load", { cwd: scratch.work, mcpServers: [] }],
        ["session/prompt", { prompt }],
      ]) {
        const { error } = await client.rawRequest(`"odd-${++count}"`, method, { sessionId: id, ...params });
        const name = `${method} of ${JSON.stringify(id).slice(0, 40)}`;
        assert.ok([-32002, -32602].includes(error?.code), `${name}: ${JSON.stringify(error)}`);
        if (error.code === -32002) assert.match(error.data?.reason ?? "", /\S/, `${name} has a reason`);
      }
    }
    assert.deepEqual(scratch.dataFiles(), before);
    await client.fence();
    await client.stop();
  });

  // spec: D140
  zuno("given MCP servers start nothing and are named by one notice", async (t) => {
    const scratch = new Scratch(t);
    scratch.script([]);
    const client = await scratch.start();
    const server = { name: "marker-server", command: "/usr/bin/touch", args: [scratch.path("started")], env: [] };
    const { sessionId } = await client.newSession(scratch.work, { mcpServers: [server] });
    const isNotice = (u) => u._meta?.zuno?.notice !== undefined;
    const notice = await client.update(sessionId, isNotice, "the notice");
    assert.equal(notice._meta.zuno.notice.severity, "warning");
    assert.match(notice.content.text, /marker-server/);
    await client.fence();
    assert.equal(client.updatesOf(sessionId).filter(isNotice).length, 1);
    await client.stop();
    assert.ok(!scratch.exists("started"));
  });
});

describe("a prompt", () => {
  // spec: A041 A050 D100 D116 D133 D135
  zuno("ends its turn with a receipt and a head, under one turn id", async (t) => {
    const scratch = new Scratch(t);
    const usage = { input: 1200, output: 34 };
    scratch.script([{ reasoning: "I think.", text: "Hello there.", usage }, { text: "Again.", usage }]);
    const client = await scratch.start();
    const { sessionId } = await client.newSession(scratch.work);
    const seen = [];
    for (const [words, reply] of [["hi", "Hello there."], ["again", "Again."]]) {
      const from = client.updates.length;
      const answer = await client.prompt(sessionId, words);
      assert.equal(answer.stopReason, "end_turn");
      assert.equal(client.editor(sessionId).texts("agent").at(-1), reply);

      const receipt = receiptOf(answer);
      assert.equal(receipt?.sessionId, sessionId);
      assert.equal(receipt.state, "completed");
      assert.equal(receipt.stopReason, "end_turn");
      const turns = client.updates.slice(from).filter(({ update }) => TURN_SCOPED.includes(update.sessionUpdate));
      assert.ok(turns.length > 0);
      for (const { update } of turns) assert.equal(turnOf(update), receipt.turnId, JSON.stringify(update));

      const head = headOf(answer);
      assert.ok(Number.isInteger(head?.number) && head.number > 0, JSON.stringify(head));
      assert.match(head.hash, /^[0-9a-f]{64}$/);
      seen.push({ turn: receipt.turnId, head: head.number });
    }
    assert.notEqual(seen[0].turn, seen[1].turn);
    assert.ok(seen[1].head > seen[0].head);
    assert.deepEqual(client.editor(sessionId).texts("thought"), ["I think."]);
    assert.equal(client.editor(sessionId).usage?.size, 200_000);
    await client.fence();
    await client.stop();
    assert.equal(client.referee.counts.updates.user_message_chunk, undefined, "a live prompt is not echoed");
  });

  // spec: A088 A096 A097 D121 D122 D136 T006
  zuno("draws cards for read, write and shell, and asks for the shell alone", async (t) => {
    const scratch = new Scratch(t);
    scratch.write("notes.txt", "old words\n");
    scratch.script([
      { text: "I look.", calls: [call("read", { filePath: "${cwd}/notes.txt" })] },
      {
        calls: [
          call("write", { filePath: "${cwd}/notes.txt", content: "new words\n" }),
          call("write", { filePath: "${cwd}/added.txt", content: "fresh words\n" }),
        ],
      },
      { calls: [call("shell", { command: "echo shell-output; echo x > ran.txt" })] },
      { text: "Done." },
    ]);
    const client = await scratch.start();
    const { sessionId } = await client.newSession(scratch.work);
    assert.equal((await client.prompt(sessionId, "work")).stopReason, "end_turn");

    const [read, change, add, shell, ...rest] = client.editor(sessionId).cards;
    assert.deepEqual(rest, []);
    for (const card of [read, change, add, shell]) {
      assert.equal(card.status, "completed");
      assert.match(card.title, /\S/);
      assert.ok(card.rawInput && card.rawOutput !== undefined, card.title);
    }
    assert.deepEqual([read.kind, change.kind, add.kind, shell.kind], ["read", "edit", "edit", "execute"]);
    assert.ok(read.locations.some((location) => location.path === scratch.path("notes.txt")));
    assert.match(contentText(read), /old words/);

    const drawn = (card) => card.content.map(({ type, path, oldText, newText }) => ({ type, path, oldText: oldText ?? null, newText }));
    assert.deepEqual(drawn(change), [
      { type: "diff", path: scratch.path("notes.txt"), oldText: "old words\n", newText: "new words\n" },
    ]);
    assert.deepEqual(drawn(add), [{ type: "diff", path: scratch.path("added.txt"), oldText: null, newText: "fresh words\n" }]);
    assert.equal(scratch.read("notes.txt"), "new words\n");
    assert.equal(scratch.read("added.txt"), "fresh words\n");
    assert.doesNotMatch(JSON.stringify([change.rawOutput, add.rawOutput]), /words/, "texts are content, not outcome");
    const completed = client.updatesOf(sessionId, "tool_call_update").filter((u) => u.status === "completed");
    for (const card of [change, add])
      assert.ok(diffs(completed.find((u) => u.toolCallId === card.toolCallId) ?? { content: [] }).length > 0, "the diff comes again");

    assert.deepEqual(client.permissions.map((p) => p.params.toolCall.toolCallId), [shell.toolCallId]);
    assert.match(contentText(shell), /shell-output/);
    assert.ok(scratch.exists("ran.txt"));
    await client.stop();
  });

  // spec: D122
  zuno("a rejected call is blocked, never runs, and the turn goes on", async (t) => {
    const scratch = new Scratch(t);
    scratch.script([{ calls: [call("shell", { command: "touch ran.txt" })] }, { text: "Understood." }]);
    const client = await scratch.start({ permission: () => "reject_once" });
    const { sessionId } = await client.newSession(scratch.work);
    assert.equal((await client.prompt(sessionId, "try")).stopReason, "end_turn");
    const [card] = client.editor(sessionId).cards;
    assert.equal(card.status, "failed");
    assert.equal(card.outcome, "blocked");
    assert.deepEqual(client.editor(sessionId).texts("agent"), ["Understood."]);
    assert.ok(!scratch.exists("ran.txt"));
    await client.stop();
  });

  // spec: T006
  zuno("replacing a file that was not read is refused", async (t) => {
    const scratch = new Scratch(t);
    scratch.write("notes.txt", "old words\n");
    scratch.script([{ calls: [call("write", { filePath: "${cwd}/notes.txt", content: "new words\n" })] }, { text: "Ah." }]);
    const client = await scratch.start();
    const { sessionId } = await client.newSession(scratch.work);
    assert.equal((await client.prompt(sessionId, "replace")).stopReason, "end_turn");
    assert.equal(client.editor(sessionId).cards[0].status, "failed");
    assert.equal(scratch.read("notes.txt"), "old words\n");
    await client.stop();
  });

  // spec: D114 D139
  zuno("that fails is an error with a readable message and its receipt", async (t) => {
    const scratch = new Scratch(t);
    scratch.script([{ error: { status: 400, code: "bad_request", request_id: "req-marker" } }, { text: "Better." }]);
    const client = await scratch.start();
    const { sessionId } = await client.newSession(scratch.work);
    const error = await client.prompt(sessionId, "hi").then(() => assert.fail("the prompt succeeded"), (e) => e);
    assert.equal(error.code, -32603, error.stack);
    assert.match(error.message, /\S+ \S+/);
    assert.equal(error.data?.receipt?.state, "failed");
    for (const fact of [/400/, /bad_request/, /req-marker/]) assert.match(JSON.stringify(error.data.receipt), fact);
    assert.equal((await client.prompt(sessionId, "again")).stopReason, "end_turn");
    await client.stop();
  });
});

describe("load", () => {
  // spec: A102 D135 D137
  zuno("shows the state that the live editor had", async (t) => {
    const scratch = new Scratch(t);
    scratch.write("notes.txt", "old words\n");
    const usage = { input: 900, output: 30 };
    scratch.script([
      { reasoning: "First look.", text: "I look.", calls: [call("read", { filePath: "${cwd}/notes.txt" })], usage },
      { text: "I write.", calls: [call("write", { filePath: "${cwd}/notes.txt", content: "new words\n" })], usage },
      { calls: [call("shell", { command: "echo out; false" }), call("shell", { command: "touch refused.txt" })], usage },
      { text: "First turn over.", usage },
      { calls: [call("read", { filePath: "${cwd}/missing.txt" }), call("nope", {})], usage },
      { text: "Second turn over.", usage },
    ]);
    const rejectTouch = (params) => (JSON.stringify(params.toolCall).includes("refused.txt") ? "reject_once" : "allow_once");
    const live = await scratch.start({ permission: rejectTouch });
    const { sessionId } = await live.newSession(scratch.work);
    for (const words of ["first", "second"]) assert.equal((await live.prompt(sessionId, words)).stopReason, "end_turn");
    await live.fence();
    const drawn = live.editor(sessionId).snapshot();
    assert.equal(drawn.entries.filter((entry) => entry.card).length, 6);
    // A load leaves out the places of files that are not there, and nothing else.
    for (const { card } of drawn.entries) if (card) card.locations = card.locations.filter(({ path }) => fs.existsSync(path));
    await live.stop();

    const later = await scratch.start();
    await later.loadSession(sessionId, scratch.work);
    // The state follows the answer; what is still different at the deadline is shown by the comparison below.
    const same = () => isDeepStrictEqual(later.editor(sessionId).snapshot(), drawn);
    await later.waitFor(same, "the state of the live editor", { deadline: 5_000 }).catch(() => {});
    await later.fence();
    const inputs = later.updatesOf(sessionId, "user_message_chunk").map((u) => u.content.text);
    assert.deepEqual(inputs, ["first", "second"]);
    assert.deepEqual(later.editor(sessionId).snapshot(), drawn);
    assert.equal(later.permissions.length, 0, "a load asks nothing");
    await later.stop();
  });
});

describe("cancel", () => {
  // spec: A135 A137 A138 A216 T271 T272
  zuno("ends the running command and the turn, and the next prompt runs", async (t) => {
    const scratch = new Scratch(t);
    scratch.script([{ text: "I run it.", calls: [call("shell", { command: ENDLESS })] }, { text: "Next." }]);
    const client = await scratch.start();
    const { sessionId } = await client.newSession(scratch.work);
    const answer = client.prompt(sessionId, "run");
    await scratch.appears("pid");
    const pid = Number(scratch.read("pid"));
    t.after(() => alive(pid) && process.kill(pid, "SIGKILL"));
    assert.ok(alive(pid));
    await client.cancel(sessionId);
    const ended = await answer;
    assert.equal(ended.stopReason, "cancelled");
    assert.equal(receiptOf(ended)?.state, "cancelled");
    assert.equal(receiptOf(ended).stopReason, "cancelled");
    const [card] = client.editor(sessionId).cards;
    assert.equal(card.status, "failed");
    assert.match(contentText(card), /before-the-end/, "what was written is kept");
    await poll(() => !alive(pid), "the end of the command");
    assert.equal((await client.prompt(sessionId, "next")).stopReason, "end_turn");
    await client.fence();
    await client.stop();
    assert.deepEqual(client.referee.nullIdErrors, []);
  });

  // spec: A138 D122
  zuno("ends a turn that waits for a permission", async (t) => {
    const scratch = new Scratch(t);
    scratch.script([{ calls: [call("shell", { command: "touch ran.txt" })] }, { text: "Next." }]);
    let choice = "hold";
    const client = await scratch.start({ permission: () => choice });
    const { sessionId } = await client.newSession(scratch.work);
    const answer = client.prompt(sessionId, "ask");
    await client.waitFor(() => client.permissions.length === 1, "the question");
    await client.cancel(sessionId);
    assert.equal((await answer).stopReason, "cancelled");
    assert.equal(client.editor(sessionId).cards[0].status, "failed");
    choice = "allow_once";
    assert.equal((await client.prompt(sessionId, "next")).stopReason, "end_turn");
    await client.stop();
    assert.ok(!scratch.exists("ran.txt"));
  });

  // spec: A139
  zuno("while idle does nothing and arms nothing", async (t) => {
    const scratch = new Scratch(t);
    scratch.script([{ text: "One." }, { text: "Two." }]);
    const client = await scratch.start();
    const commits = [];
    for (const idleCancel of [false, true]) {
      const { sessionId } = await client.newSession(scratch.work);
      const first = await client.prompt(sessionId, "one");
      if (idleCancel) await client.cancel(sessionId);
      const second = await client.prompt(sessionId, "two");
      assert.equal(second.stopReason, "end_turn");
      commits.push(headOf(second).number - headOf(first).number);
    }
    assert.equal(commits[0], commits[1], "the idle cancel wrote nothing");
    await client.stop();
  });
});

describe("the end", () => {
  // spec: D142
  zuno("end of input ends the command, its process and the agent", async (t) => {
    const scratch = new Scratch(t);
    scratch.script([{ calls: [call("shell", { command: ENDLESS })] }]);
    const client = await scratch.start();
    const { sessionId } = await client.newSession(scratch.work);
    client.prompt(sessionId, "run").catch(() => {}); // answered or not: the input has ended
    await scratch.appears("pid");
    const pid = Number(scratch.read("pid"));
    t.after(() => alive(pid) && process.kill(pid, "SIGKILL"));
    await client.stop();
    await poll(() => !alive(pid), "the end of the command", 2_000);
  });

  // spec: A004 A007
  zuno("a killed agent ends both pipes at once", async (t) => {
    const scratch = new Scratch(t);
    const noisy = literal("echo $$ > pid.new; mv pid.new pid; while :; do echo noise; echo noise >&2; sleep 0.01; done");
    scratch.script([{ calls: [call("shell", { command: noisy })] }]);
    const client = await scratch.start();
    const { sessionId } = await client.newSession(scratch.work);
    client.prompt(sessionId, "run").catch(() => {});
    await scratch.appears("pid");
    const pid = Number(scratch.read("pid"));
    t.after(() => alive(pid) && process.kill(pid, "SIGKILL"));
    await client.kill();
    assert.equal(client.exit.signal, "SIGKILL");
  });
});
