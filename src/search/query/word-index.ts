/** A word index with what searches over it share on a thread. */

import type { WordIndex } from "../shared/word-index.ts";
import { BitsetPool } from "./bitset-pool.ts";
import { createScratch, type Scratch } from "./scratch.ts";

/** Words that can be searched. */
export interface OpenWordIndex extends WordIndex, Scratch {
  /** Bitsets of words. */
  readonly wordPool: BitsetPool;
}

/** Makes words searchable on the calling thread. */
export function openWords({ trigrams, wordPostings, ngramDocuments, byDocument }: WordIndex): OpenWordIndex {
  return {
    ...createScratch(wordPostings.documents),
    trigrams,
    wordPostings,
    ngramDocuments,
    byDocument,
    wordPool: new BitsetPool(trigrams.texts.count),
  };
}
