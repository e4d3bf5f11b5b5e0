/**
 * The documents that contain every one of several terms.
 *
 * Candidates are intersected in order of cost, which a sample of their words' postings estimates, and only as long as a
 * document is left.
 */

import type { BitsetLoan } from "./bitset.ts";
import {
  AT_ONCE,
  countEntries,
  type DocumentSet,
  LIST_WORK,
  type ListSet,
  MOST_UNSETTLED,
  NO_DOCUMENTS,
  type SetOrWords,
  sizeOf,
  unite,
  uniteFew,
} from "./document-sets.ts";
import { intersect, isBits } from "./intersect.ts";
import { sizeOfRange } from "./locate.ts";
import { listPostings } from "./posting-reader.ts";
import { type FoundTerm, findTerm, gatherDocuments, keepWithTerm, wordsAt } from "./terms.ts";
import { textOf } from "./trigrams.ts";
import type { OpenWordIndex } from "./word-index.ts";
import type { Work } from "./work.ts";

/** A term, its result, and the work to make a set of it: roughly the number of its postings. */
interface Candidate {
  readonly term: string;
  readonly found: FoundTerm;
  readonly work: number;
}

function isSet(found: FoundTerm): found is DocumentSet {
  return "kind" in found;
}

function isWords(found: FoundTerm): found is Uint32Array {
  return found instanceof Uint32Array;
}

/** Words of a term whose postings are counted to estimate those of all. */
const SAMPLES = 64;

function workOf({ trigrams, wordPostings }: OpenWordIndex, found: FoundTerm): number {
  if (isSet(found)) return sizeOf(found);
  if (isWords(found)) return countEntries(wordPostings, found) + found.length * LIST_WORK;
  const [from] = found.range;
  const postings = sizeOfRange(found.range);
  let entries = 0;
  for (let sample = 0; sample < SAMPLES; sample++) {
    const word = textOf(trigrams, trigrams.postings[from + Math.floor((sample * postings) / SAMPLES)]!);
    entries += wordPostings.starts[word + 1]! - wordPostings.starts[word]!;
  }
  return postings * (entries / SAMPLES + LIST_WORK);
}

function settled({ found, work }: Candidate): SetOrWords | undefined {
  if (isSet(found)) return found;
  return isWords(found) && work <= MOST_UNSETTLED ? found : undefined;
}

/** Makes a set of many words or of a range of postings, with pauses. */
function* settle(index: OpenWordIndex, candidate: Candidate, loan: BitsetLoan): Work<SetOrWords> {
  const { term, found, work } = candidate;
  if (isSet(found)) return found;
  if (isWords(found)) {
    return work > MOST_UNSETTLED ? yield* unite(index, found, loan) : found;
  }
  if (sizeOfRange(found.range) > AT_ONCE) return yield* gatherDocuments(index, found, term, loan);
  const words = yield* wordsAt(index.trigrams, yield* listPostings(index.trigrams, found, term));
  return yield* settle(index, { term, found: words, work: workOf(index, words) }, loan);
}

/** Up to this many postings, the words of a term are listed before the terms are sorted. */
const FEW_POSTINGS = 2048;
/** A search with more work than this is long. */
export const LONG = 32_768;

/** Terms that no other contains: a document with the longer term has the shorter one, too. */
export function withoutContained(terms: readonly string[]): readonly string[] {
  return terms.filter((term) => !terms.some((other) => other.length > term.length && other.includes(term)));
}

/** Finds the documents that contain every one of several terms. */
export function* findAll(
  index: OpenWordIndex,
  terms: readonly string[],
  loan: BitsetLoan,
): Work<DocumentSet> {
  const all: Candidate[] = [];
  for (const term of terms) {
    const found = yield* findTerm(index, term, FEW_POSTINGS);
    const work = workOf(index, found);
    if (work === 0) return NO_DOCUMENTS;
    all.push({ term, found, work });
    yield;
  }
  all.sort((a, b) => a.work - b.work);
  const [cheapest, ...others] = all;
  if (cheapest!.work > LONG) yield "long";
  let set = settled(cheapest!) ?? (yield* settle(index, cheapest!, loan));
  for (const next of others) {
    if (isSet(set) && sizeOf(set) === 0) break;
    const few = fewFor(index, set, next);
    set =
      few === undefined ? yield* narrow(index, set, next, loan) : yield* keepWithTerm(index, few, next.term);
    yield;
  }
  return isWords(set) ? yield* unite(index, set, loan) : set;
}

/** Scanning the text of one word takes about as long as reading this many entries. */
const TEXT_WORK = 128;

/** A set as a list, if scanning the words of its documents takes less time than finding the documents of another term. */
function fewFor(index: OpenWordIndex, set: SetOrWords, { found, work }: Candidate): ListSet | undefined {
  if (isSet(found) || isBits(set)) return undefined;
  const { byDocument, wordPostings } = index;
  const size = isWords(set) ? countEntries(wordPostings, set) : sizeOf(set);
  const words = byDocument.words.length / Math.max(wordPostings.documents, 1);
  if (size * words * TEXT_WORK >= work) return undefined;
  return isWords(set) ? uniteFew(index, set, size) : set;
}

function* narrow(
  index: OpenWordIndex,
  before: SetOrWords,
  other: Candidate,
  loan: BitsetLoan,
): Work<DocumentSet> {
  // Most are settled: a short search is quicker without another generator.
  const more = settled(other) ?? (yield* settle(index, other, loan));
  const kept = intersect(before, more, index, loan);
  giveBack(before, kept, loan);
  giveBack(more, kept, loan);
  return kept;
}

function giveBack(used: SetOrWords, kept: DocumentSet, loan: BitsetLoan): void {
  if (isWords(used) || used.kind === "list" || (kept.kind === "bits" && kept.any === used.any)) return;
  loan.give(used.any);
  loan.give(used.inName);
}
