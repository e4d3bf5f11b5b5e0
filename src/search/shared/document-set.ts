/**
 * Sets of documents, each with a flag that says whether its name counts, not
 * its description alone.
 *
 * A small set is a sorted list, a large one is bits: to sort a list of a
 * hundred thousand takes longer than to set as many bits and walk over all of
 * them.
 */

import { type BitLoan, BitPool, bitWords, countBits, EntrySorter, lowestBit } from "./bits.ts";
import { STEP, type Work } from "./work.ts";

/** Entries, document * 2 + flag, ascending, no document twice. */
export interface ListSet {
  readonly kind: "list";
  readonly entries: Uint32Array;
}

/** Bit d % 32 of word d / 32 is document d; all that are in the second are in the first. */
export interface BitSet {
  readonly kind: "bits";
  readonly any: Uint32Array;
  readonly inName: Uint32Array;
  /** How many bits are set in the first, and in the second. */
  readonly size: number;
  readonly named: number;
}

/** A set of documents. */
export type DocumentSet = ListSet | BitSet;

/** The empty set. */
export const NO_DOCUMENTS: DocumentSet = { kind: "list", entries: new Uint32Array(0) };

/** A list is taken below this share of all documents. */
const SPARSE = 1 / 32;

/** Lists of entries: list w is `postings[starts[w]]` to `postings[starts[w + 1] - 1]`, ascending. */
export interface Postings {
  readonly documents: number;
  readonly starts: Uint32Array;
  readonly postings: Uint32Array;
}

/** How many entries some lists have together. */
export function countEntries({ starts }: Postings, lists: ArrayLike<number>): number {
  let total = 0;
  for (let at = 0; at < lists.length; at++) total += starts[lists[at]! + 1]! - starts[lists[at]!]!;
  return total;
}

/** Lists that take more work than this, their entries included, are united with pauses before sets of them are intersected. */
export const MOST_UNSETTLED = 32_768;

/** So many entries are united, or picked from, without a pause. */
export const AT_ONCE = 16_384;

/** To go to a list takes about as long as to pass over so many of its entries. */
export const LIST_WORK = 8;

/** Sets the bits of the documents of neighbouring entries. */
export function addToBits(
  entries: Uint32Array,
  from: number,
  to: number,
  any: Uint32Array,
  inName: Uint32Array,
): void {
  for (let at = from; at < to; at++) {
    const entry = entries[at]!;
    any[entry >>> 6]! |= 1 << (entry >>> 1);
    // Without a branch, since no processor foresees the flag.
    inName[entry >>> 6]! |= (entry & 1) << (entry >>> 1);
  }
}

/**
 * The union of some lists, which together may hold a document many times.
 *
 * @param scratch its sorter is empty, and used without a pause
 * @param loan what sets of bits are taken from
 */
export function* unite(
  all: Postings,
  lists: ArrayLike<number>,
  { sorter }: Pick<Scratch, "sorter">,
  loan: BitLoan,
): Work<DocumentSet> {
  const { documents, starts, postings } = all;
  const total = countEntries(all, lists);
  const isFew = total <= mostListed(documents);
  if (lists.length === 1 && total <= AT_ONCE) {
    return { kind: "list", entries: postings.subarray(starts[lists[0]!]!, starts[lists[0]! + 1]!) };
  }
  if (isFew) return uniteFew(all, lists, total, sorter);
  const pair = takePair(loan);
  yield* addLists(all, lists, pair);
  return bitSetOf(pair);
}

/** So many documents are kept as a list; never more than can be gone through without a pause. */
export function mostListed(documents: number): number {
  return Math.min(documents * SPARSE + 16, AT_ONCE);
}

/**
 * The union of lists that hold little: without a pause.
 *
 * @param total how many entries they have
 * @param sorter as of {@link unite}
 */
export function uniteFew(
  { starts, postings }: Postings,
  lists: ArrayLike<number>,
  total: number,
  sorter: EntrySorter,
): ListSet {
  // First of all what can fail: the sorter must be left empty.
  const entries = new Uint32Array(total);
  for (let at = 0; at < lists.length; at++) {
    sorter.add(postings, starts[lists[at]!]!, starts[lists[at]! + 1]!);
  }
  // A copy, since what is left may be kept for long.
  return { kind: "list", entries: entries.slice(0, sorter.drain(entries)) };
}

/** Documents in bits, before they are counted. */
export type BitPair = Pick<BitSet, "any" | "inName">;

/** Two empty sets. */
export function takePair(loan: BitLoan): BitPair {
  return { any: loan.take(), inName: loan.take() };
}

/** Counts documents in bits. */
export function bitSetOf({ any, inName }: BitPair): BitSet {
  return { kind: "bits", any, inName, size: countBits(any), named: countBits(inName) };
}

/** A set of few as a list; the bits are given back. */
export function listOfBits({ any, inName, size }: BitSet, loan: BitLoan): ListSet {
  const entries = new Uint32Array(size);
  let to = 0;
  for (let at = 0; at < any.length; at++) {
    const flags = inName[at]!;
    for (let word = any[at]!; word !== 0; word &= word - 1) {
      const bit = lowestBit(word);
      entries[to++] = (at * 32 + bit) * 2 + ((flags >>> bit) & 1);
    }
  }
  loan.give(any);
  loan.give(inName);
  return { kind: "list", entries };
}

/** Sets the bits of neighbouring entries, with pauses. */
export function* addEntries(entries: Uint32Array, { any, inName }: BitPair): Work<void> {
  for (let at = 0; at < entries.length; at += STEP) {
    if (at > 0) yield;
    addToBits(entries, at, Math.min(at + STEP, entries.length), any, inName);
  }
}

/** Sets the bits of the documents of some lists, with pauses. */
export function* addLists(
  { starts, postings }: Postings,
  lists: ArrayLike<number>,
  pair: BitPair,
): Work<void> {
  let work = 0;
  for (let at = 0; at < lists.length; at++) {
    const from = starts[lists[at]!]!;
    const to = starts[lists[at]! + 1]!;
    work += to - from + 1;
    if (to - from > STEP) yield* addEntries(postings.subarray(from, to), pair);
    else addToBits(postings, from, to, pair.any, pair.inName);
    if (work > STEP) {
      work = 0;
      yield;
    }
  }
}

/** Marks and counts documents. Its sets are to be read before they are cleared, without a pause. */
export class DocumentCounter {
  readonly any: Uint32Array;
  /** Those whose name counts. */
  readonly flagged: Uint32Array;

  constructor(documents: number) {
    this.any = new Uint32Array(bitWords(documents));
    this.flagged = new Uint32Array(this.any.length);
  }

  /** Adds the documents of some lists. @returns how many are new */
  count({ starts, postings }: Postings, lists: ArrayLike<number>): number {
    const { any, flagged } = this;
    let count = 0;
    for (let at = 0; at < lists.length; at++) {
      const to = starts[lists[at]! + 1]!;
      for (let place = starts[lists[at]!]!; place < to; place++) {
        const entry = postings[place]!;
        const bit = entry >>> 1;
        const before = any[entry >>> 6]!;
        // Without a branch, since no processor foresees these.
        count += 1 - ((before >>> bit) & 1);
        any[entry >>> 6] = before | (1 << bit);
        flagged[entry >>> 6]! |= (entry & 1) << bit;
      }
    }
    return count;
  }

  /** Adds the documents of a set. */
  add(entries: Uint32Array): void {
    addToBits(entries, 0, entries.length, this.any, this.flagged);
  }

  /** Removes all that were added from a set: for a few less work than to clear. */
  remove(entries: Uint32Array): void {
    for (let at = 0; at < entries.length; at++) {
      this.any[entries[at]! >>> 6] = 0;
      this.flagged[entries[at]! >>> 6] = 0;
    }
  }

  clear(): void {
    this.any.fill(0);
    this.flagged.fill(0);
  }
}

/** A set of documents, or the numbers of lists of postings whose documents are meant. */
export type SetOrLists = DocumentSet | Uint32Array;

/** What works on sets of documents share; all of it is used without a pause. */
export interface Scratch {
  /** Empty between two of them. */
  readonly counter: DocumentCounter;
  /** Empty between two of them. */
  readonly sorter: EntrySorter;
  /** Room for all documents, and for all entries of lists that are gone through without a pause. */
  readonly kept: Uint32Array;
  /** Sets of documents. */
  readonly pool: BitPool;
}

/** Makes what searches over so many documents share. */
export function createScratch(documents: number): Scratch {
  return {
    counter: new DocumentCounter(documents),
    sorter: new EntrySorter(documents),
    kept: new Uint32Array(Math.max(documents, MOST_UNSETTLED)),
    pool: new BitPool(documents),
  };
}

/** How many documents a set holds. */
export function sizeOf(set: DocumentSet): number {
  return set.kind === "list" ? set.entries.length : set.size;
}
