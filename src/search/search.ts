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

/** The parts of an earlier index that hold for a store, too: their sources are the same in both stores. */
export function indexesOf(store: Store, earlier: Indexed | undefined): Partial<SearchIndex> {
  if (earlier === undefined) return {};
  const { users, worlds, popular } = earlier.store;
  return {
    ...(store.users === users ? { users: earlier.index.users } : {}),
    ...(store.worlds === worlds && store.popular.all === popular.all ? { worlds: earlier.index.worlds } : {}),
  };
}

/** Indexes a store for both searches. @param earlier its index is reused as far as it still holds */
export function indexStore(store: Store, earlier?: Indexed): SearchIndex {
  const known = indexesOf(store, earlier);
  return {
    users: known.users ?? indexUsersOf(store),
    worlds: known.worlds ?? reindexWorlds(store, earlier),
  };
}

/** If only the ranking changed, renumbers the documents: their words are the same. */
function reindexWorlds(store: Store, earlier: Indexed | undefined): WorldIndex {
  const isRanking = earlier !== undefined && store.worlds === earlier.store.worlds;
  return isRanking ? rankWorldsAnew(earlier.index.worlds, store.popular.all) : indexWorldsOf(store);
}

export function openSearch(index: SearchIndex): Searches {
  const users = openUsers(index.users);
  const worlds = openWorlds(index.worlds);
  return {
    users: (term, page) => searchUsers(users, term, page),
    worlds: (term, page) => searchWorlds(worlds, term, page),
  };
}
