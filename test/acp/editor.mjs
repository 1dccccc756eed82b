// What an editor shows of a session, folded from the updates. The same fold serves live updates and
// a load, so that both can be compared.

/** Parts of `_meta.zuno` that change what is drawn; the rest is for machines. */
const DRAWN_META = ["outcome", "kind"];

export class Editor {
  #entries = []; // messages and cards, in the order in which they were first drawn
  #cards = new Map();
  #notices = [];
  #state = { commands: undefined, usage: undefined, plan: [], mode: undefined, config: undefined, title: undefined };

  /** The answer to session/new, load or resume. */
  opened({ modes, configOptions } = {}) {
    if (modes) this.#state.mode = modes.currentModeId;
    if (configOptions) this.#state.config = configOptions;
  }

  /** The user has sent a prompt; the editor draws it without being told. */
  prompted(blocks) {
    for (const block of blocks) this.#chunk("user", { content: block });
    this.#endMessage();
  }

  apply(update) {
    switch (update.sessionUpdate) {
      case "user_message_chunk":
        return this.#chunk("user", update);
      case "agent_message_chunk":
        return this.#chunk("agent", update);
      case "agent_thought_chunk":
        return update._meta?.zuno?.notice ? this.#notices.push(update) : this.#chunk("thought", update);
      case "tool_call":
      case "tool_call_update":
        return this.#card(update);
      case "plan":
        return (this.#state.plan = update.entries);
      case "usage_update":
        return (this.#state.usage = { used: update.used, size: update.size, cost: update.cost });
      case "available_commands_update":
        return (this.#state.commands = update.availableCommands);
      case "current_mode_update":
        return (this.#state.mode = update.currentModeId);
      case "config_option_update":
        return (this.#state.config = update.configOptions);
      case "session_info_update":
        return "title" in update && (this.#state.title = update.title ?? undefined);
    }
  }

  /**
   * The whole drawn state as plain data, fit for deep comparison. Notices are left out: they speak of
   * the moment, and a load has its own. Message ids are left out: a live prompt has none.
   */
  snapshot() {
    const entries = this.#entries.map((entry) =>
      entry.card ? { card: entry.card } : { role: entry.role, blocks: entry.blocks, ...entry.drawn },
    );
    return JSON.parse(JSON.stringify({ entries, ...this.#state }));
  }

  get cards() {
    return [...this.#cards.values()];
  }

  get notices() {
    return this.#notices;
  }

  get usage() {
    return this.#state.usage;
  }

  /** The texts of all messages of a role, each message one string. */
  texts(role) {
    return this.#entries
      .filter((entry) => entry.role === role)
      .map((entry) => entry.blocks.map((block) => block.text ?? "").join(""));
  }

  /** Chunks of one role run together until something else is drawn or the message id changes. */
  #chunk(role, { content, messageId, _meta }) {
    const drawn = drawnMeta(_meta);
    const last = this.#entries.at(-1);
    const continues =
      last?.role === role && !last.ended && last.messageId === messageId && JSON.stringify(last.drawn) === JSON.stringify(drawn);
    if (!continues) this.#entries.push({ role, messageId, drawn, blocks: [] });
    const { blocks } = this.#entries.at(-1);
    const open = blocks.at(-1);
    if (content.type === "text" && open?.type === "text") blocks[blocks.length - 1] = { ...open, text: open.text + content.text };
    else blocks.push(content);
  }

  #endMessage() {
    const last = this.#entries.at(-1);
    if (last) last.ended = true;
  }

  /** An update changes the fields that it has; lists are replaced. */
  #card({ sessionUpdate, _meta, ...fields }) {
    let card = this.#cards.get(fields.toolCallId);
    if (!card) {
      card = { kind: "other", status: "pending", content: [], locations: [] };
      this.#cards.set(fields.toolCallId, card);
      this.#entries.push({ card });
    }
    for (const [name, value] of Object.entries(fields)) if (value !== null && value !== undefined) card[name] = value;
    Object.assign(card, drawnMeta(_meta));
  }
}

function drawnMeta(meta) {
  const zuno = meta?.zuno ?? {};
  return Object.fromEntries(DRAWN_META.filter((name) => zuno[name] !== undefined).map((name) => [name, zuno[name]]));
}
