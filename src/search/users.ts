/** Search over display names. The number of a name is its user's row, so ascending numbers are list order. */

import { fold } from "./fold.ts";
import { findNames, indexNames, type NameIndex } from "./names.ts";
import type { Work } from "./slices.ts";

/**
 * Indexes users.
 *
 * @param nameOf display name by row
 */
export function indexUsers(rows: number, nameOf: (row: number) => string): NameIndex {
  return indexNames(Array.from({ length: rows }, (_, row) => fold(nameOf(row))));
}

/**
 * Finds the users whose folded name contains a term.
 *
 * @param term folded and trimmed, not empty
 * @returns user rows: names equal to the term, names that begin with it, the rest
 */
export function searchUsers(names: NameIndex, term: string): Work<Uint32Array<ArrayBuffer>> {
  return findNames(names, term);
}
