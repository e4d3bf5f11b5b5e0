/** Worlds, keys and cases of the conformance suite. */

import assert from "node:assert/strict";
import type { Route } from "../../src/api/handlers/route.ts";
import { RESOURCES } from "../../src/model/schema.ts";
import { bulkRows, nastyRows, type WriteOptions } from "../support/snapshot.ts";
import type { Got, Step } from "./doors.ts";
import { MODEL_BASE, type ModelSettings, type SnapshotRows, type TestKey, testKey } from "./model.ts";

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
    ...Array.from({ length: SMALL_KEYS }, (_, at) => [
      key(`small-${at}`, { limit: (at % 4) + 1 }),
      key(`small-none-${at}`, { limit: (at % 4) + 1, scopes: [] }),
    ]).flat(),
  ];
}

export interface World {
  rows: SnapshotRows;
  keys: TestKey[];
  settings: ModelSettings;
  write: WriteOptions;
}

/** The window is so long that it does not end during the tests: it ends in 2029. */
const LIMITS = { rateLimit: 1_000_000, rateWindow: 315_360_000 };

/** Default prefixes, CORS on, a manifest, hardly a plain row. */
export const nasty: World = {
  rows: nastyRows(),
  keys: makeKeys("svc_sk_", "svcx_"),
  settings: { ...LIMITS, apiPrefix: "svc_sk_", cliPrefix: "svcx_", cors: true, generation: "Gen.1_nasty-x" },
  write: { generation: "Gen.1_nasty-x" },
};

/** Other prefixes, CORS off, no manifest, untidy gzipped files, more than one page of everything. */
export const bulk: World = {
  rows: bulkRows(60),
  keys: makeKeys("orr-", "or_cli-"),
  settings: { ...LIMITS, apiPrefix: "orr-", cliPrefix: "or_cli-", cors: false, generation: "" },
  write: { gzip: true, untidy: true },
};

// ---------------------------------------------------------------- cases

/** A request and what its case expects in addition to the model. */
export interface CaseStep extends Step {
  /** Id of the key whose token is sent; none when absent. */
  key?: string;
  status?: number;
  error?: string;
  check?: (got: Got) => void;
}

/** Requests that are sent in this order. */
export type Case = CaseStep | readonly CaseStep[];

export type Group = (world: World) => Case[];

export const bearer = (token: string): [string, string] => ["Authorization", `Bearer ${token}`];
export const at = (below: string): string => `${MODEL_BASE}${below}`;
/** The words of a text: a table of values without spaces. */
export const words = (text: string): string[] => text.trim().split(/\s+/);

export function tokenOf({ keys }: World, id: string): string {
  const key = keys.find((known) => known.id === id);
  assert.ok(key, `no key ${id}`);
  return key.token;
}

export function withParameters(target: string, parameters: string): string {
  return `${target}${target.includes("?") ? "&" : "?"}${parameters}`;
}

const isSame = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();

/** Ids of visible rows by table: an instance, its world, and a user who owns a world. */
export function someIds({ rows }: World): Readonly<Record<string, string>> {
  const visible = rows.worlds.filter((row) => row.isPublic && row.status === "ACTIVE");
  const worldOf = (worldId: string) => visible.find(({ id }) => isSame(id, worldId));
  const instance = rows.instances.find((row) => row.isPublic && row.isActive && worldOf(row.worldId))!;
  const user = rows.users.find(({ id }) => visible.some(({ ownerId }) => isSame(ownerId, id)))!;
  return { worlds: worldOf(instance.worldId)!.id, users: user.id, instances: instance.id };
}

/** A target of an operation that is answered with rows. */
export function goodTarget(world: World, { path }: Route): string {
  const id = someIds(world)[path.split("/")[1]!];
  return at(`${path.replace(":id", `${id}`)}${path.endsWith("/search") ? "?q=e" : ""}`);
}

export const isList = ({ reply }: Route): boolean => reply.envelope !== "one";

export function checkShape({ reply: { schema, envelope } }: Route): (got: Got) => void {
  const keys = RESOURCES[schema].fields.map(({ name }) => name);
  return ({ body }) => {
    const value = JSON.parse(body);
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
