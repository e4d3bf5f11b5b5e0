/**
 * The table of operations. The router, the scope check, the parameter reader,
 * the OpenAPI document, the documents' table and the conformance cases are made
 * from it: adding an operation is adding a row.
 */

import { getInstance, listInstances } from "./routes/instances.ts";
import type { Route } from "./routes/route.ts";
import { getStats } from "./routes/stats.ts";
import { findUsers, getUser, listUserWorlds } from "./routes/users.ts";
import {
  findWorlds,
  getWorld,
  getWorldStats,
  listWorldInstances,
  listWorlds,
  popularWorlds,
} from "./routes/worlds.ts";

/** Every operation. */
export const ROUTES: readonly Route[] = [
  {
    path: "/worlds",
    scope: "read:worlds",
    parameters: ["limit", "offset"],
    reply: { envelope: "list", schema: "world" },
    faults: [],
    summary: "All public worlds, newest first.",
    run: listWorlds,
  },
  {
    path: "/worlds/search",
    scope: "read:worlds",
    parameters: ["q", "match", "limit", "offset"],
    reply: { envelope: "list", schema: "foundWorld" },
    faults: ["noQuery", "busy"],
    summary: "Worlds whose name or description contains every word of `q`, best matches first.",
    run: findWorlds,
  },
  {
    path: "/worlds/popular",
    scope: "read:worlds",
    parameters: ["period", "limit", "offset"],
    reply: { envelope: "ranking", schema: "world" },
    faults: [],
    summary: "All public worlds, most visited first.",
    run: popularWorlds,
  },
  {
    path: "/worlds/:id",
    scope: "read:worlds",
    parameters: [],
    reply: { envelope: "one", schema: "world" },
    faults: ["worldMissing"],
    summary: "One world.",
    run: getWorld,
  },
  {
    path: "/worlds/:id/stats",
    scope: "read:worlds",
    parameters: [],
    reply: { envelope: "one", schema: "worldStats" },
    faults: ["worldMissing"],
    summary: "Visit counts of one world.",
    run: getWorldStats,
  },
  {
    path: "/worlds/:id/instances",
    scope: "read:instances",
    parameters: ["limit", "offset"],
    reply: { envelope: "list", schema: "instance" },
    faults: ["worldMissing"],
    summary: "Public instances of one world, newest first.",
    run: listWorldInstances,
  },
  {
    path: "/users/search",
    scope: "read:users",
    parameters: ["q", "match", "limit", "offset"],
    reply: { envelope: "list", schema: "user" },
    faults: ["noQuery", "busy"],
    summary: "Users whose display name contains `q`, best matches first.",
    run: findUsers,
  },
  {
    path: "/users/:id",
    scope: "read:users",
    parameters: [],
    reply: { envelope: "one", schema: "user" },
    faults: ["userMissing"],
    summary: "One user's public profile.",
    run: getUser,
  },
  {
    path: "/users/:id/worlds",
    scope: "read:worlds",
    parameters: ["limit", "offset"],
    reply: { envelope: "list", schema: "world" },
    faults: ["userMissing"],
    summary: "Public worlds of one user, newest first.",
    run: listUserWorlds,
  },
  {
    path: "/instances",
    scope: "read:instances",
    parameters: ["worldId", "limit", "offset"],
    reply: { envelope: "list", schema: "instance" },
    faults: [],
    summary: "All public instances that are running, newest first.",
    run: listInstances,
  },
  {
    path: "/instances/:id",
    scope: "read:instances",
    parameters: [],
    reply: { envelope: "one", schema: "instance" },
    faults: ["instanceMissing"],
    summary: "One instance.",
    run: getInstance,
  },
  {
    path: "/stats",
    scope: null,
    parameters: [],
    reply: { envelope: "one", schema: "platformStats" },
    faults: [],
    summary: "Counts of users, public worlds and public instances.",
    run: getStats,
  },
];
