/**
 * The documents of n-grams of one to three code units, kept beforehand.
 *
 * These terms would cost most: "a" is in a hundred thousand words and most
 * descriptions, three letters are in a hundred words whose postings lie
 * anywhere in memory. An n-gram in a good part of all documents is kept as a
 * bitset, most others as sorted lists; both are found by halving on their keys.
 */

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

/** N-grams of fewer documents, as lists. */
export interface SparseNgrams {
  /** Keys of the n-grams, ascending; see {@link keyOf}. */
  readonly keys: Float64Array;
  /** The documents of n-gram n are `entries[starts[n]]` to `entries[starts[n + 1] - 1]`, in the form of a `ListSet`. */
  readonly starts: Uint32Array;
  readonly entries: Uint32Array;
}

/** Stands in a key for a code unit that an n-gram does not have; as a unit a pad could be half of a pair. */
const NO_UNIT = 65_536;

/** An n-gram of up to three code units in one number. */
export function keyOf(ngram: string): number {
  const first = ngram.charCodeAt(0);
  const second = ngram.length > 1 ? ngram.charCodeAt(1) : NO_UNIT;
  const third = ngram.length > 2 ? ngram.charCodeAt(2) : NO_UNIT;
  return (first * (NO_UNIT + 1) + second) * (NO_UNIT + 1) + third;
}
