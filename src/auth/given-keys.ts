/** Keys given in code: their checks, and their records. */

import { SCOPES } from "../model/model.ts";
import { problemWithNames } from "../util/distance.ts";
import { isObject } from "../util/json.ts";
import { hashToken, type KeyKind, type KeyRecord, RECORD_CHECKS } from "./keys.ts";

/** A key given in code. */
export interface GivenKey {
  readonly id: string;
  readonly kind: KeyKind;
  /** The whole token, prefix included. Either this or {@link sha256}. */
  readonly token?: string;
  /** Hex SHA-256 of the whole token, for programs that store no tokens. */
  readonly sha256?: string;
  /** Shown to operators; the id when absent. */
  readonly name?: string;
  /** Whether it is let in; true when absent. */
  readonly active?: boolean;
  /** End of validity as an ISO 8601 time; never when absent or null. */
  readonly expiresAt?: string | null;
  /** All three read scopes when absent. */
  readonly scopes?: readonly string[];
  /** Requests per window; the default when absent. */
  readonly limit?: number;
}

export function kindOf(value: unknown): string {
  if (Array.isArray(value)) return "an array";
  const type = typeof value;
  if (type === "string") return JSON.stringify(value);
  if (value === null || type === "undefined" || type === "number" || type === "boolean") return String(value);
  return `${type === "object" ? "an" : "a"} ${type}`;
}

const FIELDS = ["id", "kind", "token", "sha256", "name", "active", "expiresAt", "scopes", "limit"];

/** The problem with the fields that a record has, too, in the record's words; "" if none. */
function problemWithRecordFields(given: GivenKey): string {
  for (const field of ["sha256", "name", "active", "expiresAt"] as const) {
    if (given[field] === undefined) continue;
    const [test, wanted] = RECORD_CHECKS[field];
    const is = typeof given[field] === "string" ? "" : `, is ${kindOf(given[field])}`;
    if (!test(given[field])) return `${field} must be ${wanted}${is}`;
  }
  if (given.token !== undefined && given.sha256 !== undefined) return "takes a token or its sha256, not both";
  return "";
}

/** The problem with a key's fields; "" if none. Messages never quote a token. */
function problemWithKey(given: GivenKey, prefixes: Record<KeyKind, string>): string {
  const { kind, token, scopes, limit } = given;
  if (kind !== "api" && kind !== "cli") return `kind must be "api" or "cli", is ${kindOf(kind)}`;
  const problem = problemWithRecordFields(given);
  if (problem !== "") return problem;
  // A token without its kind's prefix could never be used. A hash does not show the prefix.
  const prefix = prefixes[kind];
  if (
    given.sha256 === undefined &&
    !(typeof token === "string" && token.startsWith(prefix) && token !== prefix)
  ) {
    return `token must be ${prefix} followed by at least one character`;
  }
  if (kind === "cli" && (scopes !== undefined || limit !== undefined)) {
    return "a CLI token has neither scopes nor a limit";
  }
  if (scopes !== undefined && !Array.isArray(scopes)) return "scopes must be an array";
  const unknown = scopes?.filter((scope) => !SCOPES.some((known) => known === scope)) ?? [];
  if (unknown.length > 0) return `there is no scope ${kindOf(unknown[0])}, only ${SCOPES.join(", ")}`;
  if (limit !== undefined && !(Number.isSafeInteger(limit) && limit >= 1)) {
    return `limit must be a whole number of at least 1, is ${kindOf(limit)}`;
  }
  return "";
}

/**
 * @internal Checks keys given in code. @throws {TypeError} naming the key and what is wrong with it, never its token
 */
export function checkKeys(
  keys: readonly unknown[],
  prefixes: Record<KeyKind, string>,
  who = "openOrrery",
): void {
  const problemOf = (problem: string): TypeError => new TypeError(`${who}: ${problem}`);
  const seen = new Set<string>();
  for (const [at, key] of keys.entries()) {
    // A string may be a token.
    const kind = typeof key === "string" ? "a string" : kindOf(key);
    if (!isObject(key)) throw problemOf(`keys[${at}] must be an object, is ${kind}`);
    const unknown = problemWithNames(key, FIELDS, `field of keys[${at}]`);
    if (unknown !== undefined) throw problemOf(unknown);
    const given = key as unknown as GivenKey;
    const { id } = given;
    if (typeof id !== "string" || id === "")
      throw problemOf(`keys[${at}]: id must be a text that is not empty`);
    const problem = problemWithKey(given, prefixes);
    if (problem !== "") throw problemOf(`key ${JSON.stringify(id)}: ${problem}`);
    const { sha256 } = recordOf(given);
    for (const [what, own] of Object.entries({ id, token: sha256.toLowerCase() })) {
      if (seen.has(what + own)) throw problemOf(`key ${JSON.stringify(id)}: its ${what} was given before`);
      seen.add(what + own);
    }
  }
}

/** @internal The record of a key given in code. */
export function recordOf(given: GivenKey): KeyRecord {
  const { id, kind, scopes = SCOPES, limit = null, name = id, active = true, expiresAt = null } = given;
  return {
    id,
    kind,
    name,
    sha256: given.sha256 ?? hashToken(given.token!),
    scopes: [...scopes],
    limit,
    active,
    expiresAt,
    createdAt: new Date().toISOString(),
  };
}
