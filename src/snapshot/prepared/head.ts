/**
 * The head of a prepared snapshot.
 *
 *   bytes 0–15   the words "orrery prepared\n"
 *        16–19   format version
 *        20–23   bytes of the JSON
 *        24–27   CRC-32 of the JSON
 *        28–31   CRC-32 of the 28 bytes before
 *        32–     the JSON, and spaces up to a multiple of 64
 *
 * Numbers are little-endian, also in the arrays. Arrays follow one after the
 * other, each padded with zeros to a multiple of 64.
 */

// Not a named import of `crc32`: a Node without it would fail before the program can report its version.
import zlib from "node:zlib";
import { ROW_FILES } from "../../model/model.ts";
import { isCount, isObject, parsedJson } from "../../util/json.ts";
import type { FileReport } from "../loaded.ts";
import { BadFileError } from "../read.ts";
import {
  ARRAY_TYPES,
  ARRAYS,
  type ArrayType,
  LAYOUT,
  PREPARED_VERSION,
  SHARED,
  type SizeOf,
} from "./layout.ts";

export const PREPARED_BEGINNING = "orrery prepared\n";
const MAGIC = Buffer.from(PREPARED_BEGINNING);
/** Bytes before the JSON. */
export const PREFIX_BYTES = 32;
const ALIGNMENT = 64;
/** A head has about ten kilobytes. */
const MOST_HEAD_BYTES = 1_048_576;

/** The next offset at which an array may begin. */
export function aligned(place: number): number {
  return Math.ceil(place / ALIGNMENT) * ALIGNMENT;
}

/** An array's place in the file, as the head has it. */
export type ArrayEntry = readonly [
  path: string,
  type: ArrayType,
  /** Counted from the end of the head. */
  offset: number,
  bytes: number,
  /** CRC-32 of the array and its padding, in hex. */
  crc32: string,
];

export function hexOf(crc32: number): string {
  return crc32.toString(16).padStart(8, "0");
}

/**
 * Gives the arrays of the layout their places, one after the other.
 *
 * @param bytes the bytes of each
 * @returns their offsets, and the end of the last
 */
export function placeArrays(bytes: readonly number[]): { offsets: number[]; end: number } {
  const offsets: number[] = [];
  let end = 0;
  for (const [at, { path }] of ARRAYS.entries()) {
    const isShared = path === SHARED.path && bytes[at]! > 0;
    offsets.push(isShared ? offsets[ARRAYS.findIndex((other) => other.path === SHARED.as)]! : end);
    if (!isShared) end = aligned(end + bytes[at]!);
  }
  return { offsets, end };
}

/** The JSON of the head. */
export interface PreparedHead {
  /** As the manifest stated. */
  readonly createdAt?: string | undefined;
  /** The row files from which the snapshot was prepared. */
  readonly sources: readonly FileReport[];
  readonly values: Readonly<Record<string, number | string>>;
  readonly arrays: readonly ArrayEntry[];
}

export function encodeHead(head: PreparedHead): Buffer {
  const json = Buffer.from(JSON.stringify(head));
  const end = aligned(PREFIX_BYTES + json.length);
  const stored = Buffer.alloc(end, " ");
  MAGIC.copy(stored);
  json.copy(stored, PREFIX_BYTES);
  stored.writeUInt32LE(PREPARED_VERSION, 16);
  stored.writeUInt32LE(end - PREFIX_BYTES, 20);
  stored.writeUInt32LE(zlib.crc32(stored.subarray(PREFIX_BYTES)), 24);
  stored.writeUInt32LE(zlib.crc32(stored.subarray(0, 28)), 28);
  return stored;
}

/**
 * Reads the first {@link PREFIX_BYTES}.
 *
 * @returns number of bytes of the JSON
 * @throws {BadFileError} when they do not begin a prepared snapshot of this version
 */
export function decodePrefix(prefix: Buffer): number {
  const magic = prefix.subarray(0, MAGIC.length);
  if (!magic.equals(MAGIC.subarray(0, magic.length))) throw new BadFileError("is not a prepared snapshot");
  if (prefix.length < PREFIX_BYTES) throw new BadFileError("is truncated");
  const version = prefix.readUInt32LE(16);
  if (version !== PREPARED_VERSION) {
    throw new BadFileError(
      `has format version ${version}, and this orrery reads version ${PREPARED_VERSION}; build it again`,
    );
  }
  const bytes = prefix.readUInt32LE(20);
  const isIntact = zlib.crc32(prefix.subarray(0, 28)) === prefix.readUInt32LE(28);
  if (!isIntact || bytes > MOST_HEAD_BYTES) throw new BadFileError("the head has a wrong checksum");
  return bytes;
}

function bad(what: string): BadFileError {
  return new BadFileError(`damaged: ${what}`);
}

/** Whether a value is the report on the row file of number `at`. */
function isReport(value: unknown, at: number): value is FileReport {
  if (!isObject(value)) return false;
  const { file, table, bytes, rows, hidden, dangling } = value;
  return (
    typeof file === "string" &&
    table === ROW_FILES[at] &&
    isCount(bytes) &&
    isCount(rows) &&
    isObject(hidden) &&
    Object.values(hidden).every(isCount) &&
    isObject(dangling) &&
    isCount(dangling.count) &&
    Array.isArray(dangling.examples) &&
    dangling.examples.every((example) => typeof example === "string")
  );
}

/** Checks the entries of the arrays. @returns the end of the last */
function checkArrays(entries: readonly unknown[]): number {
  for (const [at, entry] of entries.entries()) {
    const { path, type } = ARRAYS[at] ?? {};
    if (!Array.isArray(entry) || path === undefined || type === undefined)
      throw bad("an entry is no array, or too many");
    const [name, kind, , bytes, checksum] = entry as unknown[];
    if (name !== path || kind !== type) throw bad(`${path} is missing, or of a wrong type`);
    if (!isCount(bytes) || bytes % ARRAY_TYPES[type].itemBytes !== 0)
      throw bad(`${path} has no possible size`);
    if (typeof checksum !== "string" || !/^[0-9a-f]{8}$/.test(checksum)) throw bad(`${path} has no checksum`);
  }
  if (entries.length < ARRAYS.length) throw bad("an array is missing");
  const arrays = entries as readonly ArrayEntry[];
  const { offsets, end } = placeArrays(arrays.map(([, , , bytes]) => bytes));
  const astray = arrays.find(([, , offset], at) => offset !== offsets[at]);
  if (astray !== undefined) throw bad(`${astray[0]} has no possible place`);
  return end;
}

const VALUES = [...LAYOUT].filter(([, { type }]) => type === "number" || type === "string");

function areValues(values: object): boolean {
  const given = new Map<string, unknown>(Object.entries(values));
  const isGood = ([path, { type }]: (typeof VALUES)[number]): boolean => {
    const value = given.get(path);
    return typeof value === type && (type === "string" || isCount(value));
  };
  return given.size === VALUES.length && VALUES.every(isGood);
}

export type DecodedHead = ReturnType<typeof decodeHead>;

/** Parses the JSON of a head, and checks its form. */
function parseHead(text: Buffer): PreparedHead {
  const head = parsedJson(text.toString());
  if (head === undefined) throw bad("the head is no JSON");
  if (!isObject(head) || !isObject(head.values) || !Array.isArray(head.arrays))
    throw bad("the head is no head");
  const { createdAt, sources, values } = head;
  if (createdAt !== undefined && typeof createdAt !== "string") throw bad("createdAt is no text");
  if (!Array.isArray(sources) || sources.length < ROW_FILES.length || !sources.every(isReport))
    throw bad("sources are no reports");
  if (!areValues(values)) throw bad("a value is missing, unknown, or of a wrong type");
  return head as unknown as PreparedHead;
}

/** Reads the JSON of a head, and checks all of it. @param stored the whole head @returns it, and the bytes after it @throws {BadFileError} */
export function decodeHead(stored: Buffer) {
  const text = stored.subarray(PREFIX_BYTES);
  if (zlib.crc32(text) !== stored.readUInt32LE(24)) throw new BadFileError("the head has a wrong checksum");
  const head = parseHead(text);
  const bodyBytes = checkArrays(head.arrays);
  const sizes = new Map<string, number>();
  for (const [path, value] of Object.entries(head.values)) sizes.set(path, Number(value));
  for (const [path, type, , bytes] of head.arrays) sizes.set(path, bytes / ARRAY_TYPES[type].itemBytes);
  const sizeOf: SizeOf = (path) => sizes.get(path)!;
  for (const [path, { type, fits }] of LAYOUT)
    if (fits?.(sizeOf(path), sizeOf) === false)
      throw bad(`${path} ${type === "number" ? "does not match the other sections" : "has a wrong length"}`);
  return { ...head, bodyBytes, sizeOf };
}
