/**
 * What size costs: start, memory, requests, and reloads under load.
 *
 *     npx tsx bench/scale.ts [--smoke] [--sizes 10000,100000] [--reloads 20] [--json FILE]
 *     npx tsx bench/scale.ts --fresh [--smoke] [--sizes 100000,1000000] [--rounds 3]
 *
 * Worlds are a fifth of the users, instances a twentieth. Snapshots are made
 * once and kept in the system's temporary folder. Nothing is pinned: server,
 * its threads and the load share the machine's cores, as a reload does. A size
 * above two million users is compared with a million in the same run, and is not
 * reloaded: that takes the memory of two. `--reloads 0` reloads none.
 *
 * With `--fresh` it prints instead how long a row that is committed to PostgreSQL takes to two servers that follow
 * `orrery export` by URL.
 */

import { createHash } from "node:crypto";
import { once } from "node:events";
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { addKey } from "../src/auth/keys-file.ts";
import { ask, forkServer, linesOf, said, snapshotOf, visibleWorlds } from "./support/child.ts";
import { printFreshness } from "./support/fresh.ts";
import { constantLoad, type LoadResult } from "./support/load.ts";
import { readOptions } from "./support/options.ts";
import { fixed, machine, markdown, saveJson, whole } from "./support/output.ts";
import type { Report } from "./support/server.ts";
import { measureStart, memoryOf, type Start } from "./support/started.ts";

const RATE = 2000;

const values = readOptions({
  options: {
    smoke: { type: "boolean", default: false },
    sizes: { type: "string" },
    reloads: { type: "string" },
    json: { type: "string" },
    fresh: { type: "boolean", default: false },
    rounds: { type: "string", default: "3" },
  },
});
const DEFAULT_SIZES = values.smoke ? "2000" : values.fresh ? "100000,1000000" : "10000,100000,1000000";
const sizes = (values.sizes ?? DEFAULT_SIZES).split(",").map(Number);
if (values.fresh) {
  await printFreshness(sizes, values.smoke ? 1 : Number(values.rounds));
  process.exit();
}
/** Users of the size with which larger ones are compared, and of the largest that is reloaded. */
const COMPARED = 1_000_000;
const MOST_RELOADED = 2_000_000;
if (sizes.some((users) => users > MOST_RELOADED) && !sizes.includes(COMPARED)) sizes.unshift(COMPARED);
const reloads = Number(values.reloads ?? (values.smoke ? 2 : 20));
const quietMs = values.smoke ? 1000 : 20_000;

/** Display names, and names of worlds. */
function namesIn(snapshot: string): string[] {
  const NAME = /"(?:displayName|name)":"((?:[^"\\]|\\.)*)"/;
  return ["users.ndjson", "worlds.ndjson"].flatMap((file) =>
    linesOf(join(snapshot, file))
      .slice(0, 100_000)
      .flatMap((line) => NAME.exec(line)?.[1] ?? []),
  );
}

let generations = 0;

/** Some text of each file's first rows that a change replaces: tables and rankings are other ones then. */
const CHANGED: readonly (readonly [file: string, text: RegExp, now: (digits: string) => string])[] = [
  ["users.ndjson", /"displayName":"[^"]*"/, (n) => `"displayName":"bench ${n}"`],
  [
    "worlds.ndjson",
    /"name":"[^"]*"(?=[^\n]*"isPublic":true,"status":"ACTIVE")/,
    (n) => `"name":"bench ${n}"`,
  ],
  ["world-stats.ndjson", /"totalVisits":\d+/, (n) => `"totalVisits":1${n}`],
  ["instances.ndjson", /"createdAt":"[^"]*"/, (n) => `"createdAt":"2026-01-01T00:00:00.${n}Z"`],
];

/** Changes a row of every file, so that a reload can use nothing of the generation before it. */
function change(snapshot: string): void {
  generations++;
  const file = join(snapshot, "manifest.json");
  const manifest = JSON.parse(readFileSync(file, "utf8")) as {
    generation: string;
    files: Record<string, { bytes: number; sha256: string }>;
  };
  manifest.generation = `bench-${process.pid}-${generations}`;
  for (const [name, text, now] of CHANGED) {
    const bytes = readFileSync(join(snapshot, name));
    const [first] = text.exec(bytes.toString("latin1", 0, 65_536))!;
    const at = bytes.indexOf(first, 0, "latin1");
    const replaced = Buffer.from(now(String(generations).padStart(3, "0")));
    const parts = [bytes.subarray(0, at), replaced, bytes.subarray(at + first.length)];
    const hash = createHash("sha256");
    for (const part of parts) hash.update(part);
    writeFileSync(join(snapshot, `${name}.new`), Buffer.concat(parts));
    renameSync(join(snapshot, `${name}.new`), join(snapshot, name));
    Object.assign(manifest.files[name]!, {
      bytes: parts.reduce((sum, part) => sum + part.length, 0),
      sha256: hash.digest("hex"),
    });
  }
  writeFileSync(`${file}.tmp`, JSON.stringify(manifest));
  renameSync(`${file}.tmp`, file);
}

interface Reloaded {
  readonly quiet: LoadResult;
  readonly busy: LoadResult;
  readonly quietStall: number;
  readonly busyStall: number;
  readonly steady: number;
  readonly peak: number;
  readonly reloadMs: number;
  /** Bytes of RSS after each of many reloads. */
  readonly rss: readonly number[];
}

async function measureReloads(snapshot: string, keys: string, token: string): Promise<Reloaded> {
  const child = forkServer(snapshot, keys);
  const url = await said<string>(child, "url");
  const worlds = visibleWorlds(snapshot);
  const headers = { Authorization: `Bearer ${token}` };
  const target = (): string => `${url}/worlds/${worlds[Math.floor(Math.random() * worlds.length)]}`;
  const load = (isOver: () => boolean): Promise<LoadResult> => constantLoad(target, headers, RATE, isOver);
  const forMs = (ms: number): (() => boolean) => {
    const end = performance.now() + ms;
    return () => performance.now() > end;
  };

  await load(forMs(values.smoke ? 500 : 5000));
  const steady = (await ask<Report>(child, "report", "report")).rss;
  await ask(child, "measure", "measuring");
  const quiet = await load(forMs(quietMs));
  const quietStall = (await ask<Report>(child, "report", "report")).longestStall;

  change(snapshot);
  await ask(child, "measure", "measuring");
  let reloadMs = Number.NaN;
  let over = false;
  const began = performance.now();
  const reloading = ask(child, "reload", "reloaded").then(async () => {
    reloadMs = performance.now() - began;
    await sleep(500);
    over = true;
  });
  const busy = await load(() => over);
  await reloading;
  const busyStall = (await ask<Report>(child, "report", "report")).longestStall;
  const peak = memoryOf(child.pid!, "VmHWM");

  const rss: number[] = [];
  for (let round = 0; round < reloads; round++) {
    change(snapshot);
    await ask(child, "reload", "reloaded");
    await sleep(1500);
    rss.push((await ask<Report>(child, "report", "report")).rss);
  }
  child.kill("SIGKILL");
  await once(child, "exit");
  return { quiet, busy, quietStall, busyStall, steady, peak, reloadMs, rss };
}

/** Bytes that each further reload adds: the median of all slopes between two reloads, the first few left out. */
function slopeOf(all: readonly number[]): number {
  const settled = all.slice(Math.min(4, all.length - 2));
  const slopes: number[] = [];
  for (let to = 1; to < settled.length; to++) {
    for (let from = 0; from < to; from++) slopes.push((settled[to]! - settled[from]!) / (to - from));
  }
  return slopes.sort((a, b) => a - b)[slopes.length >> 1] ?? 0;
}

const mb = (bytes: number): string => (bytes / 1e6).toFixed(0);
const ms = (value: number): string => value.toFixed(value < 100 ? 1 : 0);
const seconds = (value: number): string => (value / 1000).toFixed(2);

/** All that was measured at one size. */
interface Size {
  readonly users: number;
  /** Visible ones of all tables. */
  readonly rows: number;
  readonly start: Start;
  /** Undefined where it was not measured. */
  readonly found: Reloaded | undefined;
}

/** A figure of the size with which others are compared, if there is one. */
const compared: { readonly start: Start; readonly rows: number }[] = [];

/** How many times that of the size with which others are compared. */
function times(of: (size: Pick<Size, "start" | "rows">) => number, size: Size): string {
  const base = compared[0];
  return base === undefined || base.start === size.start ? "–" : fixed(of(size) / of(base), 2);
}

function microsARow({ start, rows }: Pick<Size, "start" | "rows">): number {
  return (start.listening / rows) * 1000;
}

function bytesARow({ start, rows }: Pick<Size, "start" | "rows">): number {
  return start.steady / rows;
}

function percentilesOf({ p50, p99, p999, max }: LoadResult): string {
  return [p50, p99, p999, max].map(ms).join(" / ");
}

/** What the table says of a size, line by line. */
const LINES: readonly (readonly [name: string, of: (size: Size) => string | undefined])[] = [
  ["visible rows", ({ rows }) => whole(rows)],
  ["listening after, s", ({ start }) => seconds(start.listening)],
  ["… before indexing, s", ({ start }) => seconds(start.listening - start.loaded.indexMs)],
  [
    "… read / pack / index, s",
    ({ start: { loaded } }) => [loaded.readMs, loaded.packMs, loaded.indexMs].map(seconds).join(" / "),
  ],
  ["a row, µs", (size) => fixed(microsARow(size), 2)],
  ["… times a million's", (size) => times(microsARow, size)],
  ["RSS steady / peak, MB", ({ start }) => `${mb(start.steady)} / ${mb(start.peak)}`],
  ["RSS a row, bytes", (size) => whole(bytesARow(size))],
  ["… times a million's", (size) => times(bytesARow, size)],
  ["a world by id, µs of CPU", ({ start }) => fixed(start.served.lookup, 1)],
  ["… times a million's", (size) => times(({ start }) => start.served.lookup, size)],
  ["a page of 20 worlds, µs of CPU", ({ start }) => fixed(start.served.page, 1)],
  ["… times a million's", (size) => times(({ start }) => start.served.page, size)],
  [
    "searches: p50 / p99, ms",
    ({ start: { served } }) => [served.searchP50, served.searchP99].map(ms).join(" / "),
  ],
  ...(["quiet", "busy"] as const).flatMap((when): [string, (size: Size) => string | undefined][] => {
    const name = when === "quiet" ? "without a reload" : "during a reload";
    return [
      [
        `${name}, ${RATE}/s: failed of`,
        ({ found }) => found && `${found[when].failures} of ${whole(found[when].requests)}`,
      ],
      [`${name}: p50 / p99 / p99.9 / max, ms`, ({ found }) => found && percentilesOf(found[when])],
    ];
  }),
  [
    "longest stall of the serving thread, quiet / reload, ms",
    ({ found }) => found && `${ms(found.quietStall)} / ${ms(found.busyStall)}`,
  ],
  ["a reload, s", ({ found }) => found && seconds(found.reloadMs)],
  ["peak RSS in a reload, times steady", ({ found }) => found && fixed(found.peak / found.steady, 2)],
  [
    `RSS over ${reloads} more reloads, MB`,
    ({ found }) =>
      found && (found.rss.length === 0 ? "–" : `${mb(found.rss[0]!)} → ${mb(found.rss.at(-1)!)}`),
  ],
  [
    "… median slope, MB a reload",
    ({ found }) => found && (found.rss.length < 3 ? "–" : fixed(slopeOf(found.rss) / 1e6, 2)),
  ],
];

const keys = join(tmpdir(), `orrery-bench-keys-${process.pid}.json`);
const token = await addKey(keys, { name: "bench", kind: "cli", prefix: "svcx_" });
const all: Size[] = [];
for (const users of sizes) {
  const snapshot = await snapshotOf(users, "scale", 1 / 5);
  const start = await measureStart({
    ...{ snapshot, keys, token, texts: namesIn(snapshot) },
    isSmoke: values.smoke,
  });
  const { counts } = start.loaded;
  const rows = counts.users + counts.worlds + counts.instances;
  if (users === COMPARED) compared.push({ start, rows });
  const found =
    users > MOST_RELOADED || reloads === 0 ? undefined : await measureReloads(snapshot, keys, token);
  all.push({ users, rows, start, found });
  console.error(`${users} users: done`);
}
rmSync(keys);
console.log(`${machine()}.\n`);
console.log(
  markdown(
    ["", ...sizes.map((users) => `${whole(users)} users`)],
    LINES.map(([name, of]) => [name, ...all.map(of)]),
  ),
);
saveJson(values.json, {
  node: process.version,
  sizes: all.map((size) => ({
    users: size.users,
    rows: size.rows,
    microsARow: microsARow(size),
    bytesARow: bytesARow(size),
    ...size.start.served,
  })),
});
