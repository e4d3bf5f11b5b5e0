/**
 * Sets of documents: an ascending list, or a bitset where there are many. A pass over the words of a bitset needs no pause: those
 * of the most documents, 2^25, take less than a millisecond. A pass over the documents in a set does.
 */

import { type Grams, isDense, wordsFor } from "./grams.ts";
import type { Work } from "./work.ts";

export type DocumentSet = { readonly count: number } & (
  | { readonly list: Uint32Array; readonly bits?: undefined }
  | { readonly list?: undefined; readonly bits: Uint32Array }
);

export const NO_DOCUMENTS: DocumentSet = { count: 0, list: new Uint32Array(0) };

/** Documents that are read, written or compared between two pauses: a quarter of a millisecond. */
export const DOCUMENTS_AT_ONCE = 2 ** 16;

export function onesIn(word: number): number {
  let ones = word - ((word >>> 1) & 0x5555_5555);
  ones = (ones & 0x3333_3333) + ((ones >>> 2) & 0x3333_3333);
  return Math.imul((ones + (ones >>> 4)) & 0x0f0f_0f0f, 0x0101_0101) >>> 24;
}

/** The number of the lowest bit that is set in a word other than 0. */
export function lowestOne(word: number): number {
  return 31 - Math.clz32(word & -word);
}

export function hasBit(bits: Uint32Array, document: number): boolean {
  return ((bits[document >>> 5]! >>> document) & 1) === 1;
}

function setOf(bits: Uint32Array): DocumentSet {
  let count = 0;
  for (let at = 0; at < bits.length; at++) if (bits[at] !== 0) count += onesIn(bits[at]!);
  return { count, bits };
}

/** The documents of a gram. A bitset is the stored one: do not write to it. */
export function* documentsOf({ documents, counts, places, lists }: Grams, gram: number): Work<DocumentSet> {
  const count = counts[gram]!;
  const place = places[gram]!;
  if (isDense(count, documents)) return { count, bits: lists.subarray(place, place + wordsFor(documents)) };
  const bytes = new Uint8Array(lists.buffer, lists.byteOffset + place * 4);
  const list = new Uint32Array(count);
  let from = 0;
  for (let index = 0, document = -1; index < count; ) {
    const stop = Math.min(index + DOCUMENTS_AT_ONCE, count);
    for (; index < stop; index++) {
      let byte = bytes[from++]!;
      let difference = byte & 127;
      for (let shift = 7; byte >= 128; shift += 7) {
        byte = bytes[from++]!;
        difference |= (byte & 127) << shift;
      }
      document += difference;
      list[index] = document;
    }
    if (index < count) yield;
  }
  return { count, list };
}

/** The documents of a set as an ascending list. */
export function* listDocuments(set: DocumentSet): Work<Uint32Array> {
  if (set.list !== undefined) return set.list;
  const list = new Uint32Array(set.count);
  let to = 0;
  let stop = DOCUMENTS_AT_ONCE;
  for (let at = 0; at < set.bits.length; at++) {
    for (let left = set.bits[at]!; left !== 0; left &= left - 1) list[to++] = at * 32 + lowestOne(left);
    if (to < stop) continue;
    stop = to + DOCUMENTS_AT_ONCE;
    yield;
  }
  return list;
}

export function* intersect(a: DocumentSet, b: DocumentSet): Work<DocumentSet> {
  if (a.bits !== undefined && b.bits !== undefined) {
    const { bits } = b;
    return setOf(a.bits.map((word, at) => word & bits[at]!));
  }
  return a.list === undefined ? yield* filter(b.list!, a, true) : yield* filter(a.list, b, true);
}

/** The documents of a set that are not in another, which holds no others. */
export function* subtract(set: DocumentSet, part: DocumentSet): Work<DocumentSet> {
  if (part.count === 0) return set;
  if (set.count === part.count) return NO_DOCUMENTS;
  if (set.list !== undefined) return yield* filter(set.list, part, false);
  const bits = set.bits.slice();
  if (part.bits !== undefined) for (let at = 0; at < bits.length; at++) bits[at]! &= ~part.bits[at]!;
  else for (const document of part.list) bits[document >>> 5]! &= ~(1 << document);
  return { count: set.count - part.count, bits };
}

/** The documents of a list that are in a set, or that are not. */
function* filter(list: Uint32Array, { list: others, bits }: DocumentSet, isIn: boolean): Work<DocumentSet> {
  const kept = new Uint32Array(list.length);
  let count = 0;
  for (let at = 0, other = 0; at < list.length; ) {
    const stop = Math.min(at + DOCUMENTS_AT_ONCE, list.length);
    for (; at < stop; at++) {
      const document = list[at]!;
      if (others !== undefined) while (other < others.length && others[other]! < document) other++;
      const isThere = bits === undefined ? others![other] === document : hasBit(bits, document);
      if (isThere === isIn) kept[count++] = document;
    }
    if (at < list.length) yield;
  }
  return { count, list: kept.subarray(0, count) };
}
