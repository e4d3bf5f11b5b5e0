/** Both searches over one store. */

import type { PageOf, Store } from "../store/generation.ts";
import { descriptionOf, displayNameOf, worldNameOf } from "../store/texts.ts";
import type { ResultSet } from "./result-set.ts";
import { indexUsers, type NameIndex, openUsers, searchUsers } from "./users.ts";
import type { Work } from "./work.ts";
import { indexWorlds, openWorlds, rankWorldsAnew, searchWorlds, type WorldIndex } from "./worlds.ts";

/** The indexes of a store, all in shared memory: other threads can use them. */
export interface SearchIndex {
  readonly users: NameIndex;
  readonly worlds: WorldIndex;
}

/** Both searches as work for the caller to run, at once or in slices. Results after the requested page may be incomplete. */
export interface Searches {
  users(term: string, page: PageOf): Work<ResultSet>;
  worlds(term: string, page: PageOf): Work<ResultSet>;
}

export function indexUsersOf({ users }: Store): NameIndex {
  return indexUsers(users.rows, (row) => displayNameOf(users, row));
}

export function indexWorldsOf({ worlds, popular }: Store): WorldIndex {
  return indexWorlds(
    popular.all,
    (row) => worldNameOf(worlds, row),
    (row) => descriptionOf(worlds, row),
  );
}

export interface Indexed {
  readonly store: Store;
  readonly index: SearchIndex;
}

/** Indexes a store for both searches. @param earlier parts of its index are used again if both stores have the same sources of them */
export function indexStore(store: Store, earlier?: Indexed): SearchIndex {
  const users = store.users === earlier?.store.users ? earlier.index.users : indexUsersOf(store);
  if (store.worlds !== earlier?.store.worlds) return { users, worlds: indexWorldsOf(store) };
  const { worlds } = earlier.index;
  if (store.popular.all === earlier.store.popular.all) return { users, worlds };
  // Only the ranking has changed: the words of the documents are the same.
  return { users, worlds: rankWorldsAnew(worlds, store.popular.all) };
}

/** The parts of an index that an earlier one lacks. */
export function partsMade(index: SearchIndex, earlier: SearchIndex | undefined): Partial<SearchIndex> {
  const parts = Object.entries(index) as [keyof SearchIndex, unknown][];
  return Object.fromEntries(parts.filter(([name, part]) => part !== earlier?.[name]));
}

export function openSearch(index: SearchIndex): Searches {
  const users = openUsers(index.users);
  const worlds = openWorlds(index.worlds);
  return {
    users: (term, page) => searchUsers(users, term, page),
    worlds: (term, page) => searchWorlds(worlds, term, page),
  };
}
