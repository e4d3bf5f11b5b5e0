/**
 * Checks that packed tables hold rows as the encoder writes them, so that replies made of them are JSON, no matter which
 * program made the file. Every byte is checked: names, ids and times have a fixed length and are compared four bytes at a
 * time, other values are scanned to their ends.
 */

import { isUtf8 } from "node:buffer";
import { setImmediate as turn } from "node:timers/promises";
import {
  FIELDS,
  type FieldType,
  servedLayout,
  TABLES,
  type TableName,
  VALUE_BYTES,
} from "../../model/schema.ts";
import type { Store } from "../../store/generation.ts";
import type { Block } from "../../store/table.ts";
import { ESCAPE_BYTES, stopsIn } from "../scan.ts";

/** Bytes that are checked in one turn of the event loop; they stay in the processor's cache between two passes. */
const PIECE_BYTES = 2 ** 19;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const ZERO = 0x30;
const NINE = 0x39;
const ONES = 0x01010101;
const ZEROS = 0x30303030;
const HIGH_BITS = 0x80808080;

type Part = ReturnType<typeof partOf>;

/** Bytes that are the same in all rows of a table, and the type of the value after them. */
function partOf(text: string, next: FieldType) {
  const bytes = Buffer.from(text);
  const words = Array.from({ length: Math.ceil(bytes.length / 4) }, (_, word) =>
    bytes.readInt32LE(Math.min(word * 4, bytes.length - 4)),
  );
  /** The bytes as words; the last word may overlap the one before it. */
  return { literal: Int32Array.from(words), length: bytes.length, next };
}

type Shape = ReturnType<typeof shapeOf>;

/** The parts of a row, and the bytes after the last value: their number, and their value as an integer of at most three bytes. */
function shapeOf(table: TableName) {
  const { parts, end } = servedLayout(FIELDS[table]);
  const last = Buffer.from(`${end},`);
  return {
    parts: parts.map(({ before, field }) => partOf(before, field.type)),
    endBytes: last.length,
    end: last.readUIntLE(0, last.length),
  };
}

function isLiteral(view: DataView, at: number, { literal, length }: Part): boolean {
  const last = literal.length - 1;
  let bits = literal[last]! ^ view.getInt32(at + length - 4, true);
  for (let word = 0; word < last; word++) bits |= literal[word]! ^ view.getInt32(at + word * 4, true);
  return bits === 0;
}

/**
 * Sets high bits where four bytes are no lower-case hex digits. Digits become 0 to 9 and letters 0 to 5; the addition sets the
 * high bit of every larger value. A wrong byte may make the next ones look wrong, too.
 */
function unlikeHex(bytes: number): number {
  const letters = (bytes >>> 6) & ONES;
  const values = ((bytes ^ ZEROS) - Math.imul(letters, 0x51)) | 0;
  return values | (values + 0x76767676 + (letters << 2));
}

function isId(view: DataView, at: number): boolean {
  // -xxx x-xx xx-x xxx-
  const a = view.getInt32(at + 8, true);
  const b = view.getInt32(at + 12, true);
  const c = view.getInt32(at + 16, true);
  const d = view.getInt32(at + 20, true);
  const dashes = (a & 0xff) | (b & 0xff00) | (c & 0xff0000) | (d & 0xff000000);
  // A dash becomes the digit 0.
  const bits =
    unlikeHex(view.getInt32(at, true)) |
    unlikeHex(view.getInt32(at + 4, true)) |
    unlikeHex(a ^ 0x1d) |
    unlikeHex(b ^ 0x1d00) |
    unlikeHex(c ^ 0x1d0000) |
    unlikeHex(d ^ 0x1d000000) |
    unlikeHex(view.getInt32(at + 24, true)) |
    unlikeHex(view.getInt32(at + 28, true)) |
    unlikeHex(view.getInt32(at + 32, true));
  return dashes === 0x2d2d2d2d && (bits & HIGH_BITS) === 0;
}

/** Sets high bits where four bytes are not as wanted: any digit for 0x30 with 0x76 added, the wanted byte with 0x7f added. */
function unlike(bytes: number, wanted: number, add: number): number {
  const values = bytes ^ wanted;
  return values | (values + add);
}

/** Whether the bytes at `at` have the form of a time, with any digits. */
function isTime(view: DataView, at: number): boolean {
  const bits =
    unlike(view.getInt32(at, true), 0x30303030, 0x76767676) |
    unlike(view.getInt32(at + 4, true), 0x2d30302d, 0x7f76767f) |
    unlike(view.getInt32(at + 8, true), 0x30543030, 0x767f7676) |
    unlike(view.getInt32(at + 12, true), 0x30303a30, 0x76767f76) |
    unlike(view.getInt32(at + 16, true), 0x2e30303a, 0x7f76767f) |
    unlike(view.getInt32(at + 20, true), 0x5a303030, 0x7f767676);
  return (bits & HIGH_BITS) === 0;
}

function escapeEnd(view: DataView, at: number, to: number): number {
  if (at + 6 > to) return -1;
  const length = ESCAPE_BYTES[view.getUint8(at + 1)]!;
  if (length === 2) return at + 2;
  return length === 6 && (unlikeHex(view.getInt32(at + 2, true)) & HIGH_BITS) === 0 ? at + 6 : -1;
}

/** The position of the quote after the characters of a text, or -1. */
function textEnd(view: DataView, from: number, to: number): number {
  let at = from;
  for (;;) {
    while (at + 8 <= to && (stopsIn(view.getInt32(at, true)) | stopsIn(view.getInt32(at + 4, true))) === 0)
      at += 8;
    if (at + 4 > to) return -1;
    const stops = stopsIn(view.getInt32(at, true));
    if (stops === 0) {
      at += 4;
      continue;
    }
    at += (31 - Math.clz32(stops & -stops)) >> 3;
    const byte = view.getUint8(at);
    if (byte === QUOTE) return at;
    if (byte !== BACKSLASH) return -1;
    at = escapeEnd(view, at, to);
    if (at < 0) return -1;
  }
}

function countEnd(view: DataView, from: number, to: number): number {
  let at = from;
  for (; at < to; at++) {
    const byte = view.getUint8(at);
    if (byte < ZERO || byte > NINE) break;
  }
  const isCount = at === from + 1 || (at > from && view.getUint8(from) !== ZERO);
  return isCount ? at : -1;
}

/** `true`, and `alse`, as numbers of four bytes. */
const [TRUE, ALSE] = ["true", "alse"].map((word) => Buffer.from(word).readInt32LE());

function booleanEnd(view: DataView, at: number, to: number): number {
  if (at + 5 > to) return -1;
  if (view.getInt32(at, true) === TRUE) return at + 4;
  return view.getUint8(at) === 0x66 && view.getInt32(at + 1, true) === ALSE ? at + 5 : -1;
}

/** The position after a value, or -1. */
function valueEnd(view: DataView, at: number, to: number, type: FieldType): number {
  if (type === "text") return textEnd(view, at, to);
  if (type === "count") return countEnd(view, at, to);
  if (type === "boolean") return booleanEnd(view, at, to);
  const end = at + VALUE_BYTES[type]!;
  return end <= to && (type === "id" ? isId(view, at) : isTime(view, at)) ? end : -1;
}

function isRow(view: DataView, from: number, to: number, { parts, endBytes, end }: Shape): boolean {
  let at = from;
  for (const part of parts) {
    if (at + part.length > to || !isLiteral(view, at, part)) return false;
    at = valueEnd(view, at + part.length, to, part.next);
    if (at < 0) return false;
  }
  return at + endBytes === to && view.getInt32(to - 4, true) >>> (32 - 8 * endBytes) === end;
}

/** The row after a group of rows that are checked together. */
function pieceEnd({ rows, starts }: Block, from: number): number {
  const end = starts[from]! + PIECE_BYTES;
  let row = from + 1;
  while (row < rows && starts[row]! < end) row++;
  return row;
}

/** Whether neighbouring rows are good. Good UTF-8 stays good when it is cut at bytes of ASCII. */
function areRows({ bytes, starts }: Block, from: number, to: number, shape: Shape): boolean {
  const first = starts[from]!;
  const piece = bytes.subarray(first, starts[to]);
  if (!isUtf8(piece)) return false;
  const view = new DataView(piece.buffer, piece.byteOffset, piece.length);
  for (let row = from; row < to; row++)
    if (!isRow(view, starts[row]! - first, starts[row + 1]! - first, shape)) return false;
  return true;
}

const SHAPES = TABLES.map((table) => {
  const block = table === "world-stats" ? "worldStats" : table;
  return [block, shapeOf(table)] as const;
});

/**
 * The path of the first block with anything but such rows; undefined if all blocks are good.
 *
 * @param store its starts must ascend to the ends of its blocks
 * @param onPiece called after each turn; a throw ends the check
 */
export async function misfitRows(store: Store, onPiece: () => void): Promise<string | undefined> {
  for (const [name, shape] of SHAPES) {
    const block = store[name];
    for (let from = 0; from < block.rows; ) {
      const to = pieceEnd(block, from);
      if (!areRows(block, from, to, shape)) return `store.${name}.bytes`;
      from = to;
      await turn();
      onPiece();
    }
  }
  return undefined;
}
