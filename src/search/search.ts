/** Both searches over one store. Documents are rows: users are found in list order, worlds in the order of their ranking. */

import { sharedUint32 } from "../store/bytes.ts";
import type { PageOf, SearchName, Store } from "../store/generation.ts";
import { checkLimit, MOST_TEXTS } from "../store/limits.ts";
import { descriptionOf, displayNameOf, worldNameOf } from "../store/texts.ts";
import { findAll, findBeginning, type IndexedTexts, keepWithLength } from "./find.ts";
import { fold } from "./fold.ts";
import type { Grams } from "./grams.ts";
import { indexGrams } from "./index-grams.ts";
import { placesOf, type RankedRows, type Results, takeResults } from "./results.ts";
import { areSameTexts, joinTexts, type Texts } from "./texts.ts";
import type { Work } from "./work.ts";

/** The folded texts of worlds, all in shared memory. */
export interface WorldTexts {
  /** Name, line break, description. A folded text has no line break. */
  readonly texts: Texts;
  /** By row: where the name ends. */
  readonly nameEnds: Uint32Array;
}

interface WorldIndex extends WorldTexts {
  readonly names: Grams;
  /** Of names and descriptions, by words. */
  readonly grams: Grams;
}

/** The indexes of a store, all in shared memory: other threads can use them. */
export interface SearchIndex {
  readonly users: IndexedTexts;
  readonly worlds: WorldIndex;
  /** By world row: its place in the ranking of all times. */
  readonly places: Uint32Array;
}

type ReadText = (row: number) => string;

/**
 * Indexes the display names of users. @param previous is returned if it was made from the same texts @param few see {@link indexGrams}
 * @throws {LimitError} when there are too many
 */
export function indexUsers(
  rows: number,
  nameOf: ReadText,
  previous?: IndexedTexts,
  few?: number,
): IndexedTexts {
  checkLimit(rows, MOST_TEXTS, "names of users");
  const texts = joinTexts(rows, (row) => fold(nameOf(row)));
  if (previous !== undefined && areSameTexts(texts, previous.texts)) return previous;
  return { texts, grams: indexGrams(texts, "texts", few) };
}

/** Folds the texts of worlds. @throws {LimitError} when there are too many worlds, or when their texts are too long */
function foldWorlds(rows: number, nameOf: ReadText, describe: ReadText): WorldTexts {
  checkLimit(rows, MOST_TEXTS, "worlds");
  const nameEnds = sharedUint32(rows);
  const texts = joinTexts(rows, (row) => {
    const name = fold(nameOf(row));
    nameEnds[row] = name.length;
    return `${name}\n${fold(describe(row))}`;
  });
  for (let row = 0; row < rows; row++) nameEnds[row]! += texts.starts[row]!;
  return { texts, nameEnds };
}

/** Indexes worlds, with parameters as of {@link indexUsers}. @throws as {@link foldWorlds} */
export function indexWorlds(
  rows: number,
  nameOf: ReadText,
  describe: ReadText,
  previous?: WorldIndex,
  few?: number,
): WorldIndex {
  const folded = foldWorlds(rows, nameOf, describe);
  // If the texts are the same, their line breaks, and so the ends of names, are too.
  if (previous !== undefined && areSameTexts(folded.texts, previous.texts)) return previous;
  return { ...folded, names: indexWorldNames(folded, few), grams: indexGrams(folded.texts, "words", few) };
}

export function indexWorldNames({ texts, nameEnds }: WorldTexts, few?: number): Grams {
  return indexGrams({ ...texts, ends: nameEnds }, "texts", few);
}

export function indexUsersOf({ users }: Store, previous?: IndexedTexts): IndexedTexts {
  return indexUsers(users.rows, (row) => displayNameOf(users, row), previous);
}

function readersOf(worlds: Store["worlds"]): [rows: number, nameOf: ReadText, describe: ReadText] {
  return [worlds.rows, (row) => worldNameOf(worlds, row), (row) => descriptionOf(worlds, row)];
}

export function foldWorldsOf({ worlds }: Store): WorldTexts {
  return foldWorlds(...readersOf(worlds));
}

/**
 * Indexes a store for both searches. @param made parts that exist already
 * @param previous the index of the served store; a part of it is taken if it was made from equal texts
 */
export function indexStore(
  store: Store,
  made: Partial<SearchIndex> = {},
  previous?: SearchIndex,
): SearchIndex {
  return {
    users: made.users ?? indexUsersOf(store, previous?.users),
    worlds: made.worlds ?? indexWorlds(...readersOf(store.worlds), previous?.worlds),
    places: made.places ?? placesOf(store.popular.all, sharedUint32(store.popular.all.length)),
  };
}

/** The parts of an index that the one before lacks. */
export function partsMade(index: SearchIndex, previous: SearchIndex | undefined): Partial<SearchIndex> {
  const parts = Object.entries(index) as [keyof SearchIndex, unknown][];
  return Object.fromEntries(parts.filter(([name, part]) => part !== previous?.[name]));
}

/**
 * Finds the users whose folded name contains a term: first names equal to it, then names that begin with it, then the
 * rest, each in list order.
 * @param term folded and trimmed, not empty
 */
export function* searchUsers(index: IndexedTexts, term: string, page: PageOf): Work<Results> {
  const all = yield* findAll(index, [term]);
  const first = all.count === 0 ? all : yield* findBeginning(index, term, all);
  const equal = yield* keepWithLength(index.texts, first, term.length);
  return yield* takeResults([equal, first, all], page);
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

/** Both searches as work for the caller to run, at once or in slices. */
export type Searches = (name: SearchName, term: string, page: PageOf) => Work<Results>;

export function openSearch({ popular }: Pick<Store, "popular">, index: SearchIndex): Searches {
  const ranking = { rows: popular.all, places: index.places };
  return (name, term, page) =>
    name === "users" ? searchUsers(index.users, term, page) : searchWorlds(index.worlds, ranking, term, page);
}
