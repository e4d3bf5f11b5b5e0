/**
 * From a term to a range of postings.
 *
 * The posting list of a trigram is in order of the code units that follow. So the postings of a term of up to nine code
 * units are a range of the list of its first trigram, found by binary search; the postings of one or two code units are
 * the lists of all trigrams with that prefix, which are neighbours. The rarest two trigrams of a longer term give
 * candidates. With a dictionary of bigrams, the same holds for terms of up to four code units and for bigrams.
 */

import { endWhere, gallop, gallopWhere, lowerBound } from "../util/sorted.ts";
import { compare, PAD_TEXT } from "./texts.ts";
import {
  depthOf,
  GRAM,
  hashOfTrigram,
  NOTHING,
  pairOf,
  positionOf,
  type Range,
  type TrigramIndex,
  trigramSlotOf,
} from "./trigrams.ts";

/** Most substrings of a term that are counted after its beginning. */
const MOST_SUBSTRINGS = 12;
/** Up to this many candidates, verifying them is quicker than using their order. */
const FEW = 16;

/** The part of a range of postings whose texts continue with the code units of a term up to `end`. */
function narrowByText(trigrams: TrigramIndex, [from, to]: Range, term: string, end: number): Range {
  const low = endWhere(from, to, (at) => compareAt(trigrams, at, term, end) < 0);
  // Most terms are rare, so the end is near.
  const high = gallopWhere(low, to, (at) => compareAt(trigrams, at, term, end) === 0);
  return low === high ? NOTHING : [low, high];
}

function compareAt(trigrams: TrigramIndex, at: number, term: string, end: number): number {
  const position = positionOf(trigrams, trigrams.postings[at]!);
  return compare(trigrams.texts.units, position, term, trigrams.gram * 2, end);
}

/** Postings of a substring of up to two trigrams. */
function postingsOfSubstring(trigrams: TrigramIndex, substring: string): Range {
  const { gram } = trigrams;
  const { length } = substring;
  const range = postingsOfPrefix(trigrams, substring, Math.min(length, gram));
  return length <= gram || sizeOfRange(range) === 0
    ? range
    : postingsFollowedBy(trigrams, range, substring, gram, length);
}

/** The part of a term's postings whose texts end with it; undefined if only the texts can tell. */
export function postingsAtEnd(
  trigrams: TrigramIndex,
  { range, isExact }: Located,
  term: string,
): Uint32Array | undefined {
  const { length } = term;
  const { gram } = trigrams;
  if (!isExact || length >= depthOf(trigrams)) return undefined;
  let ends: Range;
  if (length >= gram * 2) ends = narrowByText(trigrams, range, term + PAD_TEXT, length + 1);
  else if (length >= gram)
    ends = postingsFollowedBy(trigrams, range, term.padEnd(gram * 2, PAD_TEXT), gram, gram * 2);
  else ends = postingsOfPrefix(trigrams, term + PAD_TEXT, length + 1);
  return postingsIn(trigrams, ends);
}

export interface Located {
  /** The postings of a substring of the term. */
  readonly range: Range;
  /** From the beginning of the term to the substring, in code units. */
  readonly offset: number;
  /** Whether these are the postings of the whole term; else they are candidates to be verified. */
  readonly isExact: boolean;
}

function exact(range: Range): Located {
  return { range, offset: 0, isExact: true };
}

/** Finds where a term may be, without reading the postings. @param term folded, not empty */
export function locate(trigrams: TrigramIndex, term: string): Located {
  if (!mayContain(trigrams, term)) return exact(NOTHING);
  const twoGrams = trigrams.gram * 2;
  if (term.length <= twoGrams) return exact(postingsOfSubstring(trigrams, term));
  // The rarest two trigrams of a longer term are enough if candidates are verified.
  const beginning = postingsOfSubstring(trigrams, term.slice(0, twoGrams));
  let rarest = beginning;
  let offset = 0;
  const most = term.length - twoGrams;
  const step = Math.max(trigrams.gram, Math.ceil(most / MOST_SUBSTRINGS));
  for (let from = step; from < most + step && sizeOfRange(rarest) > FEW; from += step) {
    const at = Math.min(from, most);
    const range = postingsOfSubstring(trigrams, term.slice(at, at + twoGrams));
    if (sizeOfRange(range) < sizeOfRange(rarest)) {
      rarest = range;
      offset = at;
    }
  }
  if (sizeOfRange(rarest) <= FEW) return { range: rarest, offset, isExact: false };
  // The postings of a part as long as the depth of the lists are in order of texts.
  const depth = Math.min(term.length, depthOf(trigrams));
  offset = Math.min(offset, term.length - depth);
  const part = term.slice(offset, offset + depth);
  const ofSubstring = offset === 0 ? beginning : postingsOfSubstring(trigrams, part.slice(0, twoGrams));
  const range = narrowByText(trigrams, ofSubstring, part, depth);
  return { range, offset, isExact: depth === term.length };
}

/*
 * Ranges of postings by up to six code units. A trigram is found by its hash, a prefix of trigrams by binary search.
 * The numbers of the trigrams that follow ascend in each list: a binary search there finds the next three code units.
 */

export function sizeOfRange([from, to]: Range): number {
  return to - from;
}

export function postingsIn({ postings }: TrigramIndex, [from, to]: Range): Uint32Array {
  return postings.subarray(from, to);
}

/** Whether a text can contain a term of a trigram or more. One bit rules out most terms that no text contains. */
function mayContain({ gram, bits }: TrigramIndex, term: string): boolean {
  const mask = bits.length * 32 - 1;
  for (let at = 0; at + gram <= term.length; at++) {
    const third = gram === GRAM ? term.charCodeAt(at + 2) : 0;
    const bit = hashOfTrigram(pairOf(term.charCodeAt(at), term.charCodeAt(at + 1)), third) & mask;
    if ((bits[bit >>> 5]! & (1 << bit)) === 0) return false;
  }
  return true;
}

/** The trigrams that begin with one to three code units of a text. A trigram is found by its hash. */
function trigramsWithPrefix(trigrams: TrigramIndex, text: string, from: number, to: number): Range {
  const { gram, pairs, thirds, slots } = trigrams;
  const first = text.charCodeAt(from);
  if (to - from === gram) {
    const third = gram === GRAM ? text.charCodeAt(from + 2) : 0;
    const pair = pairOf(first, text.charCodeAt(from + 1));
    const number = slots[trigramSlotOf(slots, pairs, thirds, pair, third)]! - 1;
    return number < 0 ? NOTHING : [number, number + 1];
  }
  const isPair = to - from === 2;
  const least = first * 65_536 + (isPair ? text.charCodeAt(from + 1) : 0);
  const low = lowerBound(pairs, least, 0, pairs.length);
  return [low, gallop(pairs, least + (isPair ? 1 : 65_536), low, pairs.length)];
}

/** The postings of one to three code units: the lists of all trigrams that begin with these. */
function postingsOfPrefix(trigrams: TrigramIndex, term: string, units: number): Range {
  const [from, to] = trigramsWithPrefix(trigrams, term, 0, units);
  return [trigrams.starts[from]!, trigrams.starts[to]!];
}

/** The part of a range of a trigram's list where one to three code units of a text follow the trigram. */
function postingsFollowedBy(
  trigrams: TrigramIndex,
  [from, to]: Range,
  text: string,
  first: number,
  end: number,
): Range {
  const [low, high] = trigramsWithPrefix(trigrams, text, first, end);
  if (low === high) return NOTHING;
  const start = lowerBound(trigrams.followers, low, from, to);
  // Most terms are rare, so the end is near.
  return [start, gallop(trigrams.followers, high, start, to)];
}
