/** Comparing a snapshot with another server: every kind of difference is found, and none where there is none. */

import assert from "node:assert/strict";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { after, afterEach, before, describe, it, type TestContext } from "node:test";
import { hashToken } from "../../src/auth/keys.ts";
import { generateSnapshot } from "../../src/generate/generate.ts";
import { createDirectAdapter } from "../../src/http/direct.ts";
import { observeNothing } from "../../src/observe/events.ts";
import { type OpenState, openState } from "../../src/server/open.ts";
import { Upstream as Server } from "../../src/upstream/upstream.ts";
import type { DifferenceKind } from "../../src/verify/compare.ts";
import { type Verified, verifySnapshot } from "../../src/verify/verify.ts";
import { id, instance, temporaryFolder, user, world, worldStats, writeSnapshot } from "../support/folders.ts";
import { DEFAULTS } from "../support/options.ts";
import { serveHttp } from "../support/ports.ts";
import { run } from "../support/process.ts";
import {
  CLI_TOKEN,
  type Passing,
  QUICK,
  startUpstream,
  tokenFile,
  type Upstream,
} from "../support/upstream.ts";

type Row = Readonly<Record<string, unknown>>;

/** Visible rows, in the order of lists. Texts are compared in ASCII. */
interface PlainRows {
  readonly users: readonly Row[];
  readonly worlds: readonly Row[];
  readonly worldStats: readonly Row[];
  readonly instances: readonly Row[];
}

/** A status and a body. */
type Reply = readonly [status: number, body: object];

const COUNTS: Readonly<Record<string, string>> = {
  ...{ all: "totalVisits", week: "visitsLast7Days", month: "visitsLast30Days" },
};

function page(rows: readonly Row[], query: URLSearchParams, more: object = {}): Reply {
  const [given, skipped] = ["limit", "offset"].map((name) => query.get(name) ?? "");
  const limit = /^[1-9]\d*$/.test(given!) ? Math.min(Number(given), 50) : 20;
  const offset = /^\d+$/.test(skipped!) ? Number(skipped) : 0;
  const data = rows.slice(offset, offset + limit);
  return [200, { data, pagination: { total: rows.length, limit, offset }, ...more }];
}

/** Rows whose text holds what is searched for: equal ones first, then ones that begin with it. */
function found(rows: readonly Row[], field: string, query: URLSearchParams): readonly Row[] | undefined {
  const q = (query.get("q") ?? "").trim().toLowerCase();
  if (q === "") return undefined;
  const rank = (row: Row): number => {
    const text = String(row[field]).toLowerCase();
    return text === q ? 0 : text.startsWith(q) ? 1 : text.includes(q) ? 2 : 3;
  };
  return rows.filter((row) => rank(row) < 3).sort((a, b) => rank(a) - rank(b));
}

function answer(
  { users, worlds, worldStats, instances }: PlainRows,
  path: string,
  query: URLSearchParams,
): Reply {
  const [, table, key = "", part] = path.split("/");
  const statsOf = (id: unknown): Row | undefined => worldStats.find(({ worldId }) => worldId === id);
  const ranked = (field: string): Row[] =>
    [...worlds].sort((a, b) => Number(statsOf(b.id)![field]) - Number(statsOf(a.id)![field]));
  const search = (rows: readonly Row[] | undefined): Reply =>
    rows === undefined ? [400, { error: 'Query parameter "q" is required' }] : page(rows, query);
  const one = (kind: string, row: Row | undefined, then = (data: Row): Reply => [200, { data }]): Reply =>
    row === undefined ? [404, { error: `${kind} not found` }] : then(row);
  const byId = (rows: readonly Row[]): Row | undefined => rows.find(({ id }) => id === key);

  if (path === "/stats") {
    const counts = { totalUsers: users.length, totalPublicWorlds: worlds.length };
    return [200, { data: { ...counts, totalPublicInstances: instances.length } }];
  }
  if (path === "/worlds") return page(worlds, query);
  if (path === "/worlds/popular") {
    const period = query.get("period") ?? "all";
    return page(ranked(COUNTS[period] ?? "totalVisits"), query, { period });
  }
  if (path === "/worlds/search") {
    const rows = ranked("totalVisits").map(({ id, name, description }) => ({ id, name, description }));
    return search(found(rows, "name", query));
  }
  if (path === "/users/search") return search(found(users, "displayName", query));
  if (path === "/instances") {
    const worldId = query.get("worldId");
    return page(worldId === null ? instances : instances.filter((row) => row.worldId === worldId), query);
  }
  if (table === "instances") return one("Instance", byId(instances));
  const list = (rows: readonly Row[], field: string) => (): Reply =>
    page(
      rows.filter((row) => row[field] === key),
      query,
    );
  if (table === "users")
    return one("User", byId(users), part === "worlds" ? list(worlds, "ownerId") : undefined);
  if (part === "stats") return one("World", byId(worlds) && statsOf(key));
  return one("World", byId(worlds), part === "instances" ? list(instances, "worldId") : undefined);
}

/** Serves them to a CLI token on a port of its own. @returns its base URL */
async function servePlainly(
  test: { after(done: () => void): void },
  rows: PlainRows,
  token: string,
): Promise<string> {
  const handle = ({ url, headers }: IncomingMessage, response: ServerResponse): void => {
    const { pathname, searchParams } = new URL(url!, "http://plain");
    const { authorization } = headers;
    const refusal = authorization === undefined ? "Authentication required" : "Invalid token format";
    const [status, body] =
      authorization === `Bearer ${token}`
        ? answer(rows, pathname.replace("/api/public/v1", ""), searchParams)
        : [401, { error: refusal }];
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  };
  return await serveHttp(test, handle);
}

const TOKEN = "cli_here";
let upstream: Upstream;
let here: OpenState;
const released: (() => void)[] = [];

before(async () => {
  const folder = join(temporaryFolder({ after: (done) => released.push(done) }), "snapshot");
  await generateSnapshot({
    ...{ out: folder, users: 200, worlds: 300, instances: 300, seed: 5 },
    gzip: false,
    force: false,
  });
  upstream = await startUpstream(folder);
  const record = {
    ...{ id: "here", kind: "cli" as const, name: "here", sha256: hashToken(TOKEN), scopes: [], limit: null },
    ...{ active: true, expiresAt: null, createdAt: "2026-01-01T00:00:00Z" },
  };
  here = await openState({
    features: {},
    settings: {
      ...DEFAULTS,
      ...{ snapshot: folder, keys: "", apiKeyPrefix: "api_", cliTokenPrefix: "cli_" },
      ...{ docs: false, watch: 0, searchCacheBytes: 0 },
    },
    ...{ records: [record], threads: false, observe: observeNothing },
  });
});
afterEach(() => {
  upstream.change = undefined;
});
after(async () => {
  await upstream.close();
  here.close();
  for (const release of released) release();
});

function verify(samples = 200, seed = 1): Promise<Verified> {
  return verifySnapshot({
    store: here.state.generation.store,
    ask: createDirectAdapter(here.state),
    token: TOKEN,
    upstream: new Server({
      ...{ base: `${upstream.url}/api/public/v1`, token: () => CLI_TOKEN, timing: QUICK },
      signal: new AbortController().signal,
    }),
    ...{ note: undefined, samples, seed, onProgress: () => {} },
  });
}

interface List {
  data: Record<string, unknown>[];
  pagination: { total: number; limit: number; offset: number };
}

/** Changes whole pages of the list of worlds. */
function inWorlds(change: (list: List) => void): (reply: Passing) => void {
  return (reply) => {
    if (!/\/v1\/worlds\?limit=50&/.test(reply.target)) return;
    const list = JSON.parse(reply.body) as List;
    change(list);
    reply.body = JSON.stringify(list);
  };
}

/** A list of the server in which rows are changed, whatever page is asked for. */
function asWhole(change: (ids: string[]) => string[]): (reply: Passing) => void {
  const store = here.state.generation.store;
  return (reply) => {
    const [, offset] = /\/v1\/worlds\?limit=50&offset=(\d+)/.exec(reply.target) ?? [];
    if (offset === undefined) return;
    const texts = Array.from({ length: store.worlds.rows }, (_, row) =>
      store.worlds.bytes.toString("utf8", store.worlds.starts[row]!, store.worlds.starts[row + 1]! - 1),
    );
    const rows = change(texts);
    const data = rows.slice(Number(offset), Number(offset) + 50).map((text) => JSON.parse(text) as object);
    const pagination = { total: rows.length, limit: 50, offset: Number(offset) };
    reply.body = JSON.stringify({ data, pagination });
  };
}

describe("verifying", () => {
  it("finds nothing where nothing differs, with any seed", async () => {
    for (const seed of [1, 2, 3]) {
      const found = await verify(200, seed);
      assert.deepEqual(found.differences, []);
      assert.equal(found.compared, 200);
    }
    assert.equal((await verify(3)).compared, 3);
  });

  const marked = (text: string): string => text.replace('"id":"', '"id":"f');
  const planted: readonly [
    kind: DifferenceKind,
    change: () => (reply: Passing) => void,
    others?: readonly DifferenceKind[],
  ][] = [
    ["field", () => asWhole((rows) => rows.with(77, rows[77]!.replace('"name":"', '"name":"x')))],
    ["missing row", () => asWhole((rows) => rows.toSpliced(77, 0, marked(rows[77]!))), ["total"]],
    ["extra row", () => asWhole((rows) => rows.toSpliced(77, 1)), ["total"]],
    ["order", () => asWhole((rows) => rows.with(77, rows[78]!).with(78, rows[77]!))],
    ["total", () => inWorlds((list) => list.pagination.total++)],
    [
      "header",
      () => (reply) => {
        if (reply.status === 404) reply.headers["x-ratelimit-limit"] = "5";
      },
    ],
    [
      "error message",
      () => (reply) => {
        reply.body = reply.body.replace("User not found", "No such user");
      },
    ],
    [
      "status",
      () => (reply) => {
        if (reply.status === 400) reply.status = 404;
      },
    ],
  ];
  for (const [kind, change, others = []] of planted) {
    it(`finds what is planted: ${kind}`, async () => {
      upstream.change = change();
      const { counts, differences } = await verify();
      assert.ok((counts[kind] ?? 0) > 0, JSON.stringify(counts));
      assert.deepEqual(
        Object.keys(counts).sort(),
        [kind, ...others].sort(),
        JSON.stringify(differences.slice(0, 3)),
      );
    });
  }

  it("notes headers that the specification does not name, once for all answers, and counts none of them", async () => {
    upstream.change = ({ status, headers }) => {
      for (const name of Object.keys(headers)) if (name !== "content-type") delete headers[name];
      headers["content-type"] = "application/json;charset=utf-8";
      if (status === 404) headers["cache-control"] = "no-cache";
    };
    const { differences, counts, notes, compared } = await verify();
    assert.deepEqual([differences, counts], [[], {}]);
    const names = new Set(notes.map(({ what }) => what));
    for (const name of [
      "etag",
      "content-type",
      "cache-control",
      "www-authenticate",
      "access-control-allow-origin",
    ])
      assert.ok(names.has(name), name);
    assert.ok(notes.length < 12, `${notes.length} notes`);
    const types = notes.filter(({ what }) => what === "content-type");
    assert.equal(
      types.reduce((sum, { answers }) => sum + answers, 0),
      compared,
    );
    assert.ok(
      notes.some(
        ({ what, here, there }) =>
          what === "cache-control" && here === '"no-store"' && there === '"no-cache"',
      ),
    );
  });

  it("counts one row that is missing or extra once a list, however many rows it moves", async () => {
    upstream.change = asWhole((rows) => rows.toSpliced(3, 1));
    assert.equal((await verify()).counts["extra row"], 1);
    upstream.change = asWhole((rows) => rows.toSpliced(3, 0, marked(rows[3]!)));
    assert.equal((await verify()).counts["missing row"], 1);
  });

  it("finds limit headers that are not whole, and other periods, limits and fields", async () => {
    upstream.change = ({ headers }) => {
      headers["x-ratelimit-limit"] = "5";
    };
    assert.equal((await verify(20)).counts.header, 20);
    upstream.change = (reply) => {
      reply.body = reply.body
        .replace('"period":"all"', '"period":"ever"')
        .replace('"totalVisits"', '"visits"');
    };
    const { differences } = await verify();
    const what = new Set(differences.map((found) => found.what));
    assert.ok(
      what.has("envelope period") && what.has("data visits") && what.has("data totalVisits"),
      [...what].join(),
    );
  });

  it("tells no token that the other server repeats", async () => {
    upstream.change = (reply) => {
      reply.status = 400;
      reply.body = JSON.stringify({ error: `what is ${CLI_TOKEN}`, more: 1 });
    };
    const { differences } = await verify(20);
    assert.ok(differences.some(({ there }) => there?.includes("what is …")));
    assert.ok(!JSON.stringify(differences).includes(CLI_TOKEN));
  });

  it("tells no part of one that fits", async () => {
    upstream.change = (reply) => {
      if (reply.status !== 200) return;
      const body = JSON.parse(reply.body) as Record<string, unknown>;
      // What is shown of it is cut off within the token.
      const from = `${"-".repeat(105)} ${CLI_TOKEN}`;
      reply.body = JSON.stringify({
        ...body,
        data: { [CLI_TOKEN]: 1, from },
      });
      reply.headers.etag = `"${CLI_TOKEN}"`;
    };
    const verified = await verify(20);
    assert.ok(verified.differences.length > 0);
    const told = JSON.stringify({ ...verified, counts: verified.counts });
    for (const part of ["upstream", "canary"])
      assert.ok(!told.toLowerCase().includes(part.toLowerCase()), told.slice(0, 2000));
  });

  it("is not lost in a reply that is nested without end", async () => {
    upstream.change = (reply) => {
      reply.body = `{"data":${"[".repeat(100_000)}${"]".repeat(100_000)}}`;
    };
    await assert.rejects(verify(20), /the reply is not JSON of this API/);
  });

  it("asks the same of the same snapshot with the same seed", async () => {
    const ask = async (seed: number): Promise<string[]> => {
      upstream.asked.length = 0;
      await verify(150, seed);
      return upstream.asked.map(({ target }) => target).sort();
    };
    const first = await ask(7);
    assert.deepEqual(await ask(7), first);
    assert.notDeepEqual(await ask(8), first);
  });
});

describe("verifying against a server that is no orrery", () => {
  const count = 120;
  const numbers = Array.from({ length: count }, (_, at) => at + 1);
  const users = numbers.map((n) => user(n, { displayName: `user-${n}` }));
  const worlds = numbers.map((n) => world(n, { name: `world-${n}`, description: "", ownerId: id("a", n) }));
  const stats = numbers.map((n) => {
    const [total, week, month] = [n * 7, n * 11, n * 13].map((product) => product % 127);
    return worldStats(n, { totalVisits: total, visitsLast7Days: week, visitsLast30Days: month });
  });
  const instances = numbers.map((n) => instance(n, { worldId: id("b", n) }));

  /** The command. @param change of the rows that the server has */
  async function verifyPlain(t: TestContext, change: (rows: PlainRows) => PlainRows, ...args: string[]) {
    const place = temporaryFolder(t);
    const folder = writeSnapshot(join(place, "rows"), {
      ...{ "users.ndjson": users, "worlds.ndjson": worlds },
      ...{ "world-stats.ndjson": stats, "instances.ndjson": instances },
    });
    const served = {
      ...{ users, worldStats: stats },
      worlds: worlds.map(({ status: _, ...row }) => row),
      instances: instances.map(({ isPublic: _, isActive: _also, ...row }) => row),
    };
    const url = await servePlainly(t, change(served), CLI_TOKEN);
    const token = tokenFile(place, CLI_TOKEN);
    return run(["verify", folder, "--against", url, "--token-file", token, ...args]);
  }

  it("passes where the specification leaves a header open, and shows it as a note", async (t) => {
    const { status, stdout, stderr } = await verifyPlain(t, (rows) => rows, "--json");
    const found = JSON.parse(stdout) as Verified & { ok: boolean };
    assert.deepEqual(found.differences, []);
    assert.deepEqual([status, found.ok, found.compared], [0, true, 200], stderr);
    const named = new Set(found.notes.map(({ what }) => what));
    for (const name of ["etag", "cache-control", "www-authenticate", "access-control-allow-origin"])
      assert.ok(named.has(name), name);
    const shown = await verifyPlain(t, (rows) => rows);
    assert.equal(shown.status, 0, shown.stderr);
    assert.match(shown.stdout, /^compared 200 answers, 0 differences\n/);
    assert.match(shown.stdout, /^notes: headers that the specification does not name$/m);
    assert.match(shown.stdout, /^ {2}\/\S+ +etag +here .* there nothing +answers \d+$/m);
  });

  it("fails where its data differ", async (t) => {
    const { status, stdout } = await verifyPlain(
      t,
      ({ worlds: all, ...rows }) => ({ ...rows, worlds: all.with(5, { ...all[5], name: "other" }) }),
      "--json",
    );
    assert.equal(status, 1);
    const { counts } = JSON.parse(stdout) as Verified;
    assert.ok(counts.field! > 0 && counts.header === undefined, stdout);
  });
});
