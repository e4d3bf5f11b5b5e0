/** Operations on worlds. */

import { FOUND_WORLD_CUT } from "../../store/encode.ts";
import { findId } from "../../store/ids.ts";
import { rowsOf } from "../../store/lists.ts";
import { oneRow, rowsPage, tablePage } from "./envelope.ts";
import type { Call, Outcome } from "./route.ts";
import { searchPage } from "./search.ts";

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
export function getWorld({ store, id }: Call): Outcome {
  const row = findId(store.worlds.ids, id);
  return row < 0 ? { fault: "worldMissing" } : oneRow(store.worlds, row);
}

/** Visit counts of one world. */
export function getWorldStats({ store, id }: Call): Outcome {
  const row = findId(store.worlds.ids, id);
  return row < 0 ? { fault: "worldMissing" } : oneRow(store.worldStats, row);
}

/** Visible instances of one world. */
export function listWorldInstances({ store, id, parameters }: Call): Outcome {
  const row = findId(store.worlds.ids, id);
  if (row < 0) return { fault: "worldMissing" };
  return rowsPage(store.instances, rowsOf(store.instancesByWorld, row), parameters);
}
