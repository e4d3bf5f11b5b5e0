/**
 * The documents that contain every one of several terms.
 *
 * Candidates are intersected in order of cost, which a sample of their words' postings estimates, and only as long as a
 * document is left. Frequent terms that overlap, such as chunks of one address, are merged into the text that contains
 * them: documents with that text need no other test.
 */

import type { BitsetLoan } from "./bitset.ts";
import {
  AT_ONCE,
  countEntries,
  type DocumentBitset,
  type DocumentSet,
  LIST_WORK,
  type ListSet,
  MOST_UNSETTLED,
  NO_DOCUMENTS,
  type SetOrWords,
  sizeOf,
  takePair,
  unite,
  uniteFew,
} from "./document-sets.ts";
import { addSet, intersect, isBits, splitBits } from "./intersect.ts";
import { locate, sizeOfRange } from "./locate.ts";
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

/** Finds the documents that contain every one of several terms. @param frequent terms with more postings are merged */
export function* findAll(
  index: OpenWordIndex,
  terms: readonly string[],
  loan: BitsetLoan,
  frequent = AT_ONCE,
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
  let rest: Rest = {
    set: settled(cheapest!) ?? (yield* settle(index, cheapest!, loan)),
    left: others,
  };
  while (rest.left.length > 0 && !(isSet(rest.set) && sizeOf(rest.set) === 0)) {
    rest = yield* narrowOnce(index, rest, loan, frequent);
    yield;
  }
  return isWords(rest.set) ? yield* unite(index, rest.set, loan) : rest.set;
}

/** The documents with the terms so far, and the other terms. */
interface Rest {
  readonly set: SetOrWords;
  readonly left: readonly Candidate[];
}

/** Narrows by the first term that is left, or by several that can be merged. */
function* narrowOnce(
  index: OpenWordIndex,
  { set, left }: Rest,
  loan: BitsetLoan,
  frequent: number,
): Work<Rest> {
  const [next, ...others] = left;
  const few = fewFor(index, set, next!);
  if (few !== undefined) return { set: yield* keepWithTerm(index, few, next!.term), left: others };
  const { text, parts } = mergeFrequent(index, left, frequent);
  if (parts.length === 1) return { set: yield* narrow(index, set, next!, loan), left: others };
  const documents = isWords(set) ? yield* unite(index, set, loan) : set;
  const bits = isBits(documents) ? documents : addSet(takePair(loan), documents, loan);
  const merged = yield* narrowByMerged(index, bits, text, parts, loan);
  return { set: merged, left: left.filter((one) => !parts.includes(one)) };
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

interface Merged {
  readonly text: string;
  readonly parts: readonly Candidate[];
}

/** Merges the first of some terms with others, if each has very many postings, and the merged text more than half as many as the first. */
function mergeFrequent(index: OpenWordIndex, terms: readonly Candidate[], frequent: number): Merged {
  const postings = ({ found }: Candidate): number => ("range" in found ? sizeOfRange(found.range) : 0);
  const first = terms[0]!;
  if (postings(first) <= frequent) return { text: first.term, parts: [first] };
  const all = terms.filter((one) => postings(one) > frequent);
  const text = mergeTerms(
    all.map(({ term }) => term),
    (longer) => sizeOfRange(locate(index.trigrams, longer).range) * 2 > postings(first),
  );
  return { text, parts: all.filter(({ term }) => text.includes(term)) };
}

/** The documents of a set that contain all parts of a text: those with the text, and among the others those with each part. */
function* narrowByMerged(
  index: OpenWordIndex,
  before: DocumentBitset,
  text: string,
  parts: readonly Candidate[],
  loan: BitsetLoan,
): Work<DocumentSet> {
  const whole = yield* gatherDocuments(index, locate(index.trigrams, text), text, loan);
  let others: DocumentSet = splitBits(before, whole, loan);
  for (const part of parts) {
    if (sizeOf(others) === 0) break;
    yield;
    others = yield* narrow(index, others, part, loan);
  }
  return addSet(whole, others, loan);
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

/** A shorter overlap tells little. */
const LEAST_OVERLAP = 3;

/** Number of code units at the end of a text with which another begins; 0 if few. */
function overlapOf(text: string, next: string): number {
  for (let units = Math.min(text.length, next.length) - 1; units >= LEAST_OVERLAP; units--) {
    if (text.endsWith(next.slice(0, units))) return units;
  }
  return 0;
}

/** The first text, merged with each text that overlaps it if the result is worth it. @param texts none within another */
export function mergeTerms(texts: readonly string[], isWorthIt: (longer: string) => boolean): string {
  let merged = texts[0]!;
  for (let left = texts.slice(1); left.length > 0; ) {
    let most = 0;
    let longer = "";
    let next = "";
    for (const text of left) {
      const behind = overlapOf(merged, text);
      const before = overlapOf(text, merged);
      if (Math.max(behind, before) <= most) continue;
      most = Math.max(behind, before);
      longer = behind >= before ? merged + text.slice(behind) : text + merged.slice(before);
      next = text;
    }
    if (most === 0) break;
    if (isWorthIt(longer)) merged = longer;
    left = left.filter((text) => text !== next && !merged.includes(text));
  }
  return merged;
}
