/** The keys file: reading, validating, and the lookup that is made from it. */

import * as crypto from "node:crypto";
import { SCOPES, type Scope } from "../model/model.ts";
import { parseTime } from "../model/time.ts";
import { isObject, notJson } from "../util/json.ts";
import { type Counters, slotOf } from "./limit.ts";

/** An API key (scoped, limited) or a CLI token (neither). */
export type KeyKind = "api" | "cli";

/** @internal One record of the keys file. The token itself is never stored, only its hash. */
export interface KeyRecord {
  id: string;
  kind: KeyKind;
  name: string;
  /** Hex SHA-256 of the whole token. */
  sha256: string;
  /** Scopes by name; names that are not known grant nothing. */
  scopes: string[];
  /** Requests per window, or null for the server's default. */
  limit: number | null;
  active: boolean;
  /** End of validity, or null for never. */
  expiresAt: string | null;
  createdAt: string;
}

/** @internal A record as the gate needs it at each request. */
export interface Key {
  readonly id: string;
  readonly kind: KeyKind;
  readonly name: string;
  readonly scopes: ReadonlySet<Scope>;
  readonly limit: number | null;
  readonly active: boolean;
  /** Milliseconds since the epoch; Infinity for never. */
  readonly expiresAt: number;
  /** Place in the counters. */
  readonly slot: number;
}

/** @internal All keys, found by their tokens. */
export class KeyRing {
  /** By the lower-case hex SHA-256 of the token. */
  readonly byHash: ReadonlyMap<string, Key>;
  /**
   * By token, those that were used: no more than there are keys. To hash a
   * token at each request would take a tenth of the time of a lookup.
   */
  readonly #used = new Map<string, Key>();
  #bySlot: readonly (Key | undefined)[] | undefined;
  #byId: ReadonlyMap<string, Key> | undefined;

  constructor(byHash: ReadonlyMap<string, Key> = new Map()) {
    this.byHash = byHash;
  }

  get size(): number {
    return this.byHash.size;
  }

  /** Keys by their places in the counters; made when it is first asked for. */
  get bySlot(): readonly (Key | undefined)[] {
    if (this.#bySlot === undefined) {
      const bySlot: (Key | undefined)[] = [];
      for (const key of this.byHash.values()) bySlot[key.slot] = key;
      this.#bySlot = bySlot;
    }
    return this.#bySlot;
  }

  /** Keys by their ids; made when it is first asked for. */
  get byId(): ReadonlyMap<string, Key> {
    this.#byId ??= new Map(Array.from(this.byHash.values(), (key) => [key.id, key]));
    return this.#byId;
  }

  find(token: string): Key | undefined {
    const used = this.#used.get(token);
    if (used !== undefined) return used;
    const key = this.byHash.get(hashToken(token));
    // Text of its own: a part of the request's head would keep all of that.
    if (key !== undefined) this.#used.set(Buffer.from(token).toString(), key);
    return key;
  }
}

/** The keys file cannot be used; the message says why and quotes no hash. */
export class KeysFileError extends Error {
  override name = "KeysFileError";
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: what is the same byte in every encoding is meant
const ASCII = /^[\x00-\x7f]*$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: what fits into a byte is meant
const ONE_BYTE = /^[\x00-\xff]*$/;

/** The whole of `crypto.hash` that is needed here. */
type HashOnce = (algorithm: string, data: string | Buffer) => string;

/**
 * Makes {@link hashToken}.
 *
 * @param once hashes in one call, in half of the time and with no object left behind; not every runtime has it
 * @internal
 */
export function tokenHasher(once: HashOnce | undefined): (token: string) => string {
  const hash: HashOnce =
    once ?? ((algorithm, data) => crypto.createHash(algorithm).update(data).digest("hex"));
  // A text is hashed as UTF-8, which is the same bytes where it is ASCII.
  return (token) =>
    hash("sha256", ASCII.test(token) || !ONE_BYTE.test(token) ? token : Buffer.from(token, "latin1"));
}

/**
 * The hash under which a token is stored. Header values have one char a byte;
 * only a caller in the same program can hand in other texts.
 * @internal
 */
export const hashToken: (token: string) => string = tokenHasher(
  (crypto as { readonly hash?: HashOnce }).hash,
);

function fail(message: string): never {
  throw new KeysFileError(message);
}

/** @internal Test of each field of a record, and the words for a value that passes. */
export const RECORD_CHECKS: Record<keyof KeyRecord, [test: (value: unknown) => boolean, wanted: string]> = {
  id: [(v) => typeof v === "string" && v !== "", "a non-empty string"],
  kind: [(v) => v === "api" || v === "cli", '"api" or "cli"'],
  name: [(v) => typeof v === "string", "a string"],
  sha256: [(v) => typeof v === "string" && /^[0-9a-f]{64}$/i.test(v), "64 hex digits"],
  scopes: [(v) => Array.isArray(v) && v.every((s) => typeof s === "string"), "an array of strings"],
  limit: [
    (v) => v === null || (Number.isSafeInteger(v) && (v as number) >= 1),
    "null or an integer of at least 1",
  ],
  active: [(v) => typeof v === "boolean", "true or false"],
  expiresAt: [(v) => v === null || (typeof v === "string" && !Number.isNaN(parseTime(v))), "null or a time"],
  createdAt: [(v) => typeof v === "string" && !Number.isNaN(parseTime(v)), "a time"],
};

/**
 * Reads the text of a keys file.
 *
 * @returns its records as written, fields that are not ours included
 * @throws {KeysFileError} naming the record and the field at fault
 * @internal
 */
export function parseKeys(text: string): KeyRecord[] {
  const json = text.replace(/^\uFEFF/, "");
  let file: unknown;
  try {
    file = JSON.parse(json);
  } catch {
    fail(notJson(json));
  }
  if (!isObject(file) || !Array.isArray(file.keys)) fail('must be an object with an array "keys"');
  const ids = new Set<string>();
  const hashes = new Set<string>();
  for (const [at, record] of file.keys.entries()) {
    if (!isObject(record)) fail(`keys[${at}]: must be an object`);
    for (const [field, [test, wanted]] of Object.entries(RECORD_CHECKS)) {
      if (!Object.hasOwn(record, field)) fail(`keys[${at}].${field}: is missing`);
      if (!test(record[field])) fail(`keys[${at}].${field}: must be ${wanted}`);
    }
    const { id, sha256 } = record as unknown as KeyRecord;
    if (ids.has(id)) fail(`keys[${at}].id: duplicate id`);
    if (hashes.has(sha256.toLowerCase())) fail(`keys[${at}].sha256: duplicate hash`);
    ids.add(id);
    hashes.add(sha256.toLowerCase());
  }
  return file.keys as KeyRecord[];
}

/** @internal Makes the lookup from records; every id gets its slot in the counters. */
export function createKeyRing(records: readonly KeyRecord[], counters: Counters): KeyRing {
  const byHash = new Map<string, Key>();
  for (const record of records) {
    byHash.set(record.sha256.toLowerCase(), {
      id: record.id,
      kind: record.kind,
      name: record.name,
      scopes: new Set(SCOPES.filter((scope) => record.scopes.includes(scope))),
      limit: record.limit,
      active: record.active,
      expiresAt: record.expiresAt === null ? Number.POSITIVE_INFINITY : parseTime(record.expiresAt),
      slot: slotOf(counters, record.id),
    });
  }
  return new KeyRing(byHash);
}
