/**
 * Search over display names.
 *
 * Folded names are indexed by their trigrams. The number of a name is its user's row, so ascending numbers are list
 * order.
 *
 * A search locates the postings of its term. If these are few, names are counted while the top-k are taken, and a later
 * page makes a list of all; if very many, names are gathered in bitsets.
 */

import type { PageOf } from "../store/generation.ts";
import { checkLimit, MOST_TEXTS } from "../store/limits.ts";
import { BitsetLoan, BitsetPool, countBits, EntrySorter } from "./bitset.ts";
import { fold } from "./fold.ts";
import { indexTrigrams } from "./index-trigrams.ts";
import { type Located, locate, postingsAtEnd, postingsIn, sizeOfRange } from "./locate.ts";
import { listPostings, PostingReader } from "./posting-reader.ts";
import {
  bitsetResults,
  ListedResults,
  NO_RESULTS,
  ownBytes,
  type ResultSet,
  retainPage,
  TopK,
  topResults,
} from "./result-set.ts";
import { lengthOf, TextsBuilder } from "./texts.ts";
import { beginningMask, GRAM, isBeginning, isRepeated, type TrigramIndex, textOf } from "./trigrams.ts";
import { STEP, type Work } from "./work.ts";

/** Indexed names, all in shared memory: other threads can use them. */
export interface NameIndex {
  readonly trigrams: TrigramIndex;
}

/** Indexes users. @param nameOf display name by row @throws {LimitError} when there are too many names */
export function indexUsers(rows: number, nameOf: (row: number) => string): NameIndex {
  checkLimit(rows, MOST_TEXTS, "names of users");
  const names = new TextsBuilder();
  for (let row = 0; row < rows; row++) names.add(fold(nameOf(row)));
  return { trigrams: indexTrigrams(names.finish()) };
}

export interface OpenNameIndex extends NameIndex {
  readonly sorter: EntrySorter;
  readonly pool: BitsetPool;
}

export function openUsers({ trigrams }: NameIndex): OpenNameIndex {
  const { count } = trigrams.texts;
  return { trigrams, sorter: new EntrySorter(count), pool: new BitsetPool(count) };
}

/** With more postings, names are gathered in bitsets. Up to this many are listed without a pause. */
const MANY = 16_384;
/** The k of the top-k: a first page of the usual size, and some more. */
const TOP = 32;

/**
 * Finds the users whose folded name contains a term.
 * @param term folded and trimmed, not empty
 * @param page results outside of it may be unknown
 * @returns user rows: names equal to the term, names that begin with it, the rest, each ascending
 */
export function* searchUsers(index: OpenNameIndex, term: string, page: PageOf): Work<ResultSet> {
  const { trigrams } = index;
  const located = locate(trigrams, term);
  if (sizeOfRange(located.range) > MANY) return yield* gatherNames(index, located, term, page);
  const postings = located.isExact
    ? postingsIn(trigrams, located.range)
    : yield* listPostings(trigrams, located, term);
  if (postings.length === 0) return NO_RESULTS;
  const equal = equalNames(trigrams, postingsAtEnd(trigrams, located, term) ?? postings, term.length);
  // The trigrams of a shorter term do not tell which texts hold it twice.
  if (term.length < GRAM) return new ListedResults(listNames(index, postings, equal));
  const repeated: number[] = [];
  for (let at = 0; at < postings.length; at++) if (isRepeated(postings[at]!)) repeated.push(postings[at]!);
  const entries = repeated.length === 0 ? NO_NAMES : entriesOf(index, Uint32Array.from(repeated));
  const total = postings.length - repeated.length + entries.length;
  const top = topNames(trigrams, postings, equal, entries, Math.min(TOP, total));
  const listBytes = total * Uint32Array.BYTES_PER_ELEMENT;
  return topResults(total, top, listBytes + ownBytes(postings), () => {
    return new ListedResults(listNames(index, postings, equal));
  });
}

const NO_NAMES = new Uint32Array(0);

/** The names at some postings, each once, ascending: number * 2, and 1 more if one of the postings is its beginning. */
function entriesOf({ trigrams, sorter }: OpenNameIndex, postings: Uint32Array): Uint32Array {
  const entries = new Uint32Array(postings.length);
  for (let at = 0; at < postings.length; at++) {
    entries[at] = textOf(trigrams, postings[at]!) * 2 + (isBeginning(trigrams, postings[at]!) ? 1 : 0);
  }
  sorter.add(entries, 0, entries.length);
  return entries.subarray(0, sorter.drain(entries));
}

function listNames(index: OpenNameIndex, postings: Uint32Array, equal: Uint32Array): Uint32Array {
  const entries = entriesOf(index, postings);
  const ranked = new Uint32Array(entries.length);
  // In an index file from other code, a name may be at many postings, so `equal` may be longer than all names.
  ranked.set(equal.subarray(0, entries.length));
  let to = equal.length;
  // Both are ascending.
  for (let at = 0, skipped = 0; at < entries.length; at++) {
    const name = entries[at]! >>> 1;
    if ((entries[at]! & 1) === 0) continue;
    if (name === equal[skipped]) skipped++;
    else ranked[to++] = name;
  }
  for (let at = 0; at < entries.length; at++) if ((entries[at]! & 1) === 0) ranked[to++] = entries[at]! >>> 1;
  return ranked;
}

/** Whether a posting is the beginning of a name of this length. */
function isName(trigrams: TrigramIndex, posting: number, length: number): boolean {
  return isBeginning(trigrams, posting) && lengthOf(trigrams.texts, textOf(trigrams, posting)) === length;
}

/** Names that a posting of the term begins, and that are as long, ascending; without a pause. */
function equalNames(trigrams: TrigramIndex, postings: Uint32Array, length: number): Uint32Array {
  const equal: number[] = [];
  for (let at = 0; at < postings.length; at++) {
    if (isName(trigrams, postings[at]!, length)) equal.push(textOf(trigrams, postings[at]!));
  }
  return equal.length === 0 ? NO_NAMES : Uint32Array.from(equal).sort();
}

/**
 * The top-k names without a list of all: a name whose text does not hold the trigram again goes straight into the k
 * smallest of its rank class.
 * @param repeated the entries of all others, which may be at several of the postings
 * @param k at most the number of names
 */
function topNames(
  trigrams: TrigramIndex,
  postings: Uint32Array,
  equal: Uint32Array,
  repeated: Uint32Array,
  k: number,
): number[] {
  const first = new TopK(Math.max(k - equal.length, 0));
  const rest = new TopK(Math.max(k - equal.length, 0));
  const take = (name: number, begins: boolean): void => {
    const top = begins ? first : rest;
    if (name < top.limit && !(begins && equal.includes(name))) top.add(name);
  };
  for (let at = 0; at < postings.length; at++) {
    const posting = postings[at]!;
    const name = textOf(trigrams, posting);
    // Most names come too late, and need no other test.
    if (name >= rest.limit && name >= first.limit) continue;
    if (!isRepeated(posting)) take(name, isBeginning(trigrams, posting));
  }
  for (const entry of repeated) take(entry >>> 1, (entry & 1) === 1);
  const top: number[] = [];
  for (const numbers of [equal, first.numbers, rest.numbers]) {
    for (let at = 0; at < numbers.length && top.length < k; at++) top.push(numbers[at]!);
  }
  return top;
}

function* gatherNames(index: OpenNameIndex, located: Located, term: string, page: PageOf): Work<ResultSet> {
  yield "long";
  const loan = new BitsetLoan(index.pool);
  try {
    const sets = [loan.take(), loan.take(), loan.take()] as const;
    yield* markNames(index.trigrams, located, term, sets);
    const counted = sets.map((bits) => ({ bits, count: countBits(bits) }));
    return retainPage(bitsetResults(counted), page, loan);
  } finally {
    loan.end();
  }
}

/** Sets the bits of the names equal to the term, of names that begin with it, and of all names with it. */
function* markNames(
  trigrams: TrigramIndex,
  located: Located,
  term: string,
  [equal, first, any]: readonly [Uint32Array, Uint32Array, Uint32Array],
): Work<void> {
  const ends = postingsAtEnd(trigrams, located, term);
  const reader = new PostingReader(trigrams, located, term);
  for (let chunk = reader.next(); chunk !== undefined; chunk = reader.next()) {
    for (let at = 0; at < chunk.length; at++) {
      const posting = chunk[at]!;
      const name = textOf(trigrams, posting);
      const bit = 1 << name;
      any[name >>> 5]! |= bit;
      // Without a branch, since the data are unpredictable, it takes half the time.
      first[name >>> 5]! |= bit & beginningMask(trigrams, posting);
    }
    if (ends === undefined) addEqual(trigrams, chunk, term, equal);
    yield;
  }
  if (ends === undefined) return;
  for (let at = 0; at < ends.length; at += STEP) {
    addEqual(trigrams, ends.subarray(at, at + STEP), term, equal);
    yield;
  }
}

function addEqual(
  trigrams: TrigramIndex,
  postings: Uint32Array,
  { length }: string,
  equal: Uint32Array,
): void {
  for (let at = 0; at < postings.length; at++) {
    if (!isName(trigrams, postings[at]!, length)) continue;
    const name = textOf(trigrams, postings[at]!);
    equal[name >>> 5]! |= 1 << name;
  }
}
