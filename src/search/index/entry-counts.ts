/**
 * How many entries the words of a range of postings have: what such a range
 * weighs. Prefix sums tell it; of very many postings only every so many have
 * one, those between are counted, and a further chunk of a long word counts for
 * one entry: to look up its word takes longer than all else, and long words are
 * mostly in one document.
 */

import { NUMBER_SHIFT } from "../shared/posting.ts";
import { type TrigramIndex, textOf } from "../shared/trigrams.ts";
import type { WordPostings } from "../shared/word-postings.ts";

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
