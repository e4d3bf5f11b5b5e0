/** Joins the two parts of an index of grams, which may come from two threads. */

import { sharedFloat64, sharedUint32 } from "../store/bytes.ts";
import { checkLimit, MOST_GRAMS, MOST_LIST_WORDS } from "../store/limits.ts";
import { BEGIN, type Grams, hashOf, keyOf, longerGram, ROOT } from "./grams.ts";

/** The grams that begin with some units, in shared memory. They are numbered from {@link FIRST}, each after its parent. */
export interface GramPart {
  /** By gram: the gram without its last unit, and that unit. */
  readonly parents: Uint32Array;
  readonly units: Uint32Array;
  /** By gram: how many documents contain it. */
  readonly counts: Uint32Array;
  /** By gram: where its list begins and ends in `lists`. Grams share the list of their parent if it has the same documents. */
  readonly places: Uint32Array;
  readonly ends: Uint32Array;
  readonly lists: Uint32Array;
}

/** The number of the first gram. */
export const FIRST = BEGIN + 1;

/** Joins parts. The second one's grams get the numbers after those of the first. */
export function joinParts(
  { documents, few }: Pick<Grams, "documents" | "few">,
  parts: readonly GramPart[],
): Grams {
  const table = joinTables(parts);
  return { documents, few, ...table, ...joinLists(table, parts) };
}

type Table = Pick<Grams, "keys" | "slots" | "counts">;

function joinTables(parts: readonly GramPart[]): Table {
  const size = parts.reduce((sum, { counts }) => sum + counts.length - FIRST, FIRST);
  checkLimit(size, MOST_GRAMS, "grams of searched texts");
  const keys = sharedFloat64(size);
  const counts = sharedUint32(size);
  const slots = sharedUint32(2 ** Math.ceil(Math.log2(2 * size)));
  const mask = slots.length - 1;
  let number = FIRST;
  for (const part of parts) {
    const added = number - FIRST;
    counts.set(part.counts.subarray(FIRST), number);
    for (let gram = FIRST; gram < part.counts.length; gram++, number++) {
      const parent = part.parents[gram]!;
      const joined = parent < FIRST ? parent : parent + added;
      const unit = part.units[gram]!;
      keys[number] = keyOf(joined, unit);
      let slot = hashOf(joined, unit) & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = number;
    }
  }
  return { keys, slots, counts };
}

/** By gram: a part of it that is in the same documents, as equal counts tell; itself if there is none. */
function sameGrams({ keys, slots, counts }: Table): Uint32Array {
  const same = new Uint32Array(keys.length);
  /** By gram: the gram without its first unit; {@link ROOT} if there is none. */
  const shorter = new Uint32Array(keys.length);
  for (let gram = FIRST; gram < keys.length; gram++) {
    const key = keys[gram]!;
    const parent = Math.floor(key / 65_536);
    if (parent !== ROOT) shorter[gram] = longerGram({ keys, slots }, shorter[parent]!, key % 65_536);
    const isSame = (other: number): boolean => other >= FIRST && counts[other] === counts[gram];
    if (isSame(parent)) same[gram] = parent;
    else same[gram] = isSame(shorter[gram]!) ? shorter[gram]! : gram;
  }
  return same;
}

function joinLists(table: Table, parts: readonly GramPart[]): Pick<Grams, "places" | "lists"> {
  const same = sameGrams(table);
  let words = 0;
  eachList(same, parts, (_gram, list) => {
    words += list.length;
  });
  checkLimit(words, MOST_LIST_WORDS, "words of document lists");
  const lists = sharedUint32(words);
  const places = sharedUint32(same.length);
  let place = 0;
  eachList(same, parts, (gram, list) => {
    lists.set(list, place);
    places[gram] = place;
    place += list.length;
  });
  for (let gram = FIRST; gram < same.length; gram++) {
    let owner = gram;
    while (same[owner] !== owner) owner = same[owner]!;
    places[gram] = places[owner]!;
  }
  return { places, lists };
}

/** Calls back with each gram that has a list of its own, and with that list. */
function eachList(
  same: Uint32Array,
  parts: readonly GramPart[],
  take: (gram: number, list: Uint32Array) => void,
): void {
  let number = FIRST;
  for (const { lists, places, ends } of parts)
    for (let gram = FIRST; gram < places.length; gram++, number++)
      if (same[number] === number) take(number, lists.subarray(places[gram], ends[gram]));
}
