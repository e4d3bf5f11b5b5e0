/** Places in packed rows, which follow from their layout: searched texts are read back without parsing a row. */

import { RESOURCES, type ResourceName, type ServedPart, servedLayout, VALUE_BYTES } from "../model/schema.ts";
import type { Block, Cut } from "./table.ts";

/** The least bytes of parts; fields of fixed length always have so many. */
function leastBytes(parts: readonly ServedPart[]): number {
  return parts.reduce((sum, { before, field: { type } }) => {
    return sum + before.length + (VALUE_BYTES[type] ?? { text: 0, boolean: 4, count: 1 }[type as "text"]);
  }, 0);
}

/** Bytes of a row before the value of a field: the same number in all rows. */
function placeOf(resource: ResourceName, name: string): number {
  const { parts } = servedLayout(RESOURCES[resource].fields);
  const at = parts.findIndex(({ field }) => field.name === name);
  return leastBytes(parts.slice(0, at)) + parts[at]!.before.length;
}

function cutOfFoundWorlds(): Cut {
  const { parts, end } = servedLayout(RESOURCES.world.fields);
  const later = parts.slice(servedLayout(RESOURCES.foundWorld.fields).parts.length);
  // The quote of the description stays.
  return { tail: leastBytes(later) + end.length - 1, next: Buffer.from(later[0]!.before.slice(1)) };
}

/** A search item is a prefix of its world: the part that is left off. */
export const FOUND_WORLD_CUT = cutOfFoundWorlds();

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
