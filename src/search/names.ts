/** Names in a ranking by how they match a term: equal to it, beginning with it, the rest. */

import type { PageOf } from "../store/generation.ts";
import { BitSorter, bitWords, countBits } from "./bits.ts";
import {
  beginningMask,
  GRAM,
  type GramIndex,
  type Grams,
  isBeginning,
  isRepeated,
  openGrams,
  textAt,
} from "./grams.ts";
import { BitMatches, ListedMatches, type Matches } from "./matches.ts";
import { findPlaces, placesAtEnd } from "./places.ts";
import { STEP, type Work } from "./slices.ts";
import { Smallest } from "./smallest.ts";
import { lengthOf } from "./units.ts";

/** Names that can be searched. */
export interface NameIndex extends GramIndex {
  /** For names that begin with a term, and the rest. Empty between two searches, and used without a pause. */
  readonly first: BitSorter;
  readonly rest: BitSorter;
}

/** Makes indexed names searchable on the calling thread. */
export function openNames(grams: Grams): NameIndex {
  const { count } = grams.texts;
  return { ...openGrams(grams), first: new BitSorter(count), rest: new BitSorter(count) };
}

const NO_MATCHES = new ListedMatches(new Uint32Array(0));

/**
 * Finds every name that contains a term.
 *
 * @param term folded, not empty
 * @returns numbers of names: those equal to the term, those that begin with it, the rest, each ascending
 */
export function* findNames(index: NameIndex, term: string): Work<Matches> {
  const places = yield* findPlaces(index, term);
  if (places.length === 0) return NO_MATCHES;
  const isMany = places.length > MANY;
  if (isMany) yield "long";
  const equal = yield* equalNames(index.grams, places, term);
  if (isMany) return yield* gatherNames(index, places, equal);
  // Of a shorter term the grams do not tell which texts hold it twice.
  const repeated = term.length < GRAM ? undefined : repeatedNames(index.grams, places);
  if (repeated === undefined) return new ListedMatches(listNames(index, places, equal));
  const total = places.length - repeated.places + repeated.names.length;
  return new PlacedNames(index, places, equal, repeated.names, total);
}

/** With more places than these names are gathered as bits. Up to so many can be listed without a pause. */
const MANY = STEP / 2;

/** Names that are the term, ascending. */
function* equalNames(grams: Grams, places: Uint32Array, term: string): Work<Uint32Array> {
  // To ask every beginning for the length of its name would take longer than all else.
  const ends = placesAtEnd(grams, places, term);
  const equal: number[] = [];
  let isSorted = true;
  for (let at = 0; at < ends.length; at++) {
    if (at % STEP === STEP - 1) yield;
    if (!isBeginning(grams, ends[at]!)) continue;
    const name = textAt(grams, ends[at]!);
    if (lengthOf(grams.texts, name) !== term.length) continue;
    if (equal.length > 0 && equal[equal.length - 1]! > name) isSorted = false;
    equal.push(name);
  }
  const sorted = Uint32Array.from(equal);
  return isSorted ? sorted : sorted.sort();
}

/** With more places whose texts may hold the term twice, all names are listed. */
const FEW_REPEATED = 1024;

/**
 * Names that may be at several of the places, each once: number * 2, and 1 more when none of the places is its beginning.
 *
 * @returns undefined when there are too many
 */
function repeatedNames(
  grams: Grams,
  places: Uint32Array,
): { names: Uint32Array; places: number } | undefined {
  const found: number[] = [];
  for (let at = 0; at < places.length; at++) {
    const place = places[at]!;
    if (!isRepeated(place)) continue;
    if (found.length === FEW_REPEATED) return undefined;
    found.push(textAt(grams, place) * 2 + (isBeginning(grams, place) ? 0 : 1));
  }
  const names = Uint32Array.from(found);
  if (found.length < 2) return { names, places: found.length };
  names.sort();
  let count = 0;
  for (const name of names) {
    if (count === 0 || names[count - 1]! >>> 1 !== name >>> 1) names[count++] = name;
  }
  return { names: names.subarray(0, count), places: found.length };
}

/** So many of the best are picked: a first page of the usual size, and some more. */
const PICKED = 32;

/**
 * Names known by the places of a term. The first are picked; a page behind them
 * takes a list of all.
 */
class PlacedNames implements Matches {
  readonly #index: NameIndex;
  readonly #places: Uint32Array;
  readonly #equal: Uint32Array;
  readonly #picked: Uint32Array;
  #listed: ListedMatches | undefined;
  readonly total: number;

  constructor(
    index: NameIndex,
    places: Uint32Array,
    equal: Uint32Array,
    repeated: Uint32Array,
    total: number,
  ) {
    this.#index = index;
    this.#places = places;
    this.#equal = equal;
    this.total = total;
    this.#picked = this.#pick(repeated);
  }

  /** As if they were listed; the places may be a part of the index, or not. */
  get bytes(): number {
    return (this.total + PICKED) * Uint32Array.BYTES_PER_ELEMENT + this.#places.byteLength;
  }

  has(): boolean {
    return true;
  }

  page(page: PageOf): Uint32Array {
    const { length } = this.#picked;
    if (page.offset + page.limit <= length || length === this.total) {
      return this.#picked.subarray(Math.min(page.offset, length), page.offset + page.limit);
    }
    this.#listed ??= new ListedMatches(listNames(this.#index, this.#places, this.#equal));
    return this.#listed.page(page);
  }

  #pick(repeated: Uint32Array): Uint32Array {
    const { grams } = this.#index;
    const places = this.#places;
    const equal = this.#equal;
    const many = Math.max(Math.min(PICKED, this.total) - equal.length, 0);
    const first = new Smallest(many);
    const rest = new Smallest(many);
    for (let at = 0; at < places.length; at++) {
      const place = places[at]!;
      const name = textAt(grams, place);
      // Most names are too far behind, and that is all that is asked of them.
      if (name >= rest.limit && (name >= first.limit || !isBeginning(grams, place))) continue;
      if (isRepeated(place)) continue;
      if (!isBeginning(grams, place)) rest.add(name);
      else if (name < first.limit && !equal.includes(name)) first.add(name);
    }
    for (let at = 0; at < repeated.length; at++) {
      const name = repeated[at]! >>> 1;
      if (repeated[at]! & 1) {
        if (name < rest.limit) rest.add(name);
      } else if (name < first.limit && !equal.includes(name)) first.add(name);
    }
    const picked = new Uint32Array(Math.min(PICKED, this.total));
    let to = 0;
    for (const part of [equal, first.numbers, rest.numbers]) {
      for (let at = 0; at < part.length && to < picked.length; at++) picked[to++] = part[at]!;
    }
    return picked;
  }
}

/** All names, ranked. */
function listNames({ grams, first, rest }: NameIndex, places: Uint32Array, equal: Uint32Array): Uint32Array {
  // First of all what can fail: the sorters must be left empty.
  const ranked = new Uint32Array(places.length);
  ranked.set(equal);
  for (let at = 0; at < places.length; at++) {
    const place = places[at]!;
    (isBeginning(grams, place) ? first : rest).add(textAt(grams, place));
  }
  for (let at = 0; at < equal.length; at++) first.remove(equal[at]!);
  const end = first.drain(ranked, equal.length);
  // A name that begins with the term may hold it once more.
  for (let at = 0; at < end; at++) rest.remove(ranked[at]!);
  const total = rest.drain(ranked, end);
  return total === ranked.length ? ranked : ranked.slice(0, total);
}

/** Names of any number of places, as bits. */
function* gatherNames({ grams }: NameIndex, places: Uint32Array, equal: Uint32Array): Work<Matches> {
  const any = new Uint32Array(bitWords(grams.texts.count));
  const first = new Uint32Array(any.length);
  for (let at = 0; at < places.length; at++) {
    if (at % STEP === STEP - 1) yield;
    const place = places[at]!;
    const name = textAt(grams, place);
    const bit = 1 << name;
    any[name >>> 5]! |= bit;
    // Nothing here is foreseen by a processor; without a branch it takes half the time.
    first[name >>> 5]! |= bit & beginningMask(grams, place);
  }
  for (let at = 0; at < equal.length; at++) {
    const name = equal[at]!;
    first[name >>> 5]! &= ~(1 << name);
    any[name >>> 5]! &= ~(1 << name);
  }
  const firstCount = countBits(first);
  return new BitMatches(equal, [
    { count: firstCount, bits: first, butNot: undefined },
    { count: countBits(any) - firstCount, bits: any, butNot: first },
  ]);
}
