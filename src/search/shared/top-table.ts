/**
 * The top-k table: the best results of n-grams that very many texts hold, found
 * while indexing.
 *
 * Most searches ask for the first page of what such an n-gram is in, often on
 * the way to a longer one. To know it takes one lookup by hash, however many
 * results there are; to find it takes the longer the more there are.
 */

import type { PageOf } from "../../store/generation.ts";
import { MOST_TABLE_NGRAMS } from "../../store/limits.ts";
import type { Texts } from "./texts.ts";

/** The k of the table: a first page of the usual size, and some more. */
export const TABLE_K = 32;
/** The page that is kept. */
export const TABLE_PAGE: PageOf = { limit: TABLE_K, offset: 0 };
/** Most n-grams, as a share of the postings that are indexed: one takes some 200 bytes, a posting eight. */
const MOST_SHARE = 1 / 16;
/** Most n-grams for each document, however long its texts, and some for the few of a small table. */
const MOST_A_DOCUMENT = 4;
const MOST_AT_LEAST = 2 ** 14;

/** The most n-grams in the table of so many postings. */
export function mostOfTable(postings: number, documents: number): number {
  return Math.min(postings * MOST_SHARE, documents * MOST_A_DOCUMENT + MOST_AT_LEAST, MOST_TABLE_NGRAMS);
}

/** N-grams and their best results. All of it lies in shared memory and can be handed to other threads. */
export interface TopTable {
  readonly ngrams: Texts;
  /** By hash of an n-gram: its number plus one, or 0. */
  readonly slots: Uint32Array;
  /** By n-gram: how many match. */
  readonly totals: Uint32Array;
  /** By n-gram: where its best results begin in `best`; there are as many as it has, up to {@link TABLE_K}. */
  readonly starts: Uint32Array;
  readonly best: Uint32Array;
}

/** Hash of an n-gram; the table is open addressing with linear probing. */
export function hashOfNgram(ngram: string): number {
  let hash = ngram.length;
  for (let at = 0; at < ngram.length; at++) hash = Math.imul(hash ^ ngram.charCodeAt(at), 0x9e3779b1);
  return (hash ^ (hash >>> 15)) >>> 0;
}
