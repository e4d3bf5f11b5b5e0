/**
 * Sets of documents, each with a flag: whether its name matches, not its description alone.
 *
 * A small set is a sorted list, a large one is a bitset: sorting a list of a hundred thousand takes longer than setting
 * as many bits and reading all of them.
 */

import { type BitsetLoan, BitsetPool, bitWords, countBits, EntrySorter } from "./bitset.ts";
import { STEP, type Work } from "./work.ts";

/** Entries, document * 2 + flag, ascending, no document twice. */
export interface ListSet {
  readonly kind: "list";
  readonly entries: Uint32Array;
}

/** Bit d % 32 of word d / 32 is document d; all documents of `inName` are in `any`. */
export interface DocumentBitset {
  readonly kind: "bits";
  readonly any: Uint32Array;
  readonly inName: Uint32Array;
  /** Number of bits in `any`, and in `inName`. */
  readonly size: number;
  readonly named: number;
}

export type DocumentSet = ListSet | DocumentBitset;

export const NO_DOCUMENTS: DocumentSet = { kind: "list", entries: new Uint32Array(0) };

export function sizeOf(set: DocumentSet): number {
  return set.kind === "list" ? set.entries.length : set.size;
}

export type BitPair = Pick<DocumentBitset, "any" | "inName">;

export function documentBitsetOf({ any, inName }: BitPair): DocumentBitset {
  return { kind: "bits", any, inName, size: countBits(any), named: countBits(inName) };
}

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
    // Without a branch: the flag is unpredictable.
    inName[entry >>> 6]! |= (entry & 1) << (entry >>> 1);
  }
}

/** The posting list of word w is `entries[starts[w]]` to `entries[starts[w + 1] - 1]`: document * 2 + flag, ascending. */
export interface WordPostings {
  readonly documents: number;
  readonly starts: Uint32Array;
  readonly entries: Uint32Array;
}

/** The new number of each document, by its old one. */
export type Renumbering = Uint32Array;

/** Number of entries in the posting lists of some words together. */
export function countEntries({ starts }: WordPostings, lists: ArrayLike<number>): number {
  let total = 0;
  for (let at = 0; at < lists.length; at++) total += starts[lists[at]! + 1]! - starts[lists[at]!]!;
  return total;
}

/** Going to a list takes about as long as reading this many of its entries. */
export const LIST_WORK = 8;

/** Sets the bits of the documents of some words, without a pause. @returns how many were not set before */
export function countNew(
  { starts, entries }: WordPostings,
  words: Uint32Array,
  { any, inName }: BitPair,
): number {
  let count = 0;
  for (let at = 0; at < words.length; at++) {
    const to = starts[words[at]! + 1]!;
    for (let index = starts[words[at]!]!; index < to; index++) {
      const entry = entries[index]!;
      const bit = entry >>> 1;
      const before = any[entry >>> 6]!;
      // Without a branch: these bits are unpredictable.
      count += 1 - ((before >>> bit) & 1);
      any[entry >>> 6] = before | (1 << bit);
      inName[entry >>> 6]! |= (entry & 1) << bit;
    }
  }
  return count;
}

/** Words that stand for their documents. */
export interface WordList {
  readonly kind: "words";
  readonly words: Uint32Array;
}

export type SetOrWords = DocumentSet | WordList;

/** The posting lists of words, and memory that all searches over them share; used without a pause, but for bitsets of the pool. */
export interface OpenPostings {
  readonly wordPostings: WordPostings;
  /** Empty between two searches. */
  readonly marks: BitPair;
  /** Empty between two searches. */
  readonly sorter: EntrySorter;
  /** Room for all documents, and for all entries of posting lists that are read without a pause. */
  readonly kept: Uint32Array;
  readonly pool: BitsetPool;
}

export function openPostings(wordPostings: WordPostings): OpenPostings {
  const { documents } = wordPostings;
  const bits = (): Uint32Array => new Uint32Array(bitWords(documents));
  return {
    wordPostings,
    marks: { any: bits(), inName: bits() },
    sorter: new EntrySorter(documents),
    kept: new Uint32Array(Math.max(documents, MOST_UNSETTLED)),
    pool: new BitsetPool(documents),
  };
}

export function clearMarks({ marks }: OpenPostings): void {
  marks.any.fill(0);
  marks.inName.fill(0);
}

/*
 * Uniting posting lists: few postings are sorted into a list, without a pause; many set bits of a bitset, with pauses.
 */

/** A union below this share of all documents is a list. */
const SPARSE = 1 / 32;

/** Lists with more work than this, their entries included, are united with pauses before they are intersected. */
export const MOST_UNSETTLED = 32_768;

/** Most entries that are united, or picked from, without a pause. */
export const AT_ONCE = 16_384;

/** The union of the posting lists of some words. */
export function* unite(open: OpenPostings, words: ArrayLike<number>, loan: BitsetLoan): Work<DocumentSet> {
  const { documents, starts, entries } = open.wordPostings;
  const total = countEntries(open.wordPostings, words);
  if (words.length === 1 && total <= AT_ONCE) {
    return { kind: "list", entries: entries.subarray(starts[words[0]!]!, starts[words[0]! + 1]!) };
  }
  // A list is never longer than can be read without a pause.
  if (total <= Math.min(documents * SPARSE + 16, AT_ONCE)) return uniteFew(open, words, total);
  const pair = takePair(loan);
  yield* addLists(open.wordPostings, words, pair);
  return documentBitsetOf(pair);
}

/** The same for words of few postings, without a pause. @param total the number of their entries */
export function uniteFew(
  { wordPostings: { starts, entries }, sorter }: OpenPostings,
  words: ArrayLike<number>,
  total: number,
): ListSet {
  // Allocated first, since it can fail: the sorter must be left empty.
  const united = new Uint32Array(total);
  for (let at = 0; at < words.length; at++) {
    sorter.add(entries, starts[words[at]!]!, starts[words[at]! + 1]!);
  }
  // A copy of the used part, since it may be kept for long.
  return { kind: "list", entries: united.slice(0, sorter.drain(united)) };
}

export function takePair(loan: BitsetLoan): BitPair {
  return { any: loan.take(), inName: loan.take() };
}

export function* addEntries(entries: Uint32Array, { any, inName }: BitPair): Work<void> {
  for (let at = 0; at < entries.length; at += STEP) {
    if (at > 0) yield;
    addToBits(entries, at, Math.min(at + STEP, entries.length), any, inName);
  }
}

function* addLists({ starts, entries }: WordPostings, words: ArrayLike<number>, pair: BitPair): Work<void> {
  let work = 0;
  for (let at = 0; at < words.length; at++) {
    const from = starts[words[at]!]!;
    const to = starts[words[at]! + 1]!;
    work += to - from + 1;
    if (to - from > STEP) yield* addEntries(entries.subarray(from, to), pair);
    else addToBits(entries, from, to, pair.any, pair.inName);
    if (work > STEP) {
      work = 0;
      yield;
    }
  }
}
