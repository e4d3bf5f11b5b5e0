/**
 * The documents that contain every one of several terms.
 *
 * Candidates are intersected in order of cost, which a sample of their words' postings estimates, and only as long as a
 * document is left.
 */

import type { BitsetLoan } from "./bitset.ts";
import {
  countEntries,
  type ListSet,
  MOST_UNSETTLED,
  NO_DOCUMENTS,
  type SetOrWords,
  sizeOf,
  uniteFew,
  type WordList,
} from "./document-sets.ts";
import { intersect } from "./intersect.ts";
import { documentsOf, type FoundTerm, findTerm, isSet, keepWithTerm, workOf } from "./terms.ts";
import type { OpenWordIndex } from "./word-index.ts";
import type { Work } from "./work.ts";

/** A term, its result, and the work to make a set of it. */
interface Candidate {
  readonly term: string;
  readonly found: FoundTerm;
  readonly work: number;
}

/** Up to this many postings, the words of a term are listed before the terms are sorted. */
const FEW_POSTINGS = 2048;

/** Terms that no other contains: a document with the longer term has the shorter one, too. */
export function withoutContained(terms: readonly string[]): readonly string[] {
  return terms.filter((term) => !terms.some((other) => other.length > term.length && other.includes(term)));
}

/** Finds the documents that contain every one of several terms. */
export function* findAll(index: OpenWordIndex, terms: readonly string[], loan: BitsetLoan): Work<SetOrWords> {
  const all: Candidate[] = [];
  for (const term of terms) {
    const found = yield* findTerm(index, term, FEW_POSTINGS);
    const work = workOf(index, found);
    if (work === 0) return NO_DOCUMENTS;
    all.push({ term, found, work });
    yield;
  }
  const [cheapest, ...others] = all.sort((a, b) => a.work - b.work);
  let set = fewWords(cheapest!) ?? (yield* documentsOf(index, cheapest!.term, cheapest!.found, loan));
  for (const next of others) {
    const { term, found, work } = next;
    if (set.kind !== "bits" && !isSet(found) && workOfScan(index, set) < work) {
      set = yield* keepWithTerm(
        index,
        set.kind === "list" ? set : uniteFew(index, set.words, countEntries(index.wordPostings, set.words)),
        term,
      );
    } else {
      const more = fewWords(next) ?? (yield* documentsOf(index, term, found, loan));
      set = intersect(set, more, index, loan);
      loan.keepOnly(set.kind === "bits" ? [set.any, set.inName] : []);
    }
    if (sizeOf(set) === 0) break;
    yield;
  }
  return set;
}

/** The words of a term, if they are so few that no set need be made of them. */
function fewWords({ found, work }: Candidate): WordList | undefined {
  return found.kind === "words" && work <= MOST_UNSETTLED ? found : undefined;
}

/** Scanning the text of one word takes about as long as reading this many entries. */
const TEXT_WORK = 128;

/** The work to scan the words of some documents for a term. */
function workOfScan({ byDocument, wordPostings }: OpenWordIndex, set: ListSet | WordList): number {
  const size = set.kind === "list" ? set.entries.length : countEntries(wordPostings, set.words);
  return (size * TEXT_WORK * byDocument.words.length) / Math.max(wordPostings.documents, 1);
}
