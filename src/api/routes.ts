/** The table of operations. Adding one is adding a row, its handler, and its path in `model/paths.ts`. */

import type { FaultName } from "../model/fault.ts";
import { findId } from "../store/ids.ts";
import { rowsOf } from "../store/lists.ts";
import { FOUND_WORLD_CUT } from "../store/texts.ts";
import { oneRow, oneText, rankingPage, rowsPage, searchPage, tablePage } from "./handlers/bodies.ts";
import type { Call, Outcome, Route } from "./handlers/route.ts";

const MISSING = {
  worlds: "worldMissing",
  users: "userMissing",
  instances: "instanceMissing",
} as const satisfies Record<string, FaultName>;

/** An operation on the row of a table that the path names, and its error if there is no such row. */
function ofRow(
  table: keyof typeof MISSING,
  answer: (call: Call, row: number) => Outcome,
): Pick<Route, "faults" | "run"> {
  const fault = MISSING[table];
  return {
    faults: [fault],
    run: (call) => {
      const row = findId(call.store[table].ids, call.id);
      return row < 0 ? { fault } : answer(call, row);
    },
  };
}

/** All visible instances, or the instances of the world that `worldId` names. */
function listInstances({ store, parameters }: Call): Outcome {
  if (parameters.worldId === "") return tablePage(store.instances, parameters);
  const world = findId(store.worlds.ids, parameters.worldId);
  const rows = world < 0 ? new Uint32Array(0) : rowsOf(store.instancesByWorld, world);
  return rowsPage(store.instances, rows, parameters);
}

export const ROUTES: readonly Route[] = [
  {
    name: "listWorlds",
    path: "/worlds",
    scope: "read:worlds",
    parameters: ["limit", "offset"],
    reply: { envelope: "list", schema: "world" },
    faults: [],
    summary: "All public worlds, newest first.",
    run: ({ store, parameters }) => tablePage(store.worlds, parameters),
  },
  {
    name: "searchWorlds",
    path: "/worlds/search",
    scope: "read:worlds",
    parameters: ["q", "match", "limit", "offset"],
    reply: { envelope: "list", schema: "foundWorld" },
    faults: ["noQuery", "busy"],
    summary: "Worlds whose name or description contains every word of `q`, best matches first.",
    run: (call) => searchPage("worlds", call.store.worlds, call, FOUND_WORLD_CUT),
  },
  {
    name: "listPopularWorlds",
    path: "/worlds/popular",
    scope: "read:worlds",
    parameters: ["period", "limit", "offset"],
    reply: { envelope: "ranking", schema: "world" },
    faults: [],
    summary: "All public worlds, most visited first.",
    run: ({ store: { worlds, popular, mostPopular }, parameters }) => {
      const { period } = parameters;
      return rankingPage(worlds, popular[period], mostPopular[period], parameters, `,"period":"${period}"`);
    },
  },
  {
    name: "getWorld",
    path: "/worlds/:id",
    scope: "read:worlds",
    parameters: [],
    reply: { envelope: "one", schema: "world" },
    summary: "One world.",
    ...ofRow("worlds", ({ store }, row) => oneRow(store.worlds, row)),
  },
  {
    name: "getWorldStats",
    path: "/worlds/:id/stats",
    scope: "read:worlds",
    parameters: [],
    reply: { envelope: "one", schema: "worldStats" },
    summary: "Visit counts of one world.",
    ...ofRow("worlds", ({ store }, row) => oneRow(store.worldStats, row)),
  },
  {
    name: "listWorldInstances",
    path: "/worlds/:id/instances",
    scope: "read:instances",
    parameters: ["limit", "offset"],
    reply: { envelope: "list", schema: "instance" },
    summary: "Public instances of one world, newest first.",
    ...ofRow("worlds", ({ store, parameters }, row) =>
      rowsPage(store.instances, rowsOf(store.instancesByWorld, row), parameters),
    ),
  },
  {
    name: "searchUsers",
    path: "/users/search",
    scope: "read:users",
    parameters: ["q", "match", "limit", "offset"],
    reply: { envelope: "list", schema: "user" },
    faults: ["noQuery", "busy"],
    summary: "Users whose display name contains `q`, best matches first.",
    run: (call) => searchPage("users", call.store.users, call),
  },
  {
    name: "getUser",
    path: "/users/:id",
    scope: "read:users",
    parameters: [],
    reply: { envelope: "one", schema: "user" },
    summary: "One user's public profile.",
    ...ofRow("users", ({ store }, row) => oneRow(store.users, row)),
  },
  {
    name: "listUserWorlds",
    path: "/users/:id/worlds",
    scope: "read:worlds",
    parameters: ["limit", "offset"],
    reply: { envelope: "list", schema: "world" },
    summary: "Public worlds of one user, newest first.",
    ...ofRow("users", ({ store, parameters }, row) =>
      rowsPage(store.worlds, rowsOf(store.worldsByOwner, row), parameters),
    ),
  },
  {
    name: "listInstances",
    path: "/instances",
    scope: "read:instances",
    parameters: ["worldId", "limit", "offset"],
    reply: { envelope: "list", schema: "instance" },
    faults: [],
    summary: "All public instances that are running, newest first.",
    run: listInstances,
  },
  {
    name: "getInstance",
    path: "/instances/:id",
    scope: "read:instances",
    parameters: [],
    reply: { envelope: "one", schema: "instance" },
    summary: "One instance.",
    ...ofRow("instances", ({ store }, row) => oneRow(store.instances, row)),
  },
  {
    name: "getStats",
    path: "/stats",
    scope: null,
    parameters: [],
    reply: { envelope: "one", schema: "platformStats" },
    faults: [],
    summary: "Counts of users, public worlds and public instances.",
    run: ({ store }) => oneText(store.platformStats),
  },
];
