/**
 * Whether packed tables hold rows as the encoder writes them, so that replies made of them are JSON, whoever made
 * the file.
 *
 * Looked at are rows at equal distances: to look at all bytes of a large table would take as long as half of the
 * load. So what was changed by hand in one row of many may be missed.
 */

import { encodeInstance, encodeUser, encodeWorld, encodeWorldStats } from "../../store/encode.ts";
import type { Store } from "../../store/generation.ts";
import { type Block, rowObject } from "../../store/table.ts";

/** Rows of which both ends are looked at, and rows that are encoded again, which takes some two microseconds each. */
const MOST_ENDS = 1024;
const MOST_ENCODED = 64;

const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;
const COMMA = 0x2c;
const QUOTE = 0x22;

/** Whether a row begins and ends as an object and its comma do. */
function hasEnds({ bytes, starts }: Block, row: number): boolean {
  const from = starts[row]!;
  const to = starts[row + 1]!;
  return (
    bytes[from] === OPENING_BRACE &&
    bytes[from + 1] === QUOTE &&
    bytes[to - 2] === CLOSING_BRACE &&
    bytes[to - 1] === COMMA
  );
}

/** Whether a row is what its values are encoded to. */
function isEncoded<Row extends object>(block: Block, row: number, encode: (row: Row) => string): boolean {
  try {
    const { bytes, starts } = block;
    const encoded = Buffer.from(encode(rowObject<Row>(block, row)));
    return encoded.equals(bytes.subarray(starts[row], starts[row + 1]! - 1));
  } catch {
    return false;
  }
}

/** Whether a test holds for so many rows at equal distances. */
function holdsAt(rows: number, most: number, test: (row: number) => boolean): boolean {
  const count = Math.min(rows, most);
  for (let at = 0; at < count; at++) if (!test(Math.floor((at / count) * rows))) return false;
  return true;
}

function areRows<Row extends object>(block: Block, encode: (row: Row) => string): boolean {
  return (
    holdsAt(block.rows, MOST_ENDS, (row) => hasEnds(block, row)) &&
    holdsAt(block.rows, MOST_ENCODED, (row) => isEncoded(block, row, encode))
  );
}

/** The path of the first block that holds something else; undefined where all are as they must be. */
export function misfitRows({ users, worlds, worldStats, instances }: Store): string | undefined {
  if (!areRows(users, encodeUser)) return "store.users.bytes";
  if (!areRows(worlds, encodeWorld)) return "store.worlds.bytes";
  if (!areRows(worldStats, encodeWorldStats)) return "store.worldStats.bytes";
  if (!areRows(instances, encodeInstance)) return "store.instances.bytes";
  return undefined;
}
