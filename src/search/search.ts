/** Both searches over one store. */

import { sharedUint32 } from "../store/bytes.ts";
import type { PageOf, SearchName, Store } from "../store/generation.ts";
import { descriptionOf, displayNameOf, worldNameOf } from "../store/texts.ts";
import { placesOf, type Results } from "./results.ts";
import { indexUsers, searchUsers, type UserIndex } from "./users.ts";
import type { Work } from "./work.ts";
import { foldWorlds, indexWorlds, searchWorlds, type WorldIndex, type WorldTexts } from "./worlds.ts";

/** The indexes of a store, all in shared memory: other threads can use them. */
export interface SearchIndex {
  readonly users: UserIndex;
  readonly worlds: WorldIndex;
  /** By world row: its place in the ranking of all times. */
  readonly places: Uint32Array;
}

export function indexUsersOf({ users }: Store, previous?: UserIndex): UserIndex {
  return indexUsers(users.rows, (row) => displayNameOf(users, row), { previous });
}

export function foldWorldsOf({ worlds }: Store): WorldTexts {
  return foldWorlds(worlds.rows, ...readersOf(worlds));
}

function indexWorldsOf({ worlds }: Store, previous?: WorldIndex): WorldIndex {
  return indexWorlds(worlds.rows, ...readersOf(worlds), { previous });
}

type ReadText = (row: number) => string;

function readersOf(worlds: Store["worlds"]): [name: ReadText, description: ReadText] {
  return [(row) => worldNameOf(worlds, row), (row) => descriptionOf(worlds, row)];
}

/** The places of worlds in the ranking of all times. */
export function rankedPlaces({ popular }: Store): Uint32Array {
  return placesOf(popular.all, sharedUint32(popular.all.length));
}

/**
 * Indexes a store for both searches.
 * @param made parts that exist already
 * @param previous the index of the served store; a part of it is taken if it was made from equal texts
 */
export function indexStore(
  store: Store,
  made: Partial<SearchIndex> = {},
  previous?: SearchIndex,
): SearchIndex {
  return {
    users: made.users ?? indexUsersOf(store, previous?.users),
    worlds: made.worlds ?? indexWorldsOf(store, previous?.worlds),
    places: made.places ?? rankedPlaces(store),
  };
}

/** The parts of an index that the one before lacks. */
export function partsMade(index: SearchIndex, previous: SearchIndex | undefined): Partial<SearchIndex> {
  const parts = Object.entries(index) as [keyof SearchIndex, unknown][];
  return Object.fromEntries(parts.filter(([name, part]) => part !== previous?.[name]));
}

/** Both searches as work for the caller to run, at once or in slices. */
export type Searches = (name: SearchName, term: string, page: PageOf) => Work<Results>;

export function openSearch({ popular }: Pick<Store, "popular">, index: SearchIndex): Searches {
  const ranking = { rows: popular.all, places: index.places };
  return (name, term, page) =>
    name === "users" ? searchUsers(index.users, term, page) : searchWorlds(index.worlds, ranking, term, page);
}
