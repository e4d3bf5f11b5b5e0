/**
 * Search over display names.
 *
 * Folded names are indexed by their trigrams. The number of a name is its
 * user's row, so ascending numbers are list order.
 */

import type { PageOf } from "../store/generation.ts";
import { checkLimit, MOST_TEXTS } from "../store/limits.ts";
import { fold } from "./fold.ts";
import { SMALL } from "./index/frequent.ts";
import { buildNamesTable } from "./index/top-names.ts";
import { indexTrigrams } from "./index/trigrams.ts";
import { findNames, type OpenNameIndex, openNames } from "./query/find-names.ts";
import type { ResultSet } from "./query/result-set.ts";
import type { NameIndex } from "./shared/name-index.ts";
import { TextsBuilder } from "./shared/texts.ts";
import { mostOfTable } from "./shared/top-table.ts";
import type { TrigramIndex } from "./shared/trigrams.ts";
import type { Work } from "./shared/work.ts";

/** The top-k names of an n-gram are found beforehand when it has so many postings. */
const FREQUENT = 32;
/** The same in a small index. */
const FREQUENT_IN_SMALL = 1024;

/**
 * Indexes users.
 *
 * @param nameOf display name by row
 * @param least see {@link indexNames}
 * @throws {LimitError} when there are more names than can be indexed
 */
export function indexUsers(rows: number, nameOf: (row: number) => string, least?: number): NameIndex {
  checkLimit(rows, MOST_TEXTS, "names of users");
  const names = new TextsBuilder();
  for (let row = 0; row < rows; row++) names.add(fold(nameOf(row)));
  return indexNames(indexTrigrams(names.finish()), least);
}

/**
 * Adds the top-k table to the trigrams of names.
 *
 * @param least with so many postings an n-gram is frequent
 */
export function indexNames(
  trigrams: TrigramIndex,
  least = trigrams.postings.length < SMALL ? FREQUENT_IN_SMALL : FREQUENT,
): NameIndex {
  const weigh = (from: number, to: number): number => to - from;
  const mostNgrams = mostOfTable(trigrams.postings.length, trigrams.texts.count);
  return { trigrams, topTable: buildNamesTable(trigrams, { least, weigh, mostNgrams }) };
}

/** Makes an index searchable on the calling thread. */
export function openUsers(index: NameIndex): OpenNameIndex {
  return openNames(index);
}

/**
 * Finds the users whose folded name contains a term.
 *
 * @param term folded and trimmed, not empty
 * @param page what is asked for; without it everything is found
 * @returns user rows: names equal to the term, names that begin with it, the rest
 */
export function searchUsers(names: OpenNameIndex, term: string, page?: PageOf): Work<ResultSet> {
  return findNames(names, term, page);
}
