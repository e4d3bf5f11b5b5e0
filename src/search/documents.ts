/**
 * Sets of documents, each with a flag that says whether its name counts, not
 * its description alone.
 *
 * A small set is a sorted list, a large one is bits: to sort a list of a
 * hundred thousand takes longer than to set as many bits and walk over all of
 * them.
 */

import { bitWords, countBits, type EntrySorter } from "./bits.ts";
import { STEP, type Work } from "./slices.ts";

/** Entries, document * 2 + flag, ascending, no document twice. */
export interface ListSet {
  readonly kind: "list";
  readonly entries: Uint32Array;
}

/** Bit d % 32 of word d / 32 is document d; all that are in the second are in the first. */
export interface BitSet {
  readonly kind: "bits";
  readonly any: Uint32Array;
  readonly inName: Uint32Array;
  /** How many bits are set in the first, and in the second. */
  readonly size: number;
  readonly named: number;
}

/** A set of documents. */
export type DocumentSet = ListSet | BitSet;

/** The empty set. */
export const NO_DOCUMENTS: DocumentSet = { kind: "list", entries: new Uint32Array(0) };

/** A list is taken below this share of all documents. */
const SPARSE = 1 / 32;

/** Lists of entries: list w is `postings[starts[w]]` to `postings[starts[w + 1] - 1]`, ascending. */
export interface Postings {
  readonly documents: number;
  readonly starts: Uint32Array;
  readonly postings: Uint32Array;
}

/** How many entries some lists have together. */
export function countEntries({ starts }: Postings, lists: ArrayLike<number>): number {
  let total = 0;
  for (let at = 0; at < lists.length; at++) total += starts[lists[at]! + 1]! - starts[lists[at]!]!;
  return total;
}

/** To go to a list takes about as long as to pass over so many of its entries. */
export const LIST_WORK = 8;

/** Sets the bits of the documents of neighbouring entries. */
export function addToBits(
  entries: Uint32Array,
  from: number,
  to: number,
  any: Uint32Array,
  inName: Uint32Array,
): void {
  for (let at = from; at < to; at++) {
    const entry = entries[at]!;
    any[entry >>> 6]! |= 1 << (entry >>> 1);
    // Without a branch, since no processor foresees the flag.
    inName[entry >>> 6]! |= (entry & 1) << (entry >>> 1);
  }
}

/** A list as bits. */
export function* toBits({ entries }: ListSet, documents: number): Work<BitSet> {
  const any = new Uint32Array(bitWords(documents));
  const inName = new Uint32Array(any.length);
  for (let at = 0; at < entries.length; at += STEP) {
    if (at > 0) yield;
    addToBits(entries, at, Math.min(at + STEP, entries.length), any, inName);
  }
  return { kind: "bits", any, inName, size: entries.length, named: countBits(inName) };
}

/**
 * The union of some lists, which together may hold a document many times.
 *
 * @param sorter of as many documents; empty, and used without a pause
 */
export function* unite(all: Postings, lists: ArrayLike<number>, sorter: EntrySorter): Work<DocumentSet> {
  const { documents, starts, postings } = all;
  if (lists.length === 1) {
    return { kind: "list", entries: postings.subarray(starts[lists[0]!]!, starts[lists[0]! + 1]!) };
  }
  const isFew = countEntries(all, lists) <= documents * SPARSE + 16;
  return isFew ? uniteFew(all, lists, sorter) : yield* uniteMany(all, lists);
}

/** The union of lists that hold little: without a pause. @param sorter as of {@link unite} */
export function uniteFew(all: Postings, lists: ArrayLike<number>, sorter: EntrySorter): ListSet {
  const { starts, postings } = all;
  // First of all what can fail: the sorter must be left empty.
  const entries = new Uint32Array(countEntries(all, lists));
  for (let at = 0; at < lists.length; at++) {
    sorter.add(postings, starts[lists[at]!]!, starts[lists[at]! + 1]!);
  }
  return { kind: "list", entries: entries.subarray(0, sorter.drain(entries)) };
}

function* uniteMany({ documents, starts, postings }: Postings, lists: ArrayLike<number>): Work<DocumentSet> {
  const any = new Uint32Array(bitWords(documents));
  const inName = new Uint32Array(any.length);
  let work = 0;
  for (let at = 0; at < lists.length; at++) {
    const from = starts[lists[at]!]!;
    const to = starts[lists[at]! + 1]!;
    addToBits(postings, from, to, any, inName);
    work += to - from + 1;
    if (work > STEP) {
      work = 0;
      yield;
    }
  }
  return { kind: "bits", any, inName, size: countBits(any), named: countBits(inName) };
}

function hasBit(bits: Uint32Array, document: number): boolean {
  return (bits[document >>> 5]! & (1 << document)) !== 0;
}

/** Counts the documents of some lists. Its sets are to be read before they are cleared, without a pause. */
export class DocumentCounter {
  readonly any: Uint32Array;
  /** Those whose name counts. */
  readonly flagged: Uint32Array;

  constructor(documents: number) {
    this.any = new Uint32Array(bitWords(documents));
    this.flagged = new Uint32Array(this.any.length);
  }

  /** How many documents some lists hold. */
  count({ starts, postings }: Postings, lists: ArrayLike<number>): number {
    const { any, flagged } = this;
    let count = 0;
    for (let at = 0; at < lists.length; at++) {
      const to = starts[lists[at]! + 1]!;
      for (let place = starts[lists[at]!]!; place < to; place++) {
        const entry = postings[place]!;
        const bit = entry >>> 1;
        const before = any[entry >>> 6]!;
        // Without a branch, since no processor foresees these.
        count += 1 - ((before >>> bit) & 1);
        any[entry >>> 6] = before | (1 << bit);
        flagged[entry >>> 6]! |= (entry & 1) << bit;
      }
    }
    return count;
  }

  clear(): void {
    this.any.fill(0);
    this.flagged.fill(0);
  }
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
  return { kind: "bits", any, inName, size: countBits(any), named: countBits(inName) };
}

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

/** The first place from `at` on whose entry is not of a document before another: in steps that double, then by halves. */
function seek(entries: Uint32Array, at: number, document: number): number {
  let before = at;
  let step = 1;
  while (before + step < entries.length && entries[before + step]! >>> 1 < document) {
    before += step;
    step *= 2;
  }
  let found = Math.min(before + step, entries.length);
  while (found - before > 1) {
    const middle = (before + found) >>> 1;
    if (entries[middle]! >>> 1 < document) before = middle;
    else found = middle;
  }
  return found;
}

function intersectLists(some: Uint32Array, others: Uint32Array): DocumentSet {
  const [few, many] = some.length < others.length ? [some, others] : [others, some];
  const kept = new Uint32Array(few.length);
  let count = 0;
  let at = 0;
  for (const entry of few) {
    const document = entry >>> 1;
    if (at < many.length && many[at]! >>> 1 < document) at = seek(many, at, document);
    if (at === many.length) break;
    if (many[at]! >>> 1 === document) kept[count++] = document * 2 + (entry & many[at]! & 1);
  }
  return { kind: "list", entries: kept.subarray(0, count) };
}

/** How many documents a set holds. */
export function sizeOf(set: DocumentSet): number {
  return set.kind === "list" ? set.entries.length : set.size;
}
