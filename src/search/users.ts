/** Search over display names. Documents are user rows, so document order is list order. */

import { fold } from "./fold.ts";
import { type Names, nameAt, packNames, rankByClass } from "./ranked.ts";
import {
  findAll,
  findDocuments,
  NAME_EQUALS,
  NAME_STARTS,
  type WordIndex,
  WordIndexBuilder,
} from "./words.ts";

/** The index over all users. */
export interface UserIndex {
  readonly words: WordIndex;
  readonly names: Names;
}

/**
 * Indexes users.
 *
 * @param nameOf display name by row
 */
export function indexUsers(rows: number, nameOf: (row: number) => string): UserIndex {
  const builder = new WordIndexBuilder();
  const names: string[] = [];
  for (let row = 0; row < rows; row++) {
    const name = fold(nameOf(row));
    names.push(name);
    builder.beginDocument();
    builder.addField(name, true);
  }
  return { words: builder.finish(), names: packNames(names) };
}

/**
 * Finds the users whose folded name contains a term.
 *
 * @param term folded and trimmed, not empty
 * @returns user rows: names equal to the term, names that begin with it, the rest
 */
export function searchUsers(index: UserIndex, term: string): Uint32Array<ArrayBuffer> {
  const parts = term.split(/\s+/u);
  if (parts.length === 1) {
    return rankByClass(findDocuments(index.words, term), 3, (_row, how) =>
      how & NAME_EQUALS ? 0 : how & NAME_STARTS ? 1 : 2,
    );
  }
  // A term with white space spans words: its parts find candidates, the name decides.
  return rankByClass(findAll(index.words, [...new Set(parts)]), 3, (row) => {
    const at = nameAt(index.names, row).indexOf(term);
    if (at !== 0) return at < 0 ? -1 : 2;
    return index.names.starts[row + 1]! - index.names.starts[row]! === term.length ? 0 : 1;
  });
}
