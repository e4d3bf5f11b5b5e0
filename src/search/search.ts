/** Both searches over one store. */

import type { Store } from "../store/generation.ts";
import { descriptionOf, displayNameOf, worldNameOf } from "../store/texts.ts";
import type { Work } from "./slices.ts";
import { indexUsers, searchUsers } from "./users.ts";
import { indexWorlds, searchWorlds } from "./worlds.ts";

/** Both searches as work that its caller runs, at once or in slices. */
export interface Searches {
  users(term: string): Work<Uint32Array<ArrayBuffer>>;
  worlds(term: string): Work<Uint32Array<ArrayBuffer>>;
}

/** Indexes a store for both searches. */
export function createSearch({ users, worlds, popular }: Store): Searches {
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
