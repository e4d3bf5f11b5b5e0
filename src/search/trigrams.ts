/**
 * The trigram index: from every three consecutive code units to their positions in texts. `docs/search-index.md` draws it.
 * A trigram's number is found by its hash, with open addressing.
 */

import type { Texts } from "./texts.ts";

export const GRAM = 3;
export const BIGRAM = 2;

/** The postings of all trigrams of some texts, in shared memory. */
export interface TrigramIndex {
  readonly texts: Texts;
  /**
   * Code units of the dictionary's n-grams: two where a dictionary of trigrams would take more memory than the
   * postings. Twice as many code units of a posting are known without reading the text.
   */
  readonly gram: typeof GRAM | typeof BIGRAM;
  /** First two code units, and the third, of each trigram, in order of code units; the third of a bigram is 0. */
  readonly pairs: Uint32Array;
  readonly thirds: Uint32Array;
  /** By hash of a trigram: its number in that order plus one, or 0. */
  readonly slots: Uint32Array;
  /** A Bloom filter with one hash: a bit for each trigram in the dictionary. */
  readonly bits: Uint32Array;
  /** The posting list of trigram g is `postings[starts[g]]` to `postings[starts[g + 1] - 1]`. */
  readonly starts: Uint32Array;
  readonly postings: Uint32Array;
  /** By posting: the number of the trigram that follows, three code units on. */
  readonly followers: Uint32Array;
  /** Text of each further chunk, and the position of its first code unit. Chunk numbers continue after the last text. */
  readonly chunkTexts: Uint32Array;
  readonly chunkStarts: Uint32Array;
}

/** First and second code unit of a trigram in one number. */
export function pairOf(first: number, second: number): number {
  return ((first << 16) | second) >>> 0;
}

/** Posting lists are sorted by this many code units, the trigram's own included. */
export function depthOf({ gram }: TrigramIndex): number {
  return gram * 3;
}

export function hashOfTrigram(pair: number, third: number): number {
  const mixed = Math.imul(Math.imul(pair, 0x9e3779b1) ^ third, 0x85ebca6b);
  return mixed ^ (mixed >>> 15);
}

/** The slot that holds, or is to hold, a trigram's number plus one. @param pairs by number, like `thirds` */
export function trigramSlotOf(
  slots: Uint32Array,
  pairs: Uint32Array,
  thirds: Uint32Array,
  pair: number,
  third: number,
): number {
  const mask = slots.length - 1;
  let slot = hashOfTrigram(pair, third) & mask;
  for (;;) {
    const number = slots[slot]! - 1;
    if (number < 0 || (pairs[number] === pair && thirds[number] === third)) return slot;
    slot = (slot + 1) & mask;
  }
}

/** A range of a list: from the first up to, not including, the second. */
export type Range = readonly [from: number, to: number];

export const NOTHING: Range = [0, 0];

/** The position of a posting, in the code units of all texts together. */
export function positionOf({ texts, chunkStarts }: TrigramIndex, posting: number): number {
  const number = posting >>> NUMBER_SHIFT;
  const start = number < texts.count ? texts.starts[number]! : chunkStarts[number - texts.count]!;
  return start + ((posting >>> 1) & (CHUNK - 1));
}

export function textOf({ texts, chunkTexts }: TrigramIndex, posting: number): number {
  const number = posting >>> NUMBER_SHIFT;
  return number < texts.count ? number : chunkTexts[number - texts.count]!;
}

export function isBeginning(trigrams: TrigramIndex, posting: number): boolean {
  return beginningMask(trigrams, posting) !== 0;
}

/** All bits if a posting is the beginning of its text, else 0. */
export function beginningMask({ texts }: TrigramIndex, posting: number): number {
  return posting >>> NUMBER_SHIFT < texts.count ? ((posting & ((CHUNK - 1) << 1)) - 1) >> 31 : 0;
}

/*
 * A posting, packed in one number: a position of a trigram in a text.
 *
 *   bits 7–31  number of the text, or of a further chunk of a long one
 *   bits 1–6   position in the chunk, in code units
 *   bit 0      whether the text contains the trigram again
 */

/** Where the number of a text, or chunk, begins. */
export const NUMBER_SHIFT = 7;
/** Code units of a chunk. A longer text has further chunks, numbered from the last text on. */
export const CHUNK = 64;
/** The bit of a posting whose text contains the trigram again. */
export const REPEATED = 1;

/** Whether the text of a posting may contain a term that begins there at another position, too. */
export function isRepeated(posting: number): boolean {
  return (posting & REPEATED) !== 0;
}

export function makePosting(number: number, position: number): number {
  return number * (1 << NUMBER_SHIFT) + position * 2;
}
