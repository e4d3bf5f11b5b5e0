/** Operations on instances. */

import { findId } from "../../store/ids.ts";
import { rowsOf } from "../../store/lists.ts";
import { oneRow, rowsPage, tablePage } from "./envelope.ts";
import type { Call, Outcome } from "./route.ts";

const NONE = new Uint32Array(0);

/** All visible instances, or those of the world that `worldId` names. */
export function listInstances({ store, parameters }: Call): Outcome {
  if (parameters.worldId === "") return tablePage(store.instances, parameters);
  const world = findId(store.worlds.ids, parameters.worldId);
  const rows = world < 0 ? NONE : rowsOf(store.instancesByWorld, world);
  return rowsPage(store.instances, rows, parameters);
}

/** One instance. */
export function getInstance({ store, id }: Call): Outcome {
  const row = findId(store.instances.ids, id);
  return row < 0 ? { fault: "instanceMissing" } : oneRow(store.instances, row);
}
