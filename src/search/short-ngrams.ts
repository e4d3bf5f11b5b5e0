/**
 * N-grams of one to three code units: trigrams are in order, so those that begin
 * with an n-gram are neighbours, and so are their posting lists.
 */

import { gallop } from "../util/sorted.ts";
import type { WordPostings } from "./document-sets.ts";
import { PAD, PAD_TEXT } from "./texts.ts";
import { NUMBER_SHIFT, type TrigramIndex, textOf } from "./trigrams.ts";

/** An n-gram of up to three code units and its range of postings: the lists of all trigrams that begin with it. */
export interface ShortNgram {
  readonly ngram: string;
  readonly from: number;
  readonly to: number;
}

/**
 * The n-grams of so many code units, up to three, that are worth it.
 *
 * @param isWorth judges a range of postings; a part of one that is not is not either
 */
export function* shortNgrams(
  trigrams: TrigramIndex,
  units: number,
  isWorth: (from: number, to: number) => boolean,
): Generator<ShortNgram> {
  const { gram, pairs, thirds, starts } = trigrams;
  if (units > gram) {
    yield* extendShort(trigrams, units, isWorth);
    return;
  }
  for (let trigram = 0, next = 0; trigram < pairs.length; trigram = next) {
    const first = pairs[trigram]! >>> 16;
    const second = pairs[trigram]! & 0xffff;
    const third = thirds[trigram]!;
    for (next = trigram + 1; next < pairs.length; next++) {
      if (pairs[next]! >>> 16 !== first) break;
      if (units > 1 && (pairs[next]! & 0xffff) !== second) break;
      if (units > 2 && thirds[next] !== third) break;
    }
    // Most are not, and to make their texts would take the longest.
    if (!isWorth(starts[trigram]!, starts[next]!)) continue;
    const ngram = String.fromCharCode(first, second, third).slice(0, units);
    // What ends with a pad is a shorter n-gram. What ends with the half of a pair that looks like one is left out, too.
    if (!ngram.includes(PAD_TEXT)) yield { ngram, from: starts[trigram]!, to: starts[next]! };
  }
}

/** Trigrams where the dictionary is one of bigrams: parts of its lists, which are in order of what follows. */
function* extendShort(
  trigrams: TrigramIndex,
  units: number,
  isWorth: (from: number, to: number) => boolean,
): Generator<ShortNgram> {
  const { followers } = trigrams;
  for (const { ngram, from, to } of shortNgrams(trigrams, units - 1, isWorth)) {
    for (let at = from, end = from; at < to && isWorth(at, to); at = end) {
      const unit = followers[at]! >>> 16;
      end = gallop(followers, (unit + 1) * 65_536, at, to);
      if (unit !== PAD && isWorth(at, end))
        yield { ngram: ngram + String.fromCharCode(unit), from: at, to: end };
    }
  }
}

/*
 * How many entries the words of a range of postings have: what such a range
 * weighs. Prefix sums tell it; of very many postings only every so many have
 * one, those between are counted, and a further chunk of a long word counts for
 * one entry: to look up its word takes longer than all else, and long words are
 * mostly in one document.
 */

/** Tells how many entries the words of the postings from one up to another have, each word counted for each posting. */
export type CountEntriesIn = (from: number, to: number) => number;

/** Up to so many postings each has its sum, which takes eight bytes. */
const MOST_SUMS = 2 ** 24;

/** Counts the entries of the words of all postings. @param mostSums more postings share sums */
export function countEntriesIn(
  trigrams: TrigramIndex,
  { starts }: WordPostings,
  mostSums = MOST_SUMS,
): CountEntriesIn {
  const { postings } = trigrams;
  const step = 2 ** Math.max(0, Math.ceil(Math.log2(postings.length / mostSums)));
  const { count } = trigrams.texts;
  const entriesAt = (at: number): number => {
    if (step > 1 && postings[at]! >>> NUMBER_SHIFT >= count) return 1;
    const word = textOf(trigrams, postings[at]!);
    return starts[word + 1]! - starts[word]!;
  };
  const sums = new Float64Array(Math.ceil((postings.length + 1) / step));
  for (let at = 0, sum = 0; at < postings.length; at++) {
    if (at % step === 0) sums[at / step] = sum;
    sum += entriesAt(at);
    if (at + 1 === postings.length && (at + 1) % step === 0) sums[(at + 1) / step] = sum;
  }
  if (step === 1) return (from, to) => sums[to]! - sums[from]!;
  const before = (to: number): number => {
    let at = to - (to % step);
    let sum = sums[at / step]!;
    for (; at < to; at++) sum += entriesAt(at);
    return sum;
  };
  return (from, to) => {
    if (to - from > step) return before(to) - before(from);
    let sum = 0;
    for (let at = from; at < to; at++) sum += entriesAt(at);
    return sum;
  };
}
