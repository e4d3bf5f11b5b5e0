/**
 * Uniting posting lists into a set of documents.
 *
 * Few postings are sorted into a list, without a pause. Many set bits of a
 * bitset, which is walked over once, and pause every so many postings.
 */

import { lowestBit } from "../shared/bitset.ts";
import {
  addToBits,
  type BitPair,
  type DocumentBitset,
  type DocumentSet,
  documentBitsetOf,
  type ListSet,
} from "../shared/document-set.ts";
import type { EntrySorter } from "../shared/entry-sorter.ts";
import { countEntries, type WordPostings } from "../shared/word-postings.ts";
import { STEP, type Work } from "../shared/work.ts";
import type { BitsetLoan } from "./bitset-pool.ts";

/** A list is taken below this share of all documents. */
const SPARSE = 1 / 32;

/** Lists that take more work than this, their entries included, are united with pauses before sets of them are intersected. */
export const MOST_UNSETTLED = 32_768;

/** So many entries are united, or picked from, without a pause. */
export const AT_ONCE = 16_384;

/**
 * The union of the posting lists of some words, which together may hold a document many times.
 *
 * @param sorter is empty, and used without a pause
 * @param loan what sets of bits are taken from
 */
export function* unite(
  all: WordPostings,
  words: ArrayLike<number>,
  { sorter }: { readonly sorter: EntrySorter },
  loan: BitsetLoan,
): Work<DocumentSet> {
  const { documents, starts, entries } = all;
  const total = countEntries(all, words);
  const isFew = total <= mostListed(documents);
  if (words.length === 1 && total <= AT_ONCE) {
    return { kind: "list", entries: entries.subarray(starts[words[0]!]!, starts[words[0]! + 1]!) };
  }
  if (isFew) return uniteFew(all, words, total, sorter);
  const pair = takePair(loan);
  yield* addLists(all, words, pair);
  return documentBitsetOf(pair);
}

/** So many documents are kept as a list; never more than can be gone through without a pause. */
export function mostListed(documents: number): number {
  return Math.min(documents * SPARSE + 16, AT_ONCE);
}

/**
 * The same for words of few postings: without a pause.
 *
 * @param total how many entries they have
 * @param sorter as of {@link unite}
 */
export function uniteFew(
  { starts, entries }: WordPostings,
  words: ArrayLike<number>,
  total: number,
  sorter: EntrySorter,
): ListSet {
  // First of all what can fail: the sorter must be left empty.
  const united = new Uint32Array(total);
  for (let at = 0; at < words.length; at++) {
    sorter.add(entries, starts[words[at]!]!, starts[words[at]! + 1]!);
  }
  // A copy, since what is left may be kept for long.
  return { kind: "list", entries: united.slice(0, sorter.drain(united)) };
}

/** Two empty sets. */
export function takePair(loan: BitsetLoan): BitPair {
  return { any: loan.take(), inName: loan.take() };
}

/** A set of few as a list; the bits are given back. */
export function listOfBits({ any, inName, size }: DocumentBitset, loan: BitsetLoan): ListSet {
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

/** Sets the bits of the documents of some words, with pauses. */
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
