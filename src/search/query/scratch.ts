/**
 * What all searches of a thread share, so that none makes it anew: a bitset
 * that counts the documents of posting lists, a sorter, and a pool of bitsets.
 */

import { bitWords } from "../shared/bitset.ts";
import { addToBits, type DocumentSet } from "../shared/document-set.ts";
import { EntrySorter } from "../shared/entry-sorter.ts";
import type { WordPostings } from "../shared/word-postings.ts";
import { BitsetPool } from "./bitset-pool.ts";
import { MOST_UNSETTLED } from "./unite.ts";

/** Marks and counts documents. Its sets are to be read before they are cleared, without a pause. */
export class DocumentCounter {
  readonly any: Uint32Array;
  /** Those whose name counts. */
  readonly flagged: Uint32Array;

  constructor(documents: number) {
    this.any = new Uint32Array(bitWords(documents));
    this.flagged = new Uint32Array(this.any.length);
  }

  /** Adds the documents of some words. @returns how many are new */
  count({ starts, entries }: WordPostings, words: ArrayLike<number>): number {
    const { any, flagged } = this;
    let count = 0;
    for (let at = 0; at < words.length; at++) {
      const to = starts[words[at]! + 1]!;
      for (let index = starts[words[at]!]!; index < to; index++) {
        const entry = entries[index]!;
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

  /** Adds the documents of a set. */
  add(entries: Uint32Array): void {
    addToBits(entries, 0, entries.length, this.any, this.flagged);
  }

  /** Removes all that were added from a set: for a few less work than to clear. */
  remove(entries: Uint32Array): void {
    for (let at = 0; at < entries.length; at++) {
      this.any[entries[at]! >>> 6] = 0;
      this.flagged[entries[at]! >>> 6] = 0;
    }
  }

  clear(): void {
    this.any.fill(0);
    this.flagged.fill(0);
  }
}

/** A set of documents, or the words whose documents are meant. */
export type SetOrWords = DocumentSet | Uint32Array;

/** What all searches over some documents share; all of it is used without a pause. */
export interface Scratch {
  /** Empty between two of them. */
  readonly counter: DocumentCounter;
  /** Empty between two of them. */
  readonly sorter: EntrySorter;
  /** Room for all documents, and for all entries of posting lists that are gone through without a pause. */
  readonly kept: Uint32Array;
  /** Bitsets of documents. */
  readonly pool: BitsetPool;
}

/** Makes what searches over so many documents share. */
export function createScratch(documents: number): Scratch {
  return {
    counter: new DocumentCounter(documents),
    sorter: new EntrySorter(documents),
    kept: new Uint32Array(Math.max(documents, MOST_UNSETTLED)),
    pool: new BitsetPool(documents),
  };
}
