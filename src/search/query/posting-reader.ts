/**
 * Reading the places of a term one part after the other, so that a search needs
 * no list of them, however many there are.
 *
 * Of a term that is longer than lists are in order, parts are that long. The
 * places of each part are in order of the texts. So the term stands where a
 * place of its first part has one of every other part at the right distance,
 * which a walk over all of these lists side by side tells: it takes a part of
 * the time of a look at each text.
 */

import { PAD_TEXT } from "../shared/texts.ts";
import {
  type Grams,
  isSamePiece,
  isSameUnit,
  PIECE,
  placeOf,
  type Range,
  shiftOf,
  textAt,
  unitAt,
} from "../shared/trigrams.ts";
import { STEP } from "../shared/work.ts";
import { compare, type Located, placesIn, placesOfPart, sizeOfRange } from "./locate.ts";
import { endOfAlike } from "./shared-prefix.ts";

/** So many places are checked at a time. */
const CHUNK = 4096;
/** To look at a text takes about as long as so many steps in lists side by side. */
const LOOK_WORK = 8;

/** The places of another part of the term. */
interface Part {
  /** The place that is next, among all places, and where they end. */
  at: number;
  readonly to: number;
  /** Units from the beginning of the term. */
  readonly offset: number;
}

/** Reads the places of a term; see `placesOf` for what they tell. They come in order of the lists. */
export class PlaceReader {
  readonly #grams: Grams;
  readonly #term: string;
  readonly #located: Located;
  /** Undefined when texts are looked at, or need not be. */
  readonly #parts: readonly Part[] | undefined;
  readonly #chunk: Uint32Array;
  #at: number;

  constructor(grams: Grams, located: Located, term: string) {
    this.#grams = grams;
    this.#term = term;
    this.#located = located;
    this.#at = located.range[0];
    this.#parts = located.isWhole ? undefined : partsOf(grams, located, term);
    this.#chunk = new Uint32Array(located.isWhole ? 0 : CHUNK);
  }

  /**
   * Reads on; takes no longer than work should between two yields.
   *
   * @returns some places, maybe none, which the next call may overwrite; undefined behind the last
   */
  next(): Uint32Array | undefined {
    const { range, isWhole } = this.#located;
    const from = this.#at;
    if (from === range[1]) return undefined;
    const most = isWhole ? STEP : this.#parts === undefined ? CHUNK / LOOK_WORK : CHUNK;
    this.#at = Math.min(from + most, range[1]);
    const read = placesIn(this.#grams, [from, this.#at]);
    return isWhole ? read : this.#check(read);
  }

  /**
   * Passes over many places whose texts, and all between these, hold the term,
   * if such come next; the texts must be in order of their units.
   *
   * @returns their numbers; undefined when {@link next} is to read on
   */
  nextAlike(): Range | undefined {
    const from = this.#at;
    const end = endOfAlike(this.#grams, this.#located, this.#term, from);
    if (end === from) return undefined;
    this.#at = end;
    const { places } = this.#grams;
    return [textAt(this.#grams, places[from]!), textAt(this.#grams, places[end - 1]!) + 1];
  }

  /** Those places at which the term stands as a whole, moved back to its beginning. */
  #check(read: Uint32Array): Uint32Array {
    const { offset } = this.#located;
    const chunk = this.#chunk;
    let count = read.length;
    chunk.set(read);
    if (this.#parts === undefined) count = keepByText(this.#grams, this.#term, offset, chunk, count);
    else {
      for (const part of this.#parts) count = keepByPart(this.#grams, part, offset, chunk, count);
      // Half of a pair looks like the end of a text.
      if (this.#term.includes(PAD_TEXT)) {
        count = keepByText(this.#grams, this.#term, offset, chunk, count);
      }
    }
    moveBack(this.#grams, offset, chunk, count);
    return chunk.subarray(0, count);
  }
}

/** Keeps the places at which a text has a term that begins so many units before. @returns how many are left */
function keepByText(grams: Grams, term: string, offset: number, chunk: Uint32Array, many: number): number {
  const { units, starts } = grams.texts;
  let count = 0;
  for (let at = 0; at < many; at++) {
    const place = chunk[at]!;
    const text = textAt(grams, place);
    const unit = unitAt(grams, place) - offset;
    if (unit < starts[text]! || unit + term.length >= starts[text + 1]!) continue;
    if (compare(units, unit, term, 0, term.length) === 0) chunk[count++] = place;
  }
  return count;
}

/** So many places are passed over one by one. */
const SHORT_WAY = 8;

/** Keeps the places that have one of another part at the right distance. @returns how many are left */
function keepByPart(grams: Grams, part: Part, offset: number, chunk: Uint32Array, many: number): number {
  const { places } = grams;
  const { to } = part;
  const shift = shiftOf(part.offset - offset);
  const firstEnd = placeOf(grams.texts.count, 0);
  let next = part.at;
  let count = 0;
  for (let at = 0; at < many; at++) {
    const place = chunk[at]!;
    // Mostly both are in first pieces of texts, or both in further ones: numbers tell their order, without a look at where texts begin.
    const wanted = place + shift;
    const least = place < firstEnd ? 0 : firstEnd;
    if (isSamePiece(place, wanted)) {
      for (let step = 0; step < SHORT_WAY && next < to; step++, next++) {
        if (places[next]! < least || places[next]! >>> 1 >= wanted >>> 1) break;
      }
      if (next < to && isSameUnit(places[next]!, wanted)) {
        chunk[count++] = place;
        next++;
        continue;
      }
      if (next < to && places[next]! > wanted && (least > 0 || places[next]! < firstEnd)) continue;
    }
    const unit = unitAt(grams, place) - offset + part.offset;
    next = seek(grams, next, to, unit);
    if (next < to && unitAt(grams, places[next]!) === unit) {
      chunk[count++] = place;
      next++;
    }
  }
  part.at = next;
  return count;
}

/** Moves places back by some units, which are in the same text. */
function moveBack(grams: Grams, units: number, chunk: Uint32Array, many: number): void {
  if (units === 0) return;
  const shift = shiftOf(-units);
  for (let at = 0; at < many; at++) {
    const place = chunk[at]!;
    if (isSamePiece(place, place + shift)) chunk[at] = place + shift;
    else {
      const text = textAt(grams, place);
      const unit = unitAt(grams, place) - units - grams.texts.starts[text]!;
      chunk[at] = placeOf(text, Math.min(unit, PIECE - 1));
    }
  }
}

/** Other parts that together with the one that was located cover a term; undefined when a look at the texts takes less. */
function partsOf(grams: Grams, { range, offset }: Located, term: string): Part[] | undefined {
  const { depth } = grams;
  if (term.length < depth || sizeOfRange(range) <= CHUNK) return undefined;
  const parts: Part[] = [];
  let steps = 0;
  for (let at = 0; at < term.length; at += depth) {
    // Those behind the one that was located begin where it ends.
    if (at === offset || (at > offset && at < offset + depth)) at = offset + depth;
    if (at >= term.length) break;
    const from = Math.min(at, term.length - depth);
    const [first, to] = placesOfPart(grams, term, from);
    parts.push({ at: first, to, offset: from });
    steps += to - first;
  }
  // What stands at fewer places comes first.
  parts.sort((a, b) => a.to - a.at - (b.to - b.at));
  return steps / LOOK_WORK > sizeOfRange(range) ? undefined : parts;
}

/** The first of some places, from one on, that is not before a unit: in steps that double, then by halves. */
function seek(grams: Grams, from: number, to: number, unit: number): number {
  const { places } = grams;
  if (from >= to || unitAt(grams, places[from]!) >= unit) return from;
  let before = from;
  let step = 1;
  while (before + step < to && unitAt(grams, places[before + step]!) < unit) {
    before += step;
    step *= 2;
  }
  let end = Math.min(before + step, to);
  while (end - before > 1) {
    const middle = (before + end) >>> 1;
    if (unitAt(grams, places[middle]!) < unit) before = middle;
    else end = middle;
  }
  return end;
}
