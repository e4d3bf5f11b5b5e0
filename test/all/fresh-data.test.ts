/**
 * Fresh data end to end: rounds of `export` against a real PostgreSQL, servers that follow them,
 * refusals of data that shrank too much, and earlier versions published again.
 */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdirSync, readdirSync, realpathSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it, type TestContext } from "node:test";
import { loadSnapshot } from "../../src/snapshot/load.ts";
import { temporaryFolder } from "../support/folders.ts";
import { mustLoad } from "../support/loaded.ts";
import { need } from "../support/need.ts";
import { keyRecord, TOKEN, writeKeys } from "../support/place.ts";
import {
  assertFailed,
  get,
  type Program,
  run,
  runWell,
  type Served,
  serve,
  until,
} from "../support/process.ts";
import { changeManifest, manifestIn, turnLink } from "../support/published.ts";
import { fillSql, needPostgres, type Postgres, startPostgres } from "./support/postgres.ts";
import { startNginx } from "./support/proxies.ts";

/** The answers of a server's admin listener. */
const readyOf = async (server: Served) => JSON.parse((await server.askAdmin("readyz")).text);
const statusOf = async (server: Served) => JSON.parse((await server.askAdmin("status")).text);

function keysIn(folder: string): string {
  return writeKeys(join(folder, "keys.json"), keyRecord(TOKEN, { limit: 1_000_000 }));
}

async function generate(folder: string, users: number, seed: number): Promise<string> {
  const sizes = ["--users", String(users), "--worlds", "10", "--instances", "5", "--seed", String(seed)];
  await runWell(["generate", "--out", folder, ...sizes]);
  return folder;
}

const untilTold = (program: Pick<Program, "stderr">, words: RegExp): Promise<unknown> =>
  until(
    () => words.test(program.stderr()),
    () => `${words} in ${program.stderr()}`,
    60_000,
  );

it("the moment of the data is told by readiness, status and a metric, and makes a server stale", async (t) => {
  const folder = temporaryFolder(t);
  const snapshot = await generate(join(folder, "rows"), 50, 1);
  const [old, now] = ["2026-01-01T00:00:00Z", new Date().toISOString()];
  changeManifest(snapshot, { createdAt: old });
  const options = ["--admin", "0", "--watch", "0.05", "--max-data-age", "3600"];
  const server = await serve(snapshot, keysIn(folder), options);
  const reply = await server.askAdmin("readyz");
  const ready = JSON.parse(reply.text);
  assert.deepEqual([reply.status, ready.status, ready.createdAt], [503, "stale", old]);
  const status = await statusOf(server);
  assert.equal(status.generation.createdAt, old);
  assert.ok(status.generation.dataAgeSeconds > 1e6);
  assert.match(status.problems[0].message, /--max-data-age allows 3600 s/);
  const seconds = Date.parse(old) / 1000;
  const metric = new RegExp(`^orrery_snapshot_created_timestamp_seconds ${seconds}$`, "m");
  assert.match((await server.askAdmin("metrics")).text, metric);
  changeManifest(snapshot, { createdAt: now });
  await until(async () => (await server.askAdmin("readyz")).status === 200, "data that are fresh");
  assert.equal((await readyOf(server)).createdAt, now);
  const loads = /^orrery_snapshot_loads_total\{result="(\w+)"\} [1-9]/gm;
  const told = (await server.askAdmin("metrics")).text.matchAll(loads);
  assert.equal(Array.from(told, ([, result]) => result).join(), "loaded");
  await server.stop();
});

describe("a snapshot that has lost most of its users", () => {
  it("is not built in the place of what is there", async (t) => {
    const folder = temporaryFolder(t);
    const one = await generate(join(folder, "one"), 300, 1);
    const two = await generate(join(folder, "two"), 301, 2);
    const small = await generate(join(folder, "small"), 20, 3);
    const out = join(folder, "out");
    const id = async (): Promise<string> =>
      /^generation (\S+)/.exec((await runWell(["check", out, "--no-index"])).stdout)![1]!;
    for (const manifest of [[], ["--manifest"]]) {
      await runWell(["build", one, "--out", out, ...manifest]);
      await runWell(["build", two, "--out", out]);
      const second = await id();
      changeManifest(two, { createdAt: "2026-01-03T00:00:00.000Z" });
      await runWell(["build", two, "--out", out]);
      assert.equal(mustLoad(await loadSnapshot(out)).createdAt, "2026-01-03T00:00:00.000Z");
      const refused = await run(["build", small, "--out", out]);
      const line =
        /out: users\.ndjson: \d+ visible rows, less than half of the \d+ that are published; use --allow-shrink to accept it\n$/;
      assertFailed(refused, line);
      assert.equal(await id(), second);
      await runWell(["build", small, "--out", out, "--allow-shrink"]);
      assert.notEqual(await id(), second);
      rmSync(out, { recursive: true });
    }
  });
});

describe("rounds of export", { skip: needPostgres() }, () => {
  let database: Postgres;
  before(async () => {
    database = await startPostgres();
  });
  after(() => database.end());

  async function begin(t: TestContext, name: string, users: number) {
    await database.makeDatabase(name);
    await database.run(fillSql(users), name);
    // nginx reads it as its own user.
    const folder = realpathSync(temporaryFolder(t));
    mkdirSync(join(folder, "web"));
    const out = join(folder, "web/current");
    const args = ["export", "--postgres", database.url(name), "--out", out];
    const versions = (): string[] => readdirSync(`${out}.versions`).filter((name) => !name.includes("."));
    return { folder, out, args, versions, sql: (sql: string) => database.run(sql, name) };
  }

  /** Runs an export again and again, as a timer does. */
  function repeat(args: readonly string[]) {
    let text = "";
    let isOver = false;
    const rounds = (async () => {
      while (!isOver) text += (await run(args)).stderr;
    })();
    return {
      stderr: () => text,
      stop() {
        isOver = true;
        return rounds;
      },
    };
  }

  for (const form of ["plain", "--gzip"]) {
    it(`renew the moment of the data, ${form}, which costs a server no load`, async (t) => {
      const { folder, out, args, versions, sql } = await begin(t, `renewed${form.length}`, 200);
      const before = Date.now();
      const exporting = repeat([...args, ...(form === "plain" ? [] : [form])]);
      await untilTold(exporting, /published generation/);
      const first = manifestIn(out);
      const file = form === "plain" ? "worlds.ndjson" : "worlds.ndjson.gz";
      const inode = (): number => statSync(join(out, file)).ino;
      const worlds = inode();
      assert.ok(Date.parse(first.createdAt) >= before);
      const server = await serve(out, keysIn(folder), ["--admin", "0", "--watch", "0.05"]);
      for (let round = 0; round < 3; round++) {
        const told = (await readyOf(server)).createdAt;
        await until(async () => (await readyOf(server)).createdAt > told, "data that are newer");
      }
      assert.equal((await statusOf(server)).loads.length, 1);
      assert.equal(manifestIn(out).generation, first.generation);
      // A running round has a folder of its own.
      await until(() => versions().length === 1, "equal rows are no version of their own");
      const changed = Date.now();
      await sql("INSERT INTO users VALUES (gen_random_uuid(), 'new', NULL, now())");
      await until(() => manifestIn(out).generation !== first.generation, "a new user");
      assert.ok(Date.parse(manifestIn(out).createdAt) >= changed - 1000);
      assert.equal(inode(), worlds, "what did not change is the same file");
      await exporting.stop();
      await server.stop();
    });
  }

  it("are refused when most is gone, go on, and what was rolled back is seen by a server", async (t) => {
    const { folder, out, args, versions, sql } = await begin(t, "shrunk", 400);
    await runWell(args);
    const server = await serve(out, keysIn(folder), ["--watch", "0.05"]);
    const { generation } = manifestIn(out);
    await sql("DELETE FROM users WHERE display_name NOT LIKE 'user 1%'");
    const line =
      /^orrery: [^\n]*current: users\.ndjson: 111 visible rows, less than half of the 400 that are published; use --allow-shrink to accept it\n$/;
    assertFailed(await run(args), line);
    const exporting = repeat(args);
    await untilTold(exporting, /less than half/);
    assert.equal(manifestIn(out).generation, generation);
    await sql(
      "INSERT INTO users SELECT gen_random_uuid(), 'again', NULL, now() FROM generate_series(1, 300)",
    );
    await untilTold(exporting, /published generation/);
    await server.logged("snapshot-loaded", 2);
    await sql("DELETE FROM users WHERE display_name = 'again'");
    await untilTold(exporting, /published generation[\s\S]*less than half/);
    await exporting.stop();
    await runWell([...args, "--allow-shrink"]);
    await server.logged("snapshot-refused");
    const shrunk = manifestIn(out).generation;
    // The first version again, by the line of docs/snapshots.md.
    const isFirst = (name: string) => manifestIn(join(`${out}.versions`, name)).generation === generation;
    const first = versions().find(isFirst)!;
    turnLink(out, join("current.versions", first));
    assert.equal((await server.logged("snapshot-loaded", 3)).generation, generation);
    await runWell([...args, "--allow-shrink"]);
    assert.equal(manifestIn(out).generation, shrunk);
    const kept = versions().length;
    for (let round = 0; round < 3; round++) {
      const { createdAt } = manifestIn(out);
      const { stderr } = await runWell(args);
      assert.match(stderr, /^orrery: unchanged, still generation/);
      assert.ok(manifestIn(out).createdAt > createdAt);
    }
    assert.equal(versions().length, kept);
    await server.stop();
  });

  for (const flags of [[], ["--gzip"]]) {
    it(`bring a row that is committed to two replicas by nginx: export ${flags.join(" ")}`, {
      skip: need("nginx"),
    }, async (t) => {
      const { folder, args, sql } = await begin(t, `committed${flags.join("").length}`, 200);
      const exporting = repeat([...args, ...flags]);
      await untilTold(exporting, / published generation /);
      const { url } = await startNginx(t, folder);
      const keys = keysIn(folder);
      const replicas = await Promise.all(
        ["a", "b"].map((name) => serve(url, keys, ["--cache", join(folder, name), "--watch", "0.2"])),
      );
      for (let round = 0; round < 3; round++) {
        const [id, name] = [randomUUID(), `new ${flags.join()} ${round}`];
        await sql(`INSERT INTO users VALUES ('${id}', '${name}', NULL, now())`);
        for (const replica of replicas) {
          const { text } = await until(
            async () => {
              const reply = await get(`${replica.url}/users/${id}`, { token: TOKEN });
              return reply.status === 200 ? reply : undefined;
            },
            () =>
              `user ${id}; the export said:\n${exporting.stderr()}\nand the replica:\n${replica.stderr()}`,
          );
          assert.equal(JSON.parse(text).data.displayName, name);
        }
      }
      await exporting.stop();
      for (const replica of replicas) await replica.stop();
    });
  }
});
