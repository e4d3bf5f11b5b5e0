/** The operations, but for what the searches have in common. */

import type { FaultName } from "../../model/fault.ts";
import { FOUND_WORLD_CUT } from "../../store/encode.ts";
import { findId } from "../../store/ids.ts";
import { rowsOf } from "../../store/lists.ts";
import { oneRow, oneText, rowsPage, tablePage } from "./envelope.ts";
import type { Call, Outcome } from "./route.ts";
import { searchPage } from "./search.ts";

const MISSING = {
  worlds: "worldMissing",
  users: "userMissing",
  instances: "instanceMissing",
} as const satisfies Record<string, FaultName>;

/** An operation on the row of a table that the path names. */
function ofRow(
  table: keyof typeof MISSING,
  answer: (call: Call, row: number) => Outcome,
): (call: Call) => Outcome {
  return (call) => {
    const row = findId(call.store[table].ids, call.id);
    return row < 0 ? { fault: MISSING[table] } : answer(call, row);
  };
}

/** All visible worlds. */
export function listWorlds({ store, parameters }: Call): Outcome {
  return tablePage(store.worlds, parameters);
}

/** Worlds that contain every term of `q`, or whose names are similar to it. */
export function findWorlds(call: Call): Outcome | Promise<Outcome> {
  return searchPage("worlds", call.store.worlds, call, FOUND_WORLD_CUT);
}

/** All visible worlds, most popular first. */
export function popularWorlds({ store, parameters }: Call): Outcome {
  const { period } = parameters;
  return rowsPage(store.worlds, store.popular[period], parameters, `,"period":"${period}"`);
}

/** One world. */
export const getWorld = ofRow("worlds", ({ store }, row) => oneRow(store.worlds, row));

/** Visit counts of one world. */
export const getWorldStats = ofRow("worlds", ({ store }, row) => oneRow(store.worldStats, row));

/** Visible instances of one world. */
export const listWorldInstances = ofRow("worlds", ({ store, parameters }, row) =>
  rowsPage(store.instances, rowsOf(store.instancesByWorld, row), parameters),
);

/** Users whose display name contains `q`, or is similar to it. */
export function findUsers(call: Call): Outcome | Promise<Outcome> {
  return searchPage("users", call.store.users, call);
}

/** One user. */
export const getUser = ofRow("users", ({ store }, row) => oneRow(store.users, row));

/** Visible worlds of one user. */
export const listUserWorlds = ofRow("users", ({ store, parameters }, row) =>
  rowsPage(store.worlds, rowsOf(store.worldsByOwner, row), parameters),
);

/** All visible instances, or those of the world that `worldId` names. */
export function listInstances({ store, parameters }: Call): Outcome {
  if (parameters.worldId === "") return tablePage(store.instances, parameters);
  const world = findId(store.worlds.ids, parameters.worldId);
  const rows = world < 0 ? new Uint32Array(0) : rowsOf(store.instancesByWorld, world);
  return rowsPage(store.instances, rows, parameters);
}

/** One instance. */
export const getInstance = ofRow("instances", ({ store }, row) => oneRow(store.instances, row));

/** Counts of everything visible. */
export function getStats({ store }: Call): Outcome {
  return oneText(store.platformStats);
}
