/**
 * Ranges of postings by up to six code units.
 *
 * A trigram is found by its hash, and a prefix of trigrams by halving in their
 * order. By posting the number of the trigram that follows is known, and these
 * numbers ascend in each list: halving there finds the next three code units.
 */

import {
  BIGRAM,
  GRAM,
  hashOfTrigram,
  NOTHING,
  pairOf,
  type Range,
  slotOf,
  type TrigramIndex,
} from "../shared/trigrams.ts";
import { gallop, lowerBound } from "./galloping.ts";

/** How many postings a range has. */
export function sizeOfRange([from, to]: Range): number {
  return to - from;
}

/** The postings of a range. */
export function postingsIn({ postings }: TrigramIndex, [from, to]: Range): Uint32Array {
  return postings.subarray(from, to);
}

/**
 * Whether there can be a text that contains a term of a trigram and more. Most
 * terms that are nowhere have a trigram that is nowhere, and most of those are
 * told by one bit, without reading the hash table.
 */
export function mayContain({ gram, bits }: TrigramIndex, term: string): boolean {
  const mask = bits.length * 32 - 1;
  for (let at = 0; at + gram <= term.length; at++) {
    const third = gram === GRAM ? term.charCodeAt(at + 2) : 0;
    const bit = hashOfTrigram(pairOf(term.charCodeAt(at), term.charCodeAt(at + 1)), third) & mask;
    if ((bits[bit >>> 5]! & (1 << bit)) === 0) return false;
  }
  return true;
}

/** The trigrams that begin with one to three code units of a text. */
function trigramsWithPrefix(trigrams: TrigramIndex, text: string, from: number, to: number): Range {
  if (to - from === trigrams.gram) {
    const number = numberOf(trigrams, text, from);
    return number < 0 ? NOTHING : [number, number + 1];
  }
  const { pairs } = trigrams;
  const [least, most] = pairsWithPrefix(text, from, to);
  const low = lowerBound(pairs, least, 0, pairs.length);
  return [low, gallop(pairs, most, low, pairs.length)];
}

/** Pairs that begin with one code unit of a text, or the pair of two. */
function pairsWithPrefix(text: string, from: number, to: number): Range {
  const first = text.charCodeAt(from) * 65_536;
  if (to - from === 1) return [first, first + 65_536];
  const pair = first + text.charCodeAt(from + 1);
  return [pair, pair + 1];
}

/** The postings of one to three code units: the lists of all trigrams that begin with these. */
export function postingsOfPrefix(trigrams: TrigramIndex, term: string): Range {
  const [from, to] = trigramsWithPrefix(trigrams, term, 0, term.length);
  return [trigrams.starts[from]!, trigrams.starts[to]!];
}

/** The number of the trigram that begins at a position of a term; below 0 when it is nowhere. */
function numberOf({ gram, pairs, thirds, slots }: TrigramIndex, text: string, at: number): number {
  const pair = pairOf(text.charCodeAt(at), text.charCodeAt(at + 1));
  const third = gram === GRAM ? text.charCodeAt(at + 2) : 0;
  return slots[slotOf(slots, pairs, thirds, pair, third)]! - 1;
}

/** The postings of the trigram that a text begins with. */
export function postingsOfTrigram(trigrams: TrigramIndex, text: string): Range {
  const number = numberOf(trigrams, text, 0);
  return number < 0 ? NOTHING : [trigrams.starts[number]!, trigrams.starts[number + 1]!];
}

/** Of a range of a trigram's list, the postings where one to three code units of a text follow the trigram. */
export function postingsFollowedBy(
  trigrams: TrigramIndex,
  [from, to]: Range,
  text: string,
  first: number,
  end: number,
): Range {
  const [low, high] =
    trigrams.gram === BIGRAM
      ? pairsWithPrefix(text, first, end)
      : trigramsWithPrefix(trigrams, text, first, end);
  if (low === high) return NOTHING;
  const start = lowerBound(trigrams.followers, low, from, to);
  // Most terms are rare, so the end is near.
  return [start, gallop(trigrams.followers, high, start, to)];
}
