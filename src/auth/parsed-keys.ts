/**
 * Makes the keys of a file's bytes. A large file takes seconds, so it is read in parts between which requests are answered: parts
 * of its list, each of whole records. A small file is read at once.
 */

import { parsedJson } from "../util/json.ts";
import { createPauses } from "../util/process/in-turns.ts";
import { createKeyWarnings } from "./key-changes.ts";
import { addRecord, checkRecord, KeyRing, KeysFileError, listIn, listOf } from "./keys.ts";
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

/** The records of a large file, part by part; checks the rest of the file behind the last one. @throws {KeysFileError} */
function* recordsInParts(bytes: Buffer): Generator<readonly unknown[]> {
  const begin = beginOfList(bytes);
  if (begin === undefined) {
    yield listOf(bytes.toString());
    return;
  }
  const parts = partsOf(bytes, begin);
  let part = parts.next();
  for (let count = 0; !part.done; part = parts.next()) {
    const found = parsedJson(`[${part.value}]`);
    if (!Array.isArray(found) || (found.length === 0 && count > 0))
      throw new KeysFileError(`not valid JSON after ${count} keys`);
    count += found.length;
    yield found;
  }
  checkAround(bytes, begin, part.value);
}

/**
 * Reads the bytes of a keys file. Keys that did not change are those of the ring in force: memory of 300,000 new ones would
 * block the thread when it is collected.
 *
 * @returns its keys, and warnings for operators
 * @throws {KeysFileError} naming the record and the field at fault
 */
export async function keysOf(bytes: Buffer, counters: Counters, before = new KeyRing()) {
  const keys = new KeyRing();
  keys.reserve(before.bySlot.length);
  const warnings = createKeyWarnings(Date.now());
  const pause = createPauses();
  let at = 0;
  const parts = bytes.length <= MOST_AT_ONCE ? [listOf(bytes.toString())] : recordsInParts(bytes);
  for (const part of parts) {
    for (const value of part) {
      const record = checkRecord(value, at);
      warnings.note(record);
      addRecord(keys, record, counters, at++, before);
    }
    await pause();
  }
  for (const shard of keys.shards.keys()) {
    keys.share(shard, before);
    await pause();
  }
  return { keys, warnings: warnings.lines() };
}
