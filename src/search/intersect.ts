/**
 * Intersecting sets of documents, and the documents of posting lists.
 *
 * The smaller set is marked in a bitset, then the larger one is scanned: to unite lists, or to merge two side by side,
 * takes at least twice the time. A much shorter list is looked up in a long one by galloping search, and two bitsets
 * are combined word by word.
 */

import { gallop } from "../util/sorted.ts";
import type { BitsetLoan } from "./bitset.ts";
import {
  addToBits,
  type BitPair,
  clearMarks,
  countNew,
  type DocumentBitset,
  type DocumentSet,
  documentBitsetOf,
  type ListSet,
  type OpenPostings,
  type SetOrWords,
  takePair,
  type WordList,
} from "./document-sets.ts";

/**
 * Documents that are in both; the flag stays where both have it.
 * @param more if it or `less` is words, they must have so few postings that no pause is needed
 * @param loan an argument's bitset that belongs to it is overwritten
 */
export function intersect(
  less: SetOrWords,
  more: SetOrWords,
  open: OpenPostings,
  loan: BitsetLoan,
): DocumentSet {
  if (less.kind === "bits") {
    return more.kind === "bits" ? andBits(less, more, loan) : keepMarked(more, less, open);
  }
  if (more.kind === "bits") return keepMarked(less, more, open);
  const { marks, wordPostings } = open;
  if (less.kind === "words") {
    countNew(wordPostings, less.words, marks);
    const kept = keepMarked(more, marks, open);
    clearMarks(open);
    return kept;
  }
  if (more.kind === "list" && less.entries.length * MUCH_LESS < more.entries.length) {
    return gallopAll(less.entries, more.entries);
  }
  addToBits(less.entries, 0, less.entries.length, marks.any, marks.inName);
  const kept = keepMarked(more, marks, open);
  // Less work than to clear all if there are few.
  for (const entry of less.entries) {
    marks.any[entry >>> 6] = 0;
    marks.inName[entry >>> 6] = 0;
  }
  return kept;
}

/** A list this many times shorter is looked up by galloping search. */
const MUCH_LESS = 16;

/** The marked documents of a list or of some words. */
function keepMarked(
  found: ListSet | WordList,
  { any, inName }: BitPair,
  { wordPostings, sorter, kept }: OpenPostings,
): ListSet {
  const { starts, entries, words } =
    found.kind === "list" ? asPostings(found) : { ...wordPostings, words: found.words };
  let count = 0;
  for (let word = 0; word < words.length; word++) {
    const to = starts[words[word]! + 1]!;
    for (let at = starts[words[word]!]!; at < to; at++) {
      const entry = entries[at]!;
      // Without a branch: the marks are unpredictable.
      kept[count] = entry;
      count += (any[entry >>> 6]! >>> (entry >>> 1)) & 1;
    }
  }
  dropFlags(kept, count, inName);
  if (words.length > 1) {
    sorter.add(kept, 0, count);
    count = sorter.drain(kept);
  }
  return { kind: "list", entries: kept.slice(0, count) };
}

/** A list as the posting list of one word. */
function asPostings({ entries }: ListSet) {
  return { starts: Uint32Array.of(0, entries.length), entries, words: Uint32Array.of(0) };
}

/** Clears the flag of entries whose document is not in a bitset. A pass of its own, since the kept entries are mostly few. */
function dropFlags(entries: Uint32Array, count: number, bits: Uint32Array): void {
  for (let at = 0; at < count; at++) {
    const entry = entries[at]!;
    entries[at] = (entry & ~1) | (entry & (bits[entry >>> 6]! >>> (entry >>> 1)) & 1);
  }
}

function andBits(a: DocumentBitset, b: DocumentBitset, loan: BitsetLoan): DocumentBitset {
  const target = loan.has(a.any) ? a : loan.has(b.any) ? b : takePair(loan);
  const { any, inName } = target;
  for (let at = 0; at < any.length; at++) {
    inName[at] = a.inName[at]! & b.inName[at]!;
    any[at] = a.any[at]! & b.any[at]!;
  }
  return documentBitsetOf(target);
}

function gallopAll(few: Uint32Array, many: Uint32Array): ListSet {
  const kept = new Uint32Array(few.length);
  let count = 0;
  let at = 0;
  for (const entry of few) {
    const document = entry >>> 1;
    at = gallop(many, document * 2, at, many.length);
    if (at === many.length) break;
    if (many[at]! >>> 1 === document) kept[count++] = document * 2 + (entry & many[at]! & 1);
  }
  return { kind: "list", entries: kept.slice(0, count) };
}
