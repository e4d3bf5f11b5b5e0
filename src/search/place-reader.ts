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

import { type GramIndex, type Grams, PIECE, placeOf, textAt, unitAt } from "./grams.ts";
import { compare, type Located, placesIn, placesOfPart, sizeOfRange } from "./places.ts";
import { STEP } from "./slices.ts";

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

  constructor(index: GramIndex, located: Located, term: string) {
    this.#grams = index.grams;
    this.#term = term;
    this.#located = located;
    this.#at = located.range[0];
    this.#parts = located.isWhole ? undefined : partsOf(index, located, term);
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
    if (!isWhole) return this.#chunk.subarray(0, this.#readChecked());
    this.#at = Math.min(from + STEP, range[1]);
    return placesIn(this.#grams, [from, this.#at]);
  }

  #readChecked(): number {
    const { range, offset } = this.#located;
    const { texts, places } = this.#grams;
    const chunk = this.#chunk;
    const isLook = this.#parts === undefined;
    const end = Math.min(this.#at + (isLook ? CHUNK / LOOK_WORK : CHUNK), range[1]);
    let count = 0;
    for (; this.#at < end; this.#at++) {
      const place = places[this.#at]!;
      const text = textAt(this.#grams, place);
      const start = texts.starts[text]!;
      const unit = unitAt(this.#grams, place) - offset;
      if (unit < start || unit + this.#term.length >= texts.starts[text + 1]!) continue;
      const isThere = isLook
        ? compare(texts.units, unit, this.#term, 0, this.#term.length) === 0
        : this.#hasAll(unit);
      if (isThere) chunk[count++] = placeOf(text, Math.min(unit - start, PIECE - 1));
    }
    return count;
  }

  /** Whether all other parts stand where they should for a term that begins at a unit. */
  #hasAll(unit: number): boolean {
    const parts = this.#parts!;
    for (let at = 0; at < parts.length; at++) {
      if (!seek(this.#grams, parts[at]!, unit + parts[at]!.offset)) return false;
    }
    return true;
  }
}

/** Other parts that together with the one that was located cover a term; undefined when a look at the texts takes less. */
function partsOf(index: GramIndex, { range, offset }: Located, term: string): Part[] | undefined {
  const { depth } = index.grams;
  if (term.length < depth || sizeOfRange(range) <= CHUNK) return undefined;
  const parts: Part[] = [];
  let steps = 0;
  for (let at = 0; at < term.length; at += depth) {
    // Those behind the one that was located begin where it ends.
    if (at === offset || (at > offset && at < offset + depth)) at = offset + depth;
    if (at >= term.length) break;
    const from = Math.min(at, term.length - depth);
    const [first, to] = placesOfPart(index, term, from);
    parts.push({ at: first, to, offset: from });
    steps += to - first;
  }
  // What stands at fewer places comes first.
  parts.sort((a, b) => a.to - a.at - (b.to - b.at));
  return steps / LOOK_WORK > sizeOfRange(range) ? undefined : parts;
}

/** Goes on to the first place of a part that is not before a unit: in steps that double, then by halves. @returns whether it is that unit */
function seek(grams: Grams, part: Part, unit: number): boolean {
  const { places } = grams;
  const { to } = part;
  let at = part.at;
  if (at < to && unitAt(grams, places[at]!) < unit) {
    let step = 1;
    while (at + step < to && unitAt(grams, places[at + step]!) < unit) {
      at += step;
      step *= 2;
    }
    let end = Math.min(at + step, to);
    while (end - at > 1) {
      const middle = (at + end) >>> 1;
      if (unitAt(grams, places[middle]!) < unit) at = middle;
      else end = middle;
    }
    part.at = end;
    at = end;
  }
  return at < to && unitAt(grams, places[at]!) === unit;
}
