/**
 * Sets of documents, each with a flag that says whether its name counts, not
 * its description alone.
 *
 * A small set is a sorted list, a large one is a bitset: to sort a list of a
 * hundred thousand takes longer than to set as many bits and walk over all of
 * them.
 */

import { countBits } from "./bitset.ts";

/** Entries, document * 2 + flag, ascending, no document twice. */
export interface ListSet {
  readonly kind: "list";
  readonly entries: Uint32Array;
}

/** Bit d % 32 of word d / 32 is document d; all that are in the second are in the first. */
export interface DocumentBitset {
  readonly kind: "bits";
  readonly any: Uint32Array;
  readonly inName: Uint32Array;
  /** How many bits are set in the first, and in the second. */
  readonly size: number;
  readonly named: number;
}

/** A set of documents. */
export type DocumentSet = ListSet | DocumentBitset;

/** The empty set. */
export const NO_DOCUMENTS: DocumentSet = { kind: "list", entries: new Uint32Array(0) };

/** How many documents a set holds. */
export function sizeOf(set: DocumentSet): number {
  return set.kind === "list" ? set.entries.length : set.size;
}

/** Documents in bits, before they are counted. */
export type BitPair = Pick<DocumentBitset, "any" | "inName">;

/** Counts documents in bits. */
export function documentBitsetOf({ any, inName }: BitPair): DocumentBitset {
  return { kind: "bits", any, inName, size: countBits(any), named: countBits(inName) };
}

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
