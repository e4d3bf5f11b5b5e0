/**
 * A word index: which documents contain a term that has no white space.
 *
 * Such a term lies within one word of a text, so it is enough to know the
 * distinct words and, for each, the documents it stands in:
 *
 *   term → places in words (`places.ts`) → words → postings → documents (`terms.ts`)
 *
 * Most terms of up to three units were answered beforehand (`runs.ts`).
 *
 * Units are UTF-16 code units; texts are folded before they come here.
 */

import { enlarge, sharedUint32 } from "../../store/bytes.ts";
import { BitPool } from "../shared/bits.ts";
import { createScratch, type Postings, type Scratch } from "../shared/document-set.ts";
import { indexRuns, type Runs } from "../shared/ngram-documents.ts";
import type { Texts } from "../shared/texts.ts";
import { type Grams, textAt } from "../shared/trigrams.ts";
import { reorderTexts, sortTexts } from "./sort-texts.ts";
import { indexGrams } from "./trigrams.ts";
import { WordNumbers } from "./word-dictionary.ts";

/** The words of all documents and where they stand. All of it lies in shared memory and can be handed to other threads. */
export interface Words {
  readonly postings: Postings;
  readonly grams: Grams;
  readonly runs: Runs;
  /** The words of document d are `words[starts[d]]` to `words[starts[d + 1] - 1]`: word * 2 + whether it is in the name. */
  readonly byDocument: { readonly starts: Uint32Array; readonly words: Uint32Array };
}

/** Words that can be searched. */
export interface WordIndex extends Scratch {
  readonly grams: Grams;
  readonly postings: Postings;
  readonly runs: Runs;
  readonly byDocument: Words["byDocument"];
  /** Sets of words. */
  readonly wordPool: BitPool;
}

/** Makes words searchable on the calling thread. */
export function openWords({ postings, grams, runs, byDocument }: Words): WordIndex {
  return {
    ...createScratch(postings.documents),
    grams,
    postings,
    runs,
    byDocument,
    wordPool: new BitPool(grams.texts.count),
  };
}

/** What separates words. */
export const WHITE_SPACE = /\s+/u;

/** Whether a unit is white space: what `\s` matches, without the cost of asking for it by a pattern. */
export function isWhiteSpace(unit: number): boolean {
  if (unit < 0x80) return unit === 0x20 || (unit >= 0x09 && unit <= 0x0d);
  if (unit < 0x1680) return unit === 0xa0;
  if (unit < 0x3000) return OTHER_WHITE_SPACE.has(unit) || (unit >= 0x2000 && unit <= 0x200a);
  return unit === 0x3000 || unit === 0xfeff;
}

const OTHER_WHITE_SPACE: ReadonlySet<number> = new Set([0x1680, 0x2028, 0x2029, 0x202f, 0x205f]);

/** Takes documents in ascending order, then makes the index. */
export class WordIndexBuilder {
  readonly #numbers = new WordNumbers();
  /** Words and postings of every occurrence, in turn; duplicates within a document are merged. */
  #pairs = new Uint32Array(8192);
  #length = 0;
  /** By word: place of its newest pair, plus one. */
  #newest = new Uint32Array(1024);
  #documents = 0;

  /** Begins the next document; documents are numbered from 0. */
  beginDocument(): void {
    this.#documents++;
  }

  /** Adds a field of the document that was begun last. */
  addField(folded: string, isName: boolean): void {
    for (let at = 0; at < folded.length; ) {
      if (isWhiteSpace(folded.charCodeAt(at))) {
        at++;
        continue;
      }
      const from = at;
      while (at < folded.length && !isWhiteSpace(folded.charCodeAt(at))) at++;
      this.#post(this.#numbers.numberOf(folded, from, at), isName ? 1 : 0);
    }
  }

  #post(number: number, flag: number): void {
    if (number >= this.#newest.length) this.#newest = enlarge(this.#newest);
    const document = this.#documents - 1;
    const newest = this.#newest[number]! - 1;
    if (newest >= 0 && this.#pairs[newest + 1]! >>> 1 === document) {
      this.#pairs[newest + 1]! |= flag;
      return;
    }
    if (this.#length === this.#pairs.length) this.#pairs = enlarge(this.#pairs);
    this.#pairs[this.#length] = number;
    this.#pairs[this.#length + 1] = document * 2 + flag;
    this.#newest[number] = this.#length + 1;
    this.#length += 2;
  }

  /**
   * Makes the index; the builder is of no more use.
   *
   * @returns `entriesBefore`, by number of a place: how many entries the words of all places before it have
   */
  finish(): { readonly words: Words; readonly entriesBefore: Float64Array } {
    const { words, places } = this.#sortWords();
    const starts = sharedUint32(words.count + 1);
    for (let at = 0; at < this.#length; at += 2) {
      const word = places[this.#pairs[at]!]!;
      this.#pairs[at] = word;
      starts[word + 1]!++;
    }
    for (let word = 0; word < words.count; word++) starts[word + 1]! += starts[word]!;
    const next = starts.slice();
    const entries = sharedUint32(this.#length / 2);
    for (let at = 0; at < this.#length; at += 2) entries[next[this.#pairs[at]!]!++] = this.#pairs[at + 1]!;
    const postings: Postings = { documents: this.#documents, starts, postings: entries };
    const grams = indexGrams(words);
    const byDocument = this.#listByDocument();
    const entriesBefore = countEntriesBefore(grams, postings);
    const runs = indexRuns(grams, postings, entriesBefore);
    return { words: { postings, grams, runs, byDocument }, entriesBefore };
  }

  /** The pairs are in order of documents already. */
  #listByDocument(): Words["byDocument"] {
    const starts = sharedUint32(this.#documents + 1);
    const words = sharedUint32(this.#length / 2);
    for (let at = 0; at < this.#length; at += 2) {
      const entry = this.#pairs[at + 1]!;
      starts[(entry >>> 1) + 1]!++;
      words[at / 2] = this.#pairs[at]! * 2 + (entry & 1);
    }
    for (let document = 0; document < this.#documents; document++) starts[document + 1]! += starts[document]!;
    return { starts, words };
  }

  /**
   * The words in order of their units, so that those with the same beginning
   * have their postings side by side: to gather documents from all over the
   * postings took twice the time.
   *
   * @returns the words, and the new number of each
   */
  #sortWords(): { readonly words: Texts; readonly places: Uint32Array } {
    const found = this.#numbers.finish();
    const sorted = sortTexts(found);
    const places = new Uint32Array(sorted.length);
    for (let place = 0; place < sorted.length; place++) places[sorted[place]!] = place;
    return { words: reorderTexts(found, sorted), places };
  }
}

function countEntriesBefore(grams: Grams, { starts }: Postings): Float64Array {
  const { places } = grams;
  const before = new Float64Array(places.length + 1);
  for (let at = 0; at < places.length; at++) {
    const word = textAt(grams, places[at]!);
    before[at + 1] = before[at]! + starts[word + 1]! - starts[word]!;
  }
  return before;
}
