/** Keys given in code: their checks, and their records. */

import { SCOPES } from "../model/model.ts";
import { problemWithNames } from "../util/distance.ts";
import { isObject, kindOfObject } from "../util/json.ts";
import {
  checkPrevious,
  hashToken,
  KEY_FIELDS,
  type KeyKind,
  type KeyRecord,
  type PreviousToken,
  RECORD_CHECKS,
} from "./keys.ts";

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
  /** End of validity as an ISO 8601 time or a date; never when absent or null. */
  readonly expiresAt?: string | Date | null;
  /** All three read scopes when absent. */
  readonly scopes?: readonly string[];
  /** Requests per window; the default when absent or null. */
  readonly limit?: number | null;
  /** When the key was made; now when absent. */
  readonly createdAt?: string | Date;
  /** Further fields of a record in a keys file. */
  readonly hint?: string | null | undefined;
  readonly owner?: string | null | undefined;
  readonly note?: string | null | undefined;
  readonly previous?: readonly PreviousToken[];
}

export function kindOf(value: unknown): string {
  if (typeof value === "object" && value !== null) return kindOfObject(value);
  const type = typeof value;
  if (type === "string") return JSON.stringify(value);
  if (value === null || type === "undefined" || type === "number" || type === "boolean") return String(value);
  return `a ${type}`;
}

/** A record as a keys file has it: like there, it may have unknown fields and scopes. */
function isRecord(given: Pick<GivenKey, "createdAt">): boolean {
  return given.createdAt !== undefined;
}

/** A time as a record has it. */
function timeOf<Time>(time: Time): Exclude<Time, Date> | string {
  const isReal = time instanceof Date && !Number.isNaN(time.getTime());
  return isReal ? time.toISOString() : (time as Exclude<Time, Date>);
}

/** The problem with the fields that a record has, too, in the record's words; "" if none. */
function problemWithRecordFields(given: GivenKey): string {
  for (const field of ["sha256", "name", "active", "expiresAt", "createdAt"] as const) {
    const value = timeOf(given[field]);
    if (value === undefined) continue;
    const [test, wanted] = RECORD_CHECKS[field];
    const is = typeof value === "string" ? "" : `, is ${kindOf(value)}`;
    if (!test(value)) return `${field} must be ${wanted}${is}`;
  }
  if (given.token !== undefined && given.sha256 !== undefined) return "takes a token or its sha256, not both";
  try {
    checkPrevious({ ...given }, "");
  } catch (error) {
    return (error as Error).message.replace(/^\./, "");
  }
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
    const isMissing = token === undefined ? "token or sha256 is missing: a " : "";
    return `${isMissing}token must be ${prefix} followed by at least one character`;
  }
  if (scopes !== undefined && !Array.isArray(scopes)) return "scopes must be an array";
  if (kind === "cli" && !isRecord(given) && (scopes !== undefined || (limit ?? null) !== null)) {
    return "a CLI token has neither scopes nor a limit; only a record with its createdAt may have them";
  }
  const unknown = scopes?.filter((scope) => !SCOPES.some((known) => known === scope)) ?? [];
  if (unknown.length > 0 && !isRecord(given))
    return `there is no scope ${kindOf(unknown[0])}, only ${SCOPES.join(", ")}`;
  if (limit !== undefined && limit !== null && !(Number.isSafeInteger(limit) && limit >= 1)) {
    return `limit must be a whole number of at least 1, is ${kindOf(limit)}`;
  }
  return "";
}

const FIELDS: readonly string[] = ["token", ...KEY_FIELDS];

/** @internal Checks keys given in code. @throws {TypeError} naming the key and what is wrong with it, never its token */
export function checkKeys(
  keys: readonly unknown[],
  prefixes: Record<KeyKind, string>,
  who = "openOrrery",
): void {
  const badKeys = (problem: string): TypeError => new TypeError(`${who}: ${problem}`);
  const seen = new Set<string>();
  for (const [at, key] of keys.entries()) {
    // A string may be a token.
    const kind = typeof key === "string" ? "a string" : kindOf(key);
    if (!isObject(key)) throw badKeys(`keys[${at}] must be an object, is ${kind}`);
    const unknown = problemWithNames(key, FIELDS, `field of keys[${at}]`);
    if (unknown !== undefined && !isRecord(key)) throw badKeys(unknown);
    const given = key as unknown as GivenKey;
    const { id } = given;
    if (typeof id !== "string" || id === "")
      throw badKeys(`keys[${at}]: id must be a text that is not empty`);
    const problem = problemWithKey(given, prefixes);
    if (problem !== "") throw badKeys(`key ${JSON.stringify(id)}: ${problem}`);
    const { sha256 } = recordOf(given);
    for (const [what, own] of Object.entries({ id, token: sha256.toLowerCase() })) {
      if (seen.has(what + own)) throw badKeys(`key ${JSON.stringify(id)}: its ${what} was given before`);
      seen.add(what + own);
    }
  }
}

/** @internal The record of a key given in code. */
export function recordOf(given: GivenKey): KeyRecord {
  const { id, kind, scopes = SCOPES, limit = null, name = id, active = true, expiresAt = null } = given;
  const { previous, createdAt = new Date() } = given;
  return {
    id,
    kind,
    name,
    sha256: given.sha256 ?? hashToken(given.token!),
    scopes: [...scopes],
    limit,
    active,
    expiresAt: timeOf(expiresAt),
    createdAt: timeOf(createdAt),
    ...(previous === undefined ? {} : { previous: [...previous] }),
  };
}
