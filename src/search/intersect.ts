/**
 * Intersecting sets of documents, and the documents of posting lists.
 *
 * The smaller set is marked in a bitset, then the larger one is scanned: to unite lists, or to merge two side by side,
 * takes at least twice the time. A much shorter list is looked up in a long one by galloping search, and two bitsets
 * are combined word by word.
 */

import { gallop } from "../util/sorted.ts";
import type { BitsetLoan } from "./bitset.ts";
import {
  type BitPair,
  type DocumentBitset,
  type DocumentSet,
  documentBitsetOf,
  type ListSet,
  type OpenPostings,
  type SetOrWords,
  takePair,
} from "./document-sets.ts";

/**
 * Documents that are in both; the flag stays where both have it.
 * @param more if it or `less` is words, they must have so few postings that no pause is needed
 * @param loan an argument's bitset that belongs to it is overwritten
 */
export function intersect(
  less: SetOrWords,
  more: SetOrWords,
  open: OpenPostings,
  loan: BitsetLoan,
): DocumentSet {
  if (isBits(less)) return isBits(more) ? andBits(less, more, loan) : keep(more, less, open);
  if (isBits(more)) return keep(less, more, open);
  if (isList(less) && isList(more) && less.entries.length * MUCH_LESS < more.entries.length) {
    return gallopAll(less.entries, more.entries);
  }
  const { counter } = open;
  if (isList(less)) counter.add(less.entries);
  else counter.count(open.wordPostings, less);
  const kept = keep(more, { any: counter.any, inName: counter.flagged }, open);
  if (isList(less)) counter.remove(less.entries);
  else counter.clear();
  return kept;
}

/** A list this many times shorter is looked up by galloping search. */
const MUCH_LESS = 16;

export function isBits(found: SetOrWords): found is DocumentBitset {
  return !(found instanceof Uint32Array) && found.kind === "bits";
}

function isList(found: SetOrWords): found is ListSet {
  return !(found instanceof Uint32Array) && found.kind === "list";
}

/** The marked documents of a list or of some words. */
function keep(
  found: ListSet | Uint32Array,
  { any, inName }: BitPair,
  { wordPostings: { starts, entries }, sorter, kept }: OpenPostings,
): ListSet {
  const marked = { kept, count: 0 };
  if (isList(found)) keepMarked(found.entries, 0, found.entries.length, any, marked);
  else {
    for (let at = 0; at < found.length; at++)
      keepMarked(entries, starts[found[at]!]!, starts[found[at]! + 1]!, any, marked);
  }
  dropFlags(kept, marked.count, inName);
  let { count } = marked;
  if (!isList(found) && found.length > 1) {
    sorter.add(kept, 0, count);
    count = sorter.drain(kept);
  }
  return { kind: "list", entries: kept.slice(0, count) };
}

function keepMarked(
  entries: Uint32Array,
  from: number,
  to: number,
  any: Uint32Array,
  marked: { readonly kept: Uint32Array; count: number },
): void {
  const { kept } = marked;
  let { count } = marked;
  for (let at = from; at < to; at++) {
    const entry = entries[at]!;
    // Without a branch: the marks are unpredictable.
    kept[count] = entry;
    count += (any[entry >>> 6]! >>> (entry >>> 1)) & 1;
  }
  marked.count = count;
}

/** Clears the flag of entries whose document is not in a bitset. A pass of its own, since the kept entries are mostly few. */
function dropFlags(entries: Uint32Array, count: number, bits: Uint32Array): void {
  for (let at = 0; at < count; at++) {
    const entry = entries[at]!;
    entries[at] = (entry & ~1) | (entry & (bits[entry >>> 6]! >>> (entry >>> 1)) & 1);
  }
}

function andBits(a: DocumentBitset, b: DocumentBitset, loan: BitsetLoan): DocumentBitset {
  const target = loan.has(a.any) ? a : loan.has(b.any) ? b : takePair(loan);
  const { any, inName } = target;
  for (let at = 0; at < any.length; at++) {
    inName[at] = a.inName[at]! & b.inName[at]!;
    any[at] = a.any[at]! & b.any[at]!;
  }
  return documentBitsetOf(target);
}

function gallopAll(few: Uint32Array, many: Uint32Array): ListSet {
  const kept = new Uint32Array(few.length);
  let count = 0;
  let at = 0;
  for (const entry of few) {
    const document = entry >>> 1;
    at = gallop(many, document * 2, at, many.length);
    if (at === many.length) break;
    if (many[at]! >>> 1 === document) kept[count++] = document * 2 + (entry & many[at]! & 1);
  }
  return { kind: "list", entries: kept.slice(0, count) };
}
