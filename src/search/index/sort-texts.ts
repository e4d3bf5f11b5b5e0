/**
 * Sorting texts by their code units.
 *
 * Multikey quicksort: a three-way quicksort on keys of three code units, then of the next three for
 * those that are equal so far. Nothing of it lies on the engine's heap, where
 * many millions of strings do not fit.
 */

import { sharedUint16, sharedUint32 } from "../../store/bytes.ts";
import { countUp } from "../../store/order.ts";
import { lengthOf, PAD, type Texts } from "../shared/texts.ts";

/** Code units of a key. */
const KEY_UNITS = 3;
/** What a code unit of a key can be: none, which comes first, or any. */
const KEY_BASE = 65_537;
/** Parts that are no longer are sorted by insertion. */
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

/** Whether texts that are equal up to a key are equal altogether: they end within it. */
function endsIn(key: number): boolean {
  return key % KEY_BASE === 0;
}

/**
 * Sorts texts by their code units, equal ones by their numbers.
 *
 * @returns their numbers in that order
 */
export function sortTexts(texts: Texts): Uint32Array {
  const order = countUp(texts.count);
  const keys = new Float64Array(texts.count);
  for (let text = 0; text < texts.count; text++) keys[text] = keyAt(texts, text, 0);
  // Parts that are still to be sorted: from, to, and how many code units are known to be equal. Keys are those of that depth.
  const parts = [0, texts.count, 0];
  while (parts.length > 0) {
    const depth = parts.pop()!;
    const to = parts.pop()!;
    const from = parts.pop()!;
    if (to - from <= SHORT) sortShort(texts, order, from, to, depth);
    else splitPart(texts, order, keys, from, to, depth, parts);
  }
  return order;
}

/** Splits a part by a key into what is below, equal and above, and notes these down; equal ones get their next keys. */
function splitPart(
  texts: Texts,
  order: Uint32Array,
  keys: Float64Array,
  from: number,
  to: number,
  depth: number,
  parts: number[],
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
  if (below - from > 1) parts.push(from, below, depth);
  if (to - above > 1) parts.push(above, to, depth);
  if (above - below < 2) return;
  if (endsIn(pivot)) {
    order.subarray(below, above).sort();
    return;
  }
  for (let at = below; at < above; at++) keys[at] = keyAt(texts, order[at]!, depth + KEY_UNITS);
  parts.push(below, above, depth + KEY_UNITS);
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

/** A key that is likely to be in the middle: the median of nine, drawn so that nobody can foresee it. */
function pivotOf(keys: Float64Array, from: number, to: number): number {
  const any = (): number => keys[from + Math.floor(Math.random() * (to - from))]!;
  return median(median(any(), any(), any()), median(any(), any(), any()), median(any(), any(), any()));
}

function sortShort(texts: Texts, order: Uint32Array, from: number, end: number, depth: number): void {
  for (let at = from + 1; at < end; at++) {
    const text = order[at]!;
    let to = at;
    for (; to > from && compareFrom(texts, order[to - 1]!, text, depth) > 0; to--) {
      order[to] = order[to - 1]!;
    }
    order[to] = text;
  }
}

/** Compares texts that are equal up to a depth; never 0, since equal ones are in order of their numbers. */
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

/** Texts in another order, in shared memory. @param order their numbers */
export function reorderTexts(texts: Texts, order: Uint32Array): Texts {
  const starts = sharedUint32(texts.count + 1);
  const units = sharedUint16(texts.starts[texts.count]!);
  let next = 0;
  for (let number = 0; number < order.length; number++) {
    starts[number] = next;
    const from = texts.starts[order[number]!]!;
    const end = texts.starts[order[number]! + 1]! - 1;
    for (let at = from; at < end; at++) units[next++] = texts.units[at]!;
    units[next++] = PAD;
  }
  starts[texts.count] = next;
  return { count: texts.count, units, starts };
}
