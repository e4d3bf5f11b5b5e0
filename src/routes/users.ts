/** Operations on users. */

import { readTerm } from "../search/fold.ts";
import { findId } from "../store/ids.ts";
import { rowsOf } from "../store/lists.ts";
import { foundPage, oneRow, rowsPage } from "./envelope.ts";
import type { Call, Outcome } from "./route.ts";

/** Users whose display name contains `q`. */
export function findUsers(call: Call): Outcome | Promise<Outcome> {
  const { store, search, parameters } = call;
  const term = readTerm(parameters.q);
  if (term === "") return { fault: "noQuery" };
  return foundPage(store.users, search.users(term, parameters, call), parameters);
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
