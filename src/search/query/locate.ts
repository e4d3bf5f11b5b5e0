/**
 * From a term to a range of postings.
 *
 * The posting list of a trigram is in order of what follows. So the postings of
 * a term of up to nine code units are a range of the list of its first trigram,
 * found by halving, and those of one or two code units are the lists of all
 * trigrams with that prefix, which are neighbours. Of a longer term the rarest
 * two of its trigrams give candidates. Where the dictionary is one of bigrams,
 * the same goes for terms of up to four code units and for bigrams.
 */

import { compare } from "../shared/scan-text.ts";
import { PAD_TEXT } from "../shared/texts.ts";
import { NOTHING, positionOf, type Range, rangeOf, type TrigramIndex } from "../shared/trigrams.ts";
import {
  mayContain,
  postingsFollowedBy,
  postingsIn,
  postingsOfPrefix,
  postingsOfTrigram,
  sizeOfRange,
} from "./trigram-postings.ts";

/** So many substrings of a term are counted, and as many again in a term of few more code units. */
const MOST_SUBSTRINGS = 12;
/** So few candidates are verified sooner than their order is made use of. */
const FEW = 16;

/**
 * Of a range of postings of the first two trigrams of a term, those that go on
 * with its code units up to a position, where the order of lists may end.
 */
function narrowByText(trigrams: TrigramIndex, [from, to]: Range, term: string, end: number): Range {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareAt(trigrams, middle, term, end) < 0) low = middle + 1;
    else high = middle;
  }
  if (low === to || compareAt(trigrams, low, term, end) !== 0) return NOTHING;
  // Most terms are rare: galloping search for the end.
  let last = low;
  let step = 1;
  while (last + step < to && compareAt(trigrams, last + step, term, end) === 0) {
    last += step;
    step *= 2;
  }
  high = Math.min(last + step, to);
  while (high - last > 1) {
    const middle = (last + high) >>> 1;
    if (compareAt(trigrams, middle, term, end) === 0) last = middle;
    else high = middle;
  }
  return [low, high];
}

function compareAt(trigrams: TrigramIndex, at: number, term: string, end: number): number {
  const position = positionOf(trigrams, trigrams.postings[at]!);
  return compare(trigrams.texts.units, position, term, trigrams.gram * 2, end);
}

/** Postings of a substring of up to two trigrams. */
function postingsOfSubstring(trigrams: TrigramIndex, substring: string): Range {
  const { gram } = trigrams;
  if (substring.length < gram) return postingsOfPrefix(trigrams, substring);
  const ofTrigram = postingsOfTrigram(trigrams, substring);
  if (substring.length === gram || ofTrigram[0] === ofTrigram[1]) return ofTrigram;
  return postingsFollowedBy(trigrams, ofTrigram, substring, gram, substring.length);
}

/**
 * Of the postings of a term those whose text can end with it: exactly those as
 * far as the lists are in order, and all of them beyond.
 */
export function postingsAtEnd(trigrams: TrigramIndex, postings: Uint32Array, term: string): Uint32Array {
  const { length } = term;
  const { gram } = trigrams;
  if (length >= trigrams.depth || postings.buffer !== trigrams.postings.buffer) return postings;
  const range = rangeOf(trigrams, postings);
  if (length >= gram * 2)
    return postingsIn(trigrams, narrowByText(trigrams, range, term + PAD_TEXT, length + 1));
  if (length >= gram) {
    const padded = term.padEnd(gram * 2, PAD_TEXT);
    return postingsIn(trigrams, postingsFollowedBy(trigrams, range, padded, gram, gram * 2));
  }
  return postingsIn(trigrams, postingsOfPrefix(trigrams, term + PAD_TEXT));
}

/** Where a term may be. */
export interface Located {
  /** The postings of a substring of it. */
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
  if (term.length <= trigrams.depth) return exact(narrowByText(trigrams, beginning, term, term.length));
  offset = Math.min(offset, term.length - trigrams.depth);
  return { range: postingsOfPart(trigrams, term, offset), offset, isExact: false };
}

/** Postings of as many code units of a term as lists are in order of; these postings are in order of the texts. */
export function postingsOfPart(trigrams: TrigramIndex, term: string, offset: number): Range {
  const { depth, gram } = trigrams;
  const part = term.slice(offset, offset + depth);
  const range = postingsOfSubstring(trigrams, part.slice(0, gram * 2));
  return part.length > gram * 2 ? narrowByText(trigrams, range, part, part.length) : range;
}
