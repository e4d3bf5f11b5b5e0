/** Where texts hold a term: from lists of grams to exact places. */

import { lengthOf, PAD_TEXT, type Texts } from "../shared/texts.ts";
import {
  GRAM,
  type Grams,
  mayHold,
  NOTHING,
  PIECE,
  placeOf,
  placesFollowedBy,
  placesOfGram,
  placesOfShort,
  type Range,
  REPEATED,
  rangeOf,
  TWO_GRAMS,
  textAt,
  unitAt,
} from "../shared/trigrams.ts";
import { STEP, type Work } from "../shared/work.ts";

/** How many places a range has. */
export function sizeOfRange([from, to]: Range): number {
  return to - from;
}

/** How a text goes on from a unit, against some units of a term: below 0 when it comes before them, 0 when they stand there. */
export function compare(units: Uint16Array, at: number, term: string, from: number, to: number): number {
  for (let unit = from; unit < to; unit++) {
    // A text that ends has a pad here, which no term holds in such a place.
    const difference = units[at + unit]! - term.charCodeAt(unit);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** Units of a text that are gone through for a term without a pause: there may be as many units of the term to compare at each. */
const MOST_SOUGHT = 1024;

/** Whether a text contains a term, with pauses where the text is long. */
export function* seekInText(texts: Texts, text: number, term: string): Work<boolean> {
  const end = texts.starts[text + 1]! - term.length;
  for (let from = texts.starts[text]!; from < end; from += MOST_SOUGHT) {
    if (beginsWithin(texts.units, from, Math.min(from + MOST_SOUGHT, end), term)) return true;
    yield;
  }
  return false;
}

/** Whether a text contains a term; undefined when it is too long to tell without a pause. */
export function holds({ units, starts }: Texts, text: number, term: string): boolean | undefined {
  const from = starts[text]!;
  const end = starts[text + 1]! - term.length;
  return end - from > MOST_SOUGHT ? undefined : beginsWithin(units, from, end, term);
}

/** Whether a term begins at one of some units. */
function beginsWithin(units: Uint16Array, from: number, end: number, term: string): boolean {
  const first = term.charCodeAt(0);
  for (let at = from; at < end; at++) {
    if (units[at] === first && compare(units, at, term, 1, term.length) === 0) return true;
  }
  return false;
}

/**
 * Of places at which the first two grams of a term stand, those that go on with
 * the units of it from there up to another, where the order of lists may end.
 */
function narrowByText(grams: Grams, [from, to]: Range, term: string, end: number): Range {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareAt(grams, middle, term, end) < 0) low = middle + 1;
    else high = middle;
  }
  if (low === to || compareAt(grams, low, term, end) !== 0) return NOTHING;
  // Most terms are rare: the end is sought in steps that double, then by halves.
  let last = low;
  let step = 1;
  while (last + step < to && compareAt(grams, last + step, term, end) === 0) {
    last += step;
    step *= 2;
  }
  high = Math.min(last + step, to);
  while (high - last > 1) {
    const middle = (last + high) >>> 1;
    if (compareAt(grams, middle, term, end) === 0) last = middle;
    else high = middle;
  }
  return [low, high];
}

function compareAt(grams: Grams, at: number, term: string, end: number): number {
  return compare(grams.texts.units, unitAt(grams, grams.places[at]!), term, TWO_GRAMS, end);
}

/** Places of a run of up to two grams. */
function placesOfRun(grams: Grams, run: string): Range {
  if (run.length < GRAM) return placesOfShort(grams, run);
  const ofGram = placesOfGram(grams, run);
  if (run.length === GRAM || ofGram[0] === ofGram[1]) return ofGram;
  return placesFollowedBy(grams, ofGram, run, GRAM, run.length);
}

/**
 * Of the places of a term those at which a text can end with it: exactly those
 * as far as the lists are in order, and all of them beyond.
 */
export function placesAtEnd(grams: Grams, places: Uint32Array, term: string): Uint32Array {
  const { length } = term;
  if (length >= grams.depth || places.buffer !== grams.places.buffer) return places;
  const range = rangeOf(grams, places);
  if (length >= TWO_GRAMS) return placesIn(grams, narrowByText(grams, range, term + PAD_TEXT, length + 1));
  if (length >= GRAM) {
    const padded = term.padEnd(TWO_GRAMS, PAD_TEXT);
    return placesIn(grams, placesFollowedBy(grams, range, padded, GRAM, TWO_GRAMS));
  }
  return placesIn(grams, placesOfShort(grams, term + PAD_TEXT));
}

/** Where a term may stand. */
export interface Located {
  /** Part of all places: where some of its units stand. */
  readonly range: Range;
  /** The first of these units. */
  readonly offset: number;
  /** Whether they are the whole term; else texts have to be looked at. */
  readonly isWhole: boolean;
}

function whole(range: Range): Located {
  return { range, offset: 0, isWhole: true };
}

/** Finds where a term may stand, without a look at each place. @param term folded, not empty */
export function locate(grams: Grams, term: string): Located {
  if (!mayHold(grams, term)) return whole(NOTHING);
  if (term.length <= TWO_GRAMS) return whole(placesOfRun(grams, term));
  // The rarest two grams of a longer term are enough if the texts are looked at.
  const beginning = placesOfRun(grams, term.slice(0, TWO_GRAMS));
  let rarest = beginning;
  let offset = 0;
  const most = term.length - TWO_GRAMS;
  const step = Math.max(GRAM, Math.ceil(most / MOST_RUNS));
  for (let from = step; from < most + step && sizeOfRange(rarest) > FEW; from += step) {
    const at = Math.min(from, most);
    const range = placesOfRun(grams, term.slice(at, at + TWO_GRAMS));
    if (sizeOfRange(range) < sizeOfRange(rarest)) {
      rarest = range;
      offset = at;
    }
  }
  if (sizeOfRange(rarest) <= FEW) return { range: rarest, offset, isWhole: false };
  if (term.length <= grams.depth) return whole(narrowByText(grams, beginning, term, term.length));
  offset = Math.min(offset, term.length - grams.depth);
  return { range: placesOfPart(grams, term, offset), offset, isWhole: false };
}

/** Places at which so many units of a term stand as lists are in order of; there they are in order of the texts. */
export function placesOfPart(grams: Grams, term: string, offset: number): Range {
  const { depth } = grams;
  const part = term.slice(offset, offset + depth);
  const range = placesOfRun(grams, part.slice(0, TWO_GRAMS));
  return part.length > TWO_GRAMS ? narrowByText(grams, range, part, part.length) : range;
}

/**
 * All places at which texts hold a term, in no order that matters; a text may
 * hold it several times, but its beginning comes only once.
 *
 * @param located where the term may stand; at so few places that they can be listed
 * @param term folded, not empty
 * @returns not to be changed: mostly a part of the index. What is not, tells of a
 *   place that is no beginning only the text and whether it is repeated
 */
export function* placesOf(grams: Grams, located: Located, term: string): Work<Uint32Array> {
  const places = placesIn(grams, located.range);
  return located.isWhole ? places : yield* lookAt(grams, term, places, located.offset);
}

/** So many runs of a term are counted, and as many again in a term of few more units. */
const MOST_RUNS = 12;
/** So few texts are looked at sooner than their order is made use of. */
const FEW = 16;

/** A part of all places. */
export function placesIn({ places }: Grams, [from, to]: Range): Uint32Array {
  return places.subarray(from, to);
}

/** To look at a text takes about as long as to pass over so many places. */
const LOOK_WORK = 32;

/** The places, moved back to the beginning of the term, at which it stands as a whole. */
function* lookAt(grams: Grams, term: string, parts: Uint32Array, offset: number): Work<Uint32Array> {
  const { texts } = grams;
  const { units, starts } = texts;
  const found = new Uint32Array(parts.length);
  let count = 0;
  let work = 0;
  /** In a text of one letter a term stands at every place: one is enough, and its beginning. */
  let latest = -1;
  for (const part of parts) {
    const text = textAt(grams, part);
    const from = unitAt(grams, part) - offset - starts[text]!;
    work++;
    const fits = from >= 0 && from + term.length <= lengthOf(texts, text);
    if (fits && (text !== latest || from === 0)) {
      work += LOOK_WORK + term.length;
      if (compare(units, starts[text]! + from, term, 0, term.length) === 0) {
        found[count++] = placeOf(text, Math.min(from, PIECE - 1)) | (part & REPEATED);
        latest = text;
      }
    }
    if (work > STEP) {
      work = 0;
      yield;
    }
  }
  // A copy, since what is left may be kept for long.
  return found.slice(0, count);
}
