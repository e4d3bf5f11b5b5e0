/** One suite of cases over all doors, made from the table of operations and compared with the model. */

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { type Orrery, openOrrery } from "../src/mod.ts";
import { observeNothing } from "../src/observe.ts";
import { ROUTES } from "../src/routes.ts";
import { DEFAULT_LIMITS } from "../src/serve/http.ts";
import { type RunningServer, startServer } from "../src/serve/server.ts";
import {
  askAndCompare,
  type Door,
  type DoorName,
  directDoor,
  fetchDoor,
  fitsFetch,
  type Got,
  hasJoinedCredentials,
  nodeDoor,
  type Step,
} from "./support/doors.ts";
import { startGiven } from "./support/given.ts";
import {
  keysFileText,
  MODEL_BASE,
  MODEL_OPERATIONS,
  Model,
  type ModelSettings,
  type SnapshotRows,
  type TestKey,
} from "./support/model.ts";
import { COMMAND, IS_GIVEN } from "./support/program.ts";
import {
  bulkRows,
  madeId,
  NASTY_TEXTS,
  nastyRows,
  removeFolder,
  temporaryFolder,
  UNKNOWN_ID,
  type WriteOptions,
  writeSnapshot,
} from "./support/snapshot.ts";

/** What runs the server; of a program that was named by its file. */
const RUNTIME = ["bun", "deno"].find((name) => IS_GIVEN && path.basename(COMMAND[0]) === name) ?? "node";
const IS_BUN = RUNTIME === "bun";

// ---------------------------------------------------------------- what is served

/** How many keys there are whose limit is small; each is used up by one case. */
const SMALL_KEYS = 120;

function makeKeys(api: string, cli: string): TestKey[] {
  const all = ["read:worlds", "read:users", "read:instances"];
  const key = (id: string, more: Partial<TestKey> = {}): TestKey => ({
    id,
    kind: "api",
    token: `${api}${id}`,
    scopes: all,
    limit: null,
    active: true,
    expiresAt: null,
    ...more,
  });
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
    // Each of these has the other kind's prefix, so nothing finds it.
    key("api-in-disguise", { token: `${cli}api-in-disguise` }),
    token("cli-in-disguise", { token: `${api}cli-in-disguise` }),
    ...Array.from({ length: SMALL_KEYS }, (_, at) => key(`small-${at}`, { limit: (at % 4) + 1 })),
    ...Array.from({ length: SMALL_KEYS }, (_, at) =>
      key(`small-none-${at}`, { limit: (at % 4) + 1, scopes: [] }),
    ),
  ];
}

interface World {
  rows: SnapshotRows;
  keys: TestKey[];
  settings: ModelSettings;
  write: WriteOptions;
}

/** So long that no window ends while the tests run: the next does in 2029. */
const LONG_WINDOW = 315_360_000;

/** Default prefixes, CORS on, a manifest, nothing plain. */
const nasty: World = {
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

/** Other prefixes, CORS off, no manifest, untidy gzipped files, more than a page of everything. */
const bulk: World = {
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

interface Case {
  name: string;
  /** Only these doors; all that can when absent. */
  doors?: readonly DoorName[];
  steps: readonly CaseStep[];
}

interface CaseStep extends Step {
  /** What the case itself knows of the answer, beside what the model says. */
  status?: number;
  error?: string;
  check?: (got: Got) => void;
}

type Group = (world: World) => Case[];

const bearer = (token: string): [string, string] => ["Authorization", `Bearer ${token}`];
const at = (below: string): string => `${MODEL_BASE}${below}`;

function as({ keys }: World, id: string): [string, string] {
  const key = keys.find((known) => known.id === id);
  assert.ok(key, `no key ${id}`);
  return bearer(key.token);
}

function one(name: string, step: CaseStep, doors?: readonly DoorName[]): Case {
  return doors ? { name, steps: [step], doors } : { name, steps: [step] };
}

/** Ids of rows that are visible and have something below them. */
function someIds({ rows }: World): { world: string; user: string; instance: string } {
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

/** A target of an operation that answers 200. */
function goodTarget(world: World, route: string): string {
  const { world: worldId, user, instance } = someIds(world);
  const id = route.startsWith("/worlds") ? worldId : route.startsWith("/users") ? user : instance;
  return at(`${route.replace(":id", id)}${route.endsWith("/search") ? "?q=e" : ""}`);
}

const isList = (route: string): boolean =>
  /^\/(worlds|instances)$|search$|popular$|\/instances$|\/worlds$/.test(route);

const WORLD_KEYS = ["id", "name", "description", "ownerId", "isPublic", "createdAt", "updatedAt"];
const USER_KEYS = ["id", "displayName", "userIconUrl", "createdAt"];
const INSTANCE_KEYS = ["id", "worldId", "createdAt"];

/** Fields under `data`, and the scope, of every operation. */
const SHAPES: Readonly<Record<string, { keys: string[]; scope: string | null }>> = {
  "/worlds": { keys: WORLD_KEYS, scope: "read:worlds" },
  "/worlds/search": { keys: ["id", "name", "description"], scope: "read:worlds" },
  "/worlds/popular": { keys: WORLD_KEYS, scope: "read:worlds" },
  "/worlds/:id": { keys: WORLD_KEYS, scope: "read:worlds" },
  "/worlds/:id/stats": {
    keys: ["worldId", "totalVisits", "uniqueVisitors", "visitsLast7Days", "visitsLast30Days"],
    scope: "read:worlds",
  },
  "/worlds/:id/instances": { keys: INSTANCE_KEYS, scope: "read:instances" },
  "/users/search": { keys: USER_KEYS, scope: "read:users" },
  "/users/:id": { keys: USER_KEYS, scope: "read:users" },
  "/users/:id/worlds": { keys: WORLD_KEYS, scope: "read:worlds" },
  "/instances": { keys: INSTANCE_KEYS, scope: "read:instances" },
  "/instances/:id": { keys: INSTANCE_KEYS, scope: "read:instances" },
  "/stats": { keys: ["totalUsers", "totalPublicWorlds", "totalPublicInstances"], scope: null },
};

function checkShape(route: string): (got: Got) => void {
  return ({ body }) => {
    const value = JSON.parse(body);
    const { keys } = SHAPES[route]!;
    if (!isList(route)) {
      assert.deepEqual(Object.keys(value), ["data"]);
      assert.deepEqual(Object.keys(value.data), keys);
      return;
    }
    const top = route === "/worlds/popular" ? ["data", "pagination", "period"] : ["data", "pagination"];
    assert.deepEqual(Object.keys(value), top);
    assert.deepEqual(Object.keys(value.pagination), ["total", "limit", "offset"]);
    assert.ok(value.data.length > 0, "a list with nothing in it shows nothing");
    for (const item of value.data) assert.deepEqual(Object.keys(item), keys);
  };
}

const shapes: Group = (world) =>
  ROUTES.flatMap(({ path: route }) => {
    const target = goodTarget(world, route);
    const ok = { target, status: 200, check: checkShape(route) };
    const hasRateHeaders = (wanted: boolean) => (got: Got) => {
      assert.equal(got.headers.filter(([name]) => name.startsWith("x-ratelimit-")).length, wanted ? 3 : 0);
    };
    return [
      one(`${route} with an API key`, { ...ok, headers: [as(world, "full")] }),
      one(`${route} with a CLI token`, { ...ok, headers: [as(world, "cli")] }),
      one(`${route} rate headers with an API key`, {
        target,
        headers: [as(world, "own")],
        check: hasRateHeaders(true),
      }),
      one(`${route} no rate headers with a CLI token`, {
        target,
        headers: [as(world, "cli")],
        check: hasRateHeaders(false),
      }),
      one(`${route} HEAD`, { method: "HEAD", target, headers: [as(world, "full")], status: 200 }),
      one(`${route} HEAD refused`, { method: "HEAD", target, status: 401 }),
      one(`${route} unknown parameters`, {
        ...ok,
        target: `${target}${target.includes("?") ? "&" : "?"}sort=name&fields=email&dailyVisits=1&__proto__=1`,
        headers: [as(world, "full")],
      }),
    ];
  });

const tokens: Group = (world) => {
  const { apiPrefix: api, cliPrefix: cli } = world.settings;
  const refusals: [header: string | undefined, error: string][] = [
    [undefined, "Authentication required"],
    ["", "Invalid token format"],
    ["Bearer", "Invalid token format"],
    ["Basic dXNlcjpwYXNz", "Invalid token format"],
    [`Basic ${api}full`, "Invalid token format"],
    [`${api}full`, "Invalid token format"],
    [`Bearer${api}full`, "Invalid token format"],
    [`Bearer\t${api}full`, "Invalid token format"],
    [`Bearer: ${api}full`, "Invalid token format"],
    [`Bearer "${api}full"`, "Invalid token format"],
    [`Token ${api}full`, "Invalid token format"],
    [`Bearer ${api}`, "Invalid token format"],
    [`Bearer ${cli}`, "Invalid token format"],
    [`Bearer ${api.slice(0, -1)}`, "Invalid token format"],
    [`Bearer ${api.toUpperCase()}full`, "Invalid token format"],
    [`Bearer x${api}full`, "Invalid token format"],
    ["Bearer eyJhbGciOiJIUzI1NiJ9.e30.x", "Invalid token format"],
    [`Bearer ${api}unknown`, "Invalid API key"],
    [`Bearer ${api}FULL`, "Invalid API key"],
    [`Bearer ${api}full x`, "Invalid API key"],
    [`Bearer ${api}full, Bearer ${api}full`, "Invalid API key"],
    [`Bearer ${api}ful`, "Invalid API key"],
    [`Bearer ${api}cli`, "Invalid API key"],
    [`Bearer ${api}cli-in-disguise`, "Invalid API key"],
    [`Bearer ${api}disabled`, "API key is deactivated"],
    [`Bearer ${api}disabled-expired`, "API key is deactivated"],
    [`Bearer ${api}expired`, "API key has expired"],
    [`Bearer ${cli}unknown`, "Invalid CLI token"],
    [`Bearer ${cli}full`, "Invalid CLI token"],
    [`Bearer ${cli}api-in-disguise`, "Invalid CLI token"],
    [`Bearer ${cli}cli-disabled`, "Invalid CLI token"],
    [`Bearer ${cli}cli-disabled-expired`, "Invalid CLI token"],
    [`Bearer ${cli}cli-expired`, "CLI token has expired"],
  ];
  const welcome: [header: string, what: string][] = [
    [`bearer ${api}full`, "lower case"],
    [`BEARER ${api}full`, "upper case"],
    [`bEaReR    ${cli}cli`, "spaces"],
    [`Bearer ${api}later`, "not expired yet"],
    [`Bearer ${cli}cli-later`, "token not expired yet"],
    [`Bearer ${api}A1-._~+/=:;,@!"'%20`, "odd characters"],
  ];
  const foreign = api === "svc_sk_" ? ["orr-", "or_cli-"] : ["svc_sk_", "svcx_"];
  const twice = (first: string, second: string): Step["headers"] => [bearer(first), bearer(second)];
  return ROUTES.flatMap(({ path: route, scope }) => {
    const target = goodTarget(world, route);
    return [
      ...refusals.map(([header, error]) =>
        one(`${route} Authorization: ${header}`, {
          target,
          headers: header === undefined ? [] : [["Authorization", header]],
          status: 401,
          error,
        }),
      ),
      ...welcome.map(([header, what]) =>
        one(`${route} Bearer in ${what}`, { target, headers: [["authorization", header]], status: 200 }),
      ),
      ...foreign.map((prefix) =>
        one(`${route} prefix ${prefix} of another server`, {
          target,
          headers: [bearer(`${prefix}full`)],
          status: 401,
          error: "Invalid token format",
        }),
      ),
      one(
        `${route} of two tokens the first counts`,
        { target, headers: twice(`${api}full`, `${api}unknown`)!, status: 200 },
        ["node", "direct"],
      ),
      one(
        `${route} of two tokens the first counts, though it is bad`,
        { target, headers: twice(`${api}unknown`, `${api}full`)!, status: 401, error: "Invalid API key" },
        ["node", "direct"],
      ),
      ...["worlds", "users", "instances", "none", "odd"].map((id) => {
        const granted = scope === null || `read:${id}` === scope;
        return one(`${route} with scopes ${id}`, {
          target,
          headers: [as(world, id)],
          status: granted ? 200 : 403,
          ...(granted ? {} : { error: `Insufficient scope. Required: ${SHAPES[route]!.scope}` }),
        });
      }),
    ];
  });
};

const methods: Group = (world) =>
  ROUTES.flatMap(({ path: route }) => {
    const target = goodTarget(world, route);
    const credentials: [string, Step["headers"]][] = [
      ["no token", []],
      ["a bad token", [bearer("nonsense")]],
      ["a good token", [as(world, "full")]],
    ];
    return [
      ...credentials.flatMap(([what, headers = []]) => [
        ...["POST", "PUT", "PATCH", "DELETE"].map((method) =>
          one(`${route} ${method} with ${what}`, {
            method,
            target,
            headers,
            status: 405,
            error: "Method not allowed",
          }),
        ),
        ...["TRACE", "PROPFIND", "PURGE"].map((method) =>
          one(`${route} ${method} with ${what}`, { method, target, headers, status: 405 }, [
            "node",
            "direct",
          ]),
        ),
        one(`${route} OPTIONS with ${what}`, {
          method: "OPTIONS",
          target,
          headers: [
            ...headers,
            ["Origin", "https://elsewhere.example"],
            ["Access-Control-Request-Method", "GET"],
            ["Access-Control-Request-Headers", "authorization, if-match"],
          ],
          status: 204,
        }),
      ]),
      one(`${route} POST with a body`, { method: "POST", target, headers: [], body: "{}", status: 405 }, [
        "node",
      ]),
      one(`${route} 405 comes before conditions`, {
        method: "DELETE",
        target,
        headers: [as(world, "full"), ["If-Match", '"other"']],
        status: 405,
      }),
    ];
  });

const conditions: Group = (world) => {
  const tag = `"${world.settings.generation}"`;
  const table: [ifMatch: string | undefined, ifNoneMatch: string | undefined, status: number][] = [
    [undefined, tag, 304],
    [undefined, `W/${tag}`, 304],
    [undefined, "*", 304],
    [undefined, `"other", ${tag}`, 304],
    [undefined, `"other",${tag},"more"`, 304],
    [undefined, `W/"a" , W/${tag}`, 304],
    [undefined, `"with, comma", ${tag}`, 304],
    [undefined, '"other"', 200],
    [undefined, '""', 200],
    [undefined, world.settings.generation, 200],
    [undefined, `"${world.settings.generation} "`, 200],
    [undefined, tag.toUpperCase(), 200],
    [undefined, '"*"', 200],
    [tag, undefined, 200],
    ["*", undefined, 200],
    [`"other", ${tag}`, undefined, 200],
    [`W/${tag}`, undefined, 412],
    [`W/${tag}, "other"`, undefined, 412],
    [`W/${tag}, ${tag}`, undefined, 200],
    ['"other"', undefined, 412],
    ['"*"', undefined, 412],
    [world.settings.generation, undefined, 412],
    ['"other"', tag, 412],
    ['"other"', "*", 412],
    [`W/${tag}`, `W/${tag}`, 412],
    [tag, tag, 304],
    ["*", "*", 304],
    [tag, '"other"', 200],
  ];
  const headersOf = ([ifMatch, ifNoneMatch]: (typeof table)[number]): [string, string][] => [
    ...(ifMatch === undefined ? [] : [["If-Match", ifMatch] as [string, string]]),
    ...(ifNoneMatch === undefined ? [] : [["If-None-Match", ifNoneMatch] as [string, string]]),
  ];
  const cases = ROUTES.flatMap(({ path: route }) => {
    const target = goodTarget(world, route);
    return table.flatMap((row) => {
      const [ifMatch, ifNoneMatch, status] = row;
      return ["GET", "HEAD"].map((method) =>
        one(`${route} ${method} If-Match: ${ifMatch} If-None-Match: ${ifNoneMatch}`, {
          method,
          target,
          headers: [as(world, method === "GET" ? "full" : "cli"), ...headersOf(row)],
          status,
          ...(status === 412 && method === "GET" ? { error: "Snapshot has changed" } : {}),
        }),
      );
    });
  });
  const target = at("/worlds");
  return [
    ...cases,
    one("If-None-Match in two headers", {
      target,
      headers: [as(world, "full"), ["If-None-Match", '"other"'], ["If-None-Match", tag]],
      status: 304,
    }),
    one("If-Match in two headers", {
      target,
      headers: [as(world, "full"), ["If-Match", '"other"'], ["If-Match", tag]],
      status: 200,
    }),
    // Neither matters unless the answer would be 200.
    ...(
      [
        ["/worlds/search", "full", 400],
        ["/worlds/search?q=%CC%81", "full", 400],
        ["/users/search?q=", "full", 400],
        ["/worlds", "none", 403],
        ["/nowhere", "full", 404],
        [`/worlds/${UNKNOWN_ID}`, "full", 404],
        [`/worlds/${UNKNOWN_ID}/stats`, "full", 404],
        [`/worlds/${UNKNOWN_ID}/instances`, "full", 404],
        [`/users/${UNKNOWN_ID}`, "full", 404],
        [`/users/${UNKNOWN_ID}/worlds`, "full", 404],
        [`/instances/${UNKNOWN_ID}`, "full", 404],
        ["/worlds", "disabled", 401],
      ] as const
    ).flatMap(([below, key, status]) =>
      [
        ["If-Match", '"other"'] as const,
        ["If-None-Match", "*"] as const,
        ["If-None-Match", tag] as const,
        ["If-Match", tag] as const,
      ].map((condition) =>
        one(`${below} as ${key}, ${condition.join(": ")}`, {
          target: at(below),
          headers: [as(world, key), condition],
          status,
        }),
      ),
    ),
  ];
};

/** Every id of the snapshot and everything that is no id, in every place for one. */
const ids: Group = (world) => {
  const { rows } = world;
  const places: [string, string][] = [
    ["/worlds/:id", "World not found"],
    ["/worlds/:id/stats", "World not found"],
    ["/worlds/:id/instances", "World not found"],
    ["/users/:id", "User not found"],
    ["/users/:id/worlds", "User not found"],
    ["/instances/:id", "Instance not found"],
  ];
  const id = madeId("user", 40);
  const bad = [
    "x",
    "search2",
    "0",
    "null",
    "undefined",
    "..;",
    "%00",
    "%2e%2e",
    "%2F",
    id.slice(0, -1),
    `${id}0`,
    `${id.slice(0, -1)}g`,
    id.replaceAll("-", ""),
    id.replaceAll("-", "_"),
    `{${id}}`,
    `urn:uuid:${id}`,
    `${id}%20`,
    `%20${id}`,
    encodeURIComponent(id).replace("-", "%2D"),
    "-".repeat(36),
    `${"0".repeat(36)}`,
    "__proto__",
    "constructor",
    "a".repeat(4000),
  ];
  const misses = [UNKNOWN_ID, UNKNOWN_ID.toUpperCase(), "00000000-0000-0000-0000-000000000002"];
  const missing = places.flatMap(([place, error]) =>
    [...bad, ...misses].map((text) =>
      one(`${place} of ${text.slice(0, 40)}`, {
        target: at(place.replace(":id", text)),
        headers: [as(world, "full")],
        status: 404,
        error,
      }),
    ),
  );
  const known = { worlds: rows.worlds, users: rows.users, instances: rows.instances };
  const present = places.flatMap(([place]) =>
    known[place.split("/")[1] as keyof typeof known].flatMap((row) =>
      [row.id, row.id.toLowerCase(), row.id.toUpperCase()].map((text) =>
        one(`${place} of ${text}`, { target: at(place.replace(":id", text)), headers: [as(world, "cli")] }),
      ),
    ),
  );
  const byWorld = [...rows.worlds.map((row) => row.id), UNKNOWN_ID, "x", "%20", "%20x", "..", "null"].flatMap(
    (text) =>
      [text.toLowerCase(), text.toUpperCase()].map((worldId) =>
        one(`/instances of world ${worldId}`, {
          target: at(`/instances?worldId=${worldId}`),
          headers: [as(world, "full")],
          status: 200,
        }),
      ),
  );
  const emptyWorld = ["/instances?worldId=", "/instances?worldId", "/instances?worldId=&limit=7"].map(
    (below) =>
      one(below, {
        target: at(below),
        headers: [as(world, "full")],
        status: 200,
        check: ({ body }) => assert.ok(JSON.parse(body).pagination.total > 1),
      }),
  );
  return [...missing, ...present, ...byWorld, ...emptyWorld];
};

/** Query text, and what must be applied and echoed. */
const PARAMETERS: readonly [query: string, applied: { limit?: number; offset?: number; period?: string }][] =
  [
    ["", {}],
    ["limit=1", { limit: 1 }],
    ["limit=7", { limit: 7 }],
    ["limit=20", { limit: 20 }],
    ["limit=49", { limit: 49 }],
    ["limit=50", { limit: 50 }],
    ["limit=51", { limit: 50 }],
    ["limit=1000000", { limit: 50 }],
    [`limit=${"9".repeat(400)}`, { limit: 50 }],
    ["limit=007", { limit: 7 }],
    ["limit=0", { limit: 20 }],
    ["limit=000", { limit: 20 }],
    ["limit=-1", { limit: 20 }],
    ["limit=-0", { limit: 20 }],
    ["limit=%2B5", { limit: 20 }],
    ["limit=+5", { limit: 20 }],
    ["limit=10.5", { limit: 20 }],
    ["limit=10.0", { limit: 20 }],
    ["limit=1e1", { limit: 20 }],
    ["limit=0x10", { limit: 20 }],
    ["limit=%205", { limit: 20 }],
    ["limit=5%20", { limit: 20 }],
    ["limit=5%0A", { limit: 20 }],
    ["limit=", { limit: 20 }],
    ["limit", { limit: 20 }],
    ["limit=ten", { limit: 20 }],
    ["limit=NaN", { limit: 20 }],
    ["limit=Infinity", { limit: 20 }],
    ["limit=%EF%BC%95", { limit: 20 }],
    ["limit=%D9%A5", { limit: 20 }],
    ["limit=%35", { limit: 5 }],
    ["%6Cimit=5", { limit: 5 }],
    ["LIMIT=5", { limit: 20 }],
    ["limit=5&limit=7", { limit: 5 }],
    ["limit=&limit=7", { limit: 20 }],
    ["limit=x&limit=7", { limit: 20 }],
    ["limit[]=7", { limit: 20 }],
    ["&&limit=5&&", { limit: 5 }],
    ["x?limit=5", { limit: 20 }],
    ["?limit=5", { limit: 20 }],
    ["?limit=5&limit=7", { limit: 7 }],
    ["?offset=1", { offset: 0 }],
    ["?period=week", { period: "all" }],
    ["?&limit=5", { limit: 5 }],
    ["%3Flimit=5", { limit: 20 }],
    ["a=b?&limit=5", { limit: 5 }],
    ["limit=5;offset=1", { limit: 20 }],
    ["limit=5?", { limit: 20 }],
    ["limit=5=", { limit: 20 }],
    ["limit==5", { limit: 20 }],
    ["=&limit=5", { limit: 5 }],
    ["%ff=1&limit=5", { limit: 5 }],
    ["limit=5&x=%", { limit: 5 }],
    ["__proto__=5&limit=6", { limit: 6 }],
    ["offset=0", { offset: 0 }],
    ["offset=1", { offset: 1 }],
    ["offset=3&limit=2", { offset: 3, limit: 2 }],
    ["offset=0003", { offset: 3 }],
    ["offset=59", { offset: 59 }],
    ["offset=60", { offset: 60 }],
    ["offset=4294967296", { offset: 4_294_967_296 }],
    ["offset=4294967297", { offset: 4_294_967_297 }],
    ["offset=9007199254740991", { offset: Number.MAX_SAFE_INTEGER }],
    ["offset=9007199254740992", { offset: Number.MAX_SAFE_INTEGER }],
    ["offset=9007199254740993", { offset: Number.MAX_SAFE_INTEGER }],
    [`offset=${"9".repeat(400)}`, { offset: Number.MAX_SAFE_INTEGER }],
    ["offset=-1", { offset: 0 }],
    ["offset=1.5", { offset: 0 }],
    ["offset=1e3", { offset: 0 }],
    ["offset=0x1", { offset: 0 }],
    ["offset=+1", { offset: 0 }],
    ["offset=", { offset: 0 }],
    ["offset=x", { offset: 0 }],
    ["offset=%201", { offset: 0 }],
    ["offset=1&offset=2", { offset: 1 }],
    ["offset=x&offset=2", { offset: 0 }],
    ["offset=%EF%BC%91", { offset: 0 }],
    ["period=all", { period: "all" }],
    ["period=week", { period: "week" }],
    ["period=month", { period: "month" }],
    ["period=year", { period: "all" }],
    ["period=Week", { period: "all" }],
    ["period=WEEK", { period: "all" }],
    ["period=", { period: "all" }],
    ["period", { period: "all" }],
    ["period=week%20", { period: "all" }],
    ["period=+week", { period: "all" }],
    ["period=we%65k", { period: "week" }],
    ["period=week&period=month", { period: "week" }],
    ["period=x&period=month", { period: "all" }],
    ["period=constructor", { period: "all" }],
    ["period=__proto__", { period: "all" }],
    ["period=month&limit=3&offset=2", { period: "month", limit: 3, offset: 2 }],
  ];

const parameters: Group = (world) =>
  ROUTES.filter(({ path: route }) => isList(route)).flatMap(({ path: route }) => {
    const target = goodTarget(world, route);
    return PARAMETERS.map(([query, applied]) =>
      one(`${route} ${query.slice(0, 60)}`, {
        target: `${target}${target.includes("?") ? "&" : "?"}${query}`,
        headers: [as(world, "full")],
        status: 200,
        check({ body }) {
          const { pagination, period } = JSON.parse(body);
          assert.equal(pagination.limit, applied.limit ?? 20, "limit");
          assert.equal(pagination.offset, applied.offset ?? 0, "offset");
          if (route === "/worlds/popular") assert.equal(period, applied.period ?? "all", "period");
        },
      }),
    );
  });

const missingQueries: Group = (world) =>
  ["/worlds/search", "/users/search"].flatMap((route) =>
    [
      "",
      "?",
      "?q",
      "?q=",
      "?q=%20",
      "?q=+++",
      "?q=%09%0A%0D",
      "?q=%E3%80%80",
      "?q=%C2%A0",
      "?q=%EF%BB%BF",
      "?q=%CC%81",
      "?q=%20%CC%81%CD%AF%20",
      `?q=${"+".repeat(256)}a`,
      `?q=${"%CC%81".repeat(256)}a`,
      "?Q=a",
      "??q=a",
      "?q=&q=a",
      "?limit=5",
      "?%71%00=a",
    ].map((query) =>
      one(`${route}${query.slice(0, 40)}`, {
        target: at(`${route}${query}`),
        headers: [as(world, "full")],
        status: 400,
        error: 'Query parameter "q" is required',
      }),
    ),
  );

const searches: Group = (world) => {
  const queries = new Set<string>();
  for (const text of NASTY_TEXTS) {
    for (const q of [
      text,
      text.toUpperCase(),
      text.toLowerCase(),
      text.normalize("NFD"),
      text.normalize("NFKC"),
      `  ${text}\n`,
      text.slice(0, 1),
      text.slice(0, 2),
      text.slice(1),
      text.slice(-1),
      text.slice(2, 5),
      `${text} ${text}`,
    ]) {
      queries.add(q);
    }
  }
  for (const q of [
    "か a",
    "ss",
    "i",
    "ı",
    "i̇",
    "σ",
    "ς",
    "ff",
    "1 2",
    "x2",
    "gaki",
    "ガギ",
    "ｶﾞ",
    "カ",
    "\u3099",
    "k a",
    "one two three four five six seven eight nine ten zzz",
    "one two three four five six seven eight nine zzz ten",
    "one one one one one one one one one one one zzz",
    "twelve eleven one",
    "unicode",
    "d\u017e",
    "صلى الله",
    "\u200d",
    "\ufe0f",
    "🏽",
    "\ud83d",
    "\ufffd",
    `${"y".repeat(255)}😀`,
    `${"y".repeat(255)}😀not the same`,
    `${"y".repeat(254)}😀`,
    `${"x".repeat(256)}not the same`,
    `${"x".repeat(255)}q`,
    "/",
    "\\",
    "?",
    "#",
    "&",
    "=",
    "\u0085",
    "\u001f",
  ]) {
    queries.add(q);
  }
  const targets = (route: string, q: string): string[] => {
    const encoded = new URLSearchParams({ q }).toString();
    const percents = encoded.replaceAll("+", "%20");
    return percents === encoded
      ? [at(`${route}?${encoded}`)]
      : [at(`${route}?${encoded}`), at(`${route}?${percents}`)];
  };
  const undecodable = ["%", "%2", "%zz", "%FF", "%ED%A0%80", "a%", "%E6%9D", "%C0%80", "a%00b", "%F0%9F%98"];
  // What is asked for again and again may come from a cache, page by page.
  const pages = ["", "", "", "", "&limit=2", "", "&limit=2", "&limit=2", "&limit=2", "&limit=2&offset=1"];
  return ["/worlds/search", "/users/search"].flatMap((route) => [
    ...["a", "e", "unicode"].map((q) => ({
      name: `${route} ${q} again and again`,
      steps: pages.map((more) => ({ target: at(`${route}?q=${q}${more}`), headers: [as(world, "cli")] })),
    })),
    ...[...queries].flatMap((q) =>
      targets(route, q).map((target) =>
        one(`${route} ${JSON.stringify(q)}`, { target, headers: [as(world, "cli")] }),
      ),
    ),
    ...undecodable.map((text) =>
      one(`${route} q=${text}`, {
        target: at(`${route}?q=${text}`),
        headers: [as(world, "cli")],
        status: 200,
      }),
    ),
  ]);
};

const paths: Group = (world) => {
  const { world: id } = someIds(world);
  const unknown = [
    "/",
    "/api",
    "/api/public",
    "/api/public/v2/worlds",
    "/API/public/v1/worlds",
    "/api/public/v1",
    "/api/public/v1/",
    "/api/public/v1worlds",
    "//api/public/v1/worlds",
    "/api//public/v1/worlds",
    "/x/api/public/v1/worlds",
    at("/Worlds"),
    at("/WORLDS"),
    at("/world"),
    at("/worldsx"),
    at("/worlds;x=1"),
    at("//worlds"),
    at("/./worlds"),
    at("/x/../worlds"),
    at("/%77orlds"),
    at("/worlds%2F"),
    at("/worlds%3Flimit=1"),
    at("/worlds%00"),
    at("/worlds/"),
    at("/worlds//"),
    at("/worlds/search/"),
    at("/worlds//search"),
    at("/worlds//stats"),
    at("/worlds//instances"),
    at(`/worlds/${id}/`),
    at(`/worlds//${id}`),
    at(`/worlds/${id}/stats/`),
    at(`/worlds/${id}//stats`),
    at(`/worlds/${id}/Stats`),
    at(`/worlds/${id}/statsx`),
    at(`/worlds/${id}/xstats`),
    at(`/worlds/${id}/x/stats`),
    at(`/worlds/${id}/instances/${id}`),
    at(`/worlds/${id}/dailyVisits`),
    at(`/World/${id}`),
    at("/users"),
    at("/users/"),
    at("/users/search/"),
    at(`/users/${id}/instances`),
    at(`/users/${id}/`),
    at("/instances/"),
    at(`/instances/${id}/stats`),
    at("/stats/"),
    at("/stats/x"),
    at("/Stats"),
    at("/keys"),
    at("/__proto__"),
    at("/constructor"),
    at("/favicon.ico"),
    "/healthz",
    "/%2e%2e/api/public/v1/stats",
    at("/../v1/stats"),
  ];
  const noId: [string, string][] = [
    [at("/worlds/Search"), "World not found"],
    [at("/worlds/POPULAR"), "World not found"],
    [at("/worlds/search%20"), "World not found"],
    [at("/worlds/stats"), "World not found"],
    [at("/worlds/search/stats"), "World not found"],
    [at("/worlds/popular/instances"), "World not found"],
    [at("/users/Search"), "User not found"],
    [at("/users/search/worlds"), "User not found"],
    [at("/instances/search"), "Instance not found"],
    [at("/worlds/..%2F"), "World not found"],
  ];
  const absolute = ROUTES.flatMap(({ path: route }) => {
    const target = goodTarget(world, route);
    return [`http://any${target}`, `https://user@other.example:81${target}`, `HTTP://ANY${target}`].map(
      (text) =>
        one(`absolute ${text}`, { target: text, headers: [as(world, "full")], status: 200 }, [
          "node",
          "direct",
        ]),
    );
  });
  return [
    ...unknown.flatMap((target) => [
      one(`${target} with a token`, {
        target,
        headers: [as(world, "full")],
        status: 404,
        error: "Not found",
      }),
      one(`${target} without a token`, { target, status: 404 }),
      one(`POST ${target}`, { method: "POST", target, status: 404, error: "Not found" }),
      one(`OPTIONS ${target}`, { method: "OPTIONS", target, status: 404, error: "Not found" }),
      one(`HEAD ${target}`, { method: "HEAD", target, status: 404 }),
    ]),
    ...noId.flatMap(([target, error]) => [
      one(target, { target, headers: [as(world, "full")], status: 404, error }),
      one(`${target} without a token`, { target, status: 401, error: "Authentication required" }),
      one(`OPTIONS ${target}`, { method: "OPTIONS", target, status: 204 }),
    ]),
    ...absolute,
    one("absolute and nowhere", { target: "http://any/nowhere", status: 404, error: "Not found" }),
    one("absolute with nothing behind it", { target: "http://any", status: 404 }, ["node", "direct"]),
    one("a proxy's target in the path", { target: "/http://any/api/public/v1/stats", status: 404 }),
  ];
};

/** Which of two errors is sent, and what counts against the limit. */
const limits: Group = (world) => {
  const worlds = at("/worlds");
  const search = at("/worlds/search");
  const lost = at(`/worlds/${UNKNOWN_ID}`);
  const tag = `"${world.settings.generation}"`;
  const cases: Case[] = [];
  const used = { "small-": 0, "small-none-": 0 };
  /** A key that nobody has used, with this limit. */
  const fresh = (limit: number, kind: keyof typeof used = "small-"): [string, string] => {
    const number = used[kind]++ * 4 + limit - 1;
    return as(world, `${kind}${number}`);
  };
  const limited = { status: 429, error: "Rate limit exceeded" };
  const remaining = (value: number) => (got: Got) => {
    assert.equal(new Map(got.headers).get("x-ratelimit-remaining"), String(value));
  };

  for (const { path: route } of ROUTES) {
    const target = goodTarget(world, route);
    const token = fresh(2);
    cases.push({
      name: `${route} passes twice, then 429 for good`,
      steps: [
        { target, headers: [token], status: 200, check: remaining(1) },
        { target, headers: [token], status: 200, check: remaining(0) },
        { target, headers: [token], ...limited, check: remaining(0) },
        { target, headers: [token], ...limited, check: remaining(0) },
        { target: worlds, method: "HEAD", headers: [token], status: 429 },
        { target, headers: [as(world, "full")], status: 200 },
      ],
    });
  }
  const counting: [what: string, step: Step, status: number][] = [
    ["200", { target: worlds }, 200],
    ["HEAD", { target: worlds, method: "HEAD" }, 200],
    ["304", { target: worlds, headers: [["If-None-Match", tag]] }, 304],
    ["412", { target: worlds, headers: [["If-Match", '"other"']] }, 412],
    ["404", { target: lost }, 404],
    ["400", { target: search }, 400],
    ["absolute form", { target: `http://any${worlds}` }, 200],
  ];
  for (const [what, step, status] of counting) {
    const token = fresh(1);
    cases.push({
      name: `${what} counts`,
      steps: [
        { ...step, headers: [token, ...(step.headers ?? [])], status, check: remaining(0) },
        { target: worlds, headers: [token], ...limited },
      ],
    });
  }
  const poor = fresh(1, "small-none-");
  cases.push({
    name: "403 counts",
    steps: [
      { target: worlds, headers: [poor], status: 403, check: remaining(0) },
      { target: worlds, headers: [poor], ...limited },
    ],
  });
  const others: [what: string, (token: [string, string]) => Step, status: number][] = [
    ["an unknown path", (token) => ({ target: at("/nowhere"), headers: [token] }), 404],
    ["a trailing slash", (token) => ({ target: `${worlds}/`, headers: [token] }), 404],
    ["405", (token) => ({ target: worlds, method: "POST", headers: [token] }), 405],
    ["OPTIONS", (token) => ({ target: worlds, method: "OPTIONS", headers: [token] }), 204],
    ["another's 401", () => ({ target: worlds }), 401],
    [
      "a token of another kind",
      ([, value]) => ({ target: worlds, headers: [["Authorization", `${value}x`]] }),
      401,
    ],
    ["another key", () => ({ target: worlds, headers: [as(world, "full")] }), 200],
    ["a CLI token", () => ({ target: worlds, headers: [as(world, "cli")] }), 200],
  ];
  for (const [what, make, status] of others) {
    const token = fresh(3);
    const other = { ...make(token), status };
    cases.push({
      name: `${what} does not count`,
      steps: [
        { target: worlds, headers: [token], status: 200, check: remaining(2) },
        other,
        other,
        { target: worlds, headers: [token], status: 200, check: remaining(1) },
        other,
        { target: worlds, headers: [token], status: 200, check: remaining(0) },
        other,
        { target: worlds, headers: [token], ...limited },
        other,
      ],
    });
  }
  // With a limit used up, everything behind the limit is hidden by 429 and nothing before it.
  const over = fresh(1, "small-none-");
  const after429: [Step, number][] = [
    [{ target: worlds, headers: [over] }, 429],
    [{ target: search, headers: [over] }, 429],
    [{ target: lost, headers: [over] }, 429],
    [{ target: at("/stats"), headers: [over, ["If-None-Match", "*"]] }, 429],
    [{ target: at("/stats"), headers: [over, ["If-Match", '"other"']] }, 429],
    [{ target: at("/stats"), headers: [["Authorization", "Bearer x"]] }, 401],
    [{ target: worlds, method: "PUT", headers: [over] }, 405],
    [{ target: worlds, method: "OPTIONS", headers: [over] }, 204],
    [{ target: at("/nowhere"), headers: [over] }, 404],
  ];
  cases.push({
    name: "429 stands between 401 and 403",
    steps: [
      { target: at("/stats"), headers: [over], status: 200 },
      ...after429.map(([step, status]) => ({ ...step, status })),
    ],
  });
  const none = as(world, "none");
  const full = as(world, "full");
  const orders: [what: string, step: Step, status: number, error: string][] = [
    ["404 path before 405", { target: at("/nowhere"), method: "POST" }, 404, "Not found"],
    ["404 path before 401", { target: at("/nowhere") }, 404, "Not found"],
    ["405 before 401", { target: worlds, method: "POST" }, 405, "Method not allowed"],
    ["401 before 403", { target: worlds, headers: [as(world, "disabled")] }, 401, "API key is deactivated"],
    ["401 before 400", { target: search }, 401, "Authentication required"],
    ["401 before 404", { target: lost }, 401, "Authentication required"],
    ["403 before 400", { target: search, headers: [none] }, 403, "Insufficient scope. Required: read:worlds"],
    ["403 before 404", { target: lost, headers: [none] }, 403, "Insufficient scope. Required: read:worlds"],
    [
      "403 before 412",
      { target: worlds, headers: [none, ["If-Match", '"other"']] },
      403,
      "Insufficient scope. Required: read:worlds",
    ],
    [
      "400 before 412",
      { target: search, headers: [full, ["If-Match", '"other"']] },
      400,
      'Query parameter "q" is required',
    ],
    ["404 before 412", { target: lost, headers: [full, ["If-Match", '"other"']] }, 404, "World not found"],
    [
      "412 before 304",
      { target: worlds, headers: [full, ["If-Match", '"other"'], ["If-None-Match", tag]] },
      412,
      "Snapshot has changed",
    ],
  ];
  cases.push(...orders.map(([what, step, status, error]) => one(what, { ...step, status, error })));
  return cases;
};

/** A web-standard client that reads pages of one generation. */
const crawls: Group = (world) =>
  ROUTES.filter(({ path: route }) => isList(route)).flatMap(({ path: route }) =>
    [1, 7, 50].map((limit) => {
      const target = goodTarget(world, route);
      const mark = target.includes("?") ? "&" : "?";
      const steps: CaseStep[] = [];
      for (let offset = 0; offset <= 60; offset += Math.max(limit, 5)) {
        steps.push({
          target: `${target}${mark}limit=${limit}&offset=${offset}`,
          headers: [as(world, "cli"), ["If-Match", `"${world.settings.generation}"`]],
          status: 200,
        });
      }
      return { name: `${route} by ${limit}`, steps };
    }),
  );

const NASTY_GROUPS: Readonly<Record<string, Group>> = {
  shapes,
  tokens,
  methods,
  conditions,
  ids,
  parameters,
  missingQueries,
  searches,
  paths,
  limits,
  crawls,
};
const BULK_GROUPS: Readonly<Record<string, Group>> = {
  shapes,
  tokens,
  methods,
  conditions,
  parameters,
  missingQueries,
  paths,
  limits,
  crawls,
};

// ---------------------------------------------------------------- running them

function fits(door: DoorName, { doors, steps }: Case): boolean {
  if (doors && !doors.includes(door === "handler" ? "node" : door)) return false;
  if (IS_BUN && steps.some(hasJoinedCredentials)) return false;
  return door !== "fetch" || steps.every(fitsFetch);
}

async function runCase(door: Door, model: Model, { steps }: Case): Promise<void> {
  for (const { status, error, check, ...step } of steps) {
    const got = await askAndCompare(door, model, step);
    if (status !== undefined) assert.equal(got.status, status, "status that the case expects");
    if (error !== undefined && step.method !== "HEAD") assert.equal(got.body, JSON.stringify({ error }));
    check?.(got);
  }
}

/** Cases that were really run, by door. */
const ran: Record<DoorName, number> = { node: 0, handler: 0, fetch: 0, direct: 0 };
/** Adding cases or operations changes these on purpose. */
const PLANNED: Readonly<Record<DoorName, number>> = {
  node: IS_BUN ? 8239 : 8263,
  handler: 8263,
  fetch: 7839,
  direct: 8239,
};

/** Runs all cases of a group and tells of the first few that fail. */
async function runGroup(door: Door, model: Model, cases: readonly Case[]): Promise<void> {
  const failures: string[] = [];
  for (const item of cases) {
    if (!fits(door.name, item)) continue;
    try {
      await runCase(door, model, item);
    } catch (error) {
      failures.push(`${item.name}: ${(error as Error).message}`);
    }
    ran[door.name]++;
  }
  if (failures.length === 0) return;
  assert.fail(`${failures.length} cases fail, among them:\n${failures.slice(0, 8).join("\n")}`);
}

interface Opened {
  world: World;
  folder: string;
  orrery: Orrery;
  server: RunningServer;
  doors: Record<DoorName, Door>;
}

interface Shared {
  snapshot: string;
  keys: string;
  rateLimit: number;
  rateWindow: number;
  cors: boolean;
}

function startHere({ settings }: World, shared: Shared): Promise<RunningServer> {
  return startServer({
    ...shared,
    prefixes: { api: settings.apiPrefix, cli: settings.cliPrefix },
    watch: 0,
    maxSnapshotBytes: 1_000_000_000,
    searchCacheBytes: 0,
    accessLog: false,
    observe: observeNothing,
    host: "127.0.0.1",
    port: 0,
    http: DEFAULT_LIMITS,
  });
}

async function open(world: World): Promise<Opened> {
  const folder = await temporaryFolder();
  await writeSnapshot(folder, world.rows, world.write);
  const keys = path.join(folder, "keys.json");
  await writeFile(keys, keysFileText(world.keys));
  const { apiPrefix, cliPrefix, rateLimit, rateWindow, cors } = world.settings;
  const shared = { snapshot: folder, keys, rateLimit, rateWindow, cors };
  const openReplica = (threads: boolean) =>
    openOrrery({ ...shared, apiKeyPrefix: apiPrefix, cliTokenPrefix: cliPrefix, accessLog: true, threads });
  // A replica each: every door counts requests of its own.
  const orrery = await openReplica(false);
  const handled = await openReplica(false);
  const foreign = createServer({ requireHostHeader: false }, handled.handle);
  await new Promise<void>((resolve) => foreign.listen(0, "127.0.0.1", resolve));
  const web = await openReplica(true);
  const server = await (IS_GIVEN ? startGiven(world.settings, shared) : startHere(world, shared));
  const fetches = fetchDoor(web.fetch);
  fetches.close = web.close;
  const handler = nodeDoor(`http://127.0.0.1:${(foreign.address() as AddressInfo).port}`, "handler");
  const hangUp = handler.close;
  handler.close = () => {
    hangUp();
    foreign.close();
    handled.close();
  };
  return {
    world,
    folder,
    orrery,
    server,
    doors: { node: nodeDoor(server.url), handler, fetch: fetches, direct: directDoor(orrery.ask) },
  };
}

async function close({ folder, orrery, server, doors }: Opened): Promise<void> {
  for (const door of Object.values(doors)) door.close();
  orrery.close();
  await server.stop("end of tests");
  await removeFolder(folder);
}

let nastyOpened: Opened;
let bulkOpened: Opened;

before(async () => {
  nastyOpened = await open(nasty);
  bulkOpened = await open(bulk);
  // Without a manifest only the server knows the name.
  bulk.settings.generation = bulkOpened.server.generation();
});

after(async () => {
  await Promise.all([close(nastyOpened), close(bulkOpened)]);
});

test("the table of operations is the interface", () => {
  const served = ROUTES.map(({ path: route, scope }) => `GET ${route} ${scope}`).sort();
  assert.deepEqual(
    served,
    Object.entries(SHAPES)
      .map(([route, { scope }]) => `GET ${route} ${scope}`)
      .sort(),
  );
  assert.deepEqual(served, MODEL_OPERATIONS.map(({ path: route, scope }) => `GET ${route} ${scope}`).sort());
});

test("generations are named as promised", () => {
  assert.equal(nastyOpened.server.generation(), "Gen.1_nasty-x");
  assert.equal(nastyOpened.orrery.generation(), "Gen.1_nasty-x");
  assert.match(bulkOpened.server.generation(), /^[A-Za-z0-9._-]{1,64}$/);
  assert.equal(bulkOpened.orrery.generation(), bulkOpened.server.generation());
});

for (const door of IS_GIVEN ? (["node"] as const) : (["node", "handler", "fetch", "direct"] as const)) {
  describe(`the ${door} door`, () => {
    const plans = [
      { what: "nasty", groups: NASTY_GROUPS, opened: () => nastyOpened },
      { what: "bulk", groups: BULK_GROUPS, opened: () => bulkOpened },
    ];
    for (const { what, groups, opened } of plans) {
      let model: Model;
      before(() => {
        const { rows, keys, settings } = opened().world;
        model = new Model(rows, keys, settings);
      });
      for (const [name, group] of Object.entries(groups)) {
        test(`${what}: ${name}`, () => runGroup(opened().doors[door], model, group(opened().world)));
      }
    }

    test("every planned case was run", () => assert.equal(ran[door], PLANNED[door]));
  });
}

// ---------------------------------------------------------------- the clock, which only calls can set

describe("with a clock", () => {
  const HOUR = 3_600_000;
  const keys: TestKey[] = [
    ...makeKeys("svc_sk_", "svcx_"),
    ...["api", "cli"].map((kind) => ({
      id: `ends-${kind}`,
      kind: kind as "api" | "cli",
      token: `${kind === "api" ? "svc_sk_" : "svcx_"}ends`,
      scopes: ["read:worlds"],
      limit: null,
      active: true,
      expiresAt: "2030-01-01T01:00:00.0019+01:00",
    })),
  ];
  const end = Date.UTC(2030, 0, 1) + 1;
  let folder: string;
  let orrery: Orrery;
  let door: Door;
  let model: Model;

  before(async () => {
    folder = await temporaryFolder();
    await writeSnapshot(folder, nasty.rows, nasty.write);
    await writeFile(path.join(folder, "keys.json"), keysFileText(keys));
    orrery = await openOrrery({ snapshot: folder, keys: path.join(folder, "keys.json"), threads: false });
    door = directDoor(orrery.ask);
    model = new Model(nasty.rows, keys, { ...nasty.settings, rateLimit: 1000, rateWindow: 3600 });
  });
  after(async () => {
    orrery.close();
    await removeFolder(folder);
  });

  async function ask(token: string, now: number): Promise<Got> {
    return await askAndCompare(door, model, { target: at("/worlds"), headers: [bearer(token)], now });
  }

  test("a key ends at the moment it names", async () => {
    for (const [token, error] of [
      ["svc_sk_ends", "API key has expired"],
      ["svcx_ends", "CLI token has expired"],
    ] as const) {
      assert.equal((await ask(token, end - 1)).status, 200);
      for (const now of [end, end + 1, end + HOUR]) {
        const got = await ask(token, now);
        assert.equal(got.status, 401);
        assert.equal(got.body, JSON.stringify({ error }));
      }
      assert.equal((await ask(token, end - 1)).status, 200, "nothing remembers that it ended");
    }
  });

  test("the limit is a thousand an hour, aligned to the epoch", async () => {
    const start = 480_000 * HOUR;
    for (let count = 0; count < 1000; count++) {
      const got = await ask("svc_sk_full", start + count);
      assert.equal(got.status, 200);
      const headers = new Map(got.headers);
      assert.equal(headers.get("x-ratelimit-limit"), "1000");
      assert.equal(headers.get("x-ratelimit-remaining"), String(999 - count));
      assert.equal(headers.get("x-ratelimit-reset"), String(480_001 * 3600));
    }
    for (const [later, wait] of [
      [1000, "3599"],
      [1001, "3599"],
      [HOUR - 1001, "2"],
      [HOUR - 1000, "1"],
      [HOUR - 999, "1"],
      [HOUR - 1, "1"],
    ] as const) {
      const got = await ask("svc_sk_full", start + later);
      assert.equal(got.status, 429);
      assert.equal(new Map(got.headers).get("retry-after"), wait);
    }
    assert.equal((await ask("svc_sk_full", start + HOUR)).status, 200);
  });

  test("a clock that steps back reopens and refunds nothing", async () => {
    const start = 490_000 * HOUR;
    assert.equal((await ask("svc_sk_small-1", start)).status, 200);
    assert.equal((await ask("svc_sk_small-1", start - 1)).status, 200);
    assert.equal((await ask("svc_sk_small-1", start - 1)).status, 429);
    assert.equal((await ask("svc_sk_small-1", start - 10 * HOUR)).status, 429);
    assert.equal((await ask("svc_sk_small-1", start)).status, 429);
    assert.equal((await ask("svc_sk_small-1", start + HOUR)).status, 200);
    assert.equal((await ask("svc_sk_small-1", start)).status, 200);
    assert.equal((await ask("svc_sk_small-1", start + HOUR)).status, 429);
  });

  test("of many at once exactly the limit pass", async () => {
    const now = 500_000 * HOUR;
    const asks = Array.from({ length: 1500 }, (_, number) =>
      door.ask({
        target: at(number % 2 === 0 ? "/users/search?q=a" : "/worlds"),
        headers: [bearer("svc_sk_own-limit")],
        now,
      }),
    );
    // An unknown key first: none of these may count anywhere.
    assert.ok((await Promise.all(asks)).every(({ status }) => status === 401));
    const known = Array.from({ length: 1500 }, (_, number) =>
      door.ask({
        target: at(number % 2 === 0 ? "/users/search?q=a" : "/worlds"),
        headers: [bearer("svc_sk_later")],
        now,
      }),
    );
    const statuses = (await Promise.all(known)).map(({ status }) => status);
    assert.equal(statuses.filter((status) => status === 200).length, 1000);
    assert.equal(statuses.filter((status) => status === 429).length, 500);
  });
});

// ---------------------------------------------------------------- what only a socket can send

/** Sends bytes and reads until the server ends the connection. */
function exchange(url: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    let text = "";
    socket.setEncoding("utf8");
    socket.on("data", (chunk: string) => {
      text += chunk;
    });
    socket.on("end", () => {
      socket.destroy();
      resolve(text);
    });
    socket.on("error", reject);
    socket.write(bytes, "latin1");
  });
}

// What other runtimes make of these is theirs to decide; docs/runtimes.md says what.
describe("bytes on a socket", { skip: RUNTIME !== "node" }, () => {
  const stats = `GET ${at("/stats")} HTTP/1.1`;
  const refused: [what: string, bytes: string, status: number, error: string][] = [
    ["no Host", `${stats}\r\n\r\n`, 400, "Bad request"],
    ["two Hosts", `${stats}\r\nHost: a\r\nHost: b\r\n\r\n`, 400, "Bad request"],
    ["a method that nobody knows", `FLY ${at("/stats")} HTTP/1.1\r\nHost: a\r\n\r\n`, 400, "Bad request"],
    ["no HTTP", "hello\r\n\r\n", 400, "Bad request"],
    ["a space in the path", `GET ${at("/sta ts")} HTTP/1.1\r\nHost: a\r\n\r\n`, 400, "Bad request"],
    ["a header without a colon", `${stats}\r\nHost: a\r\nnonsense\r\n\r\n`, 400, "Bad request"],
    [
      "a head above 16 KiB",
      `${stats}\r\nHost: a\r\nX-Long: ${"x".repeat(17_000)}\r\n\r\n`,
      431,
      "Request header fields too large",
    ],
    [
      "a URL above 16 KiB",
      `GET /${"x".repeat(17_000)} HTTP/1.1\r\nHost: a\r\n\r\n`,
      431,
      "Request header fields too large",
    ],
  ];
  for (const [what, bytes, status, error] of refused) {
    test(what, async () => {
      const text = await exchange(nastyOpened.server.url, bytes);
      const [head, body] = text.split("\r\n\r\n");
      assert.match(head!, new RegExp(`^HTTP/1\\.1 ${status} `));
      assert.match(head!, /\r\nconnection: close(\r\n|$)/i);
      assert.match(head!, /\r\ncache-control: no-store(\r\n|$)/i);
      assert.doesNotMatch(head!, /access-control|x-ratelimit|etag/i);
      assert.equal(body, JSON.stringify({ error }));
    });
  }

  test("a URL of 8 KiB", async () => {
    const start = at("/worlds/search?q=a&x=");
    const target = start + "x".repeat(8192 - start.length);
    const key = "Authorization: Bearer svc_sk_full";
    const text = await exchange(
      nastyOpened.server.url,
      `GET ${target} HTTP/1.1\r\nHost: a\r\n${key}\r\nConnection: close\r\n\r\n`,
    );
    assert.match(text, /^HTTP\/1\.1 200 /);
  });

  test("HTTP/1.0 without a Host", async () => {
    const key = "Authorization: Bearer svc_sk_full";
    const text = await exchange(nastyOpened.server.url, `GET ${at("/stats")} HTTP/1.0\r\n${key}\r\n\r\n`);
    assert.match(text, /^HTTP\/1\.1 200 /);
    assert.match(text, /\{"data":\{"totalUsers":\d+,/);
  });
});
