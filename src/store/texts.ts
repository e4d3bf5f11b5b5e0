/** Searched texts, read back from packed rows: their offsets are known, so no row is parsed. */

import { RESOURCES, type ResourceName, servedLayout, VALUE_BYTES } from "../model/schema.ts";
import type { Block } from "./table.ts";

/** Bytes of a row before the value of a field: the same number in all rows. */
function placeOf(resource: ResourceName, name: string): number {
  const { parts } = servedLayout(RESOURCES[resource].fields);
  const at = parts.findIndex(({ field }) => field.name === name);
  return parts
    .slice(0, at)
    .reduce(
      (sum, { before, field }) => sum + before.length + VALUE_BYTES[field.type]!,
      parts[at]!.before.length,
    );
}

const DISPLAY_NAME_AT = placeOf("user", "displayName");
const WORLD_NAME_AT = placeOf("world", "name");
/** Bytes from the quote after a world's name to the characters of its description. */
const DESCRIPTION_AFTER_NAME = '","description":"'.length;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Position of the quote that ends the JSON string with its first character at `from`. */
function endOfString(bytes: Uint8Array, from: number): number {
  let at = from;
  while (bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at;
}

function stringAt(bytes: Buffer, from: number): string {
  const text = bytes.toString("utf8", from, endOfString(bytes, from));
  return text.includes("\\") ? (JSON.parse(`"${text}"`) as string) : text;
}

export function displayNameOf(users: Block, row: number): string {
  return stringAt(users.bytes, users.starts[row]! + DISPLAY_NAME_AT);
}

export function worldNameOf(worlds: Block, row: number): string {
  return stringAt(worlds.bytes, worlds.starts[row]! + WORLD_NAME_AT);
}

export function descriptionOf(worlds: Block, row: number): string {
  const nameEnd = endOfString(worlds.bytes, worlds.starts[row]! + WORLD_NAME_AT);
  return stringAt(worlds.bytes, nameEnd + DESCRIPTION_AFTER_NAME);
}
