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
import { knowsEnds, type Located, locate, postingsAtEnd, postingsIn, sizeOfRange } from "./locate.ts";
import { listPostings, PostingReader } from "./posting-reader.ts";
import {
  bitsetResults,
  ListedResults,
  NO_RESULTS,
  ownBytes,
  type RankClass,
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
  /** Empty between two searches, and used without a pause. */
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
  const ends = knowsEnds(trigrams, located, term) ? postingsAtEnd(trigrams, located, term) : postings;
  const equal = equalNames(trigrams, ends, term.length);
  // The trigrams of a shorter term do not tell which texts hold it twice.
  const repeated = term.length < GRAM ? undefined : repeatedNames(trigrams, postings);
  if (repeated === undefined) return new ListedResults(listNames(index, postings, equal));
  const total = postings.length - repeated.postings + repeated.names.length;
  const top = topNames(trigrams, postings, equal, repeated.names, Math.min(TOP, total));
  const listBytes = total * Uint32Array.BYTES_PER_ELEMENT;
  return topResults(total, top, listBytes + ownBytes(postings), () => {
    return new ListedResults(listNames(index, postings, equal));
  });
}

function listNames(
  { trigrams, sorter }: OpenNameIndex,
  postings: Uint32Array,
  equal: Uint32Array,
): Uint32Array {
  const entries = new Uint32Array(postings.length);
  for (let at = 0; at < postings.length; at++) {
    entries[at] = textOf(trigrams, postings[at]!) * 2 + (isBeginning(trigrams, postings[at]!) ? 1 : 0);
  }
  sorter.add(entries, 0, entries.length);
  // Each name once, even if it begins with the term and holds it again.
  const total = sorter.drain(entries);
  const ranked = new Uint32Array(total);
  // In an index file from other code, a name may be at many postings, so `equal` may be longer than all names.
  ranked.set(equal.subarray(0, total));
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

const NO_NAMES = new Uint32Array(0);

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

/*
 * The top-k of few names without a list of all. A posting says whether its name holds the trigram again. If not, its
 * name goes straight into the k smallest of its rank class; only the others are sorted and merged.
 */

/** All names are listed if more postings than this are of texts that may hold the term twice. */
const FEW_REPEATED = 1024;

/**
 * Names that may be at several of the postings, each once: number * 2, and 1 more when none of the postings is its
 * beginning; undefined when there are too many.
 */
function repeatedNames(
  trigrams: TrigramIndex,
  postings: Uint32Array,
): { names: Uint32Array; postings: number } | undefined {
  const found: number[] = [];
  for (let at = 0; at < postings.length; at++) {
    const posting = postings[at]!;
    if (!isRepeated(posting)) continue;
    if (found.length === FEW_REPEATED) return undefined;
    found.push(textOf(trigrams, posting) * 2 + (isBeginning(trigrams, posting) ? 0 : 1));
  }
  if (found.length === 0) return { names: NO_NAMES, postings: 0 };
  const names = Uint32Array.from(found);
  names.sort();
  let count = 0;
  for (const name of names) {
    if (count === 0 || names[count - 1]! >>> 1 !== name >>> 1) names[count++] = name;
  }
  return { names: names.subarray(0, count), postings: found.length };
}

/** The top-k names. @param k at most their number */
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
  for (const name of repeated) take(name >>> 1, (name & 1) === 0);
  const top: number[] = [];
  for (const numbers of [equal, first.numbers, rest.numbers]) {
    for (let at = 0; at < numbers.length && top.length < k; at++) top.push(numbers[at]!);
  }
  return top;
}

interface NameSets {
  readonly any: Uint32Array;
  readonly first: Uint32Array;
  readonly equal: Uint32Array;
}

function* gatherNames(index: OpenNameIndex, located: Located, term: string, page: PageOf): Work<ResultSet> {
  yield "long";
  const loan = new BitsetLoan(index.pool);
  try {
    const sets: NameSets = { any: loan.take(), first: loan.take(), equal: loan.take() };
    yield* markNames(index.trigrams, located, term, sets);
    return retainPage(rankSets(sets), page, () => loan.keepAll());
  } finally {
    loan.end();
  }
}

/** Sets the bits of all names with the term, of names that begin with it, and of names equal to it. */
function* markNames(
  trigrams: TrigramIndex,
  located: Located,
  term: string,
  { any, first, equal }: NameSets,
): Work<void> {
  const hasEnds = knowsEnds(trigrams, located, term);
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
    if (!hasEnds) addEqual(trigrams, chunk, term, equal);
    yield;
  }
  if (!hasEnds) return;
  const ends = postingsAtEnd(trigrams, located, term);
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

function rankSets({ any, first, equal }: NameSets): ResultSet {
  const equalCount = countBits(equal);
  const firstCount = countBits(first);
  const classes: RankClass[] = [
    { count: equalCount, bits: equal, butNot: undefined },
    { count: firstCount - equalCount, bits: first, butNot: equal },
    { count: countBits(any) - firstCount, bits: any, butNot: first },
  ];
  return bitsetResults(NO_NAMES, classes);
}
