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
 * that contain it. A term of three units or more asks for its rarest gram
 * alone and checks the words that come back; intersecting long lists is what
 * would cost. A shorter term is the beginning of a range of grams, because a
 * word is padded at its end, and needs no check at all.
 *
 * Units are UTF-16 code units; texts are folded before they come here.
 */

import { GRAM, type GramIndex, gramsThatBegin, indexGrams, wordsWithGram } from "./grams.ts";

/** The field begins with this word. */
const FIRST = 1;
/** The field is this word and nothing else. */
const WHOLE = 2;
/** The field is a name, not a description. */
const NAME = 4;
const POSTING_FLAGS = 8;

/** The document contains the term. */
export const CONTAINS = 1;
/** Its name contains the term. */
export const NAME_CONTAINS = 2;
/** Its name begins with the term. */
export const NAME_STARTS = 4;
/** Its name is the term. */
export const NAME_EQUALS = 8;
const MATCH_FLAGS = 16;

/** Documents in ascending order, each with how it matches. */
export interface Matches {
  readonly documents: Uint32Array;
  readonly how: Uint8Array;
}

/** A finished index. Postings are document * 8 + flags, ascending within a word. */
export interface WordIndex {
  readonly documents: number;
  readonly words: readonly string[];
  readonly starts: Uint32Array;
  readonly postings: Uint32Array;
  readonly grams: GramIndex;
}

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
    const words = folded.split(/\s+/u);
    const whole = words.length === 1;
    for (let at = 0; at < words.length; at++) {
      const word = words[at]!;
      // The first piece is empty when white space comes first; then no word begins the field.
      if (word === "") continue;
      const flags = isName ? NAME | (at === 0 ? FIRST : 0) | (whole ? WHOLE : 0) : 0;
      this.#post(word, flags);
    }
  }

  #post(word: string, flags: number): void {
    let number = this.#numbers.get(word);
    if (number === undefined) {
      number = this.#numbers.size;
      this.#numbers.set(word, number);
      if (number === this.#newest.length) this.#newest = enlarge(this.#newest);
    }
    const document = this.#documents - 1;
    const newest = this.#newest[number]! - 1;
    if (newest >= 0 && Math.floor(this.#pairs[newest + 1]! / POSTING_FLAGS) === document) {
      this.#pairs[newest + 1]! |= flags;
      return;
    }
    if (this.#length === this.#pairs.length) this.#pairs = enlarge(this.#pairs);
    this.#pairs[this.#length] = number;
    this.#pairs[this.#length + 1] = document * POSTING_FLAGS + flags;
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
    return { documents: this.#documents, words, starts, postings, grams: indexGrams(words) };
  }
}

function enlarge(values: Uint32Array): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(values.length * 2);
  larger.set(values);
  return larger;
}

/** Words that contain a term of at least a gram. */
function wordsOfLongTerm({ grams, words }: WordIndex, term: string): Uint32Array {
  let rarest = wordsWithGram(grams, term.slice(0, GRAM));
  for (let at = 1; at + GRAM <= term.length && rarest.length > 0; at++) {
    const found = wordsWithGram(grams, term.slice(at, at + GRAM));
    if (found.length < rarest.length) rarest = found;
  }
  return term.length === GRAM ? rarest : rarest.filter((word) => words[word]!.includes(term));
}

/** Words that contain a term shorter than a gram. */
function wordsOfShortTerm({ grams, words }: WordIndex, term: string): Uint32Array {
  const seen = new Uint8Array(words.length);
  for (const gram of gramsThatBegin(grams, term)) {
    for (const word of wordsWithGram(grams, gram)) seen[word] = 1;
  }
  const found = new Uint32Array(seen.reduce((sum, mark) => sum + mark, 0));
  for (let word = 0, at = 0; word < seen.length; word++) if (seen[word] === 1) found[at++] = word;
  return found;
}

/** How a posting of a word matches a term that the word contains. */
function howItMatches(flags: number, starts: boolean, equals: boolean): number {
  let how = CONTAINS;
  if (flags & NAME) how |= NAME_CONTAINS;
  if (flags & FIRST && starts) how |= NAME_STARTS;
  if (flags & WHOLE && equals) how |= NAME_EQUALS;
  return how;
}

/** Above this share of all documents it is cheaper to mark documents than to sort them. */
const DENSE = 1 / 16;

/**
 * Finds every document that contains a term.
 *
 * @param term folded, not empty, without white space
 */
export function findDocuments(index: WordIndex, term: string): Matches {
  const words = term.length < GRAM ? wordsOfShortTerm(index, term) : wordsOfLongTerm(index, term);
  let total = 0;
  for (const word of words) total += index.starts[word + 1]! - index.starts[word]!;
  const dense = total > index.documents * DENSE;
  const marks = dense ? new Uint8Array(index.documents) : undefined;
  const sparse = dense ? undefined : new Float64Array(total);
  let length = 0;
  for (const word of words) {
    const text = index.words[word]!;
    const starts = text.startsWith(term);
    const equals = text.length === term.length;
    for (let at = index.starts[word]!; at < index.starts[word + 1]!; at++) {
      const posting = index.postings[at]!;
      const document = Math.floor(posting / POSTING_FLAGS);
      const how = howItMatches(posting % POSTING_FLAGS, starts, equals);
      if (marks) marks[document]! |= how;
      else sparse![length++] = document * MATCH_FLAGS + how;
    }
  }
  return marks ? matchesOfMarks(marks) : matchesOfSorted(sparse!.sort());
}

function matchesOfMarks(marks: Uint8Array): Matches {
  let count = 0;
  for (const mark of marks) if (mark !== 0) count++;
  const documents = new Uint32Array(count);
  const how = new Uint8Array(count);
  let at = 0;
  for (let document = 0; document < marks.length; document++) {
    if (marks[document] === 0) continue;
    documents[at] = document;
    how[at++] = marks[document]!;
  }
  return { documents, how };
}

function matchesOfSorted(sorted: Float64Array): Matches {
  const documents = new Uint32Array(sorted.length);
  const how = new Uint8Array(sorted.length);
  let count = 0;
  for (const value of sorted) {
    const document = Math.floor(value / MATCH_FLAGS);
    if (count === 0 || documents[count - 1] !== document) documents[count++] = document;
    how[count - 1]! |= value % MATCH_FLAGS;
  }
  return { documents: documents.subarray(0, count), how: how.subarray(0, count) };
}

/** Documents in both; how they match is what holds for both. */
export function intersect(a: Matches, b: Matches): Matches {
  const documents = new Uint32Array(Math.min(a.documents.length, b.documents.length));
  const how = new Uint8Array(documents.length);
  let count = 0;
  for (let i = 0, j = 0; i < a.documents.length && j < b.documents.length; ) {
    const difference = a.documents[i]! - b.documents[j]!;
    if (difference === 0) {
      documents[count] = a.documents[i]!;
      how[count++] = a.how[i]! & b.how[j]!;
    }
    if (difference <= 0) i++;
    if (difference >= 0) j++;
  }
  return { documents: documents.subarray(0, count), how: how.subarray(0, count) };
}

/** Finds the documents that contain every term. */
export function findAll(index: WordIndex, terms: readonly string[]): Matches {
  const found: Matches[] = [];
  for (const term of terms) {
    const matches = findDocuments(index, term);
    if (matches.documents.length === 0) return matches;
    found.push(matches);
  }
  found.sort((a, b) => a.documents.length - b.documents.length);
  return found.reduce(intersect);
}
