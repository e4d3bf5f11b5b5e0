/**
 * Search over names and descriptions of worlds. Documents are numbered in order of the all-time ranking.
 *
 * A query is split into terms: the documents of a single term are found and ranked at once, the sets of several terms
 * are intersected first.
 */

import type { PageOf } from "../store/generation.ts";
import { BitsetLoan } from "./bitset.ts";
import { findAll, withoutContained } from "./conjunction.ts";
import { AT_ONCE, countEntries } from "./document-sets.ts";
import { fold } from "./fold.ts";
import { type NameOrder, orderNames, renumberNames } from "./name-order.ts";
import { rankList, rankSet, rankWords } from "./rank.ts";
import { type ResultSet, retainPage } from "./result-set.ts";
import { documentsOf, findTerm, isSet } from "./terms.ts";
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
  const { words, nameOrder } = index;
  const terms = termsOf(term);
  const loan = new BitsetLoan(words.pool);
  try {
    const found = terms.length === 1 ? yield* findTerm(words, terms[0]!) : yield* findAll(words, terms, loan);
    if (found.kind === "words") {
      const entries = countEntries(words.wordPostings, found.words);
      if (entries <= AT_ONCE) return rankWords(words, found.words, entries, nameOrder, term);
    }
    const set = isSet(found) ? found : yield* documentsOf(words, terms[0]!, found, loan);
    if (set.kind === "list" && set.entries.length <= AT_ONCE) return rankList(set.entries, nameOrder, term);
    return retainPage(yield* rankSet(set, nameOrder, term, loan), page, loan);
  } finally {
    loan.end();
  }
}

/** The terms of a query, without terms that another term contains. */
export function termsOf(query: string): readonly string[] {
  const terms = query.split(WHITE_SPACE);
  return terms.length === 1 ? terms : withoutContained([...new Set(terms)].slice(0, MAX_TERMS));
}
