// A strict client: starts an agent, speaks to it through the official TypeScript SDK, shows every
// line of both directions to the referee and folds the updates as an editor does.
//
// Nothing here sleeps. Everything waits for an event of the agent with a deadline.
import { spawn } from "node:child_process";
import { StringDecoder } from "node:string_decoder";
import * as acp from "@agentclientprotocol/sdk";
import { Editor } from "./editor.mjs";
import { Referee } from "./referee.mjs";

/** Upper bound of one wait, in milliseconds; a slow machine needs air, a hang must not last. */
export const DEADLINE = 20_000;

/** How much of the agent's stderr is kept for the message of a failure, in bytes. */
const STDERR_TAIL = 32 * 1024;

/** A JSON-RPC error that the agent answered. */
export class AgentError extends Error {
  constructor({ code, message, data }) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

export class Client {
  referee;
  updates = []; // {sessionId, update}, in wire order
  permissions = []; // {params, outcome}; outcome is undefined while the question is held
  exit; // {code, signal} once the agent is gone
  stderr = "";
  #permission;
  #command;
  #child;
  #connection;
  #readable;
  #raw = new Map(); // raw id → resolve, requests that bypass the SDK
  #rawCount = 0;
  #editors = new Map();
  #held = []; // {sessionId, cancel}
  #watchers = new Set();
  #expectExit = false;
  #ended; // resolves when the output and the process have both ended

  /**
   * command: [file, ...arguments]. permission: (params) => "allow_once", another option kind,
   * "cancelled", or "hold" (answered as cancelled when the client cancels the turn).
   */
  constructor({ command, env, cwd, capabilities = {}, permission = () => "allow_once" }) {
    this.capabilities = capabilities;
    this.#permission = permission;
    this.#command = command;
    this.referee = new Referee({ capabilities });
    this.#child = spawn(command[0], command.slice(1), { env, cwd, stdio: ["pipe", "pipe", "pipe"] });
    this.#child.stdin.on("error", () => {}); // a dead agent shows as its exit
    this.#child.stderr.setEncoding("utf8").on("data", (text) => (this.stderr = (this.stderr + text).slice(-STDERR_TAIL)));
    const outputEnded = this.#tapOutput();
    const exited = new Promise((resolve) => {
      this.#child.on("error", (error) => ((this.exit = { error }), resolve()));
      this.#child.on("exit", (code, signal) => ((this.exit = { code, signal }), resolve()));
    });
    this.#ended = Promise.all([outputEnded, exited]).then(() => {
      this.referee.agentEnd({ expected: this.#expectExit });
      this.#wake();
    });
    this.#connect();
  }

  get pid() {
    return this.#child.pid;
  }

  // ---- calls through the SDK

  async request(method, params, { deadline = DEADLINE } = {}) {
    const answer = this.#connection.agent.request(method, params).catch((error) => {
      if (typeof error?.code === "number") throw new AgentError(error);
      // The SDK only says that the connection has closed; how the agent ended says more.
      return this.#ended.then(() => new Promise(() => {}));
    });
    answer.catch(() => {}); // a late failure after the deadline is not an unhandled one
    return this.#within(answer, deadline, `the answer to ${method}`);
  }

  notify(method, params) {
    return this.#connection.agent.notify(method, params);
  }

  initialize(params = {}) {
    return this.request("initialize", {
      protocolVersion: acp.PROTOCOL_VERSION,
      clientCapabilities: this.capabilities,
      clientInfo: { name: "zuno-test-client", version: "1.0.0" },
      ...params,
    });
  }

  async newSession(cwd, params = {}) {
    const answer = await this.request("session/new", { cwd, mcpServers: [], ...params });
    this.editor(answer.sessionId).opened(answer);
    return answer;
  }

  async loadSession(sessionId, cwd, params = {}) {
    this.#editors.set(sessionId, new Editor());
    const answer = await this.request("session/load", { sessionId, cwd, mcpServers: [], ...params });
    this.editor(sessionId).opened(answer);
    return answer;
  }

  /** Sends a prompt (a text or content blocks) and returns its answer. */
  prompt(sessionId, prompt, params = {}) {
    const blocks = typeof prompt === "string" ? [{ type: "text", text: prompt }] : prompt;
    this.editor(sessionId).prompted(blocks);
    return this.request("session/prompt", { sessionId, prompt: blocks, ...params });
  }

  /** Cancels the session's turn as an editor does: its open questions are answered as cancelled. */
  async cancel(sessionId, params = {}) {
    await this.notify("session/cancel", { sessionId, ...params });
    this.#held = this.#held.filter((question) => {
      if (question.sessionId === sessionId) question.cancel();
      return question.sessionId !== sessionId;
    });
  }

  // ---- calls past the SDK, for what it would not send

  /** Sends a request whose id is the raw JSON text `id`; returns the answer's message with its `rawId`. */
  async rawRequest(id, method, params) {
    const answer = new Promise((resolve) => this.#raw.set(id, resolve));
    this.#send(`{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)},"params":${JSON.stringify(params)}}`);
    return this.#within(answer, DEADLINE, `the answer to ${method} with id ${id}`);
  }

  /** Sends a line that is no readable request and returns the error with id null that answers it. */
  async malformed(line) {
    const before = this.referee.nullIdErrors.length;
    this.referee.clientLine(line.toString(), { malformed: true });
    this.#child.stdin.write(Buffer.concat([Buffer.from(line), Buffer.from("\n")]));
    return this.waitFor(() => this.referee.nullIdErrors[before], "the error that answers a malformed line");
  }

  /** Returns when everything that the agent wrote before has been seen: one more round trip, in order. */
  async fence() {
    const answer = await this.rawRequest(`"fence-${++this.#rawCount}"`, "_zuno_test/fence", {});
    if (answer.error?.code !== -32601) throw new Error(`an unknown method was answered: ${JSON.stringify(answer)}`);
  }

  // ---- what was seen

  /** The state that an editor shows for a session. */
  editor(sessionId) {
    if (!this.#editors.has(sessionId)) this.#editors.set(sessionId, new Editor());
    return this.#editors.get(sessionId);
  }

  /** The updates of a session, of the given kinds when there are any. */
  updatesOf(sessionId, ...kinds) {
    return this.updates
      .filter((u) => u.sessionId === sessionId)
      .map((u) => u.update)
      .filter((u) => kinds.length === 0 || kinds.includes(u.sessionUpdate));
  }

  /** Waits until `condition` returns something true, and returns it. It is asked again after every event. */
  waitFor(condition, what, { deadline = DEADLINE } = {}) {
    let watch;
    const seen = new Promise((resolve, reject) => {
      watch = () => {
        try {
          const value = condition();
          if (value) resolve(value);
          else if (this.exit) reject(new Error(`the agent exited before ${what}${this.#stderrNote()}`));
        } catch (error) {
          reject(error);
        }
      };
      this.#watchers.add(watch);
      watch();
    });
    return this.#within(seen, deadline, what).finally(() => this.#watchers.delete(watch));
  }

  /** Waits for an update of a session that `match` accepts, earlier ones included. */
  update(sessionId, match, what) {
    return this.waitFor(() => this.updatesOf(sessionId).find(match), what);
  }

  // ---- the end

  /** Closes the agent's input and waits for its exit. Throws the referee's violations, if any. */
  async stop({ code = 0 } = {}) {
    this.#expectExit = true;
    if (!this.exit) this.#child.stdin.end();
    await this.#within(this.#ended, DEADLINE, "the exit after end of input");
    this.assertClean();
    if (this.exit.code !== code) throw new Error(`exit ${JSON.stringify(this.exit)}, expected ${code}${this.#stderrNote()}`);
  }

  /** Kills the agent and waits until its pipes have ended. */
  async kill(signal = "SIGKILL") {
    this.#expectExit = true;
    this.#child.kill(signal);
    await this.#within(this.#ended, DEADLINE, `the end of the pipes after ${signal}`);
    this.assertClean();
  }

  /** Makes sure that nothing is left running, without any judgement: for the clean-up of a failed test. */
  dispose() {
    this.#expectExit = true;
    if (!this.exit) this.#child.kill("SIGKILL");
    return this.#ended;
  }

  /** Throws when the agent broke a rule. */
  assertClean() {
    const { violations } = this.referee;
    if (violations.length === 0) return;
    const list = violations.map((v) => `  ${v.kind}: ${v.text}${v.line ? `\n    ${v.line}` : ""}`).join("\n");
    throw new Error(`${violations.length} protocol violation(s):\n${list}${this.#stderrNote()}`);
  }

  // ---- the wire

  #tapOutput() {
    const decoder = new TextDecoder("utf-8", { fatal: true });
    let rest = Buffer.alloc(0);
    this.#child.stdout.on("data", (chunk) => {
      rest = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk;
      for (let end; (end = rest.indexOf(10)) >= 0; rest = rest.subarray(end + 1)) {
        try {
          this.#received(decoder.decode(rest.subarray(0, end)));
        } catch (error) {
          if (!(error instanceof TypeError)) throw error;
          this.referee.brokenOutput(`a line is not UTF-8: ${new StringDecoder("utf8").write(rest.subarray(0, 200))}`);
        }
      }
      this.#wake();
    });
    return new Promise((resolve) =>
      this.#child.stdout.on("close", () => {
        if (rest.length > 0) this.referee.brokenOutput(`the last line has no end: ${rest.subarray(0, 200)}`);
        this.#readable.close();
        resolve();
      }),
    );
  }

  #received(line) {
    const message = this.referee.agentLine(line);
    if (!message) return;
    if (message.method === "session/update") {
      const { sessionId, update } = message.params ?? {};
      this.updates.push({ sessionId, update });
      this.editor(sessionId).apply(update ?? {});
    }
    const raw = message.method === undefined ? this.#raw.get(message.rawId) : undefined;
    if (raw) {
      this.#raw.delete(message.rawId);
      raw(message);
    } else if (message.rawId !== "null") {
      this.#readable.enqueue(new TextEncoder().encode(`${line}\n`));
    }
  }

  #send(line) {
    this.referee.clientLine(line);
    this.#child.stdin.write(`${line}\n`);
  }

  #connect() {
    const input = new ReadableStream({ start: (controller) => (this.#readable = controller) });
    const decoder = new StringDecoder("utf8");
    let rest = "";
    const output = new WritableStream({
      write: (chunk) => {
        const lines = (rest + decoder.write(Buffer.from(chunk))).split("\n");
        rest = lines.pop();
        for (const line of lines) this.#send(line);
      },
    });
    const app = acp.client({ name: "zuno-test-client" });
    app.onRequest("session/request_permission", ({ params }) => this.#decide(params));
    app.onNotification("*", () => {}); // the tap has them
    this.#connection = app.connect(acp.ndJsonStream(output, input, { maxMessageBytes: 256 * 1024 * 1024 }));
  }

  #decide(params) {
    const entry = { params, outcome: undefined };
    this.permissions.push(entry);
    this.#wake();
    const choice = this.#permission(params);
    const answer = (outcome) => ({ outcome: (entry.outcome = outcome) });
    if (choice === "hold")
      return new Promise((resolve) =>
        this.#held.push({ sessionId: params.sessionId, cancel: () => resolve(answer({ outcome: "cancelled" })) }),
      );
    const option = params.options.find((o) => o.kind === choice);
    if (choice !== "cancelled" && !option) throw new acp.RequestError(-32603, `no option of kind ${choice}`);
    return answer(option ? { outcome: "selected", optionId: option.optionId } : { outcome: "cancelled" });
  }

  // ---- waiting

  #wake() {
    for (const watch of [...this.#watchers]) watch();
  }

  #within(promise, deadline, what) {
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error(`${what}: none within ${deadline} ms${this.#stderrNote()}`)), deadline);
    });
    const gone = this.#ended.then(() => {
      // An answer that came with the last line is still on its way through the SDK.
      return new Promise((_, reject) =>
        setImmediate(() => reject(new Error(`${what}: the agent exited, ${JSON.stringify(this.exit)}${this.#stderrNote()}`))),
      );
    });
    gone.catch(() => {});
    const contenders = promise === this.#ended ? [promise, late] : [promise, late, gone];
    return Promise.race(contenders).finally(() => clearTimeout(timer));
  }

  #stderrNote() {
    return this.stderr ? `\n  stderr of ${this.#command.join(" ")}:\n${this.stderr}` : "";
  }
}
