/** Both searches over one store. */

import type { Search, Store } from "../store/generation.ts";
import { descriptionOf, displayNameOf, worldNameOf } from "../store/texts.ts";
import { indexUsers, searchUsers } from "./users.ts";
import { indexWorlds, searchWorlds } from "./worlds.ts";

/** Searches that answer at once. */
export interface DirectSearch extends Search {
  users(term: string): Uint32Array<ArrayBuffer>;
  worlds(term: string): Uint32Array<ArrayBuffer>;
}

/** Indexes a store for both searches. */
export function createSearch({ users, worlds, popular }: Store): DirectSearch {
  const userIndex = indexUsers(users.rows, (row) => displayNameOf(users, row));
  const worldIndex = indexWorlds(
    popular.all,
    (row) => worldNameOf(worlds, row),
    (row) => descriptionOf(worlds, row),
  );
  return {
    users: (term) => searchUsers(userIndex, term),
    worlds: (term) => searchWorlds(worldIndex, term),
  };
}
