/** Worlds, keys and cases of the conformance suite. */

import assert from "node:assert/strict";
import type { Route } from "../../src/api/handlers/route.ts";
import { ROUTES } from "../../src/api/routes.ts";
import { RESOURCES } from "../../src/model/schema.ts";
import type { DoorName, Got, Step } from "./doors.ts";
import { MODEL_BASE, type ModelSettings, type SnapshotRows, type TestKey, testKey } from "./model.ts";
import { bulkRows, nastyRows, type WriteOptions } from "./snapshot.ts";

// ---------------------------------------------------------------- worlds

/** Number of keys with a small limit; one case uses up each. */
const SMALL_KEYS = 120;

export function makeKeys(api: string, cli: string): TestKey[] {
  const key = (id: string, more: Partial<TestKey> = {}): TestKey => testKey(id, `${api}${id}`, more);
  const token = (id: string, more: Partial<TestKey> = {}): TestKey =>
    key(id, { kind: "cli", token: `${cli}${id}`, scopes: [], ...more });
  const past = "2001-02-03T04:05:06.789+01:00";
  return [
    key("full"),
    key("own", { limit: 5_000_000 }),
    key("worlds", { scopes: ["read:worlds"] }),
    key("users", { scopes: ["read:users"] }),
    key("instances", { scopes: ["read:instances"] }),
    key("none", { scopes: [] }),
    key("odd", { scopes: ["read:everything", "READ:WORLDS", "*"] }),
    key("odd-characters", { token: `${api}A1-._~+/=:;,@!"'%20` }),
    key("disabled", { active: false }),
    key("expired", { expiresAt: past }),
    key("disabled-expired", { active: false, expiresAt: past }),
    key("later", { expiresAt: "9999-12-31T23:59:59Z" }),
    token("cli"),
    token("cli-disabled", { active: false }),
    token("cli-expired", { expiresAt: past }),
    token("cli-disabled-expired", { active: false, expiresAt: past }),
    token("cli-later", { expiresAt: "9999-12-31T23:59:59Z" }),
    // Each has the prefix of the other kind, so no lookup finds it.
    key("api-in-disguise", { token: `${cli}api-in-disguise` }),
    token("cli-in-disguise", { token: `${api}cli-in-disguise` }),
    ...Array.from({ length: SMALL_KEYS }, (_, at) => key(`small-${at}`, { limit: (at % 4) + 1 })),
    ...Array.from({ length: SMALL_KEYS }, (_, at) =>
      key(`small-none-${at}`, { limit: (at % 4) + 1, scopes: [] }),
    ),
  ];
}

export interface World {
  rows: SnapshotRows;
  keys: TestKey[];
  settings: ModelSettings;
  write: WriteOptions;
}

/** So long that no window ends during the tests: the next ends in 2029. */
const LONG_WINDOW = 315_360_000;

/** Default prefixes, CORS on, a manifest, hardly a plain row. */
export const nasty: World = {
  rows: nastyRows(),
  keys: makeKeys("svc_sk_", "svcx_"),
  settings: {
    apiPrefix: "svc_sk_",
    cliPrefix: "svcx_",
    rateLimit: 1_000_000,
    rateWindow: LONG_WINDOW,
    cors: true,
    generation: "Gen.1_nasty-x",
  },
  write: { generation: "Gen.1_nasty-x" },
};

/** Other prefixes, CORS off, no manifest, untidy gzipped files, more than one page of everything. */
export const bulk: World = {
  rows: bulkRows(60),
  keys: makeKeys("orr-", "or_cli-"),
  settings: {
    apiPrefix: "orr-",
    cliPrefix: "or_cli-",
    rateLimit: 1_000_000,
    rateWindow: LONG_WINDOW,
    cors: false,
    generation: "",
  },
  write: { gzip: true, untidy: true },
};

// ---------------------------------------------------------------- cases

export interface Case {
  name: string;
  /** Only these doors; if absent, all that can carry the request. */
  doors?: readonly DoorName[];
  steps: readonly CaseStep[];
}

export interface CaseStep extends Step {
  /** Expectations of the case itself, in addition to the model's. */
  status?: number;
  error?: string;
  check?: (got: Got) => void;
}

export type Group = (world: World) => Case[];

export const bearer = (token: string): [string, string] => ["Authorization", `Bearer ${token}`];
export const at = (below: string): string => `${MODEL_BASE}${below}`;

export function as({ keys }: World, id: string): [string, string] {
  const key = keys.find((known) => known.id === id);
  assert.ok(key, `no key ${id}`);
  return bearer(key.token);
}

export function one(name: string, step: CaseStep, doors?: readonly DoorName[]): Case {
  return doors ? { name, steps: [step], doors } : { name, steps: [step] };
}

/** Ids of visible rows: an instance, its world, and a user who owns a world. */
export function someIds({ rows }: World): { world: string; user: string; instance: string } {
  const visible = rows.worlds.filter((row) => row.isPublic && row.status === "ACTIVE");
  const instance = rows.instances.find(
    (row) =>
      row.isPublic &&
      row.isActive &&
      visible.some((world) => world.id.toLowerCase() === row.worldId.toLowerCase()),
  )!;
  const world = visible.find((row) => row.id.toLowerCase() === instance.worldId.toLowerCase())!;
  const user = rows.users.find((row) =>
    visible.some((owned) => owned.ownerId.toLowerCase() === row.id.toLowerCase()),
  )!;
  return { world: world.id, user: user.id, instance: instance.id };
}

export function goodTarget(world: World, route: string): string {
  const { world: worldId, user, instance } = someIds(world);
  const id = route.startsWith("/worlds") ? worldId : route.startsWith("/users") ? user : instance;
  return at(`${route.replace(":id", id)}${route.endsWith("/search") ? "?q=e" : ""}`);
}

function routeOf(path: string): Route {
  return ROUTES.find((route) => route.path === path)!;
}

export const isList = (path: string): boolean => routeOf(path).reply.envelope !== "one";

export function checkShape(path: string): (got: Got) => void {
  return ({ body }) => {
    const value = JSON.parse(body);
    const { schema, envelope } = routeOf(path).reply;
    const keys = RESOURCES[schema].fields.map(({ name }) => name);
    if (envelope === "one") {
      assert.deepEqual(Object.keys(value), ["data"]);
      assert.deepEqual(Object.keys(value.data), keys);
      return;
    }
    const top = ["data", "pagination", ...(envelope === "ranking" ? ["period"] : [])];
    assert.deepEqual(Object.keys(value), top);
    assert.deepEqual(Object.keys(value.pagination), ["total", "limit", "offset"]);
    assert.ok(value.data.length > 0, "a list with nothing in it shows nothing");
    for (const item of value.data) assert.deepEqual(Object.keys(item), keys);
  };
}
