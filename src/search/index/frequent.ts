/**
 * Frequent n-grams: those of so many postings that it pays to know their best
 * results beforehand.
 *
 * They are enumerated level by level, as the Apriori algorithm does: n-grams of
 * one code unit first, and those of n + 1 only from the frequent ones of n.
 */

import { rangeOf, type TrigramIndex } from "../shared/trigrams.ts";
import { cutPostings } from "./cut-postings.ts";
import { shortNgrams } from "./short-ngrams.ts";

/**
 * An index of fewer postings is small. To find answers of it beforehand takes a good part of a start, and what has some
 * hundred postings is found in microseconds.
 */
export const SMALL = 2 ** 18;

/** An n-gram and its postings. */
export interface FrequentNgram {
  readonly ngram: string;
  /** A part of all postings. */
  readonly postings: Uint32Array;
  /** The number of the n-gram without its last code unit, when nothing but that unit follows anywhere; else -1. */
  readonly sameAs: number;
  /** Whoever takes the n-gram may number it, for the sake of those that follow. */
  number: number;
}

/** What makes an n-gram frequent. */
export interface Frequency {
  /** What its postings weigh at least. */
  readonly least: number;
  /** What a range of postings weighs; a part of it weighs no more. */
  readonly weigh: (from: number, to: number) => number;
  /** Where it ends, within the n-grams of a length: in a script of many signs very many may be frequent. */
  readonly mostNgrams: number;
}

/**
 * Yields the n-grams of many postings, the shortest first, until there are too
 * many, or until they are as long as lists are in order.
 */
export function* frequentNgrams(trigrams: TrigramIndex, frequency: Frequency): Generator<FrequentNgram> {
  const { mostNgrams } = frequency;
  let ngrams = 0;
  let level: FrequentNgram[] = [];
  for (let units = 1; units <= trigrams.depth; units++) {
    const longer: FrequentNgram[] = [];
    const all =
      units <= trigrams.gram
        ? shortFrequent(trigrams, units, frequency)
        : extendAll(trigrams, level, frequency);
    for (const one of all) {
      if (canBeAsked(one.ngram)) {
        if (++ngrams > mostNgrams) return;
        yield one;
      }
      longer.push(one);
    }
    level = longer;
  }
}

/** No query begins or ends with white space, or within a pair. */
function canBeAsked(ngram: string): boolean {
  return ngram.isWellFormed() && ngram.trim() === ngram;
}

function* shortFrequent(
  trigrams: TrigramIndex,
  units: number,
  { least, weigh }: Frequency,
): Generator<FrequentNgram> {
  const ngrams = shortNgrams(trigrams, units, (first, end) => weigh(first, end) >= least);
  for (const { ngram, from, to } of ngrams) {
    yield { ngram, postings: trigrams.postings.subarray(from, to), sameAs: -1, number: -1 };
  }
}

/** N-grams of a code unit more: those that can be frequent. */
function* extendAll(
  trigrams: TrigramIndex,
  level: readonly FrequentNgram[],
  { least, weigh }: Frequency,
): Generator<FrequentNgram> {
  for (const { ngram, postings: all, number } of level) {
    const range = rangeOf(trigrams, all);
    const cut = cutPostings(trigrams, ...range, ngram.length, (first, end) => weigh(first, end) >= least);
    for (const { unit, from, to } of cut) {
      const sameAs = to - from === all.length ? number : -1;
      const postings = trigrams.postings.subarray(from, to);
      yield { ngram: ngram + String.fromCharCode(unit), postings, sameAs, number: -1 };
    }
  }
}
