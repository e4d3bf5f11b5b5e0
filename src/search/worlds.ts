/**
 * Search over names and descriptions of worlds. Documents are numbered in order of the all-time ranking.
 *
 * A query is split into terms: the documents of a single term are found and ranked at once, the sets of several terms
 * are intersected first. A short search runs without a pause and without the bitsets that long ones borrow.
 */

import type { PageOf } from "../store/generation.ts";
import { BitsetLoan } from "./bitset.ts";
import { findAll, LONG, withoutContained } from "./conjunction.ts";
import { AT_ONCE, countEntries, unite } from "./document-sets.ts";
import { fold } from "./fold.ts";
import { sizeOfRange } from "./locate.ts";
import { type NameOrder, orderNames, renumberNames } from "./name-order.ts";
import { type Asked, rank, rankList, rankWords } from "./rank.ts";
import type { ResultSet } from "./result-set.ts";
import { type FoundTerm, findTerm, gatherDocuments } from "./terms.ts";
import { ranksIn, TextsBuilder, WHITE_SPACE } from "./texts.ts";
import {
  type OpenWordIndex,
  openWords,
  renumberWords,
  type WordIndex,
  WordIndexBuilder,
} from "./word-index.ts";
import type { Work } from "./work.ts";

/** The indexes of all worlds, all in shared memory: other threads can use them. */
export interface WorldIndex {
  readonly words: WordIndex;
  readonly nameOrder: NameOrder;
}

/**
 * Indexes worlds.
 * @param ranking world rows, most popular first
 * @param least see {@link indexNgramDocuments}
 * @param mostTrigrams see {@link indexTrigrams}
 */
export function indexWorlds(
  ranking: Uint32Array,
  nameOf: (row: number) => string,
  descriptionOf: (row: number) => string,
  least?: number,
  mostTrigrams?: number,
): WorldIndex {
  const builder = new WordIndexBuilder();
  const names = new TextsBuilder();
  for (const row of ranking) {
    const name = fold(nameOf(row));
    names.add(name);
    builder.beginDocument();
    builder.addField(name, true);
    builder.addField(fold(descriptionOf(row)), false);
  }
  return { words: builder.finish(least, mostTrigrams), nameOrder: orderNames(names.finish(), ranking) };
}

/** Renumbers indexed worlds by another ranking of the same rows, in a fraction of the time of indexing them. */
export function rankWorldsAnew({ words, nameOrder }: WorldIndex, ranking: Uint32Array): WorldIndex {
  const ofRow = ranksIn(ranking);
  const numbers = nameOrder.rows.map((row) => ofRow[row]!);
  return {
    words: renumberWords(words, numbers),
    nameOrder: renumberNames(nameOrder, numbers, ranking),
  };
}

export interface OpenWorldIndex extends WorldIndex {
  readonly words: OpenWordIndex;
}

export function openWorlds({ words, nameOrder }: WorldIndex): OpenWorldIndex {
  return { words: openWords(words), nameOrder };
}

const MAX_TERMS = 10;

/**
 * Finds the worlds that contain every term of a query in name or description.
 * @param term folded and trimmed, not empty
 * @param page results outside of it may be unknown
 * @returns world rows: names equal to the query, names that begin with it, names with every term, the rest
 */
export function* searchWorlds(index: OpenWorldIndex, term: string, page: PageOf): Work<ResultSet> {
  const terms = termsOf(term);
  const found = terms.length === 1 ? yield* findTerm(index.words, terms[0]!) : undefined;
  // Most searches end here, without the objects that long ones need.
  const short = found === undefined ? undefined : rankShort(index, found, term);
  if (short !== undefined) return short;
  const loan = new BitsetLoan(index.words.pool);
  const asked = { term, page };
  try {
    if (found !== undefined) return yield* rankFound(index, found, terms[0]!, asked, loan);
    const set = yield* findAll(index.words, terms, loan);
    return rankShort(index, set, term) ?? (yield* rank(set, index.nameOrder, asked, loan));
  } finally {
    loan.end();
  }
}

/** The terms of a query, without terms that another term contains. */
export function termsOf(query: string): readonly string[] {
  const terms = query.split(WHITE_SPACE);
  return terms.length === 1 ? terms : withoutContained([...new Set(terms)].slice(0, MAX_TERMS));
}

/** Ranks few documents, without a pause; undefined when there are too many. */
function rankShort(
  { words, nameOrder }: OpenWorldIndex,
  found: FoundTerm,
  term: string,
): ResultSet | undefined {
  if (found instanceof Uint32Array) {
    const entries = countEntries(words.wordPostings, found);
    return entries <= AT_ONCE ? rankWords(words, found, entries, nameOrder, term) : undefined;
  }
  if (!("kind" in found) || found.kind === "bits" || found.entries.length > AT_ONCE) return undefined;
  return rankList(found.entries, nameOrder, term);
}

/** Ranks the documents of a single term, with pauses. */
function* rankFound(
  { words, nameOrder }: OpenWorldIndex,
  found: FoundTerm,
  term: string,
  asked: Asked,
  loan: BitsetLoan,
): Work<ResultSet> {
  if ("kind" in found) return yield* rank(found, nameOrder, asked, loan);
  if ("range" in found) {
    if (sizeOfRange(found.range) > LONG) yield "long";
    return yield* rank(yield* gatherDocuments(words, found, term, loan), nameOrder, asked, loan);
  }
  if (countEntries(words.wordPostings, found) > LONG) yield "long";
  return yield* rank(yield* unite(words, found, loan), nameOrder, asked, loan);
}
