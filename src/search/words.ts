/**
 * A word index: which documents contain a term that has no white space.
 *
 * Such a term lies within one word of a text, so it is enough to know the
 * distinct words and, for each, the documents it stands in:
 *
 *   term → its grams → candidate words (FlexSearch) → exact check on the word
 *        → postings of the words → documents
 *
 * FlexSearch holds, for each three-unit gram of the padded words, the words
 * that contain it. A term longer than that asks for its rarest gram alone and
 * checks the words that come back; intersecting long lists is what would cost.
 * A shorter term is the beginning of a range of grams, because a word is padded
 * at its end, and needs no check at all. Terms of up to three units that are in
 * very many documents were answered beforehand (`dense.ts`).
 *
 * Units are UTF-16 code units; texts are folded before they come here.
 */

import { enlarge } from "../store/bytes.ts";
import { type DenseRuns, findDense, indexDenseRuns } from "./dense.ts";
import { type DocumentSet, intersect, NOTHING, type Postings, sizeOf, unite } from "./documents.ts";
import { GRAM, type GramIndex, gramsThatBegin, indexGrams, listOfGram, mayHold } from "./grams.ts";
import { STEP, type Work } from "./slices.ts";

/** A finished index. */
export interface WordIndex extends Postings {
  readonly words: readonly string[];
  readonly grams: GramIndex;
  readonly dense: DenseRuns;
}

/** What separates words. */
export const WHITE_SPACE = /\s+/u;

/** Takes documents in ascending order, then makes the index. */
export class WordIndexBuilder {
  readonly #numbers = new Map<string, number>();
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
    // Pieces are empty where white space comes first or last.
    for (const word of folded.split(WHITE_SPACE)) if (word !== "") this.#post(word, isName ? 1 : 0);
  }

  #post(word: string, flag: number): void {
    let number = this.#numbers.get(word);
    if (number === undefined) {
      number = this.#numbers.size;
      this.#numbers.set(word, number);
      if (number === this.#newest.length) this.#newest = enlarge(this.#newest);
    }
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

  /** Makes the index; the builder is of no more use. */
  finish(): WordIndex {
    const words = [...this.#numbers.keys()];
    const starts = new Uint32Array(words.length + 1);
    for (let at = 0; at < this.#length; at += 2) starts[this.#pairs[at]! + 1]!++;
    for (let word = 0; word < words.length; word++) starts[word + 1]! += starts[word]!;
    const next = starts.slice();
    const postings = new Uint32Array(this.#length / 2);
    for (let at = 0; at < this.#length; at += 2) postings[next[this.#pairs[at]!]!++] = this.#pairs[at + 1]!;
    const all: Postings = { documents: this.#documents, starts, postings };
    const { index, found } = indexGrams(words, false);
    return { ...all, words, grams: index, dense: indexDenseRuns(found, all) };
  }
}

/**
 * Words that hold all grams of a term, or a few more: lists are intersected,
 * the shortest first, as long as passing over the next one costs less than
 * looking at the words that are left.
 */
function candidatesOf({ grams }: WordIndex, term: string): Uint32Array {
  if (!mayHold(grams, term)) return new Uint32Array(0);
  const lists: Uint32Array[] = [];
  for (let at = 0; at + GRAM <= term.length; at++) {
    const list = listOfGram(grams, term.slice(at, at + GRAM));
    if (list.length === 0) return list;
    lists.push(list);
  }
  lists.sort((a, b) => a.length - b.length);
  let left = lists[0]!;
  for (const list of lists.slice(1)) {
    if (list.length > left.length * LOOK_WORK) break;
    if (list !== left) left = intersectWords(left, list);
  }
  return left;
}

/** To look at a word takes about as long as to pass over so many numbers in a list. */
const LOOK_WORK = 16;

function intersectWords(a: Uint32Array, b: Uint32Array): Uint32Array {
  const both = new Uint32Array(a.length);
  let count = 0;
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    const difference = a[i]! - b[j]!;
    if (difference === 0) both[count++] = a[i]!;
    if (difference <= 0) i++;
    if (difference >= 0) j++;
  }
  return both.subarray(0, count);
}

/** Words that contain a term longer than a gram. */
function* wordsOfLongTerm(index: WordIndex, term: string): Work<ArrayLike<number>> {
  const kept: number[] = [];
  let work = 0;
  for (const word of candidatesOf(index, term)) {
    const text = index.words[word]!;
    if (text.includes(term)) kept.push(word);
    work += LOOK_WORK + text.length;
    if (work > STEP) {
      work = 0;
      yield;
    }
  }
  return kept;
}

/** Words that contain a term no longer than a gram; some of them many times. */
function* wordsOfShortTerm({ grams }: WordIndex, term: string): Work<ArrayLike<number>> {
  if (term.length === GRAM) return listOfGram(grams, term);
  const found: number[] = [];
  let work = 0;
  for (const gram of gramsThatBegin(grams, term)) {
    const words = listOfGram(grams, gram);
    for (const word of words) found.push(word);
    work += LOOK_WORK + words.length;
    if (work > STEP) {
      work = 0;
      yield;
    }
  }
  return found;
}

/**
 * Finds every document that contains a term.
 *
 * @param term folded, not empty, without white space
 */
export function* findDocuments(index: WordIndex, term: string): Work<DocumentSet> {
  const dense = term.length <= GRAM ? findDense(index.dense, term) : undefined;
  if (dense !== undefined) return dense;
  const words = yield* term.length <= GRAM ? wordsOfShortTerm(index, term) : wordsOfLongTerm(index, term);
  return words.length === 0 ? NOTHING : yield* unite(index, words);
}

/** Finds the documents that contain every term. */
export function* findAll(index: WordIndex, terms: readonly string[]): Work<DocumentSet> {
  if (terms.length === 1) return yield* findDocuments(index, terms[0]!);
  const found: { set: DocumentSet; size: number }[] = [];
  for (const term of terms) {
    const set = yield* findDocuments(index, term);
    const size = sizeOf(set);
    if (size === 0) return NOTHING;
    found.push({ set, size });
    yield;
  }
  found.sort((a, b) => a.size - b.size);
  return found.map(({ set }) => set).reduce(intersect);
}
