/**
 * Postings of a term in texts that share a prefix, such as addresses of one site.
 *
 * Where texts are in order, those with the same prefix are neighbours. If the
 * first and the last of some have a term in the prefix that they share, all of
 * them have it, and there is no need to go through their postings one by one.
 * The last is found by galloping search.
 */

import { makePosting, NUMBER_SHIFT } from "../shared/posting.ts";
import { compare } from "../shared/scan-text.ts";
import { positionOf, type TrigramIndex } from "../shared/trigrams.ts";
import type { Located } from "./locate.ts";

/** It does not pay for fewer. */
const LEAST = 256;

/**
 * Where postings of a term end whose texts, and all between these, contain the term.
 *
 * @param trigrams of texts that are in order of their code units
 * @param from index of the first posting; its text may begin in a way of its own
 * @returns index of the first posting behind them, or `from`
 */
export function endOfSharedPrefix(
  trigrams: TrigramIndex,
  { range, offset }: Located,
  term: string,
  from: number,
): number {
  let last = from + LEAST;
  let end = range[1];
  if (last >= end || !areClose(trigrams, from, last)) return from;
  const shared = lengthToShare(trigrams, from, offset, term);
  if (shared === 0 || !sharePrefix(trigrams, from, last, shared)) return from;
  for (let step = LEAST; last + step < end; step *= 2) {
    if (sharePrefix(trigrams, from, last + step, shared)) last += step;
    else end = last + step;
  }
  while (end - last > 1) {
    const middle = (last + end) >>> 1;
    if (sharePrefix(trigrams, from, middle, shared)) last = middle;
    else end = middle;
  }
  return last + 1;
}

/**
 * How many code units texts have to share with that of a posting: the term, and what
 * the list is in order of, behind which it is in order of texts.
 *
 * @param offset from the beginning of the term to the posting
 * @param number index of a posting in the first chunk of a text
 * @returns 0 when the term is not there
 */
function lengthToShare(trigrams: TrigramIndex, number: number, offset: number, term: string): number {
  const { texts, postings, depth } = trigrams;
  const posting = postings[number]!;
  const text = posting >>> NUMBER_SHIFT;
  const unit = positionOf(trigrams, posting);
  const first = unit - offset;
  const end = first + term.length;
  if (first < texts.starts[text]! || end >= texts.starts[text + 1]!) return 0;
  if (compare(texts.units, first, term, 0, term.length) !== 0) return 0;
  return Math.max(end, unit + depth) - texts.starts[text]!;
}

/**
 * Whether two postings are in first chunks, as far from the beginnings of their texts, and there are no more
 * texts than postings between them: each of those contains the term. Mostly that is not so, and texts need not be read.
 */
function areClose({ texts, postings }: TrigramIndex, one: number, other: number): boolean {
  const a = postings[one]!;
  const b = postings[other]!;
  if (((a ^ b) & (makePosting(1, 0) - 2)) !== 0 || Math.max(a, b) >= makePosting(texts.count, 0))
    return false;
  return (b >>> NUMBER_SHIFT) - (a >>> NUMBER_SHIFT) <= other - one;
}

/** Whether the texts of two postings, of which the first is in a first chunk, share so many code units from their beginnings on. */
function sharePrefix(trigrams: TrigramIndex, one: number, other: number, shared: number): boolean {
  if (!areClose(trigrams, one, other)) return false;
  const { units, starts } = trigrams.texts;
  const startA = starts[trigrams.postings[one]! >>> NUMBER_SHIFT]!;
  const startB = starts[trigrams.postings[other]! >>> NUMBER_SHIFT]!;
  // No two texts are equal, so these differ before either ends, or share what is asked for.
  for (let at = 0; at < shared; at++) if (units[startA + at] !== units[startB + at]) return false;
  return true;
}
