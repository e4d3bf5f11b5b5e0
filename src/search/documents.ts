/**
 * Sets of documents, each with a flag that says whether its name counts, not
 * its description alone.
 *
 * A small set is a sorted list, a large one is bits: to sort a list of a
 * hundred thousand takes longer than to set as many bits and walk over all of
 * them.
 */

import { STEP, type Work } from "./slices.ts";

/** A set of documents. */
export type DocumentSet =
  /** Entries, document * 2 + flag, ascending, no document twice. */
  | { readonly kind: "list"; readonly entries: Uint32Array }
  /** Bit d % 32 of word d / 32 is document d. */
  | { readonly kind: "bits"; readonly any: Uint32Array; readonly inName: Uint32Array };

/** The empty set. */
export const NOTHING: DocumentSet = { kind: "list", entries: new Uint32Array(0) };

/** Length of the bit array for so many documents. */
export function bitWords(documents: number): number {
  return (documents + 31) >>> 5;
}

/** A list is taken below this share of all documents. */
const SPARSE = 1 / 512;

/** Lists of entries: list w is `postings[starts[w]]` to `postings[starts[w + 1] - 1]`, ascending. */
export interface Postings {
  readonly documents: number;
  readonly starts: Uint32Array;
  readonly postings: Uint32Array;
}

/** The union of some lists, which together may hold a document many times. */
export function* unite(
  { documents, starts, postings }: Postings,
  lists: ArrayLike<number>,
): Work<DocumentSet> {
  if (lists.length === 1) {
    return { kind: "list", entries: postings.subarray(starts[lists[0]!]!, starts[lists[0]! + 1]!) };
  }
  let total = 0;
  for (let at = 0; at < lists.length; at++) total += starts[lists[at]! + 1]! - starts[lists[at]!]!;
  const isSmall = total <= documents * SPARSE + 16;
  const gathered = new Uint32Array(isSmall ? total : 0);
  const any = new Uint32Array(isSmall ? 0 : bitWords(documents));
  const inName = new Uint32Array(any.length);
  let length = 0;
  let work = 0;
  for (let at = 0; at < lists.length; at++) {
    const from = starts[lists[at]!]!;
    const to = starts[lists[at]! + 1]!;
    for (let place = from; place < to; place++) {
      const entry = postings[place]!;
      if (isSmall) {
        gathered[length++] = entry;
        continue;
      }
      const bit = 1 << (entry >>> 1);
      any[entry >>> 6]! |= bit;
      if (entry & 1) inName[entry >>> 6]! |= bit;
    }
    work += to - from + 1;
    if (work > STEP) {
      work = 0;
      yield;
    }
  }
  return isSmall ? { kind: "list", entries: sortEntries(gathered) } : { kind: "bits", any, inName };
}

/** Sorts entries in place and merges those of the same document. */
function sortEntries(entries: Uint32Array): Uint32Array {
  entries.sort();
  let count = 0;
  for (const entry of entries) {
    // The entry with the flag sorts behind the one without and takes its place.
    if (count > 0 && entries[count - 1]! >>> 1 === entry >>> 1) count--;
    entries[count++] = entry;
  }
  return entries.subarray(0, count);
}

function hasBit(bits: Uint32Array, document: number): boolean {
  return (bits[document >>> 5]! & (1 << document)) !== 0;
}

/** Documents in both sets; the flag stays where both have it. */
export function intersect(a: DocumentSet, b: DocumentSet): DocumentSet {
  if (a.kind === "list" && b.kind === "list") return intersectLists(a.entries, b.entries);
  if (a.kind === "list") return a.entries.length === 0 ? a : filterByBits(a.entries, b as BitSet);
  if (b.kind === "list") return intersect(b, a);
  const any = new Uint32Array(a.any.length);
  const inName = new Uint32Array(any.length);
  for (let at = 0; at < any.length; at++) {
    inName[at] = a.inName[at]! & b.inName[at]!;
    any[at] = a.any[at]! & b.any[at]!;
  }
  return { kind: "bits", any, inName };
}

type BitSet = Extract<DocumentSet, { kind: "bits" }>;

function filterByBits(entries: Uint32Array, { any, inName }: BitSet): DocumentSet {
  const kept = new Uint32Array(entries.length);
  let count = 0;
  for (const entry of entries) {
    const document = entry >>> 1;
    if (!hasBit(any, document)) continue;
    kept[count++] = hasBit(inName, document) ? entry : document * 2;
  }
  return { kind: "list", entries: kept.subarray(0, count) };
}

function intersectLists(a: Uint32Array, b: Uint32Array): DocumentSet {
  const kept = new Uint32Array(Math.min(a.length, b.length));
  let count = 0;
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    const difference = (a[i]! >>> 1) - (b[j]! >>> 1);
    if (difference === 0) kept[count++] = (a[i]! & b[j]! & 1) + (a[i]! & ~1);
    if (difference <= 0) i++;
    if (difference >= 0) j++;
  }
  return { kind: "list", entries: kept.subarray(0, count) };
}

/** How many bits are set. */
export function countBits(bits: Uint32Array): number {
  let count = 0;
  for (let word of bits) {
    word -= (word >>> 1) & 0x5555_5555;
    word = (word & 0x3333_3333) + ((word >>> 2) & 0x3333_3333);
    count += Math.imul((word + (word >>> 4)) & 0x0f0f_0f0f, 0x0101_0101) >>> 24;
  }
  return count;
}

/** How many documents a set holds. */
export function sizeOf(set: DocumentSet): number {
  return set.kind === "list" ? set.entries.length : countBits(set.any);
}
