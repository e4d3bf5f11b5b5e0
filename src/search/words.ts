/**
 * A word index: which documents contain a term that has no white space.
 *
 * Such a term lies within one word of a text, so it is enough to know the
 * distinct words and, for each, the documents it stands in:
 *
 *   term → places in words (`places.ts`) → words → postings → documents
 *
 * Most terms of up to three units were answered beforehand (`runs.ts`).
 *
 * Units are UTF-16 code units; texts are folded before they come here.
 */

import { enlarge, sharedUint32 } from "../store/bytes.ts";
import { bitsOf, bitWords } from "./bits.ts";
import {
  countEntries,
  createScratch,
  type DocumentSet,
  intersect,
  LIST_WORK,
  type ListSet,
  MOST_UNSETTLED,
  NO_DOCUMENTS,
  type Postings,
  type Scratch,
  type SetOrLists,
  sizeOf,
  unite,
} from "./documents.ts";
import { GRAM, type GramIndex, type Grams, openGrams, textAt } from "./grams.ts";
import { indexGrams } from "./index-grams.ts";
import { findPlaces } from "./places.ts";
import { findRun, indexRuns, type Runs } from "./runs.ts";
import { STEP, type Work } from "./slices.ts";
import { reorderTexts, sortTexts } from "./sort-texts.ts";
import type { Texts } from "./units.ts";
import { WordNumbers } from "./word-numbers.ts";

/** The words of all documents and where they stand. All of it lies in shared memory and can be handed to other threads. */
export interface Words {
  readonly postings: Postings;
  readonly grams: Grams;
  readonly runs: Runs;
  /** The words of document d are `words[starts[d]]` to `words[starts[d + 1] - 1]`: word * 2 + whether it is in the name. */
  readonly byDocument: { readonly starts: Uint32Array; readonly words: Uint32Array };
}

/** Words that can be searched. */
export interface WordIndex extends GramIndex, Scratch {
  readonly postings: Postings;
  readonly runs: Runs;
  readonly byDocument: Words["byDocument"];
}

/** Makes words searchable on the calling thread. */
export function openWords({ postings, grams, runs, byDocument }: Words): WordIndex {
  return { ...openGrams(grams), ...createScratch(postings.documents), postings, runs, byDocument };
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

/** Words at some places; one that holds a term twice may come twice. */
export function* wordsAt(grams: Grams, places: Uint32Array): Work<Uint32Array> {
  const words = new Uint32Array(places.length);
  for (let at = 0; at < places.length; at++) {
    words[at] = textAt(grams, places[at]!);
    if (at % STEP === STEP - 1) yield;
  }
  return words;
}

/** The documents of a short term, if they were found while indexing. */
export function findKnown({ runs }: WordIndex, term: string): DocumentSet | undefined {
  return term.length <= GRAM ? findRun(runs, term) : undefined;
}

/**
 * Finds every document that contains a term, as a set or as the words whose
 * documents they are.
 *
 * @param term folded, not empty, without white space
 */
export function* findTerm(index: WordIndex, term: string): Work<SetOrLists> {
  const known = findKnown(index, term);
  if (known !== undefined) return known;
  const places = yield* findPlaces(index, term);
  return places.length === 0 ? NO_DOCUMENTS : yield* wordsAt(index.grams, places);
}

/** What a term was found in, and how much work it is to make a set of it: entries, or numbers of a set. */
interface FoundTerm {
  readonly found: SetOrLists;
  readonly work: number;
}

/** Of words that hold much, a set, with pauses; anything else as it is. */
function* settle({ postings, sorter }: WordIndex, { found, work }: FoundTerm): Work<SetOrLists> {
  return found instanceof Uint32Array && work > MOST_UNSETTLED
    ? yield* unite(postings, found, sorter)
    : found;
}

/** To go through a document's words takes about as long as to pass over so many entries. */
const DOCUMENT_WORK = 64;

/** Finds the documents that contain every one of several terms. */
export function* findAll(index: WordIndex, terms: readonly string[]): Work<DocumentSet> {
  const { postings, sorter } = index;
  const all: FoundTerm[] = [];
  for (const term of terms) {
    const found = yield* findTerm(index, term);
    const isWords = found instanceof Uint32Array;
    const work = isWords ? countEntries(postings, found) + found.length * LIST_WORK : sizeOf(found);
    if (work === 0) return NO_DOCUMENTS;
    all.push({ found, work });
    yield;
  }
  all.sort((a, b) => a.work - b.work);
  const [smallest, ...others] = all;
  if (smallest!.work > STEP) yield "long";
  let set = yield* settle(index, smallest!);
  for (const other of others) {
    const { found, work } = other;
    if (!(set instanceof Uint32Array) && sizeOf(set) === 0) break;
    const size = set instanceof Uint32Array ? countEntries(postings, set) : sizeOf(set);
    const isFew = found instanceof Uint32Array && size * DOCUMENT_WORK < work;
    if (isFew && set instanceof Uint32Array) set = yield* unite(postings, set, sorter);
    if (isFew && "kind" in set && set.kind === "list") set = yield* keepWithWords(index, set, found);
    else set = intersect(set, yield* settle(index, other), postings, index);
    yield;
  }
  return set instanceof Uint32Array ? yield* unite(postings, set, sorter) : set;
}

/** The documents of a few that hold one of many words; the flag stays where one of these is in the name. */
function* keepWithWords(
  { byDocument, grams }: WordIndex,
  { entries }: ListSet,
  words: Uint32Array,
): Work<DocumentSet> {
  const wanted = bitsOf(words, bitWords(grams.texts.count));
  const kept = new Uint32Array(entries.length);
  let count = 0;
  let work = 0;
  for (let at = 0; at < entries.length; at++) {
    const document = entries[at]! >>> 1;
    const to = byDocument.starts[document + 1]!;
    let isThere = 0;
    let inName = 0;
    for (let place = byDocument.starts[document]!; place < to; place++) {
      const word = byDocument.words[place]! >>> 1;
      const isWanted = (wanted[word >>> 5]! >>> word) & 1;
      isThere |= isWanted;
      inName |= isWanted & byDocument.words[place]!;
    }
    if (isThere) kept[count++] = document * 2 + (entries[at]! & inName & 1);
    work += DOCUMENT_WORK + to - byDocument.starts[document]!;
    if (work > STEP) {
      work = 0;
      yield;
    }
  }
  return { kind: "list", entries: kept.slice(0, count) };
}
