/** Texts as plain numbers: their UTF-16 code units one after the other, in shared memory. */

import { enlarge, sharedUint16, sharedUint32, Uint32Column } from "../store/bytes.ts";
import { checkLimit, MOST_CODE_UNITS } from "../store/limits.ts";
import { countUp } from "../store/order.ts";
import type { Work } from "./work.ts";

/** Stands after a text. The second half of a surrogate pair: no text ends with it but after a first half. */
export const PAD = 0xdc00;
export const PAD_TEXT = String.fromCharCode(PAD);

/** Texts with numbers from 0. */
export interface Texts {
  readonly count: number;
  /** Each text is followed by a {@link PAD}. */
  readonly units: Uint16Array;
  /** Text n begins at `starts[n]`; one more start is after the last pad. */
  readonly starts: Uint32Array;
}

export function lengthOf({ starts }: Texts, number: number): number {
  return starts[number + 1]! - starts[number]! - 1;
}

export class TextsBuilder {
  readonly #starts = new Uint32Column();
  readonly #most: number;
  readonly #kind: string;
  #units = new Uint16Array(1024);
  #length = 0;

  /** @param most code units, with one more for each text @param kind name of the texts for the error */
  constructor(most = MOST_CODE_UNITS, kind = "names") {
    this.#most = most;
    this.#kind = kind;
  }

  get count(): number {
    return this.#starts.length;
  }

  /** Adds a text, given as a part of one; it gets the next number. @throws {LimitError} when there are too many code units */
  add(text: string, from = 0, to = text.length): void {
    const end = this.#length + to - from;
    checkLimit(end + 1, this.#most, `characters of ${this.#kind}`);
    this.#starts.push(this.#length);
    while (end >= this.#units.length) this.#units = enlarge(this.#units, this.#most);
    for (let at = from; at < to; at++) this.#units[this.#length++] = text.charCodeAt(at);
    this.#units[this.#length++] = PAD;
  }

  /** Whether an added text equals a part of another one. */
  isEqual(number: number, text: string, from: number, to: number): boolean {
    const units = this.#units;
    const start = this.#starts.values[number]!;
    const end = number + 1 < this.count ? this.#starts.values[number + 1]! : this.#length;
    if (end - start - 1 !== to - from) return false;
    for (let at = from; at < to; at++) if (units[start + at - from] !== text.charCodeAt(at)) return false;
    return true;
  }

  finish(): Texts {
    const count = this.#starts.length;
    const starts = sharedUint32(count + 1);
    starts.set(this.#starts.values.subarray(0, count));
    starts[count] = this.#length;
    const units = sharedUint16(this.#length);
    units.set(this.#units.subarray(0, this.#length));
    // Not kept here: the caller may drop the texts as soon as they are in order.
    this.#units = new Uint16Array(0);
    return { count, units, starts };
  }
}

export const WHITE_SPACE = /\s+/u;

/** Whether a code unit is white space, as `\s` has it, without the cost of a regular expression. */
export function isWhiteSpace(unit: number): boolean {
  if (unit < 0x80) return unit === 0x20 || (unit >= 0x09 && unit <= 0x0d);
  if (unit < 0x1680) return unit === 0xa0;
  if (unit < 0x3000) return OTHER_WHITE_SPACE.has(unit) || (unit >= 0x2000 && unit <= 0x200a);
  return unit === 0x3000 || unit === 0xfeff;
}

const OTHER_WHITE_SPACE: ReadonlySet<number> = new Set([0x1680, 0x2028, 0x2029, 0x202f, 0x205f]);

/** Compares a text from a position on with some code units of a term: 0 when they are equal, below 0 when the text sorts first. */
export function compare(units: Uint16Array, at: number, term: string, from: number, to: number): number {
  for (let unit = from; unit < to; unit++) {
    // A text that ends has a pad here, which a term cannot have in this position.
    const difference = units[at + unit]! - term.charCodeAt(unit);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** Positions of a text tried between two pauses: at each, all code units of a term may have to be compared. */
const MOST_TRIED = 1024;

export function* containsTerm({ units, starts }: Texts, text: number, term: string): Work<boolean> {
  const end = starts[text + 1]! - term.length;
  for (let at = starts[text]!; at < end; at++) {
    if (compare(units, at, term, 0, term.length) === 0) return true;
    // `at` counts through all texts, so a run of short texts pauses, too.
    if (at % MOST_TRIED === 0) yield;
  }
  return false;
}

/*
 * Sorting texts by their code units: a three-way quicksort on keys of three code units, then on the next three of equal
 * ones (multikey quicksort). It keeps nothing on the engine's heap, where many millions of strings do not fit.
 */

const KEY_UNITS = 3;
/** Values of a code unit in a key: none, which comes first, or any. */
const KEY_BASE = 65_537;
/** Insertion sort up to this length. */
const SHORT = 12;

/** Three code units of a text as a number; texts that end come first. */
function keyAt({ units, starts }: Texts, text: number, depth: number): number {
  const from = starts[text]! + depth;
  const left = starts[text + 1]! - 1 - from;
  const first = left > 0 ? units[from]! + 1 : 0;
  const second = left > 1 ? units[from + 1]! + 1 : 0;
  const third = left > 2 ? units[from + 2]! + 1 : 0;
  return (first * KEY_BASE + second) * KEY_BASE + third;
}

/** Whether texts end within a key: then texts with this key are equal. */
function endsIn(key: number): boolean {
  return key % KEY_BASE === 0;
}

/** The numbers of texts in order of their code units, equal ones in order of their numbers. */
export function sortTexts(texts: Texts): Uint32Array {
  const order = countUp(texts.count);
  const keys = new Float64Array(texts.count);
  for (let text = 0; text < texts.count; text++) keys[text] = keyAt(texts, text, 0);
  const parts: Part[] = [{ from: 0, to: texts.count, depth: 0 }];
  for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
    if (part.to - part.from <= SHORT) sortShort(texts, order, part);
    else splitPart(texts, order, keys, part, parts);
  }
  return order;
}

/** Texts still to be sorted, equal in their first `depth` code units. Their keys are taken at that depth. */
interface Part {
  readonly from: number;
  readonly to: number;
  readonly depth: number;
}

/** Splits a part into texts below, equal to and above a key, and adds these parts to the list; equal texts get their next keys. */
function splitPart(
  texts: Texts,
  order: Uint32Array,
  keys: Float64Array,
  { from, to, depth }: Part,
  parts: Part[],
): void {
  const pivot = pivotOf(keys, from, to);
  let below = from;
  let above = to;
  for (let at = from; at < above; ) {
    const key = keys[at]!;
    if (key < pivot) swap(order, keys, at++, below++);
    else if (key > pivot) swap(order, keys, at, --above);
    else at++;
  }
  if (below - from > 1) parts.push({ from, to: below, depth });
  if (to - above > 1) parts.push({ from: above, to, depth });
  if (above - below < 2) return;
  if (endsIn(pivot)) {
    order.subarray(below, above).sort();
    return;
  }
  for (let at = below; at < above; at++) keys[at] = keyAt(texts, order[at]!, depth + KEY_UNITS);
  parts.push({ from: below, to: above, depth: depth + KEY_UNITS });
}

function swap(order: Uint32Array, keys: Float64Array, a: number, b: number): void {
  const text = order[a]!;
  const key = keys[a]!;
  order[a] = order[b]!;
  keys[a] = keys[b]!;
  order[b] = text;
  keys[b] = key;
}

function median(a: number, b: number, c: number): number {
  return Math.max(Math.min(a, b), Math.min(Math.max(a, b), c));
}

/** A key that is likely to be in the middle: the median of medians of nine keys, drawn at random so that no data can foil it. */
function pivotOf(keys: Float64Array, from: number, to: number): number {
  const any = (): number => keys[from + Math.floor(Math.random() * (to - from))]!;
  return median(median(any(), any(), any()), median(any(), any(), any()), median(any(), any(), any()));
}

function sortShort(texts: Texts, order: Uint32Array, { from, to: end, depth }: Part): void {
  for (let at = from + 1; at < end; at++) {
    const text = order[at]!;
    let to = at;
    for (; to > from && compareFrom(texts, order[to - 1]!, text, depth) > 0; to--) {
      order[to] = order[to - 1]!;
    }
    order[to] = text;
  }
}

/** Compares texts that are equal up to a depth; never 0, since equal texts are in order of their numbers. */
function compareFrom(texts: Texts, a: number, b: number, depth: number): number {
  const { units, starts } = texts;
  const lengthA = lengthOf(texts, a);
  const lengthB = lengthOf(texts, b);
  const shorter = Math.min(lengthA, lengthB);
  for (let at = depth; at < shorter; at++) {
    const difference = units[starts[a]! + at]! - units[starts[b]! + at]!;
    if (difference !== 0) return difference;
  }
  return lengthA - lengthB || a - b;
}

/** By number: its rank in an order. */
export function ranksIn(order: Uint32Array, ranks: Uint32Array = new Uint32Array(order.length)): Uint32Array {
  for (let rank = 0; rank < order.length; rank++) ranks[order[rank]!] = rank;
  return ranks;
}

/** Texts in another order, in shared memory. @param order their numbers */
export function reorderTexts(texts: Texts, order: Uint32Array): Texts {
  const starts = sharedUint32(texts.count + 1);
  const units = sharedUint16(texts.starts[texts.count]!);
  let next = 0;
  for (let number = 0; number < order.length; number++) {
    starts[number] = next;
    const end = texts.starts[order[number]! + 1]!;
    for (let at = texts.starts[order[number]!]!; at < end; at++) units[next++] = texts.units[at]!;
  }
  starts[texts.count] = next;
  return { count: texts.count, units, starts };
}
