/**
 * The texts that are searched, read back from packed rows: where they stand in
 * a row is known, so nothing of it needs to be parsed, and nothing need be kept
 * beside the rows until the index is made.
 */

import { DESCRIPTION_AFTER_NAME, DISPLAY_NAME_AT, WORLD_NAME_AT } from "./encode.ts";
import type { Block } from "./table.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Place of the quote that ends the JSON string whose characters begin at `from`. */
function endOfString(bytes: Uint8Array, from: number): number {
  let at = from;
  for (;;) {
    const byte = bytes[at]!;
    if (byte === QUOTE) return at;
    at += byte === BACKSLASH ? 2 : 1;
  }
}

function stringAt(bytes: Buffer, from: number): string {
  const text = bytes.toString("utf8", from, endOfString(bytes, from));
  return text.includes("\\") ? (JSON.parse(`"${text}"`) as string) : text;
}

/** Display name of a user. */
export function displayNameOf(users: Block, row: number): string {
  return stringAt(users.bytes, users.starts[row]! + DISPLAY_NAME_AT);
}

/** Name of a world. */
export function worldNameOf(worlds: Block, row: number): string {
  return stringAt(worlds.bytes, worlds.starts[row]! + WORLD_NAME_AT);
}

/** Description of a world. */
export function descriptionOf(worlds: Block, row: number): string {
  const nameEnd = endOfString(worlds.bytes, worlds.starts[row]! + WORLD_NAME_AT);
  return stringAt(worlds.bytes, nameEnd + DESCRIPTION_AFTER_NAME);
}
