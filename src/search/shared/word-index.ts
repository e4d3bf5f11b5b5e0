/**
 * The word index: which documents contain a term without white space.
 *
 * Such a term lies within one word of a text. So it is enough to index the
 * distinct words by their trigrams, and to keep for each word the documents
 * that it stands in:
 *
 *   term → postings of trigrams → words → postings of words → documents
 *
 * The documents of most terms of up to three code units are kept beforehand.
 * For terms that nearly all words hold there is the other direction, too: from
 * a document to its words.
 */

import type { NgramDocuments } from "./ngram-documents.ts";
import type { TrigramIndex } from "./trigrams.ts";
import type { WordPostings } from "./word-postings.ts";

/** Indexed words. All of it lies in shared memory and can be handed to other threads. */
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
