/**
 * Search over names and descriptions of worlds.
 *
 * Their words are indexed by trigrams. Documents are numbered in order of the
 * all-time ranking, so document order is popularity order.
 */

import type { PageOf } from "../store/generation.ts";
import { fold } from "./fold.ts";
import type { CountEntriesIn } from "./index/entry-counts.ts";
import { SMALL } from "./index/frequent.ts";
import { orderNames } from "./index/name-order.ts";
import { renumber, renumberNames, renumberWords } from "./index/renumber.ts";
import { buildTopTable, emptyTopTable, findTopAgain } from "./index/top-table.ts";
import { WordIndexBuilder } from "./index/word-index.ts";
import { BitsetLoan } from "./query/bitset-pool.ts";
import {
  findWorlds,
  type OpenWorldIndex,
  openWorldIndex,
  rankFound,
  rankShort,
} from "./query/find-worlds.ts";
import { findNameRange } from "./query/name-order.ts";
import type { ResultSet } from "./query/result-set.ts";
import { findKnown, wordsAt } from "./query/term.ts";
import { TextsBuilder } from "./shared/texts.ts";
import { mostOfTable, TABLE_PAGE, type TopTable } from "./shared/top-table.ts";
import { runNow, type Work } from "./shared/work.ts";
import type { WorldIndex } from "./shared/world-index.ts";

/** The top-k worlds of an n-gram are found beforehand when its words have so many postings together. */
const FREQUENT = 64;
/** The same in a small index. */
const FREQUENT_IN_SMALL = 1024;

/**
 * Indexes worlds.
 *
 * @param ranking world rows, most popular first
 * @param nameOf name by row
 * @param descriptionOf description by row
 * @param least documents of short n-grams, and the top-k of any, are found beforehand when its words have so many
 *   postings together
 * @param mostTrigrams where the words have more distinct ones, their bigrams are indexed
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
  const { words, entriesIn } = builder.finish(least, mostTrigrams);
  const index = { words, nameOrder: orderNames(names.finish(), ranking) };
  return { ...index, topTable: indexTop(index, entriesIn, least) };
}

/** Puts indexed worlds in the order of another ranking of the same rows; takes a fraction of the time of indexing them. */
export function rankWorldsAnew({ words, nameOrder, topTable }: WorldIndex, ranking: Uint32Array): WorldIndex {
  const numbers = renumber(nameOrder.rows, ranking);
  const index = {
    words: renumberWords(words, numbers),
    nameOrder: renumberNames(nameOrder, numbers, ranking),
  };
  const open = openWorldIndex({ ...index, topTable: emptyTopTable() });
  const find = (ngram: string): ResultSet => runNow(findWorlds(open, ngram, TABLE_PAGE));
  return { ...index, topTable: findTopAgain(topTable, find) };
}

/** Makes the top-k table of n-grams within words. @param entriesIn what a range of postings weighs */
function indexTop(
  worlds: Omit<WorldIndex, "topTable">,
  entriesIn: CountEntriesIn,
  least = worlds.words.wordPostings.entries.length < SMALL ? FREQUENT_IN_SMALL : FREQUENT,
): TopTable {
  const index = openWorldIndex({ ...worlds, topTable: emptyTopTable() });
  const { words, nameOrder } = index;
  const { trigrams, wordPostings } = words;
  const most = Math.max(trigrams.postings.length, wordPostings.entries.length);
  const loan = new BitsetLoan(words.pool);
  return buildTopTable(
    trigrams,
    { least, weigh: entriesIn, mostNgrams: mostOfTable(most, wordPostings.documents) },
    ({ ngram }) => {
      const { from, equalEnd } = findNameRange(nameOrder, ngram);
      return from < equalEnd;
    },
    ({ ngram, postings }) => {
      const found = findKnown(words, ngram) ?? runNow(wordsAt(trigrams, postings));
      const short = rankShort(index, found, ngram);
      if (short !== undefined) return short;
      const results = runNow(rankFound(index, found, ngram, { term: ngram, page: TABLE_PAGE }, loan));
      loan.end();
      return results;
    },
  );
}

/** Makes an index searchable on the calling thread. */
export function openWorlds(index: WorldIndex): OpenWorldIndex {
  return openWorldIndex(index);
}

/**
 * Finds the worlds that contain every term of a query in name or description.
 *
 * @param term folded and trimmed, not empty
 * @param page what is asked for; without it everything is found
 * @returns world rows: name equal to the query, name beginning with it, name
 *   containing every term, the rest
 */
export function searchWorlds(index: OpenWorldIndex, term: string, page?: PageOf): Work<ResultSet> {
  return findWorlds(index, term, page);
}
