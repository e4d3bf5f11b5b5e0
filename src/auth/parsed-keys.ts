/**
 * Makes the keys of a file's bytes. A large file takes seconds, so it is read in parts between which requests are answered: parts
 * of its list, each of whole records. A small file is read at once.
 */

import { parsedJson } from "../util/json.ts";
import { createPauses } from "../util/process/in-turns.ts";
import { KEYS_PER_PAUSE, keyWarnings } from "./key-changes.ts";
import {
  addRecord,
  createRecordCheck,
  type KeyRecord,
  KeyRing,
  KeysFileError,
  listIn,
  parseKeys,
} from "./keys.ts";
import type { Counters } from "./limit.ts";

/** Longest file that is read at once, in bytes: in about 2 ms. */
const MOST_AT_ONCE = 131_072;
/** Least length of a part, in bytes. */
const PART_BYTES = 16_384;

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Position of the quote that ends a string. @param at that of its first quote */
function endOfString(bytes: Buffer, at: number): number {
  let end = at + 1;
  while (end < bytes.length && bytes[end] !== QUOTE) end += bytes[end] === BACKSLASH ? 2 : 1;
  return end;
}

/** Position behind the bracket that opens the list; undefined if there is none. */
function beginOfList(bytes: Buffer): number | undefined {
  let depth = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === OPEN_OBJECT || byte === OPEN_LIST) depth++;
    else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) depth--;
    else if (byte === QUOTE) {
      const end = endOfString(bytes, at);
      const isName = depth === 1 && bytes.toString("latin1", at, end + 1) === '"keys"';
      const opening = isName && /^\s*:\s*\[/.exec(bytes.toString("latin1", end + 1, end + 64));
      if (opening) return end + 1 + opening[0].length;
      at = end;
    }
  }
  return undefined;
}

/** The list in parts of whole records. @returns the position of the bracket that closes it, or the end of the bytes */
function* partsOf(bytes: Buffer, begin: number): Generator<string, number> {
  let depth = 0;
  let start = begin;
  for (let at = begin; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) at = endOfString(bytes, at);
    else if (byte === OPEN_OBJECT || byte === OPEN_LIST) depth++;
    else if (depth > 0 && (byte === CLOSE_OBJECT || byte === CLOSE_LIST)) depth--;
    else if (byte === CLOSE_LIST) {
      yield bytes.toString("utf8", start, at);
      return at;
    } else if (byte === COMMA && depth === 0 && at - start >= PART_BYTES) {
      yield bytes.toString("utf8", start, at);
      start = at + 1;
    }
  }
  return bytes.length;
}

/** @throws {KeysFileError} unless the bytes around the list are an object with that list alone */
function checkAround(bytes: Buffer, begin: number, end: number): void {
  const around = bytes.toString("utf8", 0, begin) + bytes.toString("utf8", end);
  const value = parsedJson(around.replace(/^\uFEFF/, ""));
  if (value === undefined) throw new KeysFileError("not valid JSON before or after the list of keys");
  if (listIn(value).length > 0) throw new KeysFileError('must have one array "keys"');
}

async function parseInParts(bytes: Buffer): Promise<KeyRecord[]> {
  const begin = beginOfList(bytes);
  if (begin === undefined) return parseKeys(bytes.toString());
  const pause = createPauses();
  const check = createRecordCheck();
  const records: KeyRecord[] = [];
  const parts = partsOf(bytes, begin);
  let part = parts.next();
  for (; !part.done; part = parts.next()) {
    const found = parsedJson(`[${part.value}]`);
    if (!Array.isArray(found) || (found.length === 0 && records.length > 0))
      throw new KeysFileError(`not valid JSON after ${records.length} keys`);
    for (const record of found) records.push(check(record));
    await pause();
  }
  checkAround(bytes, begin, part.value);
  return records;
}

/**
 * Reads the bytes of a keys file. @returns its keys, and warnings for operators
 * @throws {KeysFileError} naming the record and the field at fault
 */
export async function keysOf(bytes: Buffer, counters: Counters) {
  const isSmall = bytes.length <= MOST_AT_ONCE;
  const records = isSmall ? parseKeys(bytes.toString()) : await parseInParts(bytes);
  const warnings = await keyWarnings(records, Date.now());
  const keys = new KeyRing();
  const pause = createPauses();
  for (const [at, record] of records.entries()) {
    addRecord(keys, record, counters);
    if (at % KEYS_PER_PAUSE === 0) await pause();
  }
  return { keys, warnings };
}
