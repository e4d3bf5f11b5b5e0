/** The keys file: reading, validation, and the lookup made from it. */

import crypto from "node:crypto";
import { SCOPES, type Scope } from "../model/model.ts";
import { parseTime } from "../model/time.ts";
import { isObject, notJson, parsedJson } from "../util/json.ts";
import { UserError } from "../util/user-error.ts";
import { type Counters, createCounters, slotOf } from "./limit.ts";

/** An API key (scoped, limited) or a CLI token (neither). */
export type KeyKind = "api" | "cli";

/** A replaced token, which still works until a time. */
export interface PreviousToken {
  /** Hex SHA-256 of the whole token. */
  sha256: string;
  expiresAt: string;
  /** The token's last four characters. */
  hint?: string | undefined;
}

/** @internal One record of the keys file. The token itself is never stored, only its hash. */
export interface KeyRecord {
  id: string;
  kind: KeyKind;
  name: string;
  /** Hex SHA-256 of the whole token. */
  sha256: string;
  /** Scopes by name; unknown names grant nothing. */
  scopes: string[];
  /** Requests per window, or null for the server's default. */
  limit: number | null;
  active: boolean;
  /** End of validity, or null for never. */
  expiresAt: string | null;
  createdAt: string;
  /** Earlier tokens of the key; none works longer than the key does. */
  previous?: PreviousToken[];
  /** The token's last four characters. */
  hint?: string;
  owner?: string | undefined;
  note?: string | undefined;
}

/** @internal */
export interface Key {
  readonly id: string;
  readonly kind: KeyKind;
  readonly name: string;
  readonly scopes: ReadonlySet<Scope>;
  readonly limit: number | null;
  readonly active: boolean;
  /** Milliseconds since the epoch; Infinity for never. */
  readonly expiresAt: number;
  /** Its place in the counters. */
  readonly slot: number;
  /** Lower-case hex SHA-256 of the token that leads here. */
  readonly hash: string;
  /** The hashes of the current and the previous tokens, and the ends of the latter, as one text: for comparisons alone. */
  readonly tokens: string;
}

/** @internal How a ring differs from the one before, by the lower-case hex SHA-256 of the token. */
export interface TokenChanges {
  /** Tokens that were added, or whose keys have changed. */
  readonly changed: readonly (readonly [hash: string, key: Key])[];
  readonly removed: readonly string[];
}

/** @internal Keys by token. */
export class KeyRing {
  /** By the lower-case hex SHA-256 of the token. Previous tokens have copies of the keys. */
  readonly tokens: Map<string, Key>;
  /** The keys by their slots in the counters. */
  readonly bySlot: (Key | undefined)[] = [];
  #size = 0;
  /** Used keys by token, so that a token is not hashed at each request. */
  readonly #used = new Map<string, Key>();

  /** @param tokens of a ring of another thread; such a ring has no slots */
  constructor(tokens = new Map<string, Key>()) {
    this.tokens = tokens;
  }

  get size(): number {
    return this.#size;
  }

  /** Adds a key's token, before the ring is in use; that of the key itself comes before the previous ones. */
  add(key: Key): void {
    this.tokens.set(key.hash, key);
    if (this.bySlot[key.slot] !== undefined) return;
    this.bySlot[key.slot] = key;
    this.#size++;
  }

  changesSince(before: KeyRing): TokenChanges {
    const differs = ([hash, key]: readonly [string, Key]): boolean => {
      const old = before.tokens.get(hash);
      return old === undefined || old.slot !== key.slot || !areEqual(old, key);
    };
    return {
      changed: [...this.tokens].filter(differs),
      removed: [...before.tokens.keys()].filter((hash) => !this.tokens.has(hash)),
    };
  }

  /** The ring with these changes, which takes the place of this one. */
  changedBy({ changed, removed }: TokenChanges): KeyRing {
    for (const hash of removed) this.tokens.delete(hash);
    for (const [hash, key] of changed) this.tokens.set(hash, key);
    return new KeyRing(this.tokens);
  }

  find(token: string): Key | undefined {
    const used = this.#used.get(token);
    if (used !== undefined) return used;
    const key = this.tokens.get(hashToken(token));
    // Copies the text: a slice would keep the whole head of the request in memory.
    if (key !== undefined) this.#used.set(Buffer.from(token).toString(), key);
    return key;
  }
}

/** Longest keys file, in bytes: more than a million keys. V8 has no longer texts. */
export const MOST_KEYS_BYTES = 500_000_000;

/** The keys file cannot be used; the message says why and quotes no hash. */
export class KeysFileError extends UserError {
  override name = "KeysFileError";
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: matches characters that are the same byte in every encoding
const ASCII = /^[\x00-\x7f]*$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: matches characters that fit into a byte
const ONE_BYTE = /^[\x00-\xff]*$/;

type HashOnce = (algorithm: string, data: string | Buffer) => string;

/** @internal Makes {@link hashToken}. @param once `crypto.hash`, twice as fast; not every runtime has it */
export function tokenHasher(once: HashOnce | undefined): (token: string) => string {
  const hash: HashOnce =
    once ?? ((algorithm, data) => crypto.createHash(algorithm).update(data).digest("hex"));
  // A text is hashed as UTF-8, which has the same bytes for ASCII.
  return (token) =>
    hash("sha256", ASCII.test(token) || !ONE_BYTE.test(token) ? token : Buffer.from(token, "latin1"));
}

/** @internal The hash of a token as it is stored. Header values have one character per byte, other texts may not. */
export const hashToken: (token: string) => string = tokenHasher(
  (crypto as { readonly hash?: HashOnce }).hash,
);

function fail(message: string): never {
  throw new KeysFileError(message);
}

type Check = readonly [test: (value: unknown) => boolean, wanted: string];

const isTime = (v: unknown): boolean => typeof v === "string" && !Number.isNaN(parseTime(v));
const HASH: Check = [(v) => typeof v === "string" && /^[0-9a-f]{64}$/i.test(v), "64 hex digits"];
const TIME: Check = [isTime, "a time"];

const TEXT: Check = [(v) => typeof v === "string", "a string"];

/** @internal Test of each field that every record has, and the description of a valid value. */
export const RECORD_CHECKS: Record<Exclude<keyof KeyRecord, "previous" | keyof typeof OPTIONAL>, Check> = {
  id: [(v) => typeof v === "string" && v !== "", "a non-empty string"],
  kind: [(v) => v === "api" || v === "cli", '"api" or "cli"'],
  name: TEXT,
  sha256: HASH,
  scopes: [(v) => Array.isArray(v) && v.every((s) => typeof s === "string"), "an array of strings"],
  limit: [
    (v) => v === null || (Number.isSafeInteger(v) && (v as number) >= 1),
    "null or an integer of at least 1",
  ],
  active: [(v) => typeof v === "boolean", "true or false"],
  expiresAt: [(v) => v === null || isTime(v), "null or an ISO 8601 time"],
  createdAt: TIME,
};
const OPTIONAL = { hint: TEXT, owner: TEXT, note: TEXT };
const FIELDS = Object.entries({ ...RECORD_CHECKS, ...OPTIONAL });
const PREVIOUS_FIELDS = Object.entries({ sha256: HASH, expiresAt: TIME, hint: TEXT });

/** All known fields of a record. */
export const KEY_FIELDS: readonly string[] = [...FIELDS.map(([field]) => field), "previous"];

function checkFields(
  record: Record<string, unknown>,
  fields: readonly (readonly [string, Check])[],
  where: string,
): void {
  for (const [field, [test, wanted]] of fields) {
    const isGiven = Object.hasOwn(record, field);
    if (!isGiven && !Object.hasOwn(OPTIONAL, field)) fail(`${where}.${field}: is missing`);
    if (isGiven && !test(record[field])) fail(`${where}.${field}: must be ${wanted}`);
  }
}

/** @internal Checks the replaced tokens of a record. @throws {KeysFileError} */
export function checkPrevious(record: Record<string, unknown>, where: string): void {
  if (!Object.hasOwn(record, "previous")) return;
  const { previous } = record;
  if (!Array.isArray(previous)) fail(`${where}.previous: must be an array`);
  for (const [at, token] of previous.entries()) {
    if (!isObject(token)) fail(`${where}.previous[${at}]: must be an object`);
    checkFields(token, PREVIOUS_FIELDS, `${where}.previous[${at}]`);
  }
}

/** The list in the text of a keys file. @throws {KeysFileError} */
function listOf(text: string): readonly unknown[] {
  const json = text.replace(/^\uFEFF/, "");
  const file = parsedJson(json);
  if (file === undefined) fail(notJson(json));
  if (!isObject(file) || !Array.isArray(file.keys)) fail('must be an object with an array "keys"');
  return file.keys;
}

/** Checks a record by itself. @param at its place in the list @throws {KeysFileError} */
function checkRecord(record: unknown, at: number): KeyRecord {
  const where = `keys[${at}]`;
  if (!isObject(record)) fail(`${where}: must be an object`);
  checkFields(record, FIELDS, where);
  checkPrevious(record, where);
  return record as unknown as KeyRecord;
}

/**
 * @internal Reads the text of a keys file; keeps unknown fields.
 * @param counters where every id gets its slot
 * @throws {KeysFileError} naming the record and the field at fault
 */
export function parseKeys(text: string, counters = createCounters(1)) {
  const keys = new KeyRing();
  const records = listOf(text).map((value, at) => {
    const record = checkRecord(value, at);
    addRecord(keys, record, counters, at);
    return record;
  });
  return { records, keys };
}

/** Every set of scopes, indexed by its bits: keys with the same scopes share one set. */
const SCOPE_SETS: readonly ReadonlySet<Scope>[] = Array.from(
  { length: 1 << SCOPES.length },
  (_, bits) => new Set(SCOPES.filter((_scope, at) => bits & (1 << at))),
);

function scopeSetOf(names: readonly string[]): ReadonlySet<Scope> {
  let bits = 0;
  for (const name of names) {
    const at = SCOPES.indexOf(name as Scope);
    if (at >= 0) bits |= 1 << at;
  }
  return SCOPE_SETS[bits]!;
}

/** @internal Creates the lookup from records; every id gets its slot in the counters. */
export function createKeyRing(records: readonly KeyRecord[], counters: Counters): KeyRing {
  const ring = new KeyRing();
  for (const [at, record] of records.entries()) addRecord(ring, record, counters, at);
  return ring;
}

/** Keys share sets of scopes, so equal sets are identical. */
const COMPARED = ["name", "kind", "scopes", "limit", "active", "expiresAt", "tokens"] as const;

/** @internal Whether two keys with the same slot are equal. */
export const areEqual = (one: Key, other: Key): boolean =>
  one === other || COMPARED.every((field) => one[field] === other[field]);

/** @param at its place in the list @throws {KeysFileError} when the ring has its id, which keeps its slot, or one of its hashes */
function addRecord(ring: KeyRing, record: KeyRecord, counters: Counters, at: number): void {
  const { id, kind, name, sha256, scopes, limit, active, expiresAt, previous } = record;
  const end = expiresAt === null ? Number.POSITIVE_INFINITY : parseTime(expiresAt);
  // Most keys have none, and a file may have a million keys.
  const earlier = previous?.map((token) => ({
    hash: token.sha256.toLowerCase(),
    expiresAt: Math.min(end, parseTime(token.expiresAt)),
  }));
  const hash = sha256.toLowerCase();
  // Every field by itself: keys made by a spread tripled the time of `admit`.
  const key: Key = {
    id,
    kind,
    name,
    scopes: scopeSetOf(scopes),
    limit,
    active,
    expiresAt: end,
    slot: slotOf(counters, id),
    hash,
    tokens: earlier === undefined ? hash : JSON.stringify([hash, earlier]),
  };
  if (ring.bySlot[key.slot] !== undefined) fail(`keys[${at}].id: duplicate id`);
  const add = (one: Key, where: string): void => {
    if (ring.tokens.has(one.hash)) fail(`keys[${at}]${where}.sha256: duplicate hash`);
    ring.add(one);
  };
  add(key, "");
  for (const [n, token] of earlier?.entries() ?? []) add({ ...key, ...token }, `.previous[${n}]`);
}
