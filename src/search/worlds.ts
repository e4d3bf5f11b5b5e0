/** Search over names and descriptions of worlds. Documents are the rows of worlds; the ranking orders what is found. */

import { sharedUint32 } from "../store/bytes.ts";
import type { PageOf } from "../store/generation.ts";
import { checkLimit, MOST_TEXTS } from "../store/limits.ts";
import { findAll, findBeginning, keepWithLength } from "./find.ts";
import { fold } from "./fold.ts";
import type { Grams } from "./grams.ts";
import { indexGrams } from "./index-grams.ts";
import { type RankedRows, type Results, takeResults } from "./results.ts";
import { areSameTexts, joinTexts, type Texts } from "./texts.ts";
import type { IndexOptions } from "./users.ts";
import type { Work } from "./work.ts";

/** The folded texts of worlds, all in shared memory. */
export interface WorldTexts {
  /** Name, line break, description. A folded text has no line break. */
  readonly texts: Texts;
  /** By row: where the name ends. */
  readonly nameEnds: Uint32Array;
}

/** Indexed worlds, all in shared memory. */
export interface WorldIndex extends WorldTexts {
  readonly names: Grams;
  /** Of names and descriptions, by words. */
  readonly grams: Grams;
}

/** Folds the texts of worlds. @throws {LimitError} when there are too many worlds, or when their texts are too long */
export function foldWorlds(
  rows: number,
  nameOf: (row: number) => string,
  descriptionOf: (row: number) => string,
): WorldTexts {
  checkLimit(rows, MOST_TEXTS, "worlds");
  const nameEnds = sharedUint32(rows);
  const texts = joinTexts(rows, (row) => {
    const name = fold(nameOf(row));
    nameEnds[row] = name.length;
    return `${name}\n${fold(descriptionOf(row))}`;
  });
  for (let row = 0; row < rows; row++) nameEnds[row]! += texts.starts[row]!;
  return { texts, nameEnds };
}

/** Indexes worlds. See {@link foldWorlds}. */
export function indexWorlds(
  rows: number,
  nameOf: (row: number) => string,
  descriptionOf: (row: number) => string,
  { previous, few }: IndexOptions<WorldIndex> = {},
): WorldIndex {
  const folded = foldWorlds(rows, nameOf, descriptionOf);
  // If the texts are the same, their line breaks, and so the ends of names, are too.
  if (previous !== undefined && areSameTexts(folded.texts, previous.texts)) return previous;
  return { ...folded, names: indexWorldNames(folded, few), grams: indexGrams(folded.texts, "words", few) };
}

/** Indexes only the names. */
export function indexWorldNames({ texts, nameEnds }: WorldTexts, few?: number): Grams {
  return indexGrams({ ...texts, ends: nameEnds }, "texts", few);
}

/** Most terms of a query that count. */
const MOST_TERMS = 10;

/** The terms that a match must all contain. @param term folded and trimmed */
export function termsOf(term: string): string[] {
  return [...new Set(term.split(/\s+/u))].slice(0, MOST_TERMS);
}

/**
 * Finds the worlds that contain every term of a query in name or description: first names equal to the query, then names
 * that begin with it, then names with every term, then the rest, each in order of the ranking.
 * @param term folded and trimmed, not empty
 */
export function* searchWorlds(
  index: WorldIndex,
  ranking: RankedRows,
  term: string,
  page: PageOf,
): Work<Results> {
  const terms = termsOf(term);
  const names = { texts: { ...index.texts, ends: index.nameEnds }, grams: index.names };
  const all = yield* findAll(index, terms);
  const named = all.count === 0 ? all : yield* findAll(names, terms, all);
  const first = named.count === 0 ? named : yield* findBeginning(names, term, named);
  const equal = yield* keepWithLength(names.texts, first, term.length);
  return yield* takeResults([equal, first, named, all], page, ranking);
}
