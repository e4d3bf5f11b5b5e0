/**
 * Frequent n-grams: those of so many postings that it pays to know their best
 * results beforehand.
 *
 * They are enumerated level by level, as the Apriori algorithm does: n-grams of
 * one code unit first, and those of n + 1 only from the frequent ones of n. The
 * postings of an n-gram are in order of what follows, so those of its extensions
 * are ranges of its own, found by galloping search.
 */

import { PAD } from "../shared/texts.ts";
import { GRAM, positionOf, rangeOf, type TrigramIndex, TWO_GRAMS } from "../shared/trigrams.ts";
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
      units <= GRAM ? shortFrequent(trigrams, units, frequency) : extendAll(trigrams, level, frequency);
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

/** Postings behind which the same code unit follows. */
interface Followed {
  readonly unit: number;
  readonly postings: Uint32Array;
}

/** N-grams of a code unit more: those that can be frequent. */
function* extendAll(
  trigrams: TrigramIndex,
  level: readonly FrequentNgram[],
  frequency: Frequency,
): Generator<FrequentNgram> {
  for (const { ngram, postings: all, number } of level) {
    for (const { unit, postings } of cut(trigrams, all, ngram.length, frequency)) {
      // The end of a text, or the half of a pair that looks like one.
      if (unit === PAD) continue;
      const sameAs = postings.length === all.length ? number : -1;
      yield { ngram: ngram + String.fromCharCode(unit), postings, sameAs, number: -1 };
    }
  }
}

/** Cuts a range of postings, which are in order of the code unit that follows so many others, where that changes; into ranges that weigh enough. */
function* cut(
  trigrams: TrigramIndex,
  all: Uint32Array,
  units: number,
  { least, weigh }: Frequency,
): Generator<Followed> {
  const [from, to] = rangeOf(trigrams, all);
  for (let at = from; at < to && weigh(at, to) >= least; ) {
    const end = endOfSame(trigrams, at, to, units);
    if (weigh(at, end) >= least)
      yield { unit: unitBehind(trigrams, at, units), postings: trigrams.postings.subarray(at, end) };
    at = end;
  }
}

/** Where the same unit follows no more. Mostly there are few, or all: the end is found by galloping search. */
function endOfSame(trigrams: TrigramIndex, from: number, to: number, units: number): number {
  const unit = unitBehind(trigrams, from, units);
  if (unitBehind(trigrams, to - 1, units) === unit) return to;
  let step = 1;
  while (from + step < to && unitBehind(trigrams, from + step, units) === unit) step *= 2;
  let last = from + (step >>> 1);
  let end = Math.min(from + step, to);
  while (end - last > 1) {
    const middle = (last + end) >>> 1;
    if (unitBehind(trigrams, middle, units) === unit) last = middle;
    else end = middle;
  }
  return end;
}

/** The code unit that follows so many others at a posting. @param at the index of the posting */
function unitBehind(trigrams: TrigramIndex, at: number, units: number): number {
  const { pairs, thirds, followers, postings, texts } = trigrams;
  if (units >= TWO_GRAMS) return texts.units[positionOf(trigrams, postings[at]!) + units]!;
  // What lies side by side takes a tenth of the time of reading texts.
  const trigram = followers[at]!;
  if (units === GRAM) return pairs[trigram]! >>> 16;
  return units === GRAM + 1 ? pairs[trigram]! & 0xffff : thirds[trigram]!;
}
