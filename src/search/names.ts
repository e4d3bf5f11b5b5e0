/** Names in a ranking by how they match a term: equal to it, beginning with it, the rest. */

import type { PageOf } from "../store/generation.ts";
import { bitWords, countBits, EntrySorter } from "./bits.ts";
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
import {
  AT_HAND,
  BitMatches,
  ListedMatches,
  type Matches,
  NO_MATCHES,
  ownBytes,
  PickedMatches,
} from "./matches.ts";
import { findPlaces, placesAtEnd } from "./places.ts";
import { runNow, STEP, type Work } from "./slices.ts";
import { Smallest } from "./smallest.ts";
import { findTop, findTops, MOST_TOPS, noTops, TOP, type Tops } from "./tops.ts";
import { lengthOf } from "./units.ts";

/** Indexed names. All of it lies in shared memory and can be handed to other threads. */
export interface Names {
  readonly grams: Grams;
  readonly tops: Tops;
}

/** Names that can be searched. */
export interface NameIndex extends GramIndex, Names {
  /** Empty between two searches, and used without a pause. */
  readonly sorter: EntrySorter;
  /** Empty sets that no search works with at the moment. */
  readonly spare: NameSets[];
}

/** Names that match, as bits. */
interface NameSets {
  readonly any: Uint32Array;
  /** Those that begin with the term. */
  readonly first: Uint32Array;
}

/** The best names of a run are found beforehand when it stands at so many places. */
const FREQUENT = 32;

/**
 * Finds the best names of all runs that are worth it.
 *
 * @param least at so many places a run stands at least
 */
export function indexNames(grams: Grams, least = FREQUENT): Names {
  const index = openNames({ grams, tops: noTops() });
  const weigh = ({ length }: Uint32Array): number => length;
  const tops = findTops(
    grams,
    { least, weigh, mostRuns: grams.places.length * MOST_TOPS },
    ({ run, places }) => runNow(equalNames(grams, places, run)).length > 0,
    ({ run, places }) => runNow(namesAt(index, places, run)),
  );
  return { grams, tops };
}

/** Makes indexed names searchable on the calling thread. */
export function openNames({ grams, tops }: Names): NameIndex {
  return { ...openGrams(grams), tops, sorter: new EntrySorter(grams.texts.count), spare: [] };
}

/**
 * Finds every name that contains a term.
 *
 * @param term folded, not empty
 * @param page what is asked for; of other matches nothing need be known then
 * @returns numbers of names: those equal to the term, those that begin with it, the rest, each ascending
 */
export function* findNames(index: NameIndex, term: string, page?: PageOf): Work<Matches> {
  const top = page === undefined ? undefined : findTop(index.tops, term, page);
  return top ?? (yield* namesAt(index, yield* findPlaces(index, term), term));
}

/** Names by the places of a term. */
function* namesAt(index: NameIndex, places: Uint32Array, term: string): Work<Matches> {
  if (places.length === 0) return NO_MATCHES;
  const isMany = places.length > MANY;
  if (isMany) yield "long";
  const equal = yield* equalNames(index.grams, places, term);
  if (isMany) return yield* gatherNames(index, places, equal);
  // Of a shorter term the grams do not tell which texts hold it twice.
  const repeated = term.length < GRAM ? undefined : repeatedNames(index.grams, places);
  if (repeated === undefined) return new ListedMatches(listNames(index, places, equal));
  const total = places.length - repeated.places + repeated.names.length;
  const picked = pickNames(index.grams, places, equal, repeated.names, Math.min(TOP, total));
  const listBytes = total * Uint32Array.BYTES_PER_ELEMENT;
  return new PickedMatches(total, picked, listBytes + ownBytes(places), () => {
    return new ListedMatches(listNames(index, places, equal));
  });
}

/** With more places than these names are gathered as bits. Up to so many can be listed without a pause. */
const MANY = STEP / 2;

const NONE = new Uint32Array(0);

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
  if (equal.length === 0) return NONE;
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
  if (found.length === 0) return { names: NONE, places: 0 };
  const names = Uint32Array.from(found);
  if (found.length < 2) return { names, places: found.length };
  names.sort();
  let count = 0;
  for (const name of names) {
    if (count === 0 || names[count - 1]! >>> 1 !== name >>> 1) names[count++] = name;
  }
  return { names: names.subarray(0, count), places: found.length };
}

/** Takes the best names. @param many no more than there are */
function pickNames(
  grams: Grams,
  places: Uint32Array,
  equal: Uint32Array,
  repeated: Uint32Array,
  many: number,
): number[] {
  const hasEqual = equal.length > 0;
  const first = new Smallest(Math.max(many - equal.length, 0));
  const rest = new Smallest(Math.max(many - equal.length, 0));
  for (let at = 0; at < places.length; at++) {
    const place = places[at]!;
    const name = textAt(grams, place);
    // Most names are too far behind, and that is all that is asked of them.
    if (name >= rest.limit && (name >= first.limit || !isBeginning(grams, place))) continue;
    if (isRepeated(place)) continue;
    if (!isBeginning(grams, place)) rest.add(name);
    else if (name < first.limit && !(hasEqual && equal.includes(name))) first.add(name);
  }
  for (let at = 0; at < repeated.length; at++) {
    const name = repeated[at]! >>> 1;
    if (repeated[at]! & 1) {
      if (name < rest.limit) rest.add(name);
    } else if (name < first.limit && !(hasEqual && equal.includes(name))) first.add(name);
  }
  const picked: number[] = [];
  for (let at = 0; at < equal.length && at < many; at++) picked.push(equal[at]!);
  for (const { numbers } of [first, rest]) {
    for (let at = 0; at < numbers.length && picked.length < many; at++) picked.push(numbers[at]!);
  }
  return picked;
}

/** All names, ranked. */
function listNames({ grams, sorter }: NameIndex, places: Uint32Array, equal: Uint32Array): Uint32Array {
  const entries = new Uint32Array(places.length);
  for (let at = 0; at < places.length; at++) {
    entries[at] = textAt(grams, places[at]!) * 2 + (isBeginning(grams, places[at]!) ? 1 : 0);
  }
  sorter.add(entries, 0, entries.length);
  // Each name once; one that begins with the term may hold it once more.
  const total = sorter.drain(entries);
  const ranked = new Uint32Array(total);
  ranked.set(equal);
  let to = equal.length;
  // Both are ascending.
  for (let at = 0, skipped = 0; at < total; at++) {
    const name = entries[at]! >>> 1;
    if ((entries[at]! & 1) === 0) continue;
    if (name === equal[skipped]) skipped++;
    else ranked[to++] = name;
  }
  for (let at = 0; at < total; at++) if ((entries[at]! & 1) === 0) ranked[to++] = entries[at]! >>> 1;
  return ranked;
}

/**
 * Names of any number of places. What they are gathered in is used again: a
 * quarter of a megabyte of garbage a search, at a million names, makes the
 * thread collect garbage several times a second, on a processor that others need.
 */
function* gatherNames(index: NameIndex, places: Uint32Array, equal: Uint32Array): Work<Matches> {
  const { grams, spare } = index;
  // A search that is given up takes them with it.
  const sets = spare.pop() ?? newSets(grams);
  for (let at = 0; at < places.length; at += STEP) {
    if (at > 0) yield;
    addToSets(sets, grams, places, at, Math.min(at + STEP, places.length));
  }
  const matches = rankSets(sets, equal);
  if (places.length > TOO_MANY) return matches;
  const picked = matches.page({ limit: AT_HAND, offset: 0 });
  sets.any.fill(0);
  sets.first.fill(0);
  spare.push(sets);
  const setBytes = sets.any.byteLength + sets.first.byteLength;
  return new PickedMatches(matches.total, picked, setBytes + ownBytes(places), () => {
    const all = newSets(grams);
    addToSets(all, grams, places, 0, places.length);
    return rankSets(all, equal);
  });
}

/** To go over more places than these once more, for a page behind those at hand, takes too long without a pause. */
const TOO_MANY = 2 ** 20;

function newSets({ texts }: Grams): NameSets {
  return { any: new Uint32Array(bitWords(texts.count)), first: new Uint32Array(bitWords(texts.count)) };
}

function addToSets(
  { any, first }: NameSets,
  grams: Grams,
  places: Uint32Array,
  from: number,
  to: number,
): void {
  for (let at = from; at < to; at++) {
    const place = places[at]!;
    const name = textAt(grams, place);
    const bit = 1 << name;
    any[name >>> 5]! |= bit;
    // Nothing here is foreseen by a processor; without a branch it takes half the time.
    first[name >>> 5]! |= bit & beginningMask(grams, place);
  }
}

/** The classes of some sets, out of which the names that are the term are taken. */
function rankSets({ any, first }: NameSets, equal: Uint32Array): BitMatches {
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
