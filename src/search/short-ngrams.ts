/**
 * N-grams of one to three code units: trigrams are sorted, so the trigrams that begin with an n-gram are neighbours,
 * and so are their posting lists.
 */

import { gallop, lowerBound } from "../util/sorted.ts";
import type { WordPostings } from "./document-sets.ts";
import { PAD, PAD_TEXT } from "./texts.ts";
import { type TrigramIndex, textOf } from "./trigrams.ts";

/** A range of the postings of words. */
export interface WeighedRange {
  readonly from: number;
  readonly to: number;
  /** Entries of the words at these postings, a word counted once for each posting. */
  readonly entries: number;
}

/** An n-gram of up to three code units and its postings: the lists of all trigrams that begin with it. */
export interface ShortNgram extends WeighedRange {
  readonly ngram: string;
}

/** The trigrams of words, and by trigram the number of entries of the words in all lists before its own; one more sum at the end. */
export interface WeighedTrigrams {
  readonly trigrams: TrigramIndex;
  readonly wordPostings: WordPostings;
  readonly sums: Float64Array;
}

export function weighTrigrams(trigrams: TrigramIndex, wordPostings: WordPostings): WeighedTrigrams {
  const sums = new Float64Array(trigrams.starts.length);
  for (let trigram = 0; trigram + 1 < sums.length; trigram++) {
    const [from, to] = [trigrams.starts[trigram]!, trigrams.starts[trigram + 1]!];
    sums[trigram + 1] = sums[trigram]! + countEntriesIn(trigrams, wordPostings, from, to);
  }
  return { trigrams, wordPostings, sums };
}

function countEntriesIn(trigrams: TrigramIndex, { starts }: WordPostings, from: number, to: number): number {
  let sum = 0;
  for (let at = from; at < to; at++) {
    const word = textOf(trigrams, trigrams.postings[at]!);
    sum += starts[word + 1]! - starts[word]!;
  }
  return sum;
}

/** The n-grams of one to three code units that are worth it. @param isWorth false for every part of a range if false for the range */
export function* shortNgrams(
  weighed: WeighedTrigrams,
  units: number,
  isWorth: (range: WeighedRange) => boolean,
): Generator<ShortNgram> {
  const { gram, pairs, thirds, starts } = weighed.trigrams;
  if (units > gram) {
    yield* extendShort(weighed, units, isWorth);
    return;
  }
  for (let trigram = 0, next = 0; trigram < pairs.length; trigram = next) {
    next = trigram + 1;
    while (next < pairs.length && beginAlike(weighed.trigrams, trigram, next, units)) next++;
    const entries = weighed.sums[next]! - weighed.sums[trigram]!;
    const range = { from: starts[trigram]!, to: starts[next]!, entries };
    // Most ranges are not worth it, and making their texts would take most of the time.
    if (!isWorth(range)) continue;
    const pair = pairs[trigram]!;
    const ngram = String.fromCharCode(pair >>> 16, pair & 0xffff, thirds[trigram]!).slice(0, units);
    // An n-gram with a pad is a shorter one. N-grams with half of a surrogate pair that looks like a pad are left out, too.
    if (!ngram.includes(PAD_TEXT)) yield { ngram, ...range };
  }
}

/** Whether two trigrams share their first `units` code units. */
function beginAlike({ pairs, thirds }: TrigramIndex, one: number, other: number, units: number): boolean {
  if (units === 1) return pairs[one]! >>> 16 === pairs[other]! >>> 16;
  return pairs[one] === pairs[other] && (units === 2 || thirds[one] === thirds[other]);
}

/** Trigrams from a dictionary of bigrams: parts of its lists, which are in order of the code units that follow. */
function* extendShort(
  weighed: WeighedTrigrams,
  units: number,
  isWorth: (range: WeighedRange) => boolean,
): Generator<ShortNgram> {
  const { trigrams, wordPostings } = weighed;
  const { followers, pairs } = trigrams;
  for (const { ngram, from, to: last } of shortNgrams(weighed, units - 1, isWorth)) {
    for (let at = from, to = from; at < last; at = to) {
      const unit = pairs[followers[at]!]! >>> 16;
      to = gallop(followers, lowerBound(pairs, (unit + 1) * 65_536, 0, pairs.length), at, last);
      if (unit === PAD) continue;
      const range = { from: at, to, entries: countEntriesIn(trigrams, wordPostings, at, to) };
      if (isWorth(range)) yield { ngram: ngram + String.fromCharCode(unit), ...range };
    }
  }
}
