// The published protocol schema, closed: the published one lets unknown fields pass, while the
// protocol allows custom fields under `_meta` only.
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import Ajv2020 from "ajv/dist/2020.js";
import addFormats from "ajv-formats";

/** The published schema of the protocol's version 1, as the agent's own types are generated from it. */
const PUBLISHED = path.join(path.dirname(fileURLToPath(import.meta.url)), "../../acp/schema/schema.json");

export class Schema {
  #ajv = new Ajv2020({ strict: false, allErrors: true, discriminator: true });
  #definitions;
  #checks = new Map();
  #names = { request: new Map(), notification: new Map(), result: new Map() };

  constructor(file = PUBLISHED) {
    const published = JSON.parse(fs.readFileSync(file, "utf8"));
    this.#definitions = published.$defs;
    addFormats(this.#ajv);
    for (const format of ["uint16", "uint32", "uint64"])
      this.#ajv.addFormat(format, { type: "number", validate: (n) => Number.isInteger(n) && n >= 0 });
    const closed = {};
    for (const [name, definition] of Object.entries(published.$defs)) closed[name] = this.#closeInside(definition);
    this.#ajv.addSchema({ $schema: published.$schema, $defs: closed }, "acp");
    this.#indexMethods(published.$defs);
  }

  /** What the agent may send: x-side names the side that *handles* a method. */
  #indexMethods(definitions) {
    for (const [name, definition] of Object.entries(definitions)) {
      const method = definition["x-method"];
      if (!method) continue;
      const side = definition["x-side"];
      if (side === "agent" && name.endsWith("Response")) this.#names.result.set(method, name);
      if (side === "client" && name.endsWith("Request")) this.#names.request.set(method, name);
      if (side !== "agent" && name.endsWith("Notification")) this.#names.notification.set(method, name);
    }
  }

  /** Names the definition of an agent's "request", "notification" or "result" by method; undefined when there is none. */
  definition(kind, method) {
    return this.#names[kind].get(method);
  }

  /** Returns what is wrong with a value, as {unknown, text}; empty when it is valid. */
  problems(definition, value) {
    let check = this.#checks.get(definition);
    if (!check) {
      check = this.#ajv.compile({ $ref: `acp#/$defs/${definition}`, unevaluatedProperties: false });
      this.#checks.set(definition, check);
    }
    if (check(value)) return [];
    return mostSpecific(check.errors).map((e) => ({
      unknown: e.keyword === "unevaluatedProperties",
      text: `${definition}${e.instancePath} ${e.message}${detail(e)}`,
    }));
  }

  /** A copy in which every object below this schema is closed; the schema's own level stays open for composition. */
  #closeInside(schema) {
    if (schema === null || typeof schema !== "object") return schema;
    const copy = { ...schema };
    for (const keyword of ["allOf", "anyOf", "oneOf"])
      if (copy[keyword]) copy[keyword] = copy[keyword].map((branch) => this.#closeInside(branch));
    if (copy.properties)
      copy.properties = Object.fromEntries(Object.entries(copy.properties).map(([k, v]) => [k, this.#close(v)]));
    if (copy.items) copy.items = this.#close(copy.items);
    if (!tellsBranchesApart(copy)) delete copy.discriminator;
    if (typeof copy.additionalProperties === "object") copy.additionalProperties = this.#close(copy.additionalProperties);
    return copy;
  }

  #close(schema) {
    const inside = this.#closeInside(schema);
    const { named, open } = this.#shape(schema);
    return named && !open ? { allOf: [inside], unevaluatedProperties: false } : inside;
  }

  /** named: some properties are listed. open: an object with any fields is a legal value. */
  #shape(schema, seen = new Set()) {
    if (schema === true || schema === null || typeof schema !== "object") return { named: false, open: schema === true };
    if (schema.$ref) {
      if (seen.has(schema.$ref)) return { named: false, open: false };
      return this.#shape(this.#definitions[schema.$ref.split("/").pop()], new Set(seen).add(schema.$ref));
    }
    const takesObjects = schema.type === undefined || [schema.type].flat().includes("object");
    if (!takesObjects) return { named: false, open: false };
    const all = (schema.allOf ?? []).map((s) => this.#shape(s, seen));
    const any = [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])].map((s) => this.#shape(s, seen));
    const named = Boolean(schema.properties) || [...all, ...any].some((s) => s.named);
    if (any.some((s) => s.open)) return { named, open: true };
    const constrained = schema.properties || any.length > 0 || all.some((s) => !s.open);
    return { named, open: !constrained && schema.const === undefined && schema.enum === undefined };
  }
}

/**
 * Whether the discriminator names its branch in each of them; then only that branch is complained
 * about. ajv loses the properties that stand beside a discriminated union, so those stay without.
 */
function tellsBranchesApart({ discriminator, oneOf, properties }) {
  const tag = discriminator?.propertyName;
  const named = (branch) => branch.properties?.[tag]?.const !== undefined && branch.required?.includes(tag);
  return Boolean(tag && !properties && oneOf?.every(named));
}

/**
 * A failed union reports every branch; the deepest complaints are about the branch that was meant.
 * A branch that failed has evaluated nothing, so its "unevaluated" complaints count only alone.
 */
function mostSpecific(errors) {
  const pool = errors.filter((e) => e.keyword !== "const" && e.params?.type !== "null");
  const depth = (e) => e.instancePath.split("/").length;
  const deepest = Math.max(...pool.map(depth));
  const candidates = pool.filter((e) => depth(e) === deepest);
  const plain = candidates.filter((e) => !["oneOf", "anyOf", "unevaluatedProperties"].includes(e.keyword));
  const chosen = plain.length > 0 ? plain : candidates;
  const once = new Map(chosen.map((e) => [e.instancePath + e.message + detail(e), e]));
  return [...once.values()].slice(0, 5);
}

function detail(e) {
  const { unevaluatedProperty, allowedValue, allowedValues } = e.params ?? {};
  const value = unevaluatedProperty ?? allowedValue ?? allowedValues;
  return value === undefined ? "" : `: ${JSON.stringify(value)}`;
}
