/** Both searches over one store. */

import type { Search, SearchTexts, Store } from "../store/generation.ts";
import { indexUsers, searchUsers } from "./users.ts";
import { indexWorlds, searchWorlds } from "./worlds.ts";

/** Searches that answer at once. */
export interface DirectSearch extends Search {
  users(term: string): Uint32Array<ArrayBuffer>;
  worlds(term: string): Uint32Array<ArrayBuffer>;
}

/** Indexes a store and its texts for both searches. */
export function createSearch(store: Store, texts: SearchTexts): DirectSearch {
  const users = indexUsers(store.users.rows, texts.userName);
  const worlds = indexWorlds(store.popular.all, texts.worldName, texts.worldDescription);
  return {
    users: (term) => searchUsers(users, term),
    worlds: (term) => searchWorlds(worlds, term),
  };
}
