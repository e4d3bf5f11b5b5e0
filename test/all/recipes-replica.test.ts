/** The recipes of `docs/replica.md` as processes: a replica of one generation or none, and the comparison of two servers. */

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { ApiError, type Client, createClient } from "../../src/client/mod.ts";
import { type GivenRows, openOrrery } from "../../src/mod.ts";
import { id, instance, temporaryFolder, user, world, worldStats, writeSnapshot } from "../support/folders.ts";
import { collect } from "../support/library.ts";
import { keyRecord, writeKeys } from "../support/place.ts";
import { freePort, serveHttp } from "../support/ports.ts";
import { get, type Program, serve, start, until } from "../support/process.ts";
import { CLIENT, LIBRARY, LIBRARY_RUNNER, ROOT } from "../support/program.ts";

const KEYS = [
  { id: "tool", kind: "cli", token: "svcx_of-this-test" },
  { id: "limited", kind: "api", token: "svc_sk_of-this-test" },
] as const;
const folder = temporaryFolder();
const records = KEYS.map(({ id, token }) => keyRecord(token, { id }));
const keys = writeKeys(join(folder, "keys.json"), ...records);
const [TOOL, LIMITED] = KEYS.map(({ id, token }) => {
  writeFileSync(join(folder, id), `${token}\n`);
  return join(folder, id);
}) as [string, string];

/** Starts a recipe, with the library and the client that are under test. */
function startRecipe(name: string, variables: Record<string, string>, args: readonly string[] = []): Program {
  const code = readFileSync(join(ROOT, "docs/examples", name), "utf8");
  assert.ok(code.split("\n").length <= 101, `${name} is at most 100 lines`);
  const file = join(folder, name);
  const from = (_: string, client: unknown): string => `from "${client ? CLIENT : LIBRARY}"`;
  writeFileSync(file, code.replace(/from "orrery(\/client)?"/g, from));
  return start([file, ...args], variables, [process.execPath, ...LIBRARY_RUNNER]);
}

type Rows = ReturnType<typeof rowsOf>;

/**
 * The rows of a generation. Every row differs from that of the generation before; two of three changes leave no id, so that
 * only 404s follow them.
 */
function rowsOf(generation: number, size: number) {
  const of = `of ${generation}`;
  const first = generation % 3 === 0 ? 500 : 0;
  const numbers = Array.from({ length: size }, (_, n) => first + n).filter((n) => (n + generation) % 4 > 0);
  const owners = Math.ceil(size / 4);
  return {
    // The last owner's account is deleted. Some users own no world.
    users: Array.from({ length: owners + 9 }, (_, n) =>
      user(first + n, { displayName: `user ${n} ${of}` }),
    ).filter((_, n) => n !== owners - 1),
    worlds: numbers.map((n) =>
      world(n, { name: `world ${n} ${of}`, ownerId: id("a", first + (n % owners)), isPublic: n % 7 > 0 }),
    ),
    worldStats: numbers.map((n) => worldStats(n, { totalVisits: generation })),
    instances: numbers.map((n) =>
      instance(n, {
        worldId: id("b", n),
        isActive: n % 5 > 0,
        createdAt: new Date(1e12 + generation).toISOString(),
      }),
    ),
  };
}

const given = (rows: Rows): GivenRows => rows as unknown as GivenRows;

/** Everything that a server shows of one generation, the numbers of all users apart, as text. */
async function stateOf(client: Client, ifMatch?: string): Promise<string> {
  const worlds = await collect(client.worlds.list.all({ ifMatch }));
  const users = await collect(client.users.search.all("user", { ifMatch }));
  const stats: unknown[] = [];
  for (const { id } of worlds) stats.push(await client.worlds.stats(id, { ifMatch }));
  const instances = await collect(client.instances.list.all({ ifMatch }));
  return JSON.stringify({ worlds, stats, instances, users, counts: await client.stats({ ifMatch }) });
}

/** What a replica must show of a generation: the users are the owners of visible worlds. */
async function replicaOf(rows: Rows): Promise<string> {
  const owners = new Set(rows.worlds.filter((row) => row.isPublic).map((row) => row.ownerId));
  const users = rows.users.filter((row) => owners.has(row.id));
  using orrery = await openOrrery({ rows: given({ ...rows, users }), keys: [], docs: false, threads: false });
  return await stateOf(orrery.client());
}

/** A recipe that mirrors a server; `state` gives what it serves, undefined while it does not listen. */
async function mirror(t: TestContext, from: string, interval: number, token = TOOL) {
  const port = await freePort();
  const variables = { FROM: from, TOKEN_FILE: token, KEYS: keys, INTERVAL: `${interval}`, PORT: `${port}` };
  const launch = (): Program => startRecipe("mirror.mjs", variables);
  let program = launch();
  t.after(() => program.kill());
  let etag: string | null = null;
  const client = createClient({
    baseUrl: `http://127.0.0.1:${port}`,
    token: KEYS[0].token,
    onResponse: ({ headers }) => {
      etag = headers.get("etag");
    },
  });
  async function state(): Promise<string | undefined> {
    assert.equal(program.child.exitCode, null, program.stderr());
    if (!program.stdout().includes("serves ")) return undefined;
    for (;;) {
      try {
        await client.stats();
        return await stateOf(client, etag ?? assert.fail("no ETag"));
      } catch (error) {
        // A world of the list may be gone.
        if (!(error instanceof ApiError) || ![404, 412].includes(error.status)) throw error;
      }
    }
  }
  return {
    state,
    stderr: () => program.stderr(),
    shows: (wanted: string, what: string) => until(async () => (await state()) === wanted, what),
    async restart() {
      await program.kill();
      program = launch();
    },
  };
}

/** Writes a generation to the folder that a server reads. */
function publish(rows: Rows, into: string): string {
  return writeSnapshot(into, {
    "users.ndjson": rows.users,
    "worlds.ndjson": rows.worlds,
    "world-stats.ndjson": rows.worldStats,
    "instances.ndjson": rows.instances,
  });
}

describe("a replica", () => {
  it("is made under a limit, again after a kill, and outlasts its source", async (t) => {
    const rows = [rowsOf(0, 160), rowsOf(1, 160), rowsOf(2, 20)];
    const states = await Promise.all(rows.map(replicaOf));
    const port = String(await freePort());
    const limit = ["--rate-limit", "60", "--rate-window", "2", "--port", port];
    const serveRows = (at: number) => serve(publish(rows[at]!, join(folder, `limited-${at}`)), keys, limit);
    let source = await serveRows(0);
    const replica = await mirror(t, source.url, 0.5, LIMITED);
    const used = async (): Promise<number> => {
      const { headers } = await get(`${source.url}/stats`, { token: KEYS[1].token });
      return Number(headers["x-ratelimit-remaining"]);
    };
    await until(async () => (await used()) === 0, "a used-up window");
    await replica.restart();
    await replica.shows(states[0]!, "the first generation");
    for (const at of [1, 2]) {
      await source.kill();
      assert.equal(await replica.state(), states[at - 1], "rows of a source that is gone");
      await until(() => /no answer: /.test(replica.stderr()), "a failed round");
      source = await serveRows(at);
      await replica.shows(states[at]!, `generation ${at}`);
    }
    await source.kill();
  });

  it("shows one generation, at whichever part of a collection the change comes", async (t) => {
    let generation = 0;
    using source = await openOrrery({ rows: given(rowsOf(0, 14)), keys: KEYS, docs: false, threads: false });
    let [asked, longest, changeAt] = [0, 0, 0];
    const url = await serveHttp(t, async (request, response) => {
      // A round begins with a request for any generation.
      asked = request.headers["if-match"] ? asked + 1 : 0;
      longest = Math.max(longest, asked);
      if (asked > 0 && asked === changeAt) {
        changeAt = 0;
        await source.setRows(given(rowsOf(++generation, 14)));
      }
      source.handle(request, response);
    });
    const replica = await mirror(t, url, 0.02);
    await replica.shows(await replicaOf(rowsOf(0, 14)), "the first generation");
    assert.ok(longest > 12, `${longest} requests`);
    const requests = longest;
    let changes = 0;
    for (const at of [1, 2, 3, requests - 3, requests - 1]) {
      // Of two changes in a row at least one leaves no id.
      for (const _ of ["first", "second"]) {
        const states = [await replicaOf(rowsOf(generation, 14)), await replicaOf(rowsOf(generation + 2, 14))];
        const between = await replicaOf(rowsOf(generation + 1, 14));
        // A new generation makes the replica collect; before request `at` of that, it is replaced.
        changeAt = at;
        await source.setRows(given(rowsOf(++generation, 14)));
        await until(
          async () => {
            const state = await replica.state();
            assert.ok([...states, between].includes(state!), `rows of several generations, request ${at}`);
            if (changeAt === 0 && state === states[1]) return ++changes;
            // Some generations take less requests.
            return changeAt > 0 && state === between;
          },
          () => `generation ${generation}, changed before request ${at}: ${replica.stderr()}`,
        );
      }
    }
    assert.ok(changes >= 6, `${changes} changes`);
    assert.match(replica.stderr(), /Snapshot has changed/);
  });
});

describe("a comparison", () => {
  async function compare(t: TestContext, rows: Rows, others: Rows | undefined) {
    const urls: string[] = [];
    for (const one of [rows, others]) {
      if (one === undefined) {
        urls.push(`http://127.0.0.1:${await freePort()}`);
        continue;
      }
      const orrery = await openOrrery({ rows: given(one), keys: KEYS, docs: false });
      t.after(() => orrery.close());
      urls.push(await serveHttp(t, orrery.handle));
    }
    const program = startRecipe("compare.mjs", { SAMPLES: "6" }, [urls[0]!, TOOL, urls[1]!, TOOL]);
    const { status } = await program.ended;
    return { status, stdout: program.stdout(), stderr: program.stderr() };
  }
  const rows = rowsOf(0, 80);

  it("of equal servers prints nothing", async (t) => {
    assert.deepEqual(await compare(t, rows, rowsOf(0, 80)), { status: 0, stdout: "", stderr: "" });
  });

  it("names what differs", async (t) => {
    const changed = rowsOf(0, 80);
    changed.worlds[9] = { ...changed.worlds[9]!, name: "another name" };
    changed.worldStats[11] = { ...changed.worldStats[11]!, visitsLast7Days: 77 };
    const { status, stdout, stderr } = await compare(t, rows, changed);
    assert.deepEqual([status, stderr], [1, ""]);
    assert.match(stdout, /^worlds\.list\(.+\) data \d+ name: "world 513 of 0", "another name"$/m);
    assert.match(stdout, /^worlds\.popular\(.+"week".*\) data /m);
    for (const line of stdout.trimEnd().split("\n")) assert.match(line, /^(worlds|users\.worlds)\b/);
  });

  it("fails where a server is away", async (t) => {
    const { status, stdout, stderr } = await compare(t, rows, undefined);
    assert.deepEqual([status, stdout], [2, ""]);
    assert.match(stderr, /^no answer: .*\n$/);
  });
});
