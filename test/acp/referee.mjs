// The referee reads every line of both directions and writes down what the agent did against the
// protocol. It does no I/O and knows no process: its input is lines, its result is `violations`.
import path from "node:path";
import { rawMember } from "./jsontext.mjs";
import { Schema } from "./schema.mjs";

/** Clients of this protocol give up on longer lines, in bytes. */
const MAX_LINE = 32 * 1024 * 1024;

const ROOT_MEMBERS = ["jsonrpc", "id", "method", "params", "result", "error"];
const FINAL = new Set(["completed", "failed"]);
const TURN_CONTENT = new Set(["agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update"]);
const SEVERITIES = new Set(["info", "warning", "error"]);
const REOPENING = new Set(["session/load", "session/resume"]);

/** What belongs to zuno in a value's `_meta`. */
export const zunoMeta = (value) => value?._meta?.zuno;

/** What the referee knows of one session. Only `open` sessions may be spoken of. */
class SessionRecord {
  open = false;
  replaying = false; // a session/load is on its way
  resuming = false;
  prompts = new Map(); // raw id → {turns: Set} of prompts without an answer
  cards = new Map(); // toolCallId → status
  finishedTurns = new Set();
}

export class Referee {
  violations = []; // {kind, text, line}
  counts = { agentLines: 0, clientLines: 0, updates: {}, requests: {} };
  nullIdErrors = []; // errors of answers to lines that had no readable id
  #schema;
  #capabilities;
  #sessions = new Map();
  #clientRequests = new Map(); // raw id → {method, params}, unanswered
  #agentRequests = new Set(); // raw ids, unanswered
  #unreadable = 0; // malformed lines sent for which an error with id null is due
  #line = "";

  /** `capabilities` are those that the client sends in initialize. */
  constructor({ capabilities = {}, schema = new Schema() } = {}) {
    this.#capabilities = capabilities;
    this.#schema = schema;
  }

  // ---- input

  /** A line that the client sent. `malformed`: sent on purpose to draw an error with id null. */
  clientLine(line, { malformed = false } = {}) {
    this.counts.clientLines++;
    if (malformed) {
      this.#unreadable++;
      return;
    }
    const message = JSON.parse(line);
    const id = rawMember(line, "id");
    if (message.method === undefined) {
      this.#agentRequests.delete(id);
      return;
    }
    if (id === undefined) return;
    const { method, params } = message;
    this.#clientRequests.set(id, { method, params });
    const session = typeof params?.sessionId === "string" ? this.#session(params.sessionId) : undefined;
    if (session && method === "session/prompt") session.prompts.set(id, { turns: new Set() });
    if (session && REOPENING.has(method)) this.#reopen(session, method);
  }

  /**
   * A line of the agent, without its end. Returns the parsed message with the raw text of its id and
   * the request that it answers, or undefined when nobody can be expected to understand the line.
   */
  agentLine(line) {
    this.counts.agentLines++;
    this.#line = line;
    if (Buffer.byteLength(line) > MAX_LINE) this.#violation("size", `a line of ${Buffer.byteLength(line)} bytes`);
    let message;
    try {
      message = JSON.parse(line);
    } catch (error) {
      return this.#violation("framing", line.trim() === "" ? "a blank line" : `not JSON: ${error.message}`);
    }
    if (message === null || typeof message !== "object" || Array.isArray(message))
      return this.#violation("framing", "not a JSON object");
    if (message.jsonrpc !== "2.0") this.#violation("envelope", 'jsonrpc is not "2.0"');
    for (const member of Object.keys(message))
      if (!ROOT_MEMBERS.includes(member)) this.#violation("envelope", `unknown member ${member} at the root`);

    const id = rawMember(line, "id");
    if ("method" in message) return this.#agentCall(message, id);
    if (id === undefined) return this.#violation("envelope", "neither a method nor an id");
    return this.#answer(message, id);
  }

  /** The agent's output broke the framing below the level of lines. */
  brokenOutput(text) {
    this.#line = "";
    this.#violation("framing", text);
  }

  /** The agent's output has ended; `expected` unless it died by itself. */
  agentEnd({ expected }) {
    this.#line = "";
    if (!expected) this.#violation("exit", "the agent exited by itself");
    if (expected && this.#unreadable > 0) this.#violation("envelope", "a malformed line was never answered");
  }

  // ---- requests and notifications of the agent

  #agentCall(message, id) {
    const { method, params } = message;
    if (typeof method !== "string") return this.#violation("envelope", "method is not a string");
    if ("result" in message || "error" in message) this.#violation("envelope", "a method beside a result or an error");
    const kind = id === undefined ? "notification" : "request";
    if (kind === "request") {
      if (id === "null" || this.#agentRequests.has(id)) this.#violation("envelope", `request id ${id} is null or in use`);
      this.#agentRequests.add(id);
      this.counts.requests[method] = (this.counts.requests[method] ?? 0) + 1;
    }
    const definition = this.#schema.definition(kind, method);
    if (definition) this.#check(definition, params);
    else if (!method.startsWith("_") && !(kind === "notification" && method.startsWith("$/")))
      this.#violation("method", `${method} is no ${kind} of the protocol`);

    if (method === "session/update") this.#update(params ?? {});
    if (kind === "request") this.#agentRequest(method, params ?? {});
    return { ...message, rawId: id };
  }

  #agentRequest(method, params) {
    const fs = this.#capabilities.fs ?? {};
    const offered = {
      "fs/read_text_file": fs.readTextFile,
      "fs/write_text_file": fs.writeTextFile,
      "elicitation/create": this.#capabilities.elicitation?.[params.mode ?? "form"],
    };
    if (method in offered && !offered[method]) this.#violation("capability", `${method} was not offered`);
    if (method.startsWith("terminal/") && !this.#capabilities.terminal)
      this.#violation("capability", `${method} was not offered`);
    if (method.startsWith("fs/")) this.#absolute(params.path, `the path of ${method}`);
    if (method === "terminal/create" && params.cwd != null) this.#absolute(params.cwd, "the folder of a terminal");
    if (method !== "session/request_permission") return;

    const session = this.#session(params.sessionId);
    const card = params.toolCall ?? {};
    if (!session.open) this.#violation("order", "a permission question before its session was answered");
    if (!session.cards.has(card.toolCallId))
      this.#violation("order", `a permission question for the unknown card ${card.toolCallId}`);
    const ids = (params.options ?? []).map((option) => option.optionId);
    if (ids.length === 0) this.#violation("semantic", "a permission question without options");
    if (new Set(ids).size < ids.length) this.#violation("semantic", "a permission question with equal option ids");
    this.#cardPaths(card);
  }

  // ---- answers of the agent

  #answer(message, id) {
    if ("result" in message === "error" in message)
      this.#violation("envelope", "an answer needs exactly one of result and error");
    if ("error" in message) this.#check("Error", message.error);
    if (id === "null" && "error" in message) {
      if (this.#unreadable === 0) this.#violation("envelope", "an error with id null answers nothing that was sent");
      else this.#unreadable--;
      this.nullIdErrors.push(message.error);
      return { ...message, rawId: id };
    }
    const request = this.#clientRequests.get(id);
    if (!request) return this.#violation("envelope", `an answer to id ${id}, which waits for none`);
    this.#clientRequests.delete(id);
    if ("result" in message) {
      const definition = this.#schema.definition("result", request.method);
      if (definition) this.#check(definition, message.result);
    }
    this.#settle(request, message, id);
    return { ...message, rawId: id, request };
  }

  #settle({ method, params }, message, id) {
    const result = message.result ?? {};
    const sessionId = method === "session/new" ? result.sessionId : params?.sessionId;
    if (method === "session/list")
      for (const entry of result.sessions ?? []) this.#absolute(entry.cwd, "the folder of a listed session");
    if (typeof sessionId !== "string") return;
    const session = this.#session(sessionId);
    const succeeded = "result" in message;
    if (method === "session/new" && succeeded) {
      if (session.open) this.#violation("semantic", `session/new gave the known id ${sessionId}`);
      session.open = true;
    }
    if (REOPENING.has(method)) {
      session.replaying = session.resuming = false;
      session.open = session.open && succeeded;
    }
    if (method === "session/close" && succeeded) session.open = false;
    if (method === "session/new" || REOPENING.has(method)) this.#controls(result);
    if (method === "session/set_config_option" && succeeded) this.#controls(result);
    if (method === "session/prompt") this.#endPrompt(session, id, result);
  }

  #endPrompt(session, id, result) {
    const { turns } = session.prompts.get(id) ?? { turns: new Set() };
    session.prompts.delete(id);
    const named = zunoMeta(result)?.receipt?.turnId;
    // Without a receipt the turn is certain only when no other prompt could own it.
    if (named !== undefined) session.finishedTurns.add(named);
    else if (session.prompts.size === 0) for (const turn of turns) session.finishedTurns.add(turn);
    if (session.prompts.size > 0) return;
    for (const [card, status] of session.cards)
      if (!FINAL.has(status)) this.#violation("semantic", `card ${card} is still ${status} after its turn`);
  }

  #controls({ modes, configOptions }) {
    if (modes && !modes.availableModes?.some((mode) => mode.id === modes.currentModeId))
      this.#violation("semantic", `the current mode ${modes.currentModeId} is not available`);
    const ids = new Set();
    for (const option of configOptions ?? []) {
      if (ids.has(option.id)) this.#violation("semantic", `two config options ${option.id}`);
      ids.add(option.id);
      if (option.type === "boolean" && !this.#capabilities.session?.configOptions?.boolean)
        this.#violation("capability", "a boolean config option was not offered");
      const values = (option.options ?? []).flatMap((entry) => entry.options ?? [entry]).map((entry) => entry.value);
      if (option.type === "select" && !values.includes(option.currentValue))
        this.#violation("semantic", `the value ${option.currentValue} of ${option.id} is not among its options`);
    }
  }

  // ---- updates

  #update({ sessionId, update = {} }) {
    const kind = update.sessionUpdate;
    this.counts.updates[kind] = (this.counts.updates[kind] ?? 0) + 1;
    const session = this.#session(sessionId);
    if (!session.open) this.#violation("order", `${kind} of session ${sessionId}, which no answer has named`);
    this.#turn(session, kind, update);
    if (kind === "user_message_chunk" && !session.replaying)
      this.#violation("replay", "user_message_chunk outside a load: the client drew its prompt itself");
    if (session.resuming && (TURN_CONTENT.has(kind) || kind === "user_message_chunk"))
      this.#violation("replay", `${kind} during session/resume, which sends no history`);
    if (kind === "tool_call" || kind === "tool_call_update") this.#card(session, kind, update);
    if (kind === "config_option_update") this.#controls(update);
    if (kind === "usage_update" && !(update.size > 0)) this.#violation("semantic", "usage_update without a window size");
    if (kind === "notice" && !this.#capabilities.session?.notices) this.#violation("capability", "notice was not offered");
    if (kind?.startsWith("compaction_") && !this.#capabilities.session?.compaction)
      this.#violation("capability", `${kind} was not offered`);
    const notice = zunoMeta(update)?.notice;
    if (notice !== undefined && (kind !== "agent_thought_chunk" || !SEVERITIES.has(notice.severity) || !notice.code))
      this.#violation("semantic", "a notice is a thought with a severity and a code");
  }

  /** All updates of a turn come before the answer of its prompt. */
  #turn(session, kind, update) {
    if (session.replaying) return;
    const turn = zunoMeta(update)?.turnId;
    if (turn !== undefined) {
      if (session.finishedTurns.has(turn)) this.#violation("order", `${kind} of turn ${turn} after its prompt was answered`);
      for (const prompt of session.prompts.values()) prompt.turns.add(turn);
      return;
    }
    const free = session.prompts.size > 0 || session.resuming || zunoMeta(update)?.notice !== undefined;
    if (TURN_CONTENT.has(kind) && !free) this.#violation("order", `${kind} while no prompt runs`);
  }

  #card(session, kind, update) {
    const { toolCallId: id, status } = update;
    const before = session.cards.get(id);
    if (kind === "tool_call") {
      if (before !== undefined) this.#violation("semantic", `card ${id} was announced before`);
      session.cards.set(id, status ?? "pending");
    } else if (before === undefined) {
      this.#violation("order", `tool_call_update for the unknown card ${id}`);
    } else if (status != null) {
      if (FINAL.has(before) && status !== before) this.#violation("semantic", `card ${id} left ${before} for ${status}`);
      session.cards.set(id, status);
    }
    this.#cardPaths(update);
  }

  #cardPaths({ content, locations }) {
    for (const item of content ?? []) if (item?.type === "diff") this.#absolute(item.path, "the path of a diff");
    for (const location of locations ?? []) this.#absolute(location?.path, "the path of a location");
  }

  // ---- common

  #session(id) {
    if (!this.#sessions.has(id)) this.#sessions.set(id, new SessionRecord());
    return this.#sessions.get(id);
  }

  /** A load draws everything again; what was known of the cards is void. */
  #reopen(session, method) {
    session.open = true;
    session.resuming = method === "session/resume";
    session.replaying = method === "session/load";
    if (session.replaying) session.cards.clear();
  }

  #check(definition, value) {
    for (const { unknown, text } of this.#schema.problems(definition, value))
      this.#violation(unknown ? "unknown-field" : "schema", text);
  }

  #absolute(value, what) {
    if (!path.isAbsolute(value ?? "")) this.#violation("path", `${what} is not absolute: ${value}`);
  }

  #violation(kind, text) {
    const line = this.#line.length > 1000 ? `${this.#line.slice(0, 1000)}…` : this.#line;
    this.violations.push({ kind, text, line });
    return undefined;
  }
}
