/**
 * Collects the documents of short n-grams.
 *
 * The work that each n-gram would be to a query decides: the postings of all
 * words that hold it. Much of it makes a bitset, some a list, little nothing.
 * Where the texts are so long that all of these would take more memory than a
 * number of documents warrants, those that are the most work are kept.
 */

import { sharedCopy, sharedFloat64, sharedUint32 } from "../../store/bytes.ts";
import { MOST_FOUND_BYTES } from "../../store/limits.ts";
import { bitWords, countBits, lowestBit } from "../shared/bitset.ts";
import { addToBits } from "../shared/document-set.ts";
import { EntrySorter } from "../shared/entry-sorter.ts";
import {
  type DenseNgrams,
  keyOf,
  type NgramDocuments,
  type SparseNgrams,
} from "../shared/ngram-documents.ts";
import { CHUNK, NUMBER_SHIFT } from "../shared/posting.ts";
import { GRAM, type TrigramIndex, textOf } from "../shared/trigrams.ts";
import { LIST_WORK, type WordPostings } from "../shared/word-postings.ts";
import type { CountEntriesIn } from "./entry-counts.ts";
import { shortNgrams } from "./short-ngrams.ts";

/** An n-gram is dense when to unite its words' documents would take at least this share of the work of passing over every document. */
const DENSE = 1 / 8;
/** Not worth it below so much work: a microsecond or two. */
const LEAST = 256;
/** An index of fewer entries is small: what little it takes to find there is not worth a part of a start. */
export const SMALL = 2 ** 18;
/** The same in a small index. */
const LEAST_IN_SMALL = 2048;

/** Most bytes of kept documents: so many for each document, however long its texts, and some for a small number of these. */
const MOST_BYTES_A_DOCUMENT = 2048;
const MOST_BYTES = 2 ** 24;

/** Most n-grams whose documents are kept, beside one for each document. Twice as many are in memory while they are chosen. */
const MOST_NGRAMS = 2 ** 16;

/** An n-gram and its range of postings in the words. */
interface Ngram {
  readonly key: number;
  readonly from: number;
  readonly to: number;
  /** Entries of the words of these postings. */
  readonly entries: number;
}

/** To find the documents of an n-gram takes about as long as to pass over so many entries. */
function workOf({ from, to, entries }: Omit<Ngram, "key">): number {
  return entries + LIST_WORK * (to - from);
}

/** The n-grams of one to three code units that are so much work. */
function* allNgrams(
  trigrams: TrigramIndex,
  entriesIn: CountEntriesIn,
  least: () => number,
): Generator<Ngram> {
  const isWorth = (from: number, to: number): boolean =>
    workOf({ from, to, entries: entriesIn(from, to) }) >= least();
  for (let units = 1; units <= GRAM; units++) {
    for (const { ngram, from, to } of shortNgrams(trigrams, units, isWorth))
      yield { key: keyOf(ngram), from, to, entries: entriesIn(from, to) };
  }
}

/** Bytes of an n-gram's documents, or more: no more than are entries, nor than there are documents. */
function bytesOf(ngram: Ngram, documents: number): number {
  if (isDense(ngram, documents)) return bitWords(documents) * 2 * Uint32Array.BYTES_PER_ELEMENT;
  return Math.min(ngram.entries, documents) * Uint32Array.BYTES_PER_ELEMENT;
}

function isDense(ngram: Ngram, documents: number): boolean {
  return workOf(ngram) >= documents * DENSE;
}

/** The n-grams that are the most work, that first: so many, and as far as there are so many bytes for their documents. */
function keepMostWork(ngrams: Ngram[], documents: number, most: number, mostBytes: number): Ngram[] {
  ngrams.sort((a, b) => workOf(b) - workOf(a));
  let bytes = 0;
  const end = ngrams.findIndex((ngram, at) => {
    bytes += bytesOf(ngram, documents);
    return bytes > mostBytes || at === most;
  });
  return end < 0 ? ngrams : ngrams.slice(0, end);
}

/** The n-grams that are worth it, as far as they are not too many. The documents of one word are a list already. */
function chooseNgrams(
  trigrams: TrigramIndex,
  entriesIn: CountEntriesIn,
  documents: number,
  least: number,
  mostBytes: number,
): Ngram[] {
  const most = documents + MOST_NGRAMS;
  let chosen: Ngram[] = [];
  let bar = least;
  for (const ngram of allNgrams(trigrams, entriesIn, () => bar)) {
    if (ngram.to - ngram.from > 1 || isDense(ngram, documents)) chosen.push(ngram);
    if (chosen.length < most * 2) continue;
    chosen = keepMostWork(chosen, documents, most, mostBytes);
    bar = chosen.length === 0 ? Number.POSITIVE_INFINITY : workOf(chosen.at(-1)!);
  }
  return keepMostWork(chosen, documents, most, mostBytes);
}

/**
 * Collects the documents of all n-grams that are worth it.
 *
 * @param trigrams of the words whose documents are given
 * @param entriesIn how many documents' entries the words of a range of postings of the trigrams have
 * @param least so much work it takes at least to find them in a search
 * @param mostBytes memory for the documents; about so many
 */
export function indexNgramDocuments(
  trigrams: TrigramIndex,
  wordPostings: WordPostings,
  entriesIn: CountEntriesIn,
  least = wordPostings.entries.length < SMALL ? LEAST_IN_SMALL : LEAST,
  mostBytes = Math.min(MOST_BYTES + wordPostings.documents * MOST_BYTES_A_DOCUMENT, MOST_FOUND_BYTES),
): NgramDocuments {
  const { documents } = wordPostings;
  const dense: Ngram[] = [];
  const sparse: Ngram[] = [];
  for (const ngram of chooseNgrams(trigrams, entriesIn, documents, least, mostBytes)) {
    if (isDense(ngram, documents)) dense.push(ngram);
    else sparse.push(ngram);
  }
  return {
    dense: buildDense(dense, trigrams, wordPostings),
    sparse: buildSparse(sparse, trigrams, wordPostings),
  };
}

function keysOf(ngrams: Ngram[]): Float64Array {
  ngrams.sort((a, b) => a.key - b.key);
  const keys = sharedFloat64(ngrams.length);
  for (const [at, { key }] of ngrams.entries()) keys[at] = key;
  return keys;
}

function buildDense(
  ngrams: Ngram[],
  trigrams: TrigramIndex,
  { documents, starts, entries }: WordPostings,
): DenseNgrams {
  const keys = keysOf(ngrams);
  const words = bitWords(documents);
  const any = sharedUint32(ngrams.length * words);
  const inName = sharedUint32(any.length);
  const sizes = sharedUint32(ngrams.length);
  const named = sharedUint32(ngrams.length);
  const listed = new ListedWords(trigrams);
  for (const [ngram, { from, to }] of ngrams.entries()) {
    const ownAny = any.subarray(ngram * words, (ngram + 1) * words);
    const ownInName = inName.subarray(ngram * words, (ngram + 1) * words);
    listed.each(from, to, (word) => addToBits(entries, starts[word]!, starts[word + 1]!, ownAny, ownInName));
    sizes[ngram] = countBits(ownAny);
    named[ngram] = countBits(ownInName);
  }
  return { keys, sizes, named, words, any, inName };
}

/** Goes through the words of a range of postings; a long one may come twice. */
class ListedWords {
  readonly #trigrams: TrigramIndex;
  /** A bit for each word, and for each further chunk of a long one. */
  readonly #bits: Uint32Array;

  constructor(trigrams: TrigramIndex) {
    this.#trigrams = trigrams;
    this.#bits = new Uint32Array(bitWords(trigrams.texts.count + trigrams.chunkTexts.length));
  }

  /** Bits come in order, so that of long words what is next to each other in memory is read one after the other. */
  each(from: number, to: number, take: (word: number) => void): void {
    const { postings, texts, chunkTexts, chunkStarts } = this.#trigrams;
    const bits = this.#bits;
    for (let at = from; at < to; at++) {
      const number = postings[at]! >>> NUMBER_SHIFT;
      bits[number >>> 5]! |= 1 << number;
    }
    let next = 0;
    for (let at = 0; at < bits.length; at++) {
      for (let left = bits[at]!; left !== 0; left &= left - 1) {
        const number = at * 32 + lowestBit(left);
        if (number < next) continue;
        if (number < texts.count) take(number);
        else {
          const word = chunkTexts[number - texts.count]!;
          take(word);
          // On to the first chunk of the next long word.
          const unitsLeft = texts.starts[word + 1]! - 1 - chunkStarts[number - texts.count]!;
          next = number + Math.ceil(unitsLeft / CHUNK);
          if (next >>> 5 === at) continue;
          at = (next >>> 5) - 1;
          break;
        }
      }
    }
    bits.fill(0);
  }
}

function buildSparse(
  ngrams: Ngram[],
  trigrams: TrigramIndex,
  { documents, starts, entries }: WordPostings,
): SparseNgrams {
  const keys = keysOf(ngrams);
  const sorter = new EntrySorter(documents);
  // No more than that: what is not written to takes no memory.
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
