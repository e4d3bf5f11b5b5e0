/**
 * The word index: which documents contain a term without white space. Such a term lies within one word of a text, so
 * distinct words are indexed by their trigrams, and each word has a list of its documents:
 *
 *   term → postings of trigrams → words → postings of words → documents
 *
 * The documents of most terms of up to three code units are precomputed. The other direction, from a document to its
 * words, is for renumbering documents.
 */

import { enlarge, sharedCopy, sharedUint32, Uint32Column } from "../store/bytes.ts";
import { checkLimit, MOST_OCCURRENCES } from "../store/limits.ts";
import { type OpenPostings, openPostings, type Renumbering, type WordPostings } from "./document-sets.ts";
import { indexTrigrams } from "./index-trigrams.ts";
import { indexNgramDocuments, type NgramDocuments, renumberNgrams } from "./ngram-documents.ts";
import { isWhiteSpace, ranksIn, reorderTexts, sortTexts, type Texts } from "./texts.ts";
import type { TrigramIndex } from "./trigrams.ts";
import { WordDictionary } from "./word-dictionary.ts";

export interface WordIndex {
  /** The dictionary: distinct words in order of their code units, indexed by their trigrams. */
  readonly trigrams: TrigramIndex;
  readonly wordPostings: WordPostings;
  readonly ngramDocuments: NgramDocuments;
  readonly byDocument: DocumentWords;
}

/** The words of document d are `words[starts[d]]` to `words[starts[d + 1] - 1]`: word * 2 + whether it is in the name. */
export interface DocumentWords {
  readonly starts: Uint32Array;
  readonly words: Uint32Array;
}

/** Takes documents in ascending order, then makes the index. */
export class WordIndexBuilder {
  readonly #dictionary = new WordDictionary();
  /** As in {@link DocumentWords}, but for the order of words: each gets its number when it arrives. */
  readonly #starts = new Uint32Column();
  readonly #words = new Uint32Column();
  /** By word: the index of its newest occurrence, plus one. */
  #newest = new Uint32Array(1024);
  readonly #mostOccurrences: number;

  /** @param mostOccurrences words of all documents, each counted once a document */
  constructor(mostOccurrences = MOST_OCCURRENCES) {
    this.#mostOccurrences = mostOccurrences;
  }

  beginDocument(): void {
    this.#starts.push(this.#words.length);
  }

  /** Adds a field to the newest document. @throws {LimitError} when there are too many words */
  addField(folded: string, isName: boolean): void {
    for (let at = 0; at < folded.length; ) {
      if (isWhiteSpace(folded.charCodeAt(at))) {
        at++;
        continue;
      }
      const from = at;
      while (at < folded.length && !isWhiteSpace(folded.charCodeAt(at))) at++;
      this.#post(this.#dictionary.numberOf(folded, from, at), isName ? 1 : 0);
    }
  }

  #post(number: number, flag: number): void {
    if (number >= this.#newest.length) this.#newest = enlarge(this.#newest);
    const words = this.#words;
    const newest = this.#newest[number]!;
    if (newest > this.#starts.values[this.#starts.length - 1]!) {
      words.values[newest - 1]! |= flag;
      return;
    }
    checkLimit(words.length + 1, this.#mostOccurrences, "words of worlds, each counted once a world");
    words.push(number * 2 + flag);
    this.#newest[number] = words.length;
  }

  finish(least?: number, mostTrigrams?: number): WordIndex {
    const texts = this.#sortWords();
    this.#starts.push(this.#words.length);
    const byDocument = { starts: sharedCopy(this.#starts), words: sharedCopy(this.#words) };
    const trigrams = indexTrigrams(texts, mostTrigrams);
    const wordPostings = invert(byDocument, texts.count);
    const ngramDocuments = indexNgramDocuments(trigrams, wordPostings, least);
    return { trigrams, wordPostings, ngramDocuments, byDocument };
  }

  /**
   * Sorts the words by their code units, so that words with the same prefix have adjacent postings: gathering documents
   * from scattered postings took twice the time.
   */
  #sortWords(): Texts {
    const found = this.#dictionary.finish();
    const sorted = sortTexts(found);
    const ranks = ranksIn(sorted);
    const { values, length } = this.#words;
    for (let at = 0; at < length; at++) values[at] = ranks[values[at]! >>> 1]! * 2 + (values[at]! & 1);
    return reorderTexts(found, sorted);
  }
}

/** Makes the posting lists of words. */
function invert(byDocument: DocumentWords, words: number): WordPostings {
  const starts = sharedUint32(words + 1);
  for (const word of byDocument.words) starts[(word >>> 1) + 1]!++;
  for (let word = 0; word < words; word++) starts[word + 1]! += starts[word]!;
  const documents = byDocument.starts.length - 1;
  return { documents, starts, entries: fillPostings(byDocument, starts) };
}

/** Distributes the words of documents, in order of documents, over the posting lists. */
function fillPostings(byDocument: DocumentWords, starts: Uint32Array): Uint32Array {
  const next = starts.slice();
  const entries = sharedUint32(byDocument.words.length);
  for (let document = 0; document + 1 < byDocument.starts.length; document++) {
    const end = byDocument.starts[document + 1]!;
    for (let at = byDocument.starts[document]!; at < end; at++) {
      const word = byDocument.words[at]!;
      entries[next[word >>> 1]!++] = document * 2 + (word & 1);
    }
  }
  return entries;
}

/**
 * Renumbers documents, for worlds of which only the ranking has changed. Each document keeps its words, and posting
 * lists are filled again in the new order.
 */
export function renumberWords(
  { trigrams, wordPostings, ngramDocuments, byDocument }: WordIndex,
  numbers: Renumbering,
): WordIndex {
  const moved = moveDocuments(byDocument, numbers);
  return {
    trigrams,
    wordPostings: { ...wordPostings, entries: fillPostings(moved, wordPostings.starts) },
    ngramDocuments: renumberNgrams(ngramDocuments, numbers),
    byDocument: moved,
  };
}

function moveDocuments({ starts, words }: DocumentWords, numbers: Renumbering): DocumentWords {
  const movedStarts = sharedUint32(starts.length);
  for (let before = 0; before < numbers.length; before++)
    movedStarts[numbers[before]! + 1] = starts[before + 1]! - starts[before]!;
  for (let document = 0; document < numbers.length; document++)
    movedStarts[document + 1]! += movedStarts[document]!;
  const moved = sharedUint32(words.length);
  for (let before = 0; before < numbers.length; before++) {
    let to = movedStarts[numbers[before]!]!;
    for (let at = starts[before]!; at < starts[before + 1]!; at++) moved[to++] = words[at]!;
  }
  return { starts: movedStarts, words: moved };
}

export interface OpenWordIndex extends WordIndex, OpenPostings {}

export function openWords(words: WordIndex): OpenWordIndex {
  return { ...openPostings(words.wordPostings), ...words };
}
