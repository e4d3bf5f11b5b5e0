/** Search over display names. The number of a name is its user's row, so ascending numbers are list order. */

import type { PageOf } from "../store/generation.ts";
import { fold } from "./fold.ts";
import { indexGrams } from "./index/trigrams.ts";
import { findNames, indexNames, type NameIndex, type Names, openNames } from "./query/names.ts";
import type { Matches } from "./query/result-set.ts";
import { TextsBuilder } from "./shared/texts.ts";
import type { Work } from "./shared/work.ts";

/**
 * Indexes users.
 *
 * @param nameOf display name by row
 * @param least see {@link indexNames}
 */
export function indexUsers(rows: number, nameOf: (row: number) => string, least?: number): Names {
  const names = new TextsBuilder();
  for (let row = 0; row < rows; row++) names.add(fold(nameOf(row)));
  return indexNames(indexGrams(names.finish()), least);
}

/** Makes an index searchable on the calling thread. */
export function openUsers(index: Names): NameIndex {
  return openNames(index);
}

/**
 * Finds the users whose folded name contains a term.
 *
 * @param term folded and trimmed, not empty
 * @param page what is asked for; without it everything is found
 * @returns user rows: names equal to the term, names that begin with it, the rest
 */
export function searchUsers(names: NameIndex, term: string, page?: PageOf): Work<Matches> {
  return findNames(names, term, page);
}
