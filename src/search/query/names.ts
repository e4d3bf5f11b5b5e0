/** Names in a ranking by how they match a term: equal to it, beginning with it, the rest. */

import type { PageOf } from "../../store/generation.ts";
import { BitLoan, BitPool, countBits, EntrySorter } from "../shared/bits.ts";
import { lengthOf } from "../shared/texts.ts";
import { FIRST_TOPS, findTop, findTops, MOST_TOPS, noTops, TOP, type Tops } from "../shared/top-table.ts";
import {
  beginningMask,
  GRAM,
  type Grams,
  isBeginning,
  isRepeated,
  rangeOf,
  textAt,
} from "../shared/trigrams.ts";
import { runNow, STEP, type Work } from "../shared/work.ts";
import { type Located, locate, placesAtEnd, placesIn, placesOf, sizeOfRange } from "./locate.ts";
import { PlaceReader } from "./posting-reader.ts";
import {
  BitMatches,
  holdPage,
  ListedMatches,
  type MatchClass,
  type Matches,
  NO_MATCHES,
  ownBytes,
  PickedMatches,
} from "./result-set.ts";
import { Smallest } from "./top-k.ts";

/** Indexed names. All of it lies in shared memory and can be handed to other threads. */
export interface Names {
  readonly grams: Grams;
  readonly tops: Tops;
}

/** Names that can be searched. */
export interface NameIndex extends Names {
  /** Empty between two searches, and used without a pause. */
  readonly sorter: EntrySorter;
  /** Sets of names. */
  readonly pool: BitPool;
}

/** Names that match, as bits. */
interface NameSets {
  readonly any: Uint32Array;
  /** Those that begin with the term. */
  readonly first: Uint32Array;
  /** Those that are the term. */
  readonly equal: Uint32Array;
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
    ({ run, places }) => hasEqual(grams, places, run),
    ({ run, places }) => {
      const located = { range: rangeOf(grams, places), offset: 0, isWhole: true };
      return runNow(namesAt(index, located, run, FIRST_TOPS));
    },
  );
  return { grams, tops };
}

/** Makes indexed names searchable on the calling thread. */
export function openNames({ grams, tops }: Names): NameIndex {
  const { count } = grams.texts;
  return { grams, tops, sorter: new EntrySorter(count), pool: new BitPool(count) };
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
  return top ?? (yield* namesAt(index, locate(index.grams, term), term, page));
}

/** Names by the places of a term. */
function* namesAt(index: NameIndex, located: Located, term: string, page: PageOf | undefined): Work<Matches> {
  if (sizeOfRange(located.range) > MANY) return yield* gatherNames(index, located, term, page);
  const places = located.isWhole
    ? placesIn(index.grams, located.range)
    : yield* placesOf(index.grams, located, term);
  if (places.length === 0) return NO_MATCHES;
  const equal = equalNames(index.grams, places, term);
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

/** With more places than these names are gathered as bits. Up to so many are listed without a pause. */
const MANY = 16_384;

const NONE = new Uint32Array(0);

/** Whether a place is the beginning of a name that is so long. */
function isName(grams: Grams, place: number, length: number): boolean {
  return isBeginning(grams, place) && lengthOf(grams.texts, textAt(grams, place)) === length;
}

/** Whether a name is the term. */
function hasEqual(grams: Grams, places: Uint32Array, term: string): boolean {
  // To ask every beginning for the length of its name would take longer than all else.
  return placesAtEnd(grams, places, term).some((place) => isName(grams, place, term.length));
}

/** Names that are the term, ascending; without a pause. */
function equalNames(grams: Grams, places: Uint32Array, term: string): Uint32Array {
  const ends = placesAtEnd(grams, places, term);
  const equal: number[] = [];
  let isSorted = true;
  for (let at = 0; at < ends.length; at++) {
    if (!isName(grams, ends[at]!, term.length)) continue;
    const name = textAt(grams, ends[at]!);
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

/** Names of any number of places, which are read straight into sets. */
function* gatherNames(
  index: NameIndex,
  located: Located,
  term: string,
  page: PageOf | undefined,
): Work<Matches> {
  yield "long";
  const loan = new BitLoan(index.pool);
  try {
    const sets: NameSets = { any: loan.take(), first: loan.take(), equal: loan.take() };
    yield* markNames(index, located, term, sets);
    yield* markEqual(index.grams, located, term, sets.equal);
    return holdPage(rankSets(sets), page, () => loan.keepAll());
  } finally {
    loan.end();
  }
}

function* markNames(
  index: NameIndex,
  located: Located,
  term: string,
  { any, first, equal }: NameSets,
): Work<void> {
  const { grams } = index;
  // Those of a longer term are not told from others by their places.
  const hasNoEnds = !located.isWhole || term.length >= grams.depth;
  const reader = new PlaceReader(grams, located, term);
  for (let chunk = reader.next(); chunk !== undefined; chunk = reader.next()) {
    for (let at = 0; at < chunk.length; at++) {
      const place = chunk[at]!;
      const name = textAt(grams, place);
      const bit = 1 << name;
      any[name >>> 5]! |= bit;
      // Nothing here is foreseen by a processor; without a branch it takes half the time.
      first[name >>> 5]! |= bit & beginningMask(grams, place);
    }
    if (hasNoEnds) addEqual(grams, chunk, term, equal);
    yield;
  }
}

/** Sets the bits of names that are the term, where the places at the end of names are known. */
function* markEqual(grams: Grams, located: Located, term: string, equal: Uint32Array): Work<void> {
  if (!located.isWhole || term.length >= grams.depth) return;
  const ends = placesAtEnd(grams, placesIn(grams, located.range), term);
  for (let at = 0; at < ends.length; at += STEP) {
    addEqual(grams, ends.subarray(at, at + STEP), term, equal);
    yield;
  }
}

function addEqual(grams: Grams, places: Uint32Array, { length }: string, equal: Uint32Array): void {
  for (let at = 0; at < places.length; at++) {
    if (!isName(grams, places[at]!, length)) continue;
    const name = textAt(grams, places[at]!);
    equal[name >>> 5]! |= 1 << name;
  }
}

function rankSets({ any, first, equal }: NameSets): BitMatches {
  const equalCount = countBits(equal);
  const firstCount = countBits(first);
  const classes: MatchClass[] = [
    { count: equalCount, bits: equal, butNot: undefined },
    { count: firstCount - equalCount, bits: first, butNot: equal },
    { count: countBits(any) - firstCount, bits: any, butNot: first },
  ];
  return new BitMatches(NONE, classes);
}
