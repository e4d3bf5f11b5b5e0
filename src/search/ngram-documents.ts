/**
 * The precomputed documents of n-grams of one to three code units.
 *
 * These terms would cost most: "a" is in a hundred thousand words and most descriptions, three letters are in a hundred
 * words whose postings are scattered in memory. The work of an n-gram in a query, the postings of all words with it,
 * decides: much work makes a bitset, some a list, little nothing. Where long texts would take more memory than their
 * number of documents warrants, only the n-grams with the most work are kept. Binary search by key finds both.
 */

import { sharedCopy, sharedFloat64, sharedUint32 } from "../store/bytes.ts";
import { MOST_FOUND_BYTES } from "../store/limits.ts";
import { endWhere } from "../util/sorted.ts";
import { bitWords, countBits, EntrySorter, lowestBit } from "./bitset.ts";
import {
  addToBits,
  type DocumentSet,
  LIST_WORK,
  type Renumbering,
  type WordPostings,
} from "./document-sets.ts";
import {
  type ShortNgram,
  shortNgrams,
  type WeighedRange,
  type WeighedTrigrams,
  weighTrigrams,
} from "./short-ngrams.ts";
import { GRAM, type TrigramIndex, textOf } from "./trigrams.ts";

/** N-grams whose documents are kept, in shared memory. */
export interface NgramDocuments {
  readonly dense: DenseNgrams;
  readonly sparse: SparseNgrams;
}

/** N-grams of very many documents, as bitsets. */
export interface DenseNgrams {
  /** Keys of the n-grams, ascending; see {@link keyOf}. */
  readonly keys: Float64Array;
  /** By n-gram: how many documents contain it, and how many of them in their name. */
  readonly sizes: Uint32Array;
  readonly named: Uint32Array;
  /** 32-bit words of a bitset; that of n-gram n begins at `n * words`. */
  readonly words: number;
  readonly any: Uint32Array;
  readonly inName: Uint32Array;
}

export interface SparseNgrams {
  /** Keys of the n-grams, ascending; see {@link keyOf}. */
  readonly keys: Float64Array;
  /** The documents of n-gram n are `entries[starts[n]]` to `entries[starts[n + 1] - 1]`, in the form of a `ListSet`. */
  readonly starts: Uint32Array;
  readonly entries: Uint32Array;
}

/** Stands in a key for a missing code unit; a pad could be half of a surrogate pair. */
const NO_UNIT = 65_536;

function keyOf(ngram: string): number {
  const first = ngram.charCodeAt(0);
  const second = ngram.length > 1 ? ngram.charCodeAt(1) : NO_UNIT;
  const third = ngram.length > 2 ? ngram.charCodeAt(2) : NO_UNIT;
  return (first * (NO_UNIT + 1) + second) * (NO_UNIT + 1) + third;
}

/** An n-gram is dense if uniting its words' documents takes at least this share of the work of reading every document. */
const DENSE = 1 / 8;
/** Less work than this, a microsecond or two, is not worth it. */
const LEAST = 256;
/** An index of fewer entries is small: its searches take too little to be worth a part of the start. */
export const SMALL = 2 ** 18;
/** {@link LEAST} in a small index. */
const LEAST_IN_SMALL = 2048;

/** Most bytes of kept documents: for each document, however long its texts, and a base for small numbers of documents. */
const MOST_BYTES_A_DOCUMENT = 2048;
const MOST_BYTES = 2 ** 24;

/** Most n-grams whose documents are kept, beside one for each document. Twice as many are in memory while they are chosen. */
const MOST_NGRAMS = 2 ** 16;

/** Finding the documents of a range of postings takes about as long as reading this many entries. */
function workOf({ from, to, entries }: WeighedRange): number {
  return entries + LIST_WORK * (to - from);
}

/** Bytes of an n-gram's documents at most: as many documents as entries, or all of them. */
function bytesOf(ngram: ShortNgram, documents: number): number {
  if (isDense(ngram, documents)) return bitWords(documents) * 2 * Uint32Array.BYTES_PER_ELEMENT;
  return Math.min(ngram.entries, documents) * Uint32Array.BYTES_PER_ELEMENT;
}

function isDense(ngram: ShortNgram, documents: number): boolean {
  return workOf(ngram) >= documents * DENSE;
}

/** The n-grams with the most work, in that order, up to a number of n-grams and of bytes for their documents. */
function keepMostWork(
  ngrams: ShortNgram[],
  documents: number,
  most: number,
  mostBytes: number,
): ShortNgram[] {
  ngrams.sort((a, b) => workOf(b) - workOf(a));
  let bytes = 0;
  const end = ngrams.findIndex((ngram, at) => {
    bytes += bytesOf(ngram, documents);
    return bytes > mostBytes || at === most;
  });
  return end < 0 ? ngrams : ngrams.slice(0, end);
}

/** The n-grams that are worth it, within both limits. A single posting is not, unless dense: a word's documents are a list already. */
function chooseNgrams(
  weighed: WeighedTrigrams,
  documents: number,
  least: number,
  mostBytes: number,
): ShortNgram[] {
  const most = documents + MOST_NGRAMS;
  let chosen: ShortNgram[] = [];
  let bar = least;
  for (let units = 1; units <= GRAM; units++) {
    for (const ngram of shortNgrams(weighed, units, (range) => workOf(range) >= bar)) {
      if (ngram.to - ngram.from > 1 || isDense(ngram, documents)) chosen.push(ngram);
      if (chosen.length < most * 2) continue;
      chosen = keepMostWork(chosen, documents, most, mostBytes);
      bar = chosen.length === 0 ? Number.POSITIVE_INFINITY : workOf(chosen.at(-1)!);
    }
  }
  return keepMostWork(chosen, documents, most, mostBytes);
}

/**
 * Collects the documents of all n-grams that are worth it.
 * @param least least work to find them in a search
 * @param mostBytes memory for the documents, roughly
 */
export function indexNgramDocuments(
  trigrams: TrigramIndex,
  wordPostings: WordPostings,
  least = wordPostings.entries.length < SMALL ? LEAST_IN_SMALL : LEAST,
  mostBytes = Math.min(MOST_BYTES + wordPostings.documents * MOST_BYTES_A_DOCUMENT, MOST_FOUND_BYTES),
): NgramDocuments {
  const { documents } = wordPostings;
  const dense: ShortNgram[] = [];
  const sparse: ShortNgram[] = [];
  for (const ngram of chooseNgrams(weighTrigrams(trigrams, wordPostings), documents, least, mostBytes)) {
    if (isDense(ngram, documents)) dense.push(ngram);
    else sparse.push(ngram);
  }
  return {
    dense: buildDense(dense, trigrams, wordPostings),
    sparse: buildSparse(sparse, trigrams, wordPostings),
  };
}

/** The keys of n-grams, which it sorts by key. */
function keysOf(ngrams: ShortNgram[]): Float64Array {
  ngrams.sort((a, b) => keyOf(a.ngram) - keyOf(b.ngram));
  const keys = sharedFloat64(ngrams.length);
  for (const [at, { ngram }] of ngrams.entries()) keys[at] = keyOf(ngram);
  return keys;
}

function buildDense(
  ngrams: ShortNgram[],
  trigrams: TrigramIndex,
  { documents, starts, entries }: WordPostings,
): DenseNgrams {
  const keys = keysOf(ngrams);
  const words = bitWords(documents);
  const any = sharedUint32(ngrams.length * words);
  const inName = sharedUint32(any.length);
  const sizes = sharedUint32(ngrams.length);
  const named = sharedUint32(ngrams.length);
  const bits = new Uint32Array(bitWords(trigrams.texts.count));
  for (const [ngram, own] of ngrams.entries()) {
    const ownAny = any.subarray(ngram * words, (ngram + 1) * words);
    const ownInName = inName.subarray(ngram * words, (ngram + 1) * words);
    eachWord(trigrams, own, bits, (word) =>
      addToBits(entries, starts[word]!, starts[word + 1]!, ownAny, ownInName),
    );
    sizes[ngram] = countBits(ownAny);
    named[ngram] = countBits(ownInName);
  }
  return { keys, sizes, named, words, any, inName };
}

/**
 * Calls `take` with the words of a range of postings, each once and in order: in the order of the postings, all takes a
 * third longer.
 * @param bits empty, one for each word
 */
function eachWord(
  trigrams: TrigramIndex,
  { from, to }: ShortNgram,
  bits: Uint32Array,
  take: (word: number) => void,
): void {
  for (let at = from; at < to; at++) {
    const word = textOf(trigrams, trigrams.postings[at]!);
    bits[word >>> 5]! |= 1 << word;
  }
  for (let at = 0; at < bits.length; at++) {
    for (let left = bits[at]!; left !== 0; left &= left - 1) take(at * 32 + lowestBit(left));
  }
  bits.fill(0);
}

function buildSparse(
  ngrams: ShortNgram[],
  trigrams: TrigramIndex,
  { documents, starts, entries }: WordPostings,
): SparseNgrams {
  const keys = keysOf(ngrams);
  const sorter = new EntrySorter(documents);
  // An upper bound: memory that is not written to is not taken.
  const most = ngrams.reduce((sum, ngram) => sum + Math.min(ngram.entries, documents), 0);
  const found = new Uint32Array(most);
  let length = 0;
  const ownStarts = sharedUint32(ngrams.length + 1);
  for (const [ngram, { from, to }] of ngrams.entries()) {
    for (let at = from; at < to; at++) {
      const word = textOf(trigrams, trigrams.postings[at]!);
      sorter.add(entries, starts[word]!, starts[word + 1]!);
    }
    length += sorter.drain(found.subarray(length));
    ownStarts[ngram + 1] = length;
  }
  return { keys, starts: ownStarts, entries: sharedCopy({ values: found, length }) };
}

function indexOfKey(keys: Float64Array, key: number): number {
  const at = endWhere(0, keys.length, (one) => keys[one]! < key);
  return keys[at] === key ? at : -1;
}

/** The documents that contain an n-gram, if they are kept. @param ngram one to three code units */
export function findNgramDocuments(
  { dense, sparse }: NgramDocuments,
  ngram: string,
): DocumentSet | undefined {
  const key = keyOf(ngram);
  const inList = indexOfKey(sparse.keys, key);
  if (inList >= 0) {
    const { starts, entries } = sparse;
    return { kind: "list", entries: entries.subarray(starts[inList]!, starts[inList + 1]!) };
  }
  const inBits = indexOfKey(dense.keys, key);
  if (inBits < 0) return undefined;
  const [from, to] = [inBits * dense.words, (inBits + 1) * dense.words];
  return {
    kind: "bits",
    any: dense.any.subarray(from, to),
    inName: dense.inName.subarray(from, to),
    size: dense.sizes[inBits]!,
    named: dense.named[inBits]!,
  };
}

/** The same n-grams after documents are renumbered. */
export function renumberNgrams({ dense, sparse }: NgramDocuments, numbers: Renumbering): NgramDocuments {
  return { dense: renumberDense(dense, numbers), sparse: renumberSparse(sparse, numbers) };
}

function renumberDense(dense: DenseNgrams, numbers: Renumbering): DenseNgrams {
  const move = (bits: Uint32Array): Uint32Array => {
    const moved = sharedUint32(bits.length);
    for (let at = 0; at < bits.length; at++) {
      const inBitset = at % dense.words;
      for (let word = bits[at]!; word !== 0; word &= word - 1) {
        const number = numbers[inBitset * 32 + lowestBit(word)]!;
        moved[at - inBitset + (number >>> 5)]! |= 1 << number;
      }
    }
    return moved;
  };
  return { ...dense, any: move(dense.any), inName: move(dense.inName) };
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
