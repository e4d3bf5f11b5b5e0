/**
 * Search over display names.
 *
 * Folded names are indexed by their trigrams. The number of a name is its
 * user's row, so ascending numbers are list order.
 */

import type { PageOf } from "../store/generation.ts";
import { checkLimit, MOST_TEXTS } from "../store/limits.ts";
import { fold } from "./fold.ts";
import { indexTrigrams } from "./index/trigrams.ts";
import { findNames, type OpenNameIndex, openNames } from "./query/find-names.ts";
import type { ResultSet } from "./query/result-set.ts";
import type { NameIndex } from "./shared/name-index.ts";
import { TextsBuilder } from "./shared/texts.ts";
import type { Work } from "./shared/work.ts";

/**
 * Indexes users.
 *
 * @param nameOf display name by row
 * @throws {LimitError} when there are more names than can be indexed
 */
export function indexUsers(rows: number, nameOf: (row: number) => string): NameIndex {
  checkLimit(rows, MOST_TEXTS, "names of users");
  const names = new TextsBuilder();
  for (let row = 0; row < rows; row++) names.add(fold(nameOf(row)));
  return { trigrams: indexTrigrams(names.finish()) };
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
