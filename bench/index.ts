/**
 * What it takes to build the search indexes, beside SQLite FTS5 over the same texts.
 *
 *     npx tsx bench/index.ts [--smoke] [--users 1000000] [--rounds 3] [--only users|worlds] [--json FILE]
 *
 * Each build has a process of its own, in turns, so that what else the machine does falls on both. SQLite comes from the
 * bench's own package (`npm ci --prefix bench`).
 */

import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { loadSnapshot } from "../src/snapshot/load.ts";
import { descriptionOf, displayNameOf, worldNameOf } from "../src/store/texts.ts";
import { type Corpus, ENGINES, openSqlite } from "./search/engines.ts";
import { said, snapshotOf } from "./support/child.ts";
import { median } from "./support/load.ts";
import { readOptions } from "./support/options.ts";
import { fixed, machine, markdown, saveJson, whole } from "./support/output.ts";

const TABLES = ["users", "worlds"] as const;
const OURS = "orrery";
const THEIRS = "SQLite FTS5";

interface Job {
  readonly engine: string;
  readonly table: (typeof TABLES)[number];
  readonly snapshot: string;
}

/** Milliseconds. */
interface Built {
  readonly cpuMs: number;
  readonly wallMs: number;
}

const values = readOptions({
  options: {
    smoke: { type: "boolean", default: false },
    users: { type: "string" },
    rounds: { type: "string" },
    only: { type: "string" },
    json: { type: "string" },
    job: { type: "string" },
  },
});

async function corpusOf({ snapshot, table }: Job): Promise<Corpus> {
  const loaded = await loadSnapshot(snapshot);
  if (!loaded.ok) throw new Error(loaded.problems.join("\n"));
  const { users, worlds, popular } = loaded.store;
  if (table === "users") {
    const names = Array.from({ length: users.rows }, (_, row) => displayNameOf(users, row));
    return { names, descriptions: undefined };
  }
  return {
    names: Array.from(popular.all, (row) => worldNameOf(worlds, row)),
    descriptions: Array.from(popular.all, (row) => descriptionOf(worlds, row)),
  };
}

async function beChild(job: Job): Promise<void> {
  const corpus = await corpusOf(job);
  const before = process.cpuUsage();
  const began = performance.now();
  ENGINES[job.engine]!(corpus);
  const wallMs = performance.now() - began;
  const { user, system } = process.cpuUsage(before);
  process.send!({ built: { cpuMs: (user + system) / 1000, wallMs } satisfies Built });
  process.disconnect();
}

function build(job: Job): Promise<Built> {
  const execArgv = [...process.execArgv, "--max-old-space-size=8192"];
  const child = fork(fileURLToPath(import.meta.url), ["--job", JSON.stringify(job)], { execArgv });
  return said<Built>(child, "built");
}

async function main(): Promise<void> {
  const users = Number(values.users ?? (values.smoke ? 2000 : 1_000_000));
  const rounds = Number(values.rounds ?? (values.smoke ? 1 : 3));
  const engines = openSqlite() === undefined ? [OURS] : [OURS, THEIRS];
  if (engines.length === 1) console.error("better-sqlite3 is not installed (npm ci --prefix bench)");
  const snapshot = await snapshotOf(users);
  const tables = TABLES.filter((table) => (values.only ?? table) === table);
  const results = [];
  for (const table of tables) {
    const all: Record<string, Built[]> = {};
    for (let round = 0; round < rounds; round++) {
      for (const engine of round % 2 === 0 ? engines : engines.toReversed()) {
        all[engine] = [...(all[engine] ?? []), await build({ engine, table, snapshot })];
      }
    }
    for (const [name, key] of [
      ["CPU", "cpuMs"],
      ["wall", "wallMs"],
    ] as const) {
      const [ours, theirs] = engines.map((engine) => all[engine]!.map((built) => built[key]));
      const ratio = theirs && median(ours!.map((ms, round) => ms / theirs[round]!));
      results.push({ table, time: name, ours: median(ours!), theirs: theirs && median(theirs), ratio });
    }
  }
  console.log(`${machine()}; ${whole(users)} users, medians of ${rounds}, of the ratios too.\n`);
  const seconds = (ms: number | undefined): string => (ms === undefined ? "–" : fixed(ms / 1000, 2));
  const rows = results.map(({ table, time, ours, theirs, ratio }) => {
    return [
      `${table}, ${time}, s`,
      seconds(ours),
      seconds(theirs),
      ratio === undefined ? "–" : fixed(ratio, 2),
    ];
  });
  console.log(markdown(["built in", OURS, THEIRS, "ratio"], rows));
  saveJson(values.json, { node: process.version, users, results });
}

if (values.job === undefined) await main();
else await beChild(JSON.parse(values.job) as Job);
