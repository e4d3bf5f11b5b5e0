/**
 * Freshness of replicas, all on this machine: PostgreSQL and one server that exports it itself, or `orrery export` again and again, nginx and
 * two servers that follow it by URL. Inserts a row into one table, and asks the servers for it until all have it.
 */

import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { type ExportOptions, exportOnce } from "../../src/sources/postgres/export.ts";
import { readPostgresUrl } from "../../src/sources/postgres/postgres-url.ts";
import { DEFAULT_QUERIES } from "../../src/sources/postgres/queries.ts";
import { fillSql, type Postgres, startPostgres } from "../../test/all/support/postgres.ts";
import { startNginx } from "../../test/all/support/proxies.ts";
import { get, keepAlive, type Program, start } from "../../test/support/process.ts";
import { NODE_OPTIONS, ROOT } from "./child.ts";
import { addKey } from "./keys.ts";
import { demand } from "./need.ts";
import { fixed, machine, markdown, spread, whole } from "./output.ts";

/** Inserted rows: a user, or an instance, which causes no work on the other tables. */
const ROWS = {
  users: "INSERT INTO users VALUES (gen_random_uuid(), 'fresh', NULL, now()) RETURNING id",
  instances:
    "INSERT INTO instances SELECT gen_random_uuid(), id, true, true, now() FROM worlds LIMIT 1 RETURNING id",
} as const;

const LISTENING = /listening on (\S+)/;
const POLL_MS = 20;

/** The built program: a loading thread of a checkout would compile its sources first. */
const BUILT = [process.execPath, ...NODE_OPTIONS, join(ROOT, "dist/main.js")] as const;

/** Waits without a timeout while the programs live. */
async function when<Value>(programs: readonly Program[], look: () => Value | undefined): Promise<Value> {
  for (;;) {
    const value = look();
    if (value !== undefined) return value;
    for (const { child, stderr } of programs) if (child.exitCode !== null) throw new Error(stderr());
    await sleep(POLL_MS);
  }
}

/** The fields of an event's newest line in a server's log; empty if it has none. */
function newest({ stderr }: Program, event: string): Readonly<Record<string, number>> {
  const lines = stderr().split("\n").slice(0, -1);
  const line = lines.findLast((text) => text.includes(`"event":"${event}"`));
  return line === undefined ? {} : (JSON.parse(line) as Record<string, number>);
}

/** The phases from a commit to a server, in seconds. */
interface Parts {
  readonly total: number;
  /** Of a server that exports itself: the round. */
  readonly download: number;
  readonly read: number;
  readonly pack: number;
  readonly index: number;
  readonly load: number;
  /** Milliseconds of the slowest of the requests that asked for the row. */
  readonly slowest: number;
}

function partsOf(server: Program, { total, slowest }: Pick<Parts, "total" | "slowest">): Parts {
  const { seconds = 0 } = newest(server, "round-done");
  const { ms: download = seconds * 1000 } = newest(server, "source-downloaded");
  const { ms = 0, readMs = 0, packMs = 0, indexMs = 0 } = newest(server, "snapshot-loaded");
  const [read, pack, index, load] = [readMs, packMs, indexMs, ms].map((one) => one / 1000) as [
    number,
    number,
    number,
    number,
  ];
  return { total, download: download / 1000, read, pack, index, load, slowest };
}

/** Seconds of a whole export and of one after a new instance: copying with hashing, checking, and publishing with the rest. */
async function measureExport(url: string, out: string): Promise<string[][]> {
  const common: ExportOptions = {
    from: readPostgresUrl(url, {}),
    queries: DEFAULT_QUERIES,
    out,
    gzip: false,
    allowShrink: false,
    visibleOnly: false,
    skipBroken: 0,
    signal: new AbortController().signal,
  };
  const began = performance.now();
  /** When each step began. */
  const steps = new Map<string, number>();
  const onProgress = (step: string): void => {
    const name = step.split(" ")[0]!;
    if (!steps.has(name)) steps.set(name, performance.now());
  };
  await exportOnce({ ...common, onProgress });
  const done = performance.now();
  const [checking, publishing] = [steps.get("checking")!, steps.get("publishing")!];
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(ROWS.instances);
  await client.end();
  const live = performance.now();
  await exportOnce(common);
  const liveMs = performance.now() - live;
  const parts = [checking - began, publishing - checking, done - publishing, done - began, liveMs];
  return [parts.map((one) => fixed(one / 1000, 2))];
}

/** Seconds from the commit of a row until the last of the servers serves it, and the slowest request meanwhile. */
async function untilServed(
  database: Postgres,
  table: keyof typeof ROWS,
  urls: readonly string[],
  token: string,
): Promise<Pick<Parts, "total" | "slowest">> {
  const client = await database.connect("orrery");
  const { rows } = await client.query(ROWS[table]);
  const committed = performance.now();
  await client.end();
  const { id } = rows[0] as { id: string };
  let slowest = 0;
  await Promise.all(
    urls.map(async (url) => {
      const agent = keepAlive(1);
      for (let status = 0; status !== 200; ) {
        await sleep(POLL_MS);
        const asked = performance.now();
        ({ status } = await get(`${url}/${table}/${id}`, { token, agent }));
        slowest = Math.max(slowest, performance.now() - asked);
      }
      agent.destroy();
    }),
  );
  return { total: (performance.now() - committed) / 1000, slowest };
}

/** Ways to publish the data, and the tables of measured rows: a server that exports, or exports in a row that two servers follow by URL. */
const WAYS = [
  { flags: ["serve", "--every", "1"], tables: ["users", "instances"] },
  { flags: ["export"], tables: ["users", "instances"] },
] as const;

/** Table cells of the ways, and of the exports. */
interface Measured {
  readonly ways: string[][];
  readonly exports: string[][];
}

async function measure(
  users: number,
  { flags, tables }: (typeof WAYS)[number],
  rounds: number,
): Promise<Measured> {
  // nginx reads it as its own user.
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "orrery-bench-fresh-")));
  const ends: (() => Promise<unknown>)[] = [async () => rmSync(folder, { recursive: true, force: true })];
  const run = (args: readonly string[]): Program => {
    const program = start(args, {}, BUILT);
    ends.unshift(() => {
      program.child.kill("SIGTERM");
      return program.ended;
    });
    return program;
  };
  try {
    const database = await startPostgres("shared_buffers = '256MB'\nmax_wal_size = '4GB'");
    ends.unshift(() => database.end());
    await database.makeDatabase("orrery");
    await database.run(fillSql(users), "orrery");
    await database.run("VACUUM ANALYZE", "orrery");
    mkdirSync(join(folder, "web"));
    const out = join(folder, "web/current");
    const keys = join(folder, "keys.json");
    const token = await addKey(keys, { name: "bench", kind: "cli", prefix: "svcx_" });
    const serve = (name: string, snapshot: string, ...more: string[]): Program =>
      run([
        ...["serve", "--port", "0", "--keys", keys, "--snapshot", snapshot],
        ...["--cache", join(folder, name), "--watch", "1", ...more],
      ]);
    let isOver = false;
    let exporting: Promise<void> | undefined;
    let served: Program[];
    if (flags[0] === "serve") {
      served = [serve("a", database.url("orrery"), ...flags.slice(1))];
    } else {
      const exportAgain = async (): Promise<void> => {
        while (!isOver) await run(["export", "--postgres", database.url("orrery"), "--out", out]).ended;
      };
      exporting = exportAgain();
      await when([], () => existsSync(out) || undefined);
      const { url } = await startNginx({ after: (end) => ends.unshift(end) }, folder);
      served = ["a", "b"].map((name) => serve(name, url));
    }
    const urls = await when(served, () => {
      const found = served.map(({ stdout }) => LISTENING.exec(stdout())?.[1]);
      return found.every((each) => each !== undefined) ? (found as string[]) : undefined;
    });
    const ways: string[][] = [];
    for (const table of tables) {
      const parts: Parts[] = [];
      for (let round = 0; round < rounds; round++) {
        const fresh = await untilServed(database, table, urls, token);
        // The log line of the load comes after its data.
        await sleep(100);
        parts.push(partsOf(served[0]!, fresh));
      }
      const of = (key: keyof Parts): string =>
        spread(
          parts.map((each) => each[key]),
          1,
        );
      const name = flags.join(" ");
      const keys = ["total", "download", "load", "read", "pack", "index", "slowest"] as const;
      ways.push([whole(users), name, table, ...keys.map(of)]);
    }
    if (exporting === undefined) return { ways, exports: [] };
    isOver = true;
    await exporting;
    const exports = await measureExport(database.url("orrery"), out);
    return { ways, exports: exports.map((cells) => [whole(users), ...cells]) };
  } finally {
    for (const end of ends) await end();
  }
}

/** Prints the seconds from a commit to both servers, by size and way. */
export async function printFreshness(sizes: readonly number[], rounds: number): Promise<void> {
  demand("postgresql", "nginx");
  if (!existsSync(BUILT.at(-1)!)) throw new Error("not built: run `npm run build -- --program`");
  const ways: string[][] = [];
  const exports: string[][] = [];
  for (const users of sizes) {
    for (const way of WAYS) {
      const measured = await measure(users, way, rounds);
      ways.push(...measured.ways);
      exports.push(...measured.exports);
      console.error(`${users} users ${way.flags.join(" ")}: done`);
    }
  }
  console.log(`${machine()}. All on one machine; medians of ${rounds} (lowest–highest); seconds.\n`);
  const parts = [
    "from commit to served",
    "download or round",
    "load",
    "read",
    "pack",
    "index",
    "slowest request, ms",
  ];
  console.log(markdown(["users", "export", "a new row in", ...parts], ways, 3));
  console.log();
  console.log(
    markdown(["users", "copy and hash", "check", "publish", "whole export", "after a new instance"], exports),
  );
}
