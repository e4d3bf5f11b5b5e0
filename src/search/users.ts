/** Search over display names. Documents are the rows of users, so their order is that of lists. */

import type { PageOf } from "../store/generation.ts";
import { checkLimit, MOST_TEXTS } from "../store/limits.ts";
import { findAll, findBeginning, keepWithLength } from "./find.ts";
import { fold } from "./fold.ts";
import type { Grams } from "./grams.ts";
import { indexGrams } from "./index-grams.ts";
import { type Results, takeResults } from "./results.ts";
import { areSameTexts, joinTexts, type Texts } from "./texts.ts";
import type { Work } from "./work.ts";

/** Indexed display names, all in shared memory. */
export interface UserIndex {
  readonly texts: Texts;
  readonly grams: Grams;
}

/** How texts are indexed. */
export interface IndexOptions<Index> {
  /** Its parts are used again if they were made from the same texts. */
  readonly previous?: Index | undefined;
  /** See {@link indexGrams}. */
  readonly few?: number | undefined;
}

/** Indexes users. @param nameOf display name by row @throws {LimitError} when there are too many names */
export function indexUsers(
  rows: number,
  nameOf: (row: number) => string,
  { previous, few }: IndexOptions<UserIndex> = {},
): UserIndex {
  checkLimit(rows, MOST_TEXTS, "names of users");
  const texts = joinTexts(rows, (row) => fold(nameOf(row)));
  if (previous !== undefined && areSameTexts(texts, previous.texts)) return previous;
  return { texts, grams: indexGrams(texts, "texts", few) };
}

/**
 * Finds the users whose folded name contains a term: first names equal to it, then names that begin with it, then the
 * rest, each in list order.
 * @param term folded and trimmed, not empty
 */
export function* searchUsers(index: UserIndex, term: string, page: PageOf): Work<Results> {
  const all = yield* findAll(index, [term]);
  const first = all.count === 0 ? all : yield* findBeginning(index, term, all);
  const equal = yield* keepWithLength(index.texts, first, term.length);
  return yield* takeResults([equal, first, all], page);
}
