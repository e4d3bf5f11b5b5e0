/** One suite over all adapters: each adapter answers every case as the model does. */

import assert from "node:assert/strict";
import { createServer } from "node:http";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { ROUTES } from "../src/api/routes.ts";
import { createOpenApi } from "../src/docs-page/openapi.ts";
import { PROGRAM } from "../src/features.ts";
import { type Orrery, openOrrery } from "../src/mod.ts";
import { FAULTS } from "../src/model/fault.ts";
import { BASE_PATH } from "../src/model/model.ts";
import { PATHS } from "../src/model/paths.ts";
import { observeNothing } from "../src/observe/events.ts";
import { type RunningServer, startServer } from "../src/server/server.ts";
import type { Settings } from "../src/settings/settings.ts";
import { brief } from "./conformance/difference.ts";
import {
  askAndCompare,
  type Door,
  type DoorName,
  directDoor,
  fetchDoor,
  fitsFetch,
  type Got,
  nodeDoor,
  type Step,
} from "./conformance/doors.ts";
import { Model, type ModelSettings, type TestKey, testKey } from "./conformance/model.ts";
import { limits, paths } from "./conformance/paths.ts";
import { crawls, missingQueries, parameters, searches } from "./conformance/queries.ts";
import { Recording } from "./conformance/recorded.ts";
import { conditions, ids, methods, shapes, tokens } from "./conformance/requests.ts";
import {
  at,
  bearer,
  bulk,
  type Case,
  type CaseStep,
  type Group,
  makeKeys,
  nasty,
  tokenOf,
  type World,
} from "./conformance/worlds.ts";
import { temporaryFolder } from "./support/folders.ts";
import { IS_NODE_HTTP } from "./support/http-server.ts";
import { IS_LONG, part } from "./support/long.ts";
import { DEFAULTS } from "./support/options.ts";
import { writeTestKeys } from "./support/place.ts";
import { listen } from "./support/ports.ts";
import { serve } from "./support/process.ts";
import { IS_GIVEN } from "./support/program.ts";
import { writeSnapshot } from "./support/snapshot.ts";

const NASTY_GROUPS = {
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
const { ids: _ids, searches: _searches, ...BULK_GROUPS } = NASTY_GROUPS;

// ---------------------------------------------------------------- checks against the OpenAPI document

interface Response {
  readonly $ref?: string;
  readonly headers?: Readonly<Record<string, { $ref: string }>>;
  readonly content?: { readonly "application/json": object };
}

interface Document {
  readonly paths: Record<string, { get: { responses: Record<string, Response> } }>;
  readonly components: {
    readonly responses: Record<string, Response>;
    readonly headers: Record<string, { schema: { type?: string } }>;
  };
}

const document = createOpenApi() as unknown as Document;
const ajv = new Ajv2020({ strict: false, schemas: [{ ...document, $id: "openapi" }] });
addFormats.default(ajv);

const PATTERNS = ROUTES.map(({ path, faults }) => ({
  path: path.replace(":id", "{id}"),
  missing: faults.map((name) => FAULTS[name]).filter((fault) => fault.status === 404),
  pattern: new RegExp(`^${BASE_PATH}${path.replace(":id", "[^/]+")}$`),
}));

/** Headers that a reply must have if the document names them; limit headers depend on the token. */
const REQUIRED = ["ETag", "Cache-Control", "WWW-Authenticate", "Retry-After"];
/** Headers of every HTTP message, which an OpenAPI document leaves out; it must name all others that are sent. */
const OF_HTTP = ["connection", "content-length", "content-type", "date", "keep-alive", "transfer-encoding"];

interface Checks {
  readonly body: ValidateFunction | undefined;
  readonly headers: ReadonlyMap<string, ValidateFunction>;
}

const known = new Map<string, Checks | undefined>();

function escapePointer(name: string): string {
  return encodeURIComponent(name.replaceAll("~", "~0").replaceAll("/", "~1"));
}

function compile(path: string, status: string): Checks | undefined {
  const place = `#/paths/${escapePointer(path)}/get/responses/${status}`;
  const own = document.paths[path]!.get.responses[status];
  if (own === undefined) return undefined;
  const at = own.$ref ?? place;
  const response = own.$ref === undefined ? own : document.components.responses[own.$ref.split("/").at(-1)!]!;
  const schemaOf = (pointer: string): ValidateFunction => ajv.compile({ $ref: `openapi${pointer}` });
  return {
    body: response.content && schemaOf(`${at}/content/application~1json/schema`),
    headers: new Map(
      Object.values(response.headers ?? {}).map(({ $ref }) => [
        $ref.split("/").at(-1)!,
        schemaOf(`${$ref}/schema`),
      ]),
    ),
  };
}

/** Number of judged replies, by status. */
const judged = new Map<number, number>();

/** Judges the reply of an operation; the document covers no other requests. */
function judgeReply({ method = "GET", target }: Step, { status, headers, body }: Got): void {
  const path = target.replace(/^https?:\/\/[^/?#]*/i, "").split("?", 1)[0]!;
  const route = PATTERNS.find(({ pattern }) => pattern.test(path));
  if (route === undefined || (method !== "GET" && method !== "HEAD")) return;
  const key = `${route.path} ${status}`;
  if (!known.has(key)) known.set(key, compile(route.path, String(status)));
  const checks = known.get(key);
  assert.ok(checks !== undefined, `${key} is not in the OpenAPI document`);
  const values = new Map(headers);
  for (const [name, validate] of checks.headers) {
    const value = values.get(name.toLowerCase());
    if (value === undefined) assert.ok(!REQUIRED.includes(name), `${key}: ${name} is missing`);
    else {
      const isNumber = document.components.headers[name]!.schema.type === "integer";
      assert.ok(validate(isNumber ? Number(value) : value), `${key}: ${name}: ${value}`);
    }
  }
  const told = [...checks.headers.keys()].map((name) => name.toLowerCase());
  for (const [name] of headers) {
    const isTold = OF_HTTP.includes(name) || told.includes(name);
    assert.ok(isTold, `${key}: the OpenAPI document does not know its ${name}`);
  }
  if (method === "GET") {
    assert.equal(checks.body === undefined, body === "", `${key}: a body, or none`);
    const isRight = checks.body?.(JSON.parse(body)) ?? true;
    assert.ok(isRight, `${key}: ${ajv.errorsText(checks.body?.errors)}: ${brief(body)}`);
    const isNamed = status !== 404 || route.missing.some(({ message }) => message === JSON.parse(body).error);
    assert.ok(isNamed, `${key}: the row of the operation does not name its fault: ${brief(body)}`);
  }
  judged.set(status, (judged.get(status) ?? 0) + 1);
}

test("each path has an operation", () => {
  assert.deepEqual(ROUTES.map(({ path }) => path).sort(), [...PATHS].sort());
});

// ---------------------------------------------------------------- running the cases

const stepsOf = (item: Case): readonly CaseStep[] => [item].flat();

/** Whether a door can carry the requests of a case unchanged. */
function fits(door: DoorName, item: Case): boolean {
  const isHttp = door === "node" || door === "handler";
  return (
    isHttp || stepsOf(item).every((step) => step.body === undefined && (door === "direct" || fitsFetch(step)))
  );
}

/** Headers with values that differ between runs. */
const MOMENTARY = new Set(["date", "x-ratelimit-reset", "retry-after", "x-request-id"]);
/** The first replies of a group; the long form records hashes alone, as its first replies are those of the short one. */
const recording = IS_LONG ? new Recording("replies-long", 0) : new Recording("replies", 4000, 1000);

function record(group: string, request: string, { status, headers, body }: Got): void {
  const lines = headers.map(([name, value]) => `${name}: ${MOMENTARY.has(name) ? "" : value}`);
  recording.add(group, `${status}\n${lines.join("\n")}\n\n${body}`, request);
}

/** A request as recorded: a token by the name of its key, as tokens differ between runs. */
function requestLines(step: Step, key: string | undefined): string {
  const headers = (step.headers ?? []).filter(([name]) => name.toLowerCase() !== "authorization");
  const lines = headers.map(([name, value]) => `${name}: ${value}\n`).join("");
  return `${step.method ?? "GET"} ${step.target} key=${key ?? "none"}\n${lines}\n`;
}

async function runStep(
  door: Door,
  model: Model,
  group: string,
  world: World,
  asked: CaseStep,
): Promise<void> {
  const { key, status, error, check, ...given } = asked;
  const token = key === undefined ? [] : [bearer(tokenOf(world, key))];
  const step = { ...given, headers: [...token, ...(given.headers ?? [])] };
  const got = await askAndCompare(door, model, step);
  judgeReply(step, got);
  if (!IS_GIVEN && !IS_NODE_HTTP) record(group, requestLines(step, key), got);
  if (status !== undefined) assert.equal(got.status, status, "status that the case expects");
  if (error !== undefined && step.method !== "HEAD") assert.equal(got.body, JSON.stringify({ error }));
  check?.(got);
}

/** Runs a case up to the first request that fails, which the error names. */
async function runCase(door: Door, model: Model, group: string, world: World, item: Case): Promise<void> {
  const steps = stepsOf(item);
  for (const [at, step] of steps.entries()) {
    try {
      await runStep(door, model, group, world, step);
    } catch (error) {
      const place = steps.length > 1 ? `request ${at + 1} of ${steps.length}: ` : "";
      throw new Error(`${place}${brief(JSON.stringify(step), 300)}: ${(error as Error).message}`);
    }
  }
}

/** Cases that ran, by door. */
const ran: Record<DoorName, number> = { node: 0, handler: 0, fetch: 0, direct: 0 };
/** The short form asks for the second snapshot through one door, and runs only the groups that many rows affect. */
const hasBulk = (door: DoorName): boolean => IS_LONG || IS_GIVEN || door === "node";
const bulkGroups: Readonly<Record<string, Group>> =
  IS_LONG || IS_GIVEN ? BULK_GROUPS : { shapes, paths, crawls };
/**
 * All doors lead to the same answers. In the short form the node door runs every group, another door groups it reads or
 * writes differently, and the handler (the node door on a foreign server) groups that such a server could spoil.
 */
const nastyGroupsOf = (door: DoorName): Readonly<Record<string, Group>> => {
  if (IS_LONG || door === "node") return NASTY_GROUPS;
  const heads = { shapes, methods, conditions, paths };
  return door === "handler" ? heads : { ...heads, tokens, limits, crawls };
};
/** The fewest cases of each door, so that the loss of a group is noticed. */
const FEWEST: Readonly<Record<DoorName, number>> = { node: 150, handler: 40, fetch: 50, direct: 60 };

/** The short form tries a third of a large group. As most groups repeat by route, each seven cases begin at another one. */
const triedOf = (cases: readonly Case[]): readonly Case[] =>
  IS_LONG || IS_GIVEN || cases.length < 100
    ? cases
    : cases.filter((_, at) => at % 3 === Math.floor(at / 7) % 3);

/** Runs cases and reports the first few failures. */
async function runGroup(
  door: Door,
  model: Model,
  name: string,
  world: World,
  cases: readonly Case[],
): Promise<void> {
  const group = `${IS_LONG ? "long" : "short"} ${door.name} ${name}`;
  const failures: string[] = [];
  for (const item of cases) {
    if (!fits(door.name, item)) continue;
    try {
      await runCase(door, model, group, world, item);
    } catch (error) {
      failures.push((error as Error).message);
    }
    ran[door.name]++;
  }
  if (failures.length === 0) return;
  assert.fail(`${failures.length} cases fail, among them:\n${failures.slice(0, 8).join("\n")}`);
}

type Started = Pick<RunningServer, "url" | "generation" | "stop">;

interface Opened {
  world: World;
  orrery: Orrery;
  server: Started;
  doors: Record<DoorName, Door>;
}

/** Starts the given server on a snapshot and a keys file. */
async function startGiven(
  { apiPrefix, cliPrefix, rateLimit, rateWindow, cors }: ModelSettings,
  { snapshot, keys }: { readonly snapshot: string; readonly keys: string },
): Promise<Started> {
  const flags = {
    "--watch": 0,
    "--search-cache-bytes": 0,
    "--cors": cors ? "on" : "off",
    "--rate-limit": rateLimit,
    "--rate-window": rateWindow,
    "--api-key-prefix": apiPrefix,
    "--cli-token-prefix": cliPrefix,
  };
  const { url, generation } = await serve(snapshot, keys, Object.entries(flags).flat().map(String));
  // The helper that started it ends it after the file.
  return { url, generation: () => generation, stop: async () => {} };
}

function startHere(settings: Pick<Settings, "snapshot" | "keys">, threads: boolean): Promise<Started> {
  return startServer({
    threads,
    features: PROGRAM.features,
    tables: PROGRAM.tables,
    settings: {
      ...DEFAULTS,
      ...settings,
      watch: 0,
      searchCacheBytes: 0,
      port: 0,
      http: IS_NODE_HTTP ? "node" : "direct",
    },
    observe: observeNothing,
  });
}

async function open(world: World): Promise<Opened> {
  const folder = temporaryFolder();
  writeSnapshot(folder, world.rows, world.write);
  const keys = writeTestKeys(path.join(folder, "keys.json"), world.keys);
  const { apiPrefix: apiKeyPrefix, cliPrefix: cliTokenPrefix, rateLimit, rateWindow, cors } = world.settings;
  const shared = { snapshot: folder, keys, rateLimit, rateWindow, cors, apiKeyPrefix, cliTokenPrefix };
  // Threads, of which each takes a second of CPU time to start, for one of the two; in the short form for its server alone.
  const withThreads = world === nasty;
  // A program without that feature knows no such setting.
  const similar = withThreads || !("similar" in DEFAULTS) ? {} : { similar: false };
  const openReplica = (threads: boolean) => openOrrery({ ...shared, ...similar, accessLog: true, threads });
  // One replica for each door, so that each counts its own requests.
  const orrery = await openReplica(false);
  const handled = await openReplica(false);
  const web = await openReplica(IS_LONG && withThreads);
  const server = await (IS_GIVEN
    ? startGiven(world.settings, shared)
    : startHere({ ...shared, ...similar }, IS_LONG || withThreads));
  const fetches = fetchDoor(web.fetch);
  fetches.close = web.close;
  const foreign = createServer({ requireHostHeader: false }, handled.handle);
  const handler = nodeDoor(`http://127.0.0.1:${await listen(foreign)}`, "handler");
  const hangUp = handler.close;
  handler.close = () => {
    hangUp();
    foreign.close();
    handled.close();
  };
  return {
    world,
    orrery,
    server,
    doors: { node: nodeDoor(server.url), handler, fetch: fetches, direct: directDoor(orrery.ask) },
  };
}

async function close({ orrery, server, doors }: Opened): Promise<void> {
  for (const door of Object.values(doors)) door.close();
  orrery.close();
  await server.stop("end of tests");
}

let nastyOpened: Opened;
let bulkOpened: Opened;

before(async () => {
  nastyOpened = await open(nasty);
  bulkOpened = await open(bulk);
  // Without a manifest only the server knows the generation's name.
  bulk.settings.generation = bulkOpened.server.generation();
});

after(async () => {
  await Promise.all([close(nastyOpened), close(bulkOpened)]);
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
      { what: "nasty", groups: nastyGroupsOf(door), opened: () => nastyOpened },
      ...(hasBulk(door) ? [{ what: "bulk", groups: bulkGroups, opened: () => bulkOpened }] : []),
    ];
    for (const { what, groups, opened } of plans) {
      let model: Model;
      before(() => {
        const { rows, keys, settings } = opened().world;
        model = new Model(rows, keys, settings);
      });
      for (const [name, group] of Object.entries(groups)) {
        test(`${what}: ${name}`, () => {
          const { doors, world } = opened();
          return runGroup(doors[door], model, `${what} ${name}`, world, triedOf(group(world)));
        });
      }
    }

    test("every planned case was run", () => {
      const planned = plans.flatMap(({ groups, opened }) =>
        Object.values(groups).flatMap((group) => triedOf(group(opened().world))),
      );
      assert.equal(ran[door], planned.filter((item) => fits(door, item)).length);
      assert.ok(ran[door] >= FEWEST[door] * ROUTES.length, `${ran[door]} cases`);
    });
  });
}

test("replies are those recorded, byte for byte", { skip: IS_GIVEN || IS_NODE_HTTP }, () =>
  recording.check(true),
);

test("replies of every status were judged by the OpenAPI document", (t) => {
  const [most, ...statuses] = [200, 304, 400, 401, 403, 404, 412, 429].map(
    (status) => judged.get(status) ?? 0,
  );
  t.diagnostic(`${[...judged.values()].reduce((sum, count) => sum + count)} replies`);
  assert.ok(most! > part(15_000), `only ${most}`);
  for (const count of statuses) assert.ok(count > part(100), JSON.stringify([...judged]));
});

// ---------------------------------------------------------------- the clock, which only calls can set

describe("with a clock", () => {
  const HOUR = 3_600_000;
  const ending = { scopes: ["read:worlds"], expiresAt: "2030-01-01T01:00:00.0019+01:00" };
  const keys: TestKey[] = [
    ...makeKeys("svc_sk_", "svcx_"),
    testKey("ends-api", "svc_sk_ends", { ...ending, kind: "api" }),
    testKey("ends-cli", "svcx_ends", { ...ending, kind: "cli" }),
  ];
  const end = Date.UTC(2030, 0, 1) + 1;
  let orrery: Orrery;
  let door: Door;
  let model: Model;

  before(async () => {
    const folder = temporaryFolder();
    writeSnapshot(folder, nasty.rows, nasty.write);
    const file = writeTestKeys(path.join(folder, "keys.json"), keys);
    orrery = await openOrrery({ snapshot: folder, keys: file, threads: false });
    door = directDoor(orrery.ask);
    model = new Model(nasty.rows, keys, { ...nasty.settings, rateLimit: 1000, rateWindow: 3600 });
  });
  after(() => orrery.close());

  async function ask(token: string, now: number): Promise<Got> {
    return await askAndCompare(door, model, { target: at("/worlds"), headers: [bearer(token)], now });
  }

  test("a key ends at the moment it names", async () => {
    for (const [token, error] of [
      ["svc_sk_ends", "API key has expired"],
      ["svcx_ends", "CLI token has expired"],
    ] as const) {
      assert.equal((await ask(token, end - 1)).status, 200);
      for (const now of [end, end + 1, end + HOUR])
        assert.equal((await ask(token, now)).body, JSON.stringify({ error }));
      assert.equal((await ask(token, end - 1)).status, 200, "nothing remembers that it ended");
    }
  });

  test("the limit is a thousand an hour, aligned to the epoch", async () => {
    const start = 480_000 * HOUR;
    for (let count = 0; count < 1000; count++) {
      const { status, headers } = await ask("svc_sk_full", start + count);
      const told = new Map(headers);
      const values = ["limit", "remaining", "reset"].map((name) => told.get(`x-ratelimit-${name}`));
      assert.deepEqual([status, ...values], [200, "1000", String(999 - count), String(480_001 * 3600)]);
    }
    for (const [later, wait] of [
      [1000, "3599"],
      [HOUR - 1001, "2"],
      [HOUR - 1000, "1"],
      [HOUR - 1, "1"],
    ] as const) {
      const got = await ask("svc_sk_full", start + later);
      assert.equal(got.status, 429);
      assert.equal(new Map(got.headers).get("retry-after"), wait);
    }
    assert.equal((await ask("svc_sk_full", start + HOUR)).status, 200);
  });
});
