/** Comparing a snapshot with another server: finds every kind of difference, and none in equal data. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, afterEach, before, describe, it, type TestContext } from "node:test";
import { ROUTES } from "../../src/api/routes.ts";
import { generateSnapshot } from "../../src/generate/generate.ts";
import { createDirectAdapter } from "../../src/http/direct.ts";
import { observeNothing } from "../../src/observe/events.ts";
import { type OpenState, openState } from "../../src/server/open.ts";
import { Upstream as Server } from "../../src/upstream/upstream.ts";
import { type DifferenceKind, Here } from "../../src/verify/compare.ts";
import { type Verified, verifySnapshot } from "../../src/verify/verify.ts";
import { id, instance, temporaryFolder, user, world, worldStats, writeSnapshot } from "../support/folders.ts";
import { rowsOf } from "../support/loaded.ts";
import { Model, type SnapshotRows, testKey } from "../support/model.ts";
import { DEFAULTS } from "../support/options.ts";
import { keyRecord } from "../support/place.ts";
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

/** Serves rows to a CLI token on a free port, without headers that the specification does not name. @returns its base URL */
async function servePlainly(t: TestContext, rows: SnapshotRows, token: string): Promise<string> {
  const key = testKey("cli", token, { kind: "cli", scopes: [] });
  const prefixes = { apiPrefix: "svc_sk_", cliPrefix: "svcx_" };
  const settings = { ...prefixes, rateLimit: 1000, rateWindow: 3600, cors: false, generation: "plain" };
  const model = new Model(rows, [key], settings);
  return await serveHttp(t, ({ url, headers: { authorization } }, response) => {
    const headers = authorization === undefined ? [] : ([["authorization", authorization]] as const);
    const { status, body } = model.ask({ method: "GET", target: url!, headers, now: Date.now() });
    response.writeHead(status, { "content-type": "application/json" }).end(body);
  });
}

/** Enough for all pages of every list, which are two fifths of a sample at most. */
const SAMPLES = 20 * ROUTES.length;

const TOKEN = "cli_here";
const folder = join(temporaryFolder(), "snapshot");
let upstream: Upstream;
let here: OpenState;

before(async () => {
  await generateSnapshot({ out: folder, users: 200, worlds: 300, instances: 300, seed: 5, gzip: false });
  upstream = await startUpstream(folder);
  const cli = keyRecord(TOKEN, { id: "here", kind: "cli", scopes: [] });
  const prefixes = { apiKeyPrefix: "api_", cliTokenPrefix: "cli_" };
  const others = { docs: false, watch: 0, searchCacheBytes: 0 };
  here = await openState({
    settings: { ...DEFAULTS, snapshot: folder, keys: "", ...prefixes, ...others },
    features: {},
    records: [cli],
    threads: false,
    observe: observeNothing,
  });
});
afterEach(() => {
  upstream.change = undefined;
});
after(async () => {
  await upstream.close();
  here.close();
});

function verify(samples = SAMPLES, seed = 1): Promise<Verified> {
  return verifySnapshot({
    store: here.state.generation.store,
    here: new Here(createDirectAdapter(here.state), TOKEN),
    upstream: new Server({
      base: `${upstream.url}/api/public/v1`,
      token: CLI_TOKEN,
      timing: QUICK,
      signal: new AbortController().signal,
    }),
    note: undefined,
    samples,
    seed,
    progress: { left: 0 },
  });
}

/** Changes the server's whole list of rows, and answers with the requested page of it. */
function asWhole(change: (ids: string[]) => string[]): (reply: Passing) => void {
  const { worlds } = here.state.generation.store;
  return (reply) => {
    const [, offset] = /\/v1\/worlds\?limit=50&offset=(\d+)/.exec(reply.target) ?? [];
    if (offset === undefined) return;
    const rows = change(rowsOf(worlds).map((row) => JSON.stringify(row)));
    const data = rows.slice(Number(offset), Number(offset) + 50).map((text) => JSON.parse(text) as object);
    const pagination = { total: rows.length, limit: 50, offset: Number(offset) };
    reply.body = JSON.stringify({ data, pagination });
  };
}

describe("verifying", () => {
  it("finds nothing where nothing differs, with any seed", async () => {
    for (const seed of [1, 2, 3]) {
      const found = await verify(SAMPLES, seed);
      assert.deepEqual(found.differences, []);
      assert.equal(found.compared, SAMPLES);
    }
    assert.equal((await verify(3)).compared, 3);
  });

  const marked = (text: string): string => text.replace('"id":"', '"id":"f');
  type Change = (reply: Passing) => unknown;
  const planted: readonly [DifferenceKind, change: () => Change, others?: readonly DifferenceKind[]][] = [
    ["field", () => asWhole((rows) => rows.with(77, rows[77]!.replace('"name":"', '"name":"x')))],
    [
      "field",
      () => (reply) => Object.assign(reply, { body: reply.body.replace('"period":"all"', '"period":"x"') }),
    ],
    [
      "field",
      () => (reply) => Object.assign(reply, { body: reply.body.replace('"totalVisits"', '"visits"') }),
    ],
    ["missing row", () => asWhole((rows) => rows.toSpliced(77, 0, marked(rows[77]!))), ["total"]],
    ["extra row", () => asWhole((rows) => rows.toSpliced(77, 1)), ["total"]],
    ["order", () => asWhole((rows) => rows.with(77, rows[78]!).with(78, rows[77]!))],
    [
      "total",
      () => (reply) => Object.assign(reply, { body: reply.body.replace(/"total":(?=\d)/, '"total":1') }),
    ],
    [
      "header",
      () => (reply) => reply.status === 404 && Object.assign(reply.headers, { "x-ratelimit-limit": "5" }),
    ],
    ["error message", () => (reply) => Object.assign(reply, { body: reply.body.replace("User not", "No") })],
    ["status", () => (reply) => reply.status === 400 && Object.assign(reply, { status: 404 })],
  ];
  for (const [at, [kind, change, others = []]] of planted.entries()) {
    it(`finds what is planted: ${kind}, case ${at}`, async () => {
      upstream.change = change();
      const { counts, differences } = await verify();
      // A row that is missing or extra counts once a list, however many rows it moves.
      if (kind.endsWith(" row")) assert.equal(counts[kind], 1);
      else assert.ok((counts[kind] ?? 0) > 0, JSON.stringify(counts));
      const some = JSON.stringify(differences.slice(0, 3));
      assert.deepEqual(Object.keys(counts).sort(), [kind, ...others].sort(), some);
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
    assert.ok(notes.length < 12, `${notes.length} notes`);
    const types = notes.filter(({ what }) => what === "content-type");
    const answers = types.reduce((sum, note) => sum + note.answers, 0);
    assert.equal(answers, compared);
    const shown = notes.map((note) => `${note.what} ${note.here} ${note.there}`);
    assert.ok(shown.includes('cache-control "no-store" "no-cache"'), shown.join("\n"));
  });

  it("tells no token that the other server repeats, nor a part of it", async () => {
    upstream.change = (reply) => {
      reply.status = 400;
      reply.body = JSON.stringify({ error: `what is ${CLI_TOKEN}`, more: 1 });
    };
    const { differences } = await verify(20);
    assert.ok(differences.some(({ there }) => there?.includes("what is …")));
    assert.doesNotMatch(JSON.stringify(differences), /canary/);
    upstream.change = (reply) => {
      if (reply.status !== 200) return;
      const body = JSON.parse(reply.body) as Record<string, unknown>;
      // The shown excerpt is cut off within the token.
      const from = `${"-".repeat(105)} ${CLI_TOKEN}`;
      reply.body = JSON.stringify({ ...body, data: { [CLI_TOKEN]: 1, from } });
      reply.headers.etag = `"${CLI_TOKEN}"`;
    };
    const verified = await verify(20);
    assert.ok(verified.differences.length > 0);
    const told = JSON.stringify({ ...verified, counts: verified.counts });
    assert.doesNotMatch(told, /upstream|canary/i);
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

  /** Runs the command. @param change changes the rows of the server */
  async function verifyPlain(
    t: TestContext,
    change: (rows: SnapshotRows) => SnapshotRows,
    ...args: string[]
  ) {
    const place = temporaryFolder(t);
    const folder = writeSnapshot(join(place, "rows"), {
      "users.ndjson": users,
      "worlds.ndjson": worlds,
      "world-stats.ndjson": stats,
      "instances.ndjson": instances,
    });
    const rows = { users, worlds, stats, instances } as unknown as SnapshotRows;
    const url = await servePlainly(t, change(rows), CLI_TOKEN);
    const token = tokenFile(place, CLI_TOKEN);
    const samples = ["--samples", String(SAMPLES)];
    return run(["verify", folder, "--against", url, "--token-file", token, ...samples, ...args]);
  }

  it("passes where the specification leaves a header open, and shows it as a note", async (t) => {
    const { status, stdout, stderr } = await verifyPlain(t, (rows) => rows, "--json");
    const found = JSON.parse(stdout) as Verified & { ok: boolean };
    assert.deepEqual(found.differences, []);
    assert.deepEqual([status, found.ok, found.compared], [0, true, SAMPLES], stderr);
    const named = new Set(found.notes.map(({ what }) => what));
    for (const name of ["etag", "cache-control", "www-authenticate", "access-control-allow-origin"])
      assert.ok(named.has(name), name);
    const shown = await verifyPlain(t, (rows) => rows);
    assert.equal(shown.status, 0, shown.stderr);
    assert.ok(shown.stdout.startsWith(`compared ${SAMPLES} answers, 0 differences\n`), shown.stdout);
    assert.match(shown.stdout, /^notes: headers that the specification does not name$/m);
    assert.match(shown.stdout, /^ {2}\/\S+ +etag +here .* there nothing +answers \d+$/m);
  });

  it("fails where its data differ", async (t) => {
    const { status, stdout } = await verifyPlain(
      t,
      ({ worlds: all, ...rows }) => ({ ...rows, worlds: all.with(5, { ...all[5]!, name: "other" }) }),
      "--json",
    );
    assert.equal(status, 1);
    const { counts } = JSON.parse(stdout) as Verified;
    assert.ok(counts.field! > 0 && counts.header === undefined, stdout);
  });
});
