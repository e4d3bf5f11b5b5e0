/**
 * Grams to places: where texts hold a given run of three UTF-16 units.
 *
 * Every unit of every text begins a gram; behind the end of a text stands
 * {@link PAD}. The list of a gram holds all its places, in the order of what
 * follows there. So the places of a longer run are a part of the list of its
 * first gram, which is found by halving, and those of a shorter one are the
 * lists of all grams that begin with it, which stand side by side. Neither
 * takes an intersection of lists, which is what would cost.
 *
 * The list of a gram is found by its hash, in a table over shared memory, so
 * that every thread can search the one index.
 */

import type { Texts } from "./texts.ts";

/** Units of a gram. */
export const GRAM = 3;
/** Units of two grams: so many of what stands at a place are known without a look at the text. */
export const TWO_GRAMS = GRAM * 2;

/**
 * A place is the number of a text * 128 + the unit in it * 2 + whether the text
 * holds the gram once more. A text of more than 64 units goes on as further
 * pieces, which have numbers of their own.
 */
export const NUMBER_SHIFT = 7;
/** Units of a piece. */
export const PIECE = 64;
/** The bit of a place whose text holds the gram once more. */
export const REPEATED = 1;

/** The places of all grams of some texts. All of it lies in shared memory and can be handed to other threads. */
export interface Grams {
  readonly texts: Texts;
  /** First two units, and the third, of each gram, in order of the units. */
  readonly pairs: Uint32Array;
  readonly thirds: Uint32Array;
  /** By hash of a gram: its number in that order plus one, or 0. */
  readonly slots: Uint32Array;
  /** A bit of each gram that is there, at its hash. */
  readonly bits: Uint32Array;
  /** The list of gram g is `places[starts[g]]` to `places[starts[g + 1] - 1]`. */
  readonly starts: Uint32Array;
  readonly places: Uint32Array;
  /** By number of `places`: the gram that follows, three units on. It tells of six units without a look at the text. */
  readonly followers: Uint32Array;
  /** Lists are in order of so many units, those of the gram included. */
  readonly depth: number;
  /** Of each piece that is not the first of its text: the text, and its first unit. Numbered on from the last text. */
  readonly pieceTexts: Uint32Array;
  readonly pieceStarts: Uint32Array;
}

/** First and second unit of a gram in one number. */
export function pairOf(first: number, second: number): number {
  return ((first << 16) | second) >>> 0;
}

/** Hash of a gram. */
export function hashOf(pair: number, third: number): number {
  const mixed = Math.imul(Math.imul(pair, 0x9e3779b1) ^ third, 0x85ebca6b);
  return mixed ^ (mixed >>> 15);
}

/** The slot in which a gram's number plus one is, or is to be. @param pairs by number, as are the thirds */
export function slotOf(
  slots: Uint32Array,
  pairs: Uint32Array,
  thirds: Uint32Array,
  pair: number,
  third: number,
): number {
  const mask = slots.length - 1;
  let slot = hashOf(pair, third) & mask;
  for (;;) {
    const number = slots[slot]! - 1;
    if (number < 0 || (pairs[number] === pair && thirds[number] === third)) return slot;
    slot = (slot + 1) & mask;
  }
}

/**
 * Whether there can be a text that contains a term of a gram and more. Most
 * terms that are nowhere have a gram that is nowhere, and most of those are
 * told by one bit, without a look at the table of grams.
 */
export function mayHold({ bits }: Grams, term: string): boolean {
  const mask = bits.length * 32 - 1;
  for (let at = 0; at + GRAM <= term.length; at++) {
    const bit = hashOf(pairOf(term.charCodeAt(at), term.charCodeAt(at + 1)), term.charCodeAt(at + 2)) & mask;
    if ((bits[bit >>> 5]! & (1 << bit)) === 0) return false;
  }
  return true;
}

/** Where a value, or the first above it, is among ascending ones. */
function lowerBound(values: Uint32Array, value: number, from: number, to: number): number {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle]! < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * The same for a value that is expected near the beginning: sought in steps
 * that double, then by halves, so that little memory is looked at.
 */
function lowerBoundNear(values: Uint32Array, value: number, from: number, to: number): number {
  let before = from;
  let step = 1;
  while (before + step <= to && values[before + step - 1]! < value) {
    before += step;
    step *= 2;
  }
  return lowerBound(values, value, before, Math.min(before + step, to));
}

/** Neighbours in a list: from the first up to, not including, the second. */
export type Range = readonly [from: number, to: number];

/** A range without anything in it. */
export const NOTHING: Range = [0, 0];

/** The grams that begin with one to three units of a text. */
function gramsThatBegin(grams: Grams, text: string, from: number, to: number): Range {
  if (to - from === GRAM) {
    const number = numberOf(grams, text, from);
    return number < 0 ? NOTHING : [number, number + 1];
  }
  const { pairs } = grams;
  const first = text.charCodeAt(from);
  const second = text.charCodeAt(from + 1);
  const least = first * 65_536 + (to - from === 1 ? 0 : second);
  const most = least + (to - from === 1 ? 65_536 : 1);
  const low = lowerBound(pairs, least, 0, pairs.length);
  return [low, lowerBoundNear(pairs, most, low, pairs.length)];
}

/** The places of all grams that begin with one to three units: their lists stand side by side. */
export function placesOfShort(grams: Grams, term: string): Range {
  const [from, to] = gramsThatBegin(grams, term, 0, term.length);
  return [grams.starts[from]!, grams.starts[to]!];
}

/** The number of the gram that begins at a unit of a text; below 0 when it is nowhere. */
function numberOf({ pairs, thirds, slots }: Grams, text: string, at: number): number {
  const pair = pairOf(text.charCodeAt(at), text.charCodeAt(at + 1));
  return slots[slotOf(slots, pairs, thirds, pair, text.charCodeAt(at + 2))]! - 1;
}

/** The places of the gram that a text begins with. */
export function placesOfGram(grams: Grams, text: string): Range {
  const number = numberOf(grams, text, 0);
  return number < 0 ? NOTHING : [grams.starts[number]!, grams.starts[number + 1]!];
}

/** Where a part of all places is among them. */
export function rangeOf({ places }: Grams, part: Uint32Array): Range {
  const from = (part.byteOffset - places.byteOffset) / places.BYTES_PER_ELEMENT;
  return [from, from + part.length];
}

/** Of a part of a gram's list, the places where one to three units of a text follow the gram. */
export function placesFollowedBy(
  grams: Grams,
  [from, to]: Range,
  text: string,
  first: number,
  end: number,
): Range {
  const [low, high] = gramsThatBegin(grams, text, first, end);
  if (low === high) return NOTHING;
  const start = lowerBound(grams.followers, low, from, to);
  // Most terms are rare.
  return [start, lowerBoundNear(grams.followers, high, start, to)];
}

/** The unit, of all texts together, at a place. */
export function unitAt({ texts, pieceStarts }: Grams, place: number): number {
  const number = place >>> NUMBER_SHIFT;
  const start = number < texts.count ? texts.starts[number]! : pieceStarts[number - texts.count]!;
  return start + ((place >>> 1) & (PIECE - 1));
}

/** The text of a place. */
export function textAt({ texts, pieceTexts }: Grams, place: number): number {
  const number = place >>> NUMBER_SHIFT;
  return number < texts.count ? number : pieceTexts[number - texts.count]!;
}

/** Whether a place is the beginning of its text. */
export function isBeginning(grams: Grams, place: number): boolean {
  return beginningMask(grams, place) !== 0;
}

/** All bits, if a place is the beginning of its text; else none. */
export function beginningMask({ texts }: Grams, place: number): number {
  return place >>> NUMBER_SHIFT < texts.count ? ((place & ((PIECE - 1) << 1)) - 1) >> 31 : 0;
}

/** Whether the text of a place may hold a term that begins there somewhere else, too. */
export function isRepeated(place: number): boolean {
  return (place & REPEATED) !== 0;
}

/** Makes a place. @param unit in its piece */
export function placeOf(number: number, unit: number): number {
  return number * (1 << NUMBER_SHIFT) + unit * 2;
}

/** What is to be added to a place for one some units on, or back if below 0, if that is in the same piece. */
export function shiftOf(units: number): number {
  return units * 2;
}

/** Whether two places are in the same piece of a text. */
export function isSamePiece(a: number, b: number): boolean {
  return a >>> NUMBER_SHIFT === b >>> NUMBER_SHIFT;
}

/** Whether two places are the same, whatever else they tell. */
export function isSameUnit(a: number, b: number): boolean {
  return a >>> 1 === b >>> 1;
}
