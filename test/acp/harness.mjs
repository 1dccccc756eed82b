// What a test of the built binary needs: a scratch home and worktree, a scripted model, and the
// client around `zuno acp`.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Client, DEADLINE } from "./client.mjs";

export const ZUNO = process.env.ZUNO_BIN;

/** The `skip` option of tests that drive the binary. */
export const needsZuno = ZUNO ? false : "ZUNO_BIN names no binary; ./scripts/test builds one";

/** Variables that the agent gets besides those of its scratch home. Nothing of ZUNO_* or GIT_* may pass. */
const INHERITED = ["PATH", "LANG", "TMPDIR", "TZ"];

/** A place of its own for one test; removed afterwards. */
export class Scratch {
  constructor(t) {
    this.t = t;
    this.root = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "zuno-acp-")));
    t.after(() => fs.rmSync(this.root, { recursive: true, force: true }));
    this.work = this.folder("work");
    this.data = this.folder("data");
    this.home = this.folder("home");
    this.env = {
      ...Object.fromEntries(INHERITED.filter((n) => process.env[n] !== undefined).map((n) => [n, process.env[n]])),
      HOME: this.home,
      XDG_CONFIG_HOME: this.folder("home/config"),
      XDG_STATE_HOME: this.folder("home/state"),
      XDG_DATA_HOME: this.folder("home/data"),
      XDG_CACHE_HOME: this.folder("home/cache"),
      XDG_RUNTIME_DIR: this.folder("run"),
      ZUNO_DATA_DIR: this.data,
    };
    execFileSync("git", ["init", "-q", this.work], { env: this.env });
  }

  folder(name) {
    const made = path.join(this.root, name);
    fs.mkdirSync(made, { recursive: true, mode: 0o700 });
    return made;
  }

  /** The absolute path of a file of the worktree. */
  path(name) {
    return path.join(this.work, name);
  }

  write(name, text) {
    fs.writeFileSync(this.path(name), text);
  }

  read(name) {
    return fs.readFileSync(this.path(name), "utf8");
  }

  exists(name) {
    return fs.existsSync(this.path(name));
  }

  /** Every file below the data folder with its size, to see that nothing was touched. */
  dataFiles() {
    return fs
      .readdirSync(this.data, { recursive: true })
      .sort()
      .map((name) => `${name} ${fs.statSync(path.join(this.data, name)).size}`);
  }

  /** Lets the scripted model answer with these responses, in order. JSON is YAML. */
  script(responses) {
    const file = path.join(this.root, "script.yaml");
    fs.writeFileSync(file, JSON.stringify({ responses }));
    this.env.ZUNO_CONFIG_CONTENT = JSON.stringify({
      model: "scripted/any",
      provider: { scripted: { type: "scripted", options: { script: file } } },
    });
  }

  /** Starts `zuno acp` and initializes it. */
  async start(options = {}) {
    const client = this.spawn(options);
    await client.initialize();
    return client;
  }

  spawn(options = {}) {
    const client = new Client({ command: [ZUNO, "acp"], env: this.env, cwd: this.work, ...options });
    this.t.after(() => client.dispose());
    return client;
  }

  /** Waits for a file that a command of the agent makes. */
  appears(name) {
    return poll(() => this.exists(name), `the file ${name}`);
  }
}

/** A text for a script in which a dollar is a dollar. */
export const literal = (text) => text.replaceAll("$", () => "$$");

export const call = (tool, args) => ({ tool, args });

/** A shell command that leaves its process id in the file `pid`, and then never ends by itself. */
export const ENDLESS = literal("echo before-the-end; echo $$ > pid.new && mv pid.new pid; exec sleep 3600");

/** Whether a process lives; one that only waits to be reaped does not. */
export function alive(pid) {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  try {
    return !/\) [ZX] /.test(fs.readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return process.platform !== "linux";
  }
}

/** Asks for something that announces itself by no event, until it is so or the deadline has passed. */
export async function poll(condition, what, deadline = DEADLINE) {
  for (const end = Date.now() + deadline; !condition(); await pause(5))
    if (Date.now() > end) throw new Error(`${what}: not within ${deadline} ms`);
}
