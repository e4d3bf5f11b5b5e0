/**
 * A packed table: one byte block with the JSON of every row, in list order. A row's number is its position in the list, and a
 * comma follows every row, so a page of a list is one slice. A single row is read as a one-byte ("latin1") string.
 */

import type { Slices } from "../model/body.ts";
import { sharedBytes, sharedUint32, type TextColumn } from "./bytes.ts";
import type { IdMap } from "./ids.ts";
import { checkLimit, MOST_TABLE_BYTES } from "./limits.ts";

export interface Block {
  readonly rows: number;
  readonly bytes: Buffer;
  /** Row r is `bytes[starts[r]]` up to its comma at `starts[r + 1] - 1`. */
  readonly starts: Uint32Array;
}

export interface Table extends Block {
  readonly ids: IdMap;
}

/** Packs staged texts into a block. @param order the staged number of each row @throws {LimitError} above 4 GiB */
export function packBlock(texts: TextColumn, order: Uint32Array, mostBytes = MOST_TABLE_BYTES): Block {
  let total = 0;
  for (const at of order) total += texts.lengthAt(at) + 1;
  // The offset after the last comma must fit, too.
  checkLimit(total + 1, mostBytes, "bytes of visible rows");
  const rows = order.length;
  const bytes = sharedBytes(total);
  const starts = sharedUint32(rows + 1);
  let offset = 0;
  for (let row = 0; row < rows; row++) {
    const at = order[row]!;
    starts[row] = offset;
    texts.copyTo(at, bytes, offset);
    offset += texts.lengthAt(at);
    bytes[offset++] = 0x2c;
  }
  starts[rows] = offset;
  return { rows, bytes, starts };
}

/** Most bytes of the copies of one order, some 8,000 worlds. */
const MOST_COPIED_BYTES = 4_194_304;

/** Copies of the first rows in another order, so that a page of them is one slice: as many whole rows as `mostBytes` has room for. */
export function copyFirstRows(
  { bytes, starts }: Block,
  order: Uint32Array,
  mostBytes = MOST_COPIED_BYTES,
): Block {
  const places = [0];
  for (const row of order) {
    const end = places.at(-1)! + starts[row + 1]! - starts[row]!;
    if (end > mostBytes) break;
    places.push(end);
  }
  const rows = places.length - 1;
  const copies = { rows, bytes: sharedBytes(places[rows]!), starts: sharedUint32(rows + 1) };
  copies.starts.set(places);
  for (let at = 0; at < rows; at++) {
    const row = order[at]!;
    bytes.copy(copies.bytes, places[at]!, starts[row]!, starts[row + 1]!);
  }
  return copies;
}

/** Restores a block from another thread: its Buffer arrives as a plain array over the same memory. */
export function reviveBlock<B extends Block>(block: B): B {
  const { buffer, byteOffset, byteLength } = block.bytes;
  return { ...block, bytes: Buffer.from(buffer, byteOffset, byteLength) };
}

export function rowText(block: Block, row: number): string {
  return block.bytes.toString("latin1", block.starts[row]!, block.starts[row + 1]! - 1);
}

/** The JSON of neighbouring rows, separated by commas. */
export function sliceRange({ bytes, starts }: Block, from: number, to: number): Slices {
  if (to <= from) return { bytes, ranges: [], between: "", behind: "", length: 0 };
  const start = starts[from]!;
  const end = starts[to]! - 1;
  return { bytes, ranges: [start, end], between: "", behind: "", length: end - start };
}

/** A part that is left off the end of each row; a closing brace replaces it. */
export interface Cut {
  readonly tail: number;
  /** Its first bytes, which do not occur again in the row: no text holds a quote without a backslash. */
  readonly next: Uint8Array;
}

/** Where a row ends without the part left off. @param to where that part begins at its least length */
function cutEnd(bytes: Uint8Array, from: number, to: number, next: Uint8Array): number {
  let end = to;
  for (let at = 0; at < next.length && end > from; at++) {
    if (bytes[end + at] === next[at]) continue;
    end--;
    at = -1;
  }
  return end;
}

/** The JSON of any rows, separated by commas. */
export function sliceRows({ bytes, starts }: Block, rows: ArrayLike<number>, cut?: Cut): Slices {
  const ranges: number[] = [];
  const last = rows.length - 1;
  const between = cut === undefined ? "" : "},";
  const behind = cut === undefined || last < 0 ? "" : "}";
  let length = Math.max(last, 0) * between.length + behind.length;
  for (let at = 0; at <= last; at++) {
    const row = rows[at]!;
    const from = starts[row]!;
    const end = starts[row + 1]!;
    // Every row but the last keeps its comma.
    let to = at === last ? end - 1 : end;
    if (cut !== undefined) to = cutEnd(bytes, from, end - 1 - cut.tail, cut.next);
    ranges.push(from, to);
    length += to - from;
  }
  return { bytes, ranges, between, behind, length };
}

const BEFORE_ID = '{"id":"'.length;
const ID_CHARS = 36;

/** The id of a row as text; every row of a table begins with it. */
export function idText(block: Block, row: number): string {
  const start = block.starts[row]! + BEFORE_ID;
  return block.bytes.toString("latin1", start, start + ID_CHARS);
}

/** One row as an object, for indexing and checks; not for the request path. */
export function rowObject<Row>(block: Block, row: number): Row {
  return JSON.parse(block.bytes.toString("utf8", block.starts[row]!, block.starts[row + 1]! - 1)) as Row;
}
