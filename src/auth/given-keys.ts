/** Keys that are given to `openOrrery` in code, checked; and how its options are refused. */

import { SCOPES } from "../model/model.ts";
import { isObject } from "../util/json.ts";
import { problemWithNames } from "../util/nearest.ts";
import type { KeyKind } from "./keys.ts";

/** A key given in code. */
export interface GivenKey {
  readonly id: string;
  readonly kind: KeyKind;
  /** The whole token, prefix included. */
  readonly token: string;
  /** All three read scopes when absent. */
  readonly scopes?: readonly string[];
  /** Requests per window; the default when absent. */
  readonly limit?: number;
}

/** Refuses options. @throws {TypeError} */
export function fail(message: string): never {
  throw new TypeError(`openOrrery: ${message}`);
}

/** What a value is, for a message. */
export function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  const type = typeof value;
  return type === "string" || type === "number" || type === "boolean"
    ? JSON.stringify(value)
    : `${type === "object" ? "an" : "a"} ${type}`;
}

/** Refuses names that are not known. @throws {TypeError} */
export function checkNames(given: object, known: readonly string[], what: string): void {
  const problem = problemWithNames(given, known, what);
  if (problem !== undefined) fail(problem);
}

const KEY_FIELDS: readonly string[] = ["id", "kind", "token", "scopes", "limit"];

/** What is wrong with a key's own fields. Messages never quote a token. */
function problemWithKey({ kind, token, scopes, limit }: GivenKey, prefixes: Record<KeyKind, string>): string {
  if (kind !== "api" && kind !== "cli") return `kind must be "api" or "cli", is ${kindOf(kind)}`;
  // A token that its kind's prefix does not begin could never be used.
  if (typeof token !== "string" || !token.startsWith(prefixes[kind]) || token === prefixes[kind]) {
    return `token must be ${prefixes[kind]} followed by at least one character`;
  }
  if (kind === "cli" && (scopes !== undefined || limit !== undefined)) {
    return "a CLI token has neither scopes nor a limit";
  }
  if (scopes !== undefined && !Array.isArray(scopes)) return "scopes must be an array";
  const unknown = scopes?.find((scope) => !SCOPES.some((known) => known === scope));
  if (unknown !== undefined) return `there is no scope ${kindOf(unknown)}, only ${SCOPES.join(", ")}`;
  if (limit !== undefined && !(Number.isSafeInteger(limit) && limit >= 1)) {
    return `limit must be a whole number of at least 1, is ${kindOf(limit)}`;
  }
  return "";
}

/** Checks keys given in code. @throws {TypeError} naming the key and what is wrong with it, never its token */
export function checkKeys(keys: readonly unknown[], prefixes: Record<KeyKind, string>): void {
  const seen = new Set<string>();
  for (const [at, key] of keys.entries()) {
    // It may be a token.
    if (!isObject(key)) fail(`keys[${at}] must be an object, is a ${typeof key}`);
    checkNames(key, KEY_FIELDS, `field of keys[${at}]`);
    const given = key as unknown as GivenKey;
    if (typeof given.id !== "string" || given.id === "")
      fail(`keys[${at}]: id must be a text that is not empty`);
    const problem = problemWithKey(given, prefixes);
    if (problem !== "") fail(`key ${JSON.stringify(given.id)}: ${problem}`);
    for (const own of [`id ${given.id}`, `token ${given.token}`]) {
      if (seen.has(own)) fail(`key ${JSON.stringify(given.id)}: its id or token was given before`);
      seen.add(own);
    }
  }
}
