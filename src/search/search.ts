/** Both searches over one store. */

import type { PageOf, Store } from "../store/generation.ts";
import { descriptionOf, displayNameOf, worldNameOf } from "../store/texts.ts";
import type { Names } from "./query/names.ts";
import type { Matches } from "./query/result-set.ts";
import type { Work } from "./shared/work.ts";
import { indexUsers, openUsers, searchUsers } from "./users.ts";
import { indexWorlds, openWorlds, searchWorlds, type Worlds } from "./worlds.ts";

/** What is indexed of a store. All of it lies in shared memory and can be handed to other threads. */
export interface SearchIndex {
  readonly users: Names;
  readonly worlds: Worlds;
}

/** Both searches as work that its caller runs, at once or in slices. Of what comes behind the page that is asked for less may be known. */
export interface Searches {
  users(term: string, page: PageOf): Work<Matches>;
  worlds(term: string, page: PageOf): Work<Matches>;
}

/** Indexes the users of a store. */
export function indexUsersOf({ users }: Store): Names {
  return indexUsers(users.rows, (row) => displayNameOf(users, row));
}

/** Indexes the worlds of a store. */
export function indexWorldsOf({ worlds, popular }: Store): Worlds {
  return indexWorlds(
    popular.all,
    (row) => worldNameOf(worlds, row),
    (row) => descriptionOf(worlds, row),
  );
}

/** Indexes a store for both searches. */
export function indexStore(store: Store): SearchIndex {
  return { users: indexUsersOf(store), worlds: indexWorldsOf(store) };
}

/** Makes an index searchable on the calling thread; takes well under a millisecond. */
export function openSearch(index: SearchIndex): Searches {
  const users = openUsers(index.users);
  const worlds = openWorlds(index.worlds);
  return {
    users: (term, page) => searchUsers(users, term, page),
    worlds: (term, page) => searchWorlds(worlds, term, page),
  };
}
