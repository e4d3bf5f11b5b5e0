/**
 * Collects the documents of short n-grams.
 *
 * The work that each n-gram would be to a query decides: the postings of all
 * words that hold it. Much of it makes a bitset, some a list, little nothing.
 */

import { sharedCopy, sharedFloat64, sharedUint32, Uint32Column } from "../../store/bytes.ts";
import { bitWords, countBits } from "../shared/bitset.ts";
import { addToBits } from "../shared/document-set.ts";
import { EntrySorter } from "../shared/entry-sorter.ts";
import {
  type DenseNgrams,
  keyOf,
  type NgramDocuments,
  type SparseNgrams,
} from "../shared/ngram-documents.ts";
import { GRAM, type TrigramIndex, textOf } from "../shared/trigrams.ts";
import { LIST_WORK, type WordPostings } from "../shared/word-postings.ts";
import { SMALL } from "./frequent.ts";
import { shortNgrams } from "./short-ngrams.ts";

/** An n-gram is dense when to unite its words' documents would take at least this share of the work of passing over every document. */
const DENSE = 1 / 8;
/** Not worth it below so much work: a microsecond or two. */
const LEAST = 256;
/** The same in a small index. */
const LEAST_IN_SMALL = 2048;

/** An n-gram and its range of postings in the words. */
interface Ngram {
  readonly key: number;
  readonly from: number;
  readonly to: number;
}

/** The n-grams of one to three code units that are worth it. */
function* allNgrams(
  trigrams: TrigramIndex,
  isWorth: (from: number, to: number) => boolean,
): Generator<Ngram> {
  for (let units = 1; units <= GRAM; units++) {
    for (const { ngram, from, to } of shortNgrams(trigrams, units, isWorth))
      yield { key: keyOf(ngram), from, to };
  }
}

/**
 * Collects the documents of all n-grams that are worth it.
 *
 * @param trigrams of the words whose documents are given
 * @param entriesBefore by posting of the trigrams: how many documents' entries the words of all postings before it have
 * @param least so much work it takes at least to find them in a search
 */
export function indexNgramDocuments(
  trigrams: TrigramIndex,
  wordPostings: WordPostings,
  entriesBefore: Float64Array,
  least = wordPostings.entries.length < SMALL ? LEAST_IN_SMALL : LEAST,
): NgramDocuments {
  const { documents } = wordPostings;
  const dense: Ngram[] = [];
  const sparse: Ngram[] = [];
  const workOf = (from: number, to: number): number =>
    entriesBefore[to]! - entriesBefore[from]! + LIST_WORK * (to - from);
  for (const ngram of allNgrams(trigrams, (from, to) => workOf(from, to) >= least)) {
    const { from, to } = ngram;
    if (workOf(from, to) >= documents * DENSE) dense.push(ngram);
    // The documents of one word are a list already.
    else if (to - from > 1) sparse.push(ngram);
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
  /** By word: the n-gram it was last taken for, plus one. */
  const latest = new Uint32Array(trigrams.texts.count);
  for (const [ngram, { from, to }] of ngrams.entries()) {
    const ownAny = any.subarray(ngram * words, (ngram + 1) * words);
    const ownInName = inName.subarray(ngram * words, (ngram + 1) * words);
    for (let at = from; at < to; at++) {
      const word = textOf(trigrams, trigrams.postings[at]!);
      if (latest[word] === ngram + 1) continue;
      latest[word] = ngram + 1;
      addToBits(entries, starts[word]!, starts[word + 1]!, ownAny, ownInName);
    }
    sizes[ngram] = countBits(ownAny);
    named[ngram] = countBits(ownInName);
  }
  return { keys, sizes, named, words, any, inName };
}

function buildSparse(
  ngrams: Ngram[],
  trigrams: TrigramIndex,
  { documents, starts, entries }: WordPostings,
): SparseNgrams {
  const keys = keysOf(ngrams);
  const sorter = new EntrySorter(documents);
  const target = new Uint32Array(documents);
  const column = new Uint32Column();
  const ownStarts = sharedUint32(ngrams.length + 1);
  for (const [ngram, { from, to }] of ngrams.entries()) {
    for (let at = from; at < to; at++) {
      const word = textOf(trigrams, trigrams.postings[at]!);
      sorter.add(entries, starts[word]!, starts[word + 1]!);
    }
    const size = sorter.drain(target);
    for (let at = 0; at < size; at++) column.push(target[at]!);
    ownStarts[ngram + 1] = column.length;
  }
  return { keys, starts: ownStarts, entries: sharedCopy(column) };
}
