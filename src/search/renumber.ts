/**
 * Gives the documents of an index other numbers, for worlds whose ranking alone has changed.
 *
 * Words, their trigrams, the order of names and which n-grams are worth knowing depend on texts alone and are used
 * again. What holds numbers of documents is permuted: a document's words move with it, posting lists are filled from
 * them in the new order, and sets of documents are taken apart and put together.
 */

import { sharedUint32 } from "../store/bytes.ts";
import { EntrySorter, lowestBit } from "./bitset.ts";
import type { WordPostings } from "./document-sets.ts";
import type { NameOrder } from "./name-order.ts";
import type { DenseNgrams, SparseNgrams } from "./ngram-documents.ts";
import { lengthOf, type Texts } from "./texts.ts";
import type { DocumentWords, WordIndex } from "./word-index.ts";

/** The number of each document by the one that it had. */
export type Renumbering = Uint32Array;

/** The numbers that documents get. @param before rows in the order that was; `now` holds the same rows */
export function renumber(before: Uint32Array, now: Uint32Array): Renumbering {
  const ofRow = new Uint32Array(now.length);
  for (let document = 0; document < now.length; document++) ofRow[now[document]!] = document;
  return before.map((row) => ofRow[row]!);
}

/** The words of documents that have other numbers. */
export function renumberWords(
  { trigrams, wordPostings, ngramDocuments, byDocument }: WordIndex,
  numbers: Renumbering,
): WordIndex {
  const moved = moveDocuments(byDocument, numbers);
  return {
    trigrams,
    wordPostings: { ...wordPostings, entries: fillPostings(moved, wordPostings) },
    ngramDocuments: {
      dense: renumberDense(ngramDocuments.dense, numbers),
      sparse: renumberSparse(ngramDocuments.sparse, numbers),
    },
    byDocument: moved,
  };
}

function moveDocuments({ starts, words }: DocumentWords, numbers: Renumbering): DocumentWords {
  const movedStarts = sharedUint32(starts.length);
  for (let before = 0; before < numbers.length; before++)
    movedStarts[numbers[before]! + 1] = starts[before + 1]! - starts[before]!;
  for (let document = 0; document < numbers.length; document++)
    movedStarts[document + 1]! += movedStarts[document]!;
  const moved = sharedUint32(words.length);
  for (let before = 0; before < numbers.length; before++) {
    let to = movedStarts[numbers[before]!]!;
    for (let at = starts[before]!; at < starts[before + 1]!; at++) moved[to++] = words[at]!;
  }
  return { starts: movedStarts, words: moved };
}

/** Distributes the words of documents, in order of these, over the posting lists. */
function fillPostings(byDocument: DocumentWords, { documents, starts }: WordPostings): Uint32Array {
  const next = starts.slice();
  const entries = sharedUint32(byDocument.words.length);
  for (let document = 0; document < documents; document++) {
    const end = byDocument.starts[document + 1]!;
    for (let at = byDocument.starts[document]!; at < end; at++) {
      const word = byDocument.words[at]!;
      entries[next[word >>> 1]!++] = document * 2 + (word & 1);
    }
  }
  return entries;
}

function renumberDense(dense: DenseNgrams, numbers: Renumbering): DenseNgrams {
  const any = sharedUint32(dense.any.length);
  const inName = sharedUint32(dense.inName.length);
  for (let from = 0; from < any.length; from += dense.words) {
    moveBits(dense.any, any, from, dense.words, numbers);
    moveBits(dense.inName, inName, from, dense.words, numbers);
  }
  return { ...dense, any, inName };
}

function moveBits(
  bits: Uint32Array,
  target: Uint32Array,
  from: number,
  words: number,
  numbers: Renumbering,
): void {
  for (let at = 0; at < words; at++) {
    for (let word = bits[from + at]!; word !== 0; word &= word - 1) {
      const number = numbers[at * 32 + lowestBit(word)]!;
      target[from + (number >>> 5)]! |= 1 << number;
    }
  }
}

function renumberSparse({ keys, starts, entries }: SparseNgrams, numbers: Renumbering): SparseNgrams {
  const sorter = new EntrySorter(numbers.length);
  const moved = sharedUint32(entries.length);
  for (let at = 0; at < entries.length; at++)
    moved[at] = numbers[entries[at]! >>> 1]! * 2 + (entries[at]! & 1);
  for (let ngram = 0; ngram < keys.length; ngram++) {
    const [from, to] = [starts[ngram]!, starts[ngram + 1]!];
    sorter.add(moved, from, to);
    sorter.drain(moved.subarray(from, to));
  }
  return { keys, starts, entries: moved };
}

/** The order of names of documents that have other numbers: equal names are in order of these. @param rows as in it */
export function renumberNames(
  { names, byName: before }: NameOrder,
  numbers: Renumbering,
  rows: Uint32Array,
): NameOrder {
  const byName = sharedUint32(before.length);
  for (let rank = 0; rank < byName.length; rank++) byName[rank] = numbers[before[rank]!]!;
  for (let from = 0, to = 0; from < byName.length; from = to) {
    to = from + 1;
    while (to < byName.length && isSameText(names, from, to)) to++;
    if (to - from > 1) byName.subarray(from, to).sort();
  }
  const ranks = sharedUint32(byName.length);
  for (let rank = 0; rank < byName.length; rank++) ranks[byName[rank]!] = rank;
  return { names, byName, ranks, rows };
}

function isSameText(texts: Texts, a: number, b: number): boolean {
  const { units, starts } = texts;
  const length = lengthOf(texts, a);
  if (length !== lengthOf(texts, b)) return false;
  for (let at = 0; at < length; at++) if (units[starts[a]! + at] !== units[starts[b]! + at]) return false;
  return true;
}
