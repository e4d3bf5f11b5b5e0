/**
 * The cost of size: start, memory, requests, and reloads under load.
 *
 *     npx tsx bench/scale.ts [--smoke] [--sizes 10000,100000,1000000] [--rounds 5] [--reloads 5] [--prepared]
 *     npx tsx bench/scale.ts --fresh [--smoke] [--sizes 100000,1000000] [--rounds 5]
 *
 * Worlds are a quarter of the users, instances a twentieth. With `--prepared` the largest size is also started and
 * reloaded from the file that `orrery build` makes of it. No process is pinned: the server, its threads, reloads and the
 * load share the machine's cores. A reload changes rows in all four tables and takes the memory of two snapshots;
 * `--reloads 0` reloads none. Figures are medians of the rounds, with the lowest and the highest.
 *
 * With `--fresh` it prints instead the time from the commit of a row in PostgreSQL until a server that exports it itself serves
 * it, and until two servers do that follow `orrery export` by URL; needs `npm run build -- --program` first.
 */

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
  ask,
  forkServer,
  linesOf,
  NODE_OPTIONS,
  ROOT,
  said,
  snapshotOf,
  visibleWorlds,
} from "./support/child.ts";
import { printFreshness } from "./support/fresh.ts";
import { addKey } from "./support/keys.ts";
import { constantLoad, type LoadResult } from "./support/load.ts";
import { readOptions } from "./support/options.ts";
import { machine, markdown, spread, whole } from "./support/output.ts";
import { forgetPeak, memoryOf } from "./support/process.ts";
import type { Queries } from "./support/served.ts";
import type { Report } from "./support/server.ts";
import { measureStart, type Start } from "./support/started.ts";

const RATE = 2000;

const values = readOptions({
  options: {
    smoke: { type: "boolean", default: false },
    sizes: { type: "string" },
    rounds: { type: "string" },
    reloads: { type: "string" },
    prepared: { type: "boolean", default: false },
    fresh: { type: "boolean", default: false },
  },
});
const DEFAULT_SIZES = values.smoke ? "2000" : values.fresh ? "100000,1000000" : "10000,100000,1000000";
const sizes = (values.sizes ?? DEFAULT_SIZES).split(",").map(Number);
const rounds = Number(values.rounds ?? (values.smoke ? 1 : 5));
const reloads = Number(values.reloads ?? rounds);
const quietMs = values.smoke ? 300 : 3000;

/** Display names, and names of worlds. */
function namesIn(snapshot: string): string[] {
  const NAME = /"(?:displayName|name)":"((?:[^"\\]|\\.)*)"/;
  return ["users.ndjson", "worlds.ndjson"].flatMap((file) =>
    linesOf(join(snapshot, file))
      .slice(0, 100_000)
      .flatMap((line) => NAME.exec(line)?.[1] ?? []),
  );
}

/** For each file, a text in its first rows that a change replaces, so that tables and rankings change. */
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

let generations = 0;

/** Changes a row of every file, so that a reload can reuse nothing of the previous generation. */
function changeRows(snapshot: string): void {
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

/** A snapshot to measure, and a function that changes it. */
interface Subject {
  readonly name: string;
  readonly snapshot: string;
  readonly queries: Queries;
  readonly change: () => void;
}

function rowsOf(made: string, users: number): Subject {
  const snapshot = mkdtempSync(join(folder, "rows-"));
  for (const name of readdirSync(made)) linkSync(join(made, name), join(snapshot, name));
  const queries = { worlds: visibleWorlds(made), names: namesIn(made) };
  return { name: `${whole(users)} users`, snapshot, queries, change: () => changeRows(snapshot) };
}

const PREPARED = "generation.orrery";

/** The output of `orrery build` for rows; a change swaps it with the output for changed rows. */
function preparedOf(rows: Subject): Subject {
  const files = ["a", "b"].map((name) => {
    const out = join(folder, name);
    const args = [...NODE_OPTIONS, "bin/orrery.mjs", "build", rows.snapshot, "--out", out];
    const { status } = spawnSync(process.execPath, args, {
      cwd: ROOT,
      stdio: ["ignore", "ignore", "inherit"],
    });
    if (status !== 0) throw new Error(`orrery build ends with ${status}`);
    rows.change();
    return join(out, PREPARED);
  });
  const snapshot = join(folder, "prepared");
  let turn = 0;
  const change = (): void => {
    linkSync(files[turn++ % 2]!, join(snapshot, "next"));
    renameSync(join(snapshot, "next"), join(snapshot, PREPARED));
  };
  mkdirSync(snapshot);
  change();
  const size = `${whole(statSync(files[0]!).size / 1e6)} MB`;
  return { ...rows, name: `${rows.name}, prepared (${size})`, snapshot, change };
}

/** One reload: the load before it, the load during it, memory in bytes, times in milliseconds. */
interface Reloaded {
  readonly quiet: LoadResult;
  readonly busy: LoadResult;
  readonly quietStall: number;
  readonly busyStall: number;
  readonly peak: number;
  readonly ms: number;
  /** A moment after the reload. */
  readonly rss: number;
}

async function measureReloads({ snapshot, queries: { worlds }, change }: Subject): Promise<Reloaded[]> {
  const child = forkServer(snapshot, keys);
  const url = await said<string>(child, "url");
  const headers = { Authorization: `Bearer ${token}` };
  const target = (): string => `${url}/worlds/${worlds[Math.floor(Math.random() * worlds.length)]}`;
  const load = (isOver: () => boolean): Promise<LoadResult> => constantLoad(target, headers, RATE, isOver);
  const forMs = (ms: number): (() => boolean) => {
    const end = performance.now() + ms;
    return () => performance.now() > end;
  };
  const report = (): Promise<Report> => ask<Report>(child, "report", "report");
  await load(forMs(quietMs));
  const found: Reloaded[] = [];
  for (let round = 0; round < reloads; round++) {
    await ask(child, "measure", "measuring");
    const quiet = await load(forMs(quietMs));
    const quietStall = (await report()).longestStall;
    change();
    forgetPeak(child.pid!);
    await ask(child, "measure", "measuring");
    let over = false;
    const began = performance.now();
    const reloading = ask(child, "reload", "reloaded").then(async () => {
      const ms = performance.now() - began;
      await sleep(500);
      over = true;
      return ms;
    });
    const busy = await load(() => over);
    const ms = await reloading;
    const busyStall = (await report()).longestStall;
    const peak = memoryOf(child.pid!, "VmHWM");
    await sleep(1000);
    found.push({ quiet, busy, quietStall, busyStall, peak, ms, rss: (await report()).rss });
  }
  child.kill("SIGKILL");
  await once(child, "exit");
  return found;
}

/** All measurements of a snapshot. */
interface Measured {
  readonly name: string;
  /** Visible rows of all tables. */
  readonly rows: number;
  readonly starts: readonly Start[];
  readonly found: readonly Reloaded[];
}

async function measure(subject: Subject): Promise<Measured> {
  const { name, snapshot, queries } = subject;
  const starts: Start[] = [];
  const asked = { rest: values.smoke ? 300 : 2000, times: values.smoke ? 200 : 6000 };
  for (let round = 0; round < rounds; round++) {
    starts.push(await measureStart({ snapshot, keys, token, queries, ...asked }));
  }
  const { counts } = starts[0]!.loaded;
  const found = reloads === 0 ? [] : await measureReloads(subject);
  console.error(`${name}: done`);
  return { name, rows: counts.users + counts.worlds + counts.instances, starts, found };
}

type Line = readonly [name: string, of: (measured: Measured) => string];

function ofStarts(name: string, digits: number, of: (start: Start, rows: number) => number): Line {
  return [
    name,
    ({ starts, rows }) =>
      spread(
        starts.map((start) => of(start, rows)),
        digits,
      ),
  ];
}

function ofReloads(name: string, digits: number, of: (reloaded: Reloaded) => number): Line {
  return [name, ({ found }) => spread(found.map(of), digits)];
}

function ofLoads(when: "quiet" | "busy"): Line[] {
  const name = when === "quiet" ? "without a reload" : "during a reload";
  const failed = ({ found }: Measured): string => {
    const sum = (of: "failures" | "requests"): number => found.reduce((all, one) => all + one[when][of], 0);
    return `${sum("failures")} of ${whole(sum("requests"))}`;
  };
  return [
    [`${name}, ${RATE}/s: failed of`, failed],
    ...(["p50", "p99", "p999", "max"] as const).map((figure) =>
      ofReloads(`… ${figure === "p999" ? "p99.9" : figure}, ms`, 1, (one) => one[when][figure]),
    ),
    ofReloads("… longest stall of the serving thread, ms", 1, (one) => one[`${when}Stall`]),
  ];
}

/** The lines of the table, from the measurements of a snapshot. */
const LINES: readonly Line[] = [
  ["visible rows", ({ rows }) => whole(rows)],
  ofStarts("listening after, s", 2, ({ listening }) => listening / 1000),
  ofStarts("… of this, indexing, s", 2, ({ loaded }) => loaded.indexMs / 1000),
  ofStarts("CPU time until then, s", 2, ({ cpu }) => cpu / 1000),
  ofStarts("a row, µs", 1, ({ listening }, rows) => (listening / rows) * 1000),
  ofStarts("RSS steady, MB", 0, ({ steady }) => steady / 1e6),
  ofStarts("RSS peak, MB", 0, ({ peak }) => peak / 1e6),
  ofStarts("RSS a row, bytes", 0, ({ steady }, rows) => steady / rows),
  ofStarts("a world by id, µs of CPU", 1, ({ served }) => served.lookup),
  ofStarts("a page of 20 worlds, µs of CPU", 1, ({ served }) => served.page),
  ofStarts("searches: p50, ms", 2, ({ served }) => served.searchP50),
  ofStarts("… p99, ms", 2, ({ served }) => served.searchP99),
  ...ofLoads("quiet"),
  ...ofLoads("busy"),
  ofReloads("a reload, s", 2, ({ ms }) => ms / 1000),
  ofReloads("peak RSS in a reload, MB", 0, ({ peak }) => peak / 1e6),
  ofReloads("RSS after a reload, MB", 0, ({ rss }) => rss / 1e6),
];

if (values.fresh) {
  await printFreshness(sizes, rounds);
  process.exit();
}
const folder = mkdtempSync(join(tmpdir(), "orrery-bench-scale-"));
const keys = join(folder, "keys.json");
const token = await addKey(keys, { name: "bench", kind: "cli", prefix: "svcx_" });
try {
  const all: Measured[] = [];
  for (const users of sizes) {
    const rows = rowsOf(await snapshotOf(users), users);
    all.push(await measure(rows));
    if (values.prepared && users === Math.max(...sizes)) all.push(await measure(preparedOf(rows)));
  }
  console.log(`${machine()}; medians of ${rounds} starts and ${reloads} reloads (lowest–highest).\n`);
  const head = ["", ...all.map(({ name }) => name)];
  console.log(
    markdown(
      head,
      LINES.map(([name, of]) => [name, ...all.map(of)]),
    ),
  );
} finally {
  rmSync(folder, { recursive: true });
}
