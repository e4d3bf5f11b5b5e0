/** Both searches over one store. */

import type { Search, Store } from "../store/generation.ts";
import { indexUsers, searchUsers } from "./users.ts";
import { indexWorlds, searchWorlds } from "./worlds.ts";

/** Searches that answer at once. */
export interface DirectSearch extends Search {
  users(term: string): Uint32Array<ArrayBuffer>;
  worlds(term: string): Uint32Array<ArrayBuffer>;
}

/** Indexes a store for both searches. */
export function createSearch(store: Store): DirectSearch {
  const users = indexUsers(store.users);
  const worlds = indexWorlds(store.worlds, store.popular.all);
  return {
    users: (term) => searchUsers(users, term),
    worlds: (term) => searchWorlds(worlds, term),
  };
}
