/** Both searches over one store. */

import type { Store } from "../store/generation.ts";
import { descriptionOf, displayNameOf, worldNameOf } from "../store/texts.ts";
import type { Matches } from "./matches.ts";
import type { Names } from "./names.ts";
import type { Work } from "./slices.ts";
import { indexUsers, openUsers, searchUsers } from "./users.ts";
import { indexWorlds, openWorlds, searchWorlds, type Worlds } from "./worlds.ts";

/** What is indexed of a store. All of it lies in shared memory and can be handed to other threads. */
export interface SearchIndex {
  readonly users: Names;
  readonly worlds: Worlds;
}

/** Both searches as work that its caller runs, at once or in slices. */
export interface Searches {
  users(term: string): Work<Matches>;
  worlds(term: string): Work<Matches>;
}

/** Indexes a store for both searches. */
export function indexStore({ users, worlds, popular }: Store): SearchIndex {
  return {
    users: indexUsers(users.rows, (row) => displayNameOf(users, row)),
    worlds: indexWorlds(
      popular.all,
      (row) => worldNameOf(worlds, row),
      (row) => descriptionOf(worlds, row),
    ),
  };
}

/** Makes an index searchable on the calling thread; takes well under a millisecond. */
export function openSearch(index: SearchIndex): Searches {
  const users = openUsers(index.users);
  const worlds = openWorlds(index.worlds);
  return {
    users: (term) => searchUsers(users, term),
    worlds: (term) => searchWorlds(worlds, term),
  };
}
