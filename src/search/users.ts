/** Search over display names. Documents are user rows, so document order is list order. */

import type { User } from "../model.ts";
import { rowObject, type Table } from "../store/table.ts";
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

/** Indexes the users of a store. */
export function indexUsers(users: Table): UserIndex {
  const builder = new WordIndexBuilder();
  const names: string[] = [];
  for (let row = 0; row < users.rows; row++) {
    const name = fold(rowObject<User>(users, row).displayName);
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
