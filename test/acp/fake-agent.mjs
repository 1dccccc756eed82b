// A small agent for the tests of the client itself. It keeps the protocol unless its first argument
// names a fault, which it commits once, in its first turn.
import { createInterface } from "node:readline";

const fault = process.argv[2] ?? "none";
const sessions = new Map(); // id → {cwd, history: [update]}
const questions = new Map(); // id of our request → resolve
const turns = new Map(); // session id → {cancelled: resolve}
let requests = 0;

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const answer = (id, result) => send({ id, result });
const refuse = (id, code, message) => send({ id, error: { code, message } });
const draw = (sessionId, update) => send({ method: "session/update", params: { sessionId, update } });
const text = (kind, words) => ({ sessionUpdate: kind, content: { type: "text", text: words } });

const faults = {
  none() {},
  noise: () => process.stdout.write("debug: a library printed this\n"),
  encoding: () => process.stdout.write(Buffer.from([0x7b, 0xff, 0xfe, 0x0a])),
  frame: (id) => draw(id, { ...text("agent_message_chunk", "x"), mood: "seeded" }),
  partial: () => process.stdout.write('{"jsonrpc":"2.0"', () => process.exit(0)),
  death: () => process.exit(3),
  silence: () => new Promise(() => {}),
};

async function ask(sessionId, toolCall) {
  const id = `ask-${++requests}`;
  const options = [
    { optionId: "yes", name: "Allow", kind: "allow_once" },
    { optionId: "no", name: "Reject", kind: "reject_once" },
  ];
  const decision = new Promise((resolve) => questions.set(id, resolve));
  send({ id, method: "session/request_permission", params: { sessionId, toolCall, options } });
  return decision;
}

async function turn({ id, params: { sessionId, prompt } }) {
  const session = sessions.get(sessionId);
  if (!session) return refuse(id, -32002, "no such session");
  const turnId = `turn-${++requests}`;
  const show = (update) => {
    const drawn = { ...update, _meta: { zuno: { turnId } } };
    session.history.push(drawn);
    draw(sessionId, drawn);
  };
  session.history.push(text("user_message_chunk", prompt.map((block) => block.text).join("")));
  const cancelled = new Promise((resolve) => turns.set(sessionId, { cancelled: resolve }));
  show(text("agent_message_chunk", "I write "));
  show(text("agent_message_chunk", "the file."));
  await faults[fault](sessionId);
  const card = { toolCallId: `card-${requests}`, title: "a.txt", kind: "edit" };
  show({ sessionUpdate: "tool_call", ...card });
  const decision = await Promise.race([ask(sessionId, card), cancelled]);
  const allowed = decision?.outcome?.optionId === "yes";
  show({ sessionUpdate: "tool_call_update", toolCallId: card.toolCallId, status: allowed ? "completed" : "failed" });
  const stopped = decision === "cancel";
  if (!stopped) show(text("agent_message_chunk", allowed ? "Done." : "Refused."));
  show({ sessionUpdate: "usage_update", used: 10, size: 1000 });
  answer(id, { stopReason: stopped ? "cancelled" : "end_turn", _meta: { zuno: { receipt: { turnId } } } });
}

const handlers = {
  initialize: ({ id }) =>
    answer(id, { protocolVersion: 1, agentCapabilities: { loadSession: true }, authMethods: [], agentInfo: { name: "fake", version: "1" } }),
  "session/new"({ id, params }) {
    const sessionId = `session-${sessions.size + 1}`;
    sessions.set(sessionId, { cwd: params.cwd, history: [] });
    answer(id, { sessionId });
    draw(sessionId, { sessionUpdate: "available_commands_update", availableCommands: [] });
  },
  "session/load"({ id, params }) {
    const session = sessions.get(params.sessionId);
    if (!session) return refuse(id, -32002, "no such session");
    for (const update of session.history) draw(params.sessionId, update);
    answer(id, {});
    draw(params.sessionId, { sessionUpdate: "available_commands_update", availableCommands: [] });
  },
  "session/prompt": turn,
  "session/cancel": ({ params }) => turns.get(params.sessionId)?.cancelled("cancel"),
};

createInterface({ input: process.stdin }).on("line", (line) => {
  let message;
  try {
    message = JSON.parse(line);
  } catch {
    return refuse(null, -32700, "not JSON");
  }
  if (message.method === undefined) return questions.get(message.id)?.(message.result);
  const handler = handlers[message.method];
  if (handler) return handler(message);
  if (message.id !== undefined) refuse(message.id, -32601, "no such method");
});
