/**
 * A packed table: every row encoded once, in list order, in one byte block.
 *
 * A row's number is its place in the list, and rows are followed by a comma,
 * so a page of a list is one slice between two offsets. Texts come out as
 * one-byte ("latin1") strings, which node:http sends with the head in one write.
 */

import { MAX_BLOCK_BYTES, sharedBytes, sharedUint32, type TextColumn } from "./bytes.ts";
import type { IdMap } from "./ids.ts";

/** Encoded rows without ids. */
export interface Block {
  readonly rows: number;
  readonly bytes: Buffer;
  /** Row r is `bytes[starts[r]]` up to its comma at `starts[r + 1] - 1`. */
  readonly starts: Uint32Array;
}

/** Encoded rows that can be found by id. */
export interface Table extends Block {
  readonly ids: IdMap;
}

/**
 * Packs staged texts into a block.
 *
 * @param order the staged number of each row
 * @throws {RangeError} above 4 GiB
 */
export function packBlock(texts: TextColumn, order: Uint32Array): Block {
  let total = 0;
  for (const at of order) total += texts.lengthAt(at) + 1;
  if (total > MAX_BLOCK_BYTES) throw new RangeError("a table of a snapshot is larger than 4 GiB");
  const rows = order.length;
  const bytes = sharedBytes(total);
  const starts = sharedUint32(rows + 1);
  let place = 0;
  for (let row = 0; row < rows; row++) {
    const at = order[row]!;
    starts[row] = place;
    texts.copyTo(at, bytes, place);
    place += texts.lengthAt(at);
    bytes[place++] = 0x2c;
  }
  starts[rows] = place;
  return { rows, bytes, starts };
}

/** A block as it came from another thread, where a Buffer arrives as a plain array over the same memory. */
export function reviveBlock<B extends Block>(block: B): B {
  const { buffer, byteOffset, byteLength } = block.bytes;
  return { ...block, bytes: Buffer.from(buffer, byteOffset, byteLength) };
}

/** One row's JSON. */
export function rowText(block: Block, row: number): string {
  return block.bytes.toString("latin1", block.starts[row]!, block.starts[row + 1]! - 1);
}

/** The JSON of neighbouring rows, separated by commas; "" when there are none. */
export function rangeText(block: Block, from: number, to: number): string {
  return to > from ? block.bytes.toString("latin1", block.starts[from]!, block.starts[to]! - 1) : "";
}

/**
 * The JSON of any rows, separated by commas.
 *
 * @param tail bytes to leave off the end of each row; a closing brace takes their place
 */
export function rowsText(block: Block, rows: ArrayLike<number>, tail = 0): string {
  // Each piece that is put to a text makes an object: so a row comes with its comma, or the brace and comma before it.
  let text = "";
  const last = rows.length - 1;
  for (let at = 0; at <= last; at++) {
    const row = rows[at]!;
    const start = block.starts[row]!;
    const end = block.starts[row + 1]!;
    if (tail === 0) text += block.bytes.toString("latin1", start, at === last ? end - 1 : end);
    else {
      if (at > 0) text += "},";
      text += block.bytes.toString("latin1", start, end - 1 - tail);
    }
  }
  return tail === 0 || last < 0 ? text : `${text}}`;
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
