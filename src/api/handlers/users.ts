/** Operations on users. */

import { findId } from "../../store/ids.ts";
import { rowsOf } from "../../store/lists.ts";
import { oneRow, rowsPage } from "./envelope.ts";
import type { Call, Outcome } from "./route.ts";
import { searchPage } from "./search.ts";

/** Users whose display name contains `q`, or is similar to it. */
export function findUsers(call: Call): Outcome | Promise<Outcome> {
  return searchPage("users", call.store.users, call);
}

/** One user. */
export function getUser({ store, id }: Call): Outcome {
  const row = findId(store.users.ids, id);
  return row < 0 ? { fault: "userMissing" } : oneRow(store.users, row);
}

/** Visible worlds of one user. */
export function listUserWorlds({ store, id, parameters }: Call): Outcome {
  const row = findId(store.users.ids, id);
  if (row < 0) return { fault: "userMissing" };
  return rowsPage(store.worlds, rowsOf(store.worldsByOwner, row), parameters);
}
