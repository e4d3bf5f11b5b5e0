/**
 * Places of a term in texts that begin alike, such as addresses of one site.
 *
 * Where texts are in order, those with the same beginning are neighbours. If
 * the first and the last of some have a term in what they share, all of them
 * have it, and there is no need to go through their places one by one.
 */

import { type Grams, NUMBER_SHIFT, placeOf, unitAt } from "../shared/trigrams.ts";
import { compare, type Located } from "./locate.ts";

/** It does not pay to look for fewer. */
const LEAST = 256;

/**
 * Where places of a term end whose texts, and all between these, hold the term.
 *
 * @param grams of texts that are in order of their units
 * @param from number of the first place; its text may begin in a way of its own
 * @returns number of the first place behind them, or `from`
 */
export function endOfAlike(grams: Grams, { range, offset }: Located, term: string, from: number): number {
  let last = from + LEAST;
  let end = range[1];
  if (last >= end || !areClose(grams, from, last)) return from;
  const shared = lengthToShare(grams, from, offset, term);
  if (shared === 0 || !areAlike(grams, from, last, shared)) return from;
  for (let step = LEAST; last + step < end; step *= 2) {
    if (areAlike(grams, from, last + step, shared)) last += step;
    else end = last + step;
  }
  while (end - last > 1) {
    const middle = (last + end) >>> 1;
    if (areAlike(grams, from, middle, shared)) last = middle;
    else end = middle;
  }
  return last + 1;
}

/**
 * How many units texts have to share with that of a place: the term, and what
 * the list is in order of, behind which it is in order of texts.
 *
 * @param offset from the beginning of the term to the place
 * @param number of a place in the first piece of a text
 * @returns 0 when the term does not stand there
 */
function lengthToShare(grams: Grams, number: number, offset: number, term: string): number {
  const { texts, places, depth } = grams;
  const place = places[number]!;
  const text = place >>> NUMBER_SHIFT;
  const unit = unitAt(grams, place);
  const first = unit - offset;
  const end = first + term.length;
  if (first < texts.starts[text]! || end >= texts.starts[text + 1]!) return 0;
  if (compare(texts.units, first, term, 0, term.length) !== 0) return 0;
  return Math.max(end, unit + depth) - texts.starts[text]!;
}

/**
 * Whether two places are in first pieces, as far from the beginnings of their texts, and there are no more
 * texts than places between them: each of those holds the term. Mostly that is not so, and texts need not be looked at.
 */
function areClose({ texts, places }: Grams, one: number, other: number): boolean {
  const a = places[one]!;
  const b = places[other]!;
  if (((a ^ b) & (placeOf(1, 0) - 2)) !== 0 || Math.max(a, b) >= placeOf(texts.count, 0)) return false;
  return (b >>> NUMBER_SHIFT) - (a >>> NUMBER_SHIFT) <= other - one;
}

/** Whether the texts of two places, of which the first is in a first piece, share so many units behind their beginnings. */
function areAlike(grams: Grams, one: number, other: number, shared: number): boolean {
  if (!areClose(grams, one, other)) return false;
  const { units, starts } = grams.texts;
  const startA = starts[grams.places[one]! >>> NUMBER_SHIFT]!;
  const startB = starts[grams.places[other]! >>> NUMBER_SHIFT]!;
  // No two texts are equal, so these differ before either ends, or share what is asked for.
  for (let at = 0; at < shared; at++) if (units[startA + at] !== units[startB + at]) return false;
  return true;
}
