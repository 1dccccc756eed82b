// What becomes of inputs, driven as an editor does: messages while the agent works, steers, stops of one turn, withdrawals,
// retries, gates, and the choices of a session. Every line is judged by the referee; `stop` throws its violations.
import assert from "node:assert/strict";
import { test } from "node:test";
import { AgentError } from "./client.mjs";
import { Scratch, call, literal, needsZuno } from "./harness.mjs";

const zuno = (name, body) => test(name, { skip: needsZuno, timeout: 120_000 }, body);

const receiptOf = (answer) => answer._meta?.zuno?.receipt;
const turnOf = (update) => update._meta?.zuno?.turnId;
const text = (words) => [{ type: "text", text: words }];
const zunoMeta = (meta) => ({ _meta: { zuno: meta } });

/** A response that works until the test makes the file `go`. */
const WORKS = { text: "I work.", calls: [call("shell", { command: literal("until [ -e go ]; do sleep 0.01; done; echo x >> ran") })] };

/** A session whose first prompt works: {client, scratch, sessionId, first, turnId}. */
async function working(t, ...after) {
  const scratch = new Scratch(t);
  scratch.script([WORKS, ...after]);
  const client = await scratch.start();
  const { sessionId } = await client.newSession(scratch.work);
  const first = client.prompt(sessionId, "begin");
  first.catch(() => {}); // judged where it is awaited
  const running = await client.update(sessionId, (u) => u.status === "in_progress", "the running command");
  return { client, scratch, sessionId, first, turnId: turnOf(running) };
}

/** The receipts that updates told of, newest last, for an input that is told first as the n-th. */
function told(client, sessionId) {
  return client.updatesOf(sessionId, "session_info_update").map((u) => u._meta?.zuno?.receipt).filter(Boolean);
}

const admitted = (client, sessionId, count) =>
  client.waitFor(() => told(client, sessionId).filter((r) => r.state === "admitted").length >= count, `${count} admitted inputs`);

const steer = (client, sessionId, expectedTurnId, words) =>
  client.request("_zuno/session/steer", { sessionId, expectedTurnId, prompt: text(words) });

// spec: D271 A037 A038 D247
zuno("a prompt while the agent works is taken at the next safe point and answered after the first", async (t) => {
  const { client, scratch, sessionId, first, turnId } = await working(t, { expect: { contains: "and this" }, text: "Both." });
  const order = [];
  const second = client.prompt(sessionId, "and this").then((a) => (order.push("second"), a));
  first.then(() => order.push("first"));
  await admitted(client, sessionId, 1);
  scratch.write("go", "");
  const answers = await Promise.all([first, second]);
  assert.deepEqual(answers.map((a) => a.stopReason), ["end_turn", "end_turn"]);
  assert.deepEqual(answers.map((a) => receiptOf(a).turnId), [turnId, turnId]);
  assert.deepEqual(order, ["first", "second"]);
  assert.deepEqual(told(client, sessionId).map((r) => r.state), ["admitted", "recorded", "applied"]);
  await client.stop();
});

// spec: D271 A048 A049 A054
zuno("a steer reaches the turn that it names and no other", async (t) => {
  const { client, scratch, sessionId, first, turnId } = await working(t, { expect: { contains: "this way" }, text: "That way." });
  const refused = async (turn, words, reason) => {
    const error = await steer(client, sessionId, turn, words).then(assert.fail, (e) => e);
    assert.ok(error instanceof AgentError, String(error));
    assert.deepEqual([error.code, error.data?.reason], [-32002, reason]);
  };
  await refused("turn_other", "no way", "expectedTurnMismatch");
  await refused(turnId, " ", "emptyInput");
  await refused(turnId, "/resume", "commandRequiresIdleSession");
  const answer = await steer(client, sessionId, turnId, "this way");
  assert.deepEqual({ turnId: answer.turnId, admission: answer.admission, delivery: answer.delivery }, { turnId, admission: "steered", delivery: "steer" });
  scratch.write("go", "");
  assert.equal((await first).stopReason, "end_turn");
  await refused(turnId, "too late", "noActiveTurn");
  await client.stop();
});

// spec: D271 A129 A130
zuno("an exact cancel stops the turn that it names and no other", async (t) => {
  const { client, sessionId, first, turnId } = await working(t, WORKS, { text: "Done." });
  await client.notify("session/cancel", { sessionId, ...zunoMeta({ expectedTurnId: "turn_other" }) });
  await client.notify("session/cancel", { sessionId, ...zunoMeta({ expectedTurnId: 7 }) });
  await client.fence();
  assert.equal(client.editor(sessionId).cards[0].status, "in_progress");
  await client.notify("session/cancel", { sessionId, ...zunoMeta({ expectedTurnId: turnId }) });
  const answer = await first;
  assert.deepEqual([answer.stopReason, receiptOf(answer).state], ["cancelled", "cancelled"]);
  const second = client.prompt(sessionId, "again");
  await client.update(sessionId, (u) => u.status === "in_progress" && turnOf(u) !== turnId, "the second command");
  await client.notify("session/cancel", { sessionId, ...zunoMeta({ expectedTurnId: turnId }) }); // late
  await client.fence();
  assert.equal(client.editor(sessionId).cards[1].status, "in_progress");
  await client.cancel(sessionId);
  assert.equal((await second).stopReason, "cancelled");
  await client.stop();
});

// spec: D271 A064 A141
zuno("$/cancel_request takes back what its request contributed", async (t) => {
  const { client, scratch, sessionId, first } = await working(t, { text: "Done." });
  const second = client.rawRequest('"mine"', "session/prompt", { sessionId, prompt: text("not this"), ...zunoMeta({ delivery: "queue" }) });
  await admitted(client, sessionId, 1);
  await client.notify("$/cancel_request", { requestId: "mine" });
  const { error } = await second;
  assert.deepEqual([error.code, error.data.receipt.state], [-32800, "cancelled"]);
  scratch.write("go", "");
  assert.equal((await first).stopReason, "end_turn");
  assert.equal(scratch.read("ran"), "x\n");
  await client.stop();
});

// spec: D271 A043 A044
zuno("a message that is sent again under its id is the same message, in another process too", async (t) => {
  const scratch = new Scratch(t);
  scratch.script([{ text: "One." }, { text: "Two." }]);
  let client = await scratch.start();
  const { sessionId } = await client.newSession(scratch.work);
  const send = (words) => client.request("session/prompt", { sessionId, prompt: text(words), ...zunoMeta({ messageId: "m-1" }) });
  const original = receiptOf(await send("hello"));
  assert.equal(original.clientMessageId, "m-1");
  assert.deepEqual(receiptOf(await send("hello")), original);
  await assert.rejects(send("something else"), (e) => e.data?.reason === "clientMessageConflict");
  await client.stop();
  client = await scratch.start();
  await client.loadSession(sessionId, scratch.work);
  assert.deepEqual(receiptOf(await send("hello")), original);
  assert.deepEqual(client.editor(sessionId).texts("agent"), ["One."]);
  await client.stop();
});

// spec: D271 D266
zuno("a stop while the user is asked runs nothing, whatever is answered", async (t) => {
  const scratch = new Scratch(t);
  scratch.script([{ calls: [call("shell", { command: "touch ran" })] }, { text: "Next." }]);
  const client = await scratch.start({ permission: () => "hold" });
  const { sessionId } = await client.newSession(scratch.work);
  const first = client.prompt(sessionId, "ask");
  await client.waitFor(() => client.permissions.length === 1, "the question");
  assert.equal(client.permissions[0].params.sessionId, sessionId);
  await client.cancel(sessionId);
  assert.equal((await first).stopReason, "cancelled");
  assert.equal((await client.prompt(sessionId, "next")).stopReason, "end_turn");
  assert.ok(!scratch.exists("ran"));
  await client.stop();
});

// spec: D271 D256
zuno("a load replays the conversation and a resume does not", async (t) => {
  const scratch = new Scratch(t);
  scratch.script([{ text: "One.", usage: { input: 10, output: 2 } }, { text: "Two." }]);
  const first = await scratch.start();
  const { sessionId } = await first.newSession(scratch.work);
  await first.prompt(sessionId, "hello");
  await first.stop();

  const loads = await scratch.start();
  await loads.loadSession(sessionId, scratch.work);
  assert.deepEqual(loads.editor(sessionId).texts("agent"), ["One."]);
  await loads.stop();

  const resumes = await scratch.start();
  await resumes.request("session/resume", { sessionId, cwd: scratch.work, mcpServers: [] });
  await resumes.fence();
  assert.deepEqual(resumes.updatesOf(sessionId, "user_message_chunk", "agent_message_chunk", "tool_call"), []);
  assert.equal((await resumes.prompt(sessionId, "go on")).stopReason, "end_turn");
  assert.deepEqual(resumes.editor(sessionId).texts("agent"), ["Two."]);
  await resumes.stop();
});

// spec: D271 A189 A190 A239
zuno("work whose effect is unknown is held until the user has looked", async (t) => {
  const scratch = new Scratch(t);
  scratch.script([{ calls: [call("shell", { command: "echo x >> ran; exec sleep 3600" })] }, { text: "I go on." }]);
  const first = await scratch.start();
  const { sessionId } = await first.newSession(scratch.work);
  first.prompt(sessionId, "run").catch(() => {});
  await scratch.appears("ran");
  await first.kill();

  const client = await scratch.start();
  await client.loadSession(sessionId, scratch.work);
  const [card] = client.editor(sessionId).cards;
  assert.deepEqual([card.status, card.outcome], ["failed", "uncertain"]);
  const { code, data } = await client.prompt(sessionId, "/resume").then(assert.fail, (e) => e);
  assert.equal(code, -32005);
  assert.deepEqual([data.admission, data.reason, data.recoveryRequired], ["accepted", "executionGated", true]);
  assert.equal(data.receipt.executionGate.reason, "uncertain_side_effect");
  assert.equal(data.receipt.executionGate.recovery, "inspect_outcome");

  assert.equal((await client.prompt(sessionId, "/inspect-outcome")).stopReason, "end_turn");
  assert.match(client.editor(sessionId).texts("agent").at(-1), new RegExp(card.toolCallId));
  assert.equal((await client.prompt(sessionId, `/inspect-outcome ${card.toolCallId} happened I saw the line.`)).stopReason, "end_turn");
  assert.equal((await client.prompt(sessionId, "/resume")).stopReason, "end_turn");
  assert.equal(client.editor(sessionId).texts("agent").at(-1), "I go on.");
  assert.equal(scratch.read("ran"), "x\n");
  await client.stop();
});

// spec: D271 D261
zuno("a mode and an option are set, told in both forms, and kept", async (t) => {
  const scratch = new Scratch(t);
  scratch.script([{ text: "One." }]);
  const client = await scratch.start();
  const { sessionId } = await client.newSession(scratch.work);
  assert.deepEqual(await client.request("session/set_mode", { sessionId, modeId: "build" }), {});
  await client.fence();
  assert.deepEqual(client.updatesOf(sessionId, "current_mode_update").map((u) => u.currentModeId), ["build"]);
  assert.equal(client.updatesOf(sessionId, "config_option_update").length, 1);
  const model = { sessionId, configId: "model", value: "scripted/any" };
  const { configOptions } = await client.request("session/set_config_option", model);
  assert.equal(configOptions.find((o) => o.id === "model").currentValue, "scripted/any");
  await assert.rejects(client.request("session/set_mode", { sessionId, modeId: "nope" }), { code: -32602 });
  await assert.rejects(client.request("session/set_config_option", { ...model, configId: "nope" }), { code: -32602 });
  await client.stop();
});

// spec: D271 D259
zuno("a deleted session is gone, and deleting it again succeeds", async (t) => {
  const scratch = new Scratch(t);
  scratch.script([{ text: "One." }]);
  const client = await scratch.start();
  const { sessionId } = await client.newSession(scratch.work);
  await client.prompt(sessionId, "hello");
  assert.equal((await client.request("session/list", {})).sessions.length, 1);
  for (let i = 0; i < 2; i++) assert.deepEqual(await client.request("session/delete", { sessionId }), {});
  assert.deepEqual((await client.request("session/list", {})).sessions, []);
  await assert.rejects(client.request("session/load", { sessionId, cwd: scratch.work, mcpServers: [] }), { code: -32002 });
  await client.stop();
});
