/**
 * Search against its peers, in one thread each, without HTTP.
 *
 *     npx tsx bench/search.ts [--smoke] [--sizes 100000,1000000] [--queries 50] [--only users|worlds]
 *
 * The same texts and the same queries for every engine, each engine in a
 * process of its own. Users are searched by name, worlds (a quarter as many, of
 * which some are hidden) by name and description. The whole log is asked three
 * times and the median of each query's times counts, since now and then the
 * system stops a process for some milliseconds; no engine here keeps results. A
 * log of other queries warms the engine up. SQLite comes from the bench's own
 * package (`npm ci --prefix bench`) and is left out without it.
 */

import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { fold } from "../src/search/fold.ts";
import { loadSnapshot } from "../src/snapshot/load.ts";
import { descriptionOf, displayNameOf, worldNameOf } from "../src/store/texts.ts";
import { collectGarbage } from "../src/util/process/collect.ts";
import { type Corpus, ENGINES, openSqlite } from "./search/engines.ts";
import { CLASSES, drawLog, type QueryClass } from "./search/log.ts";
import { snapshotOf } from "./support/child.ts";
import { median, percentile } from "./support/load.ts";
import { readOptions } from "./support/options.ts";
import { machine, markdown, whole } from "./support/output.ts";

type Table = "users" | "worlds";

/** What one engine's process reports. Milliseconds and bytes. */
interface Report {
  readonly buildMs: number;
  readonly bytes: number;
  readonly classes: Readonly<Record<QueryClass, { readonly times: number[]; readonly totals: number[] }>>;
}

interface Job {
  readonly engine: string;
  readonly table: Table;
  readonly snapshot: string;
  readonly queries: number;
}

/** How often the log is asked. */
const ROUNDS = 3;
/** How long an engine warms up for a class of queries at most. */
const WARM_UP_MS = 2000;

/** Words that stand in very many texts. */
const COMMON: Readonly<Record<Table, readonly string[]>> = {
  users: ["the", "cat", "moon", "neko", "star", "luna", "dark", "night"],
  worlds: ["the", "world", "and", "you", "with", "the world", "is", "a", "of the", "quest"],
};

async function corpusOf({ snapshot, table }: Job): Promise<Corpus> {
  const loaded = await loadSnapshot(snapshot);
  if (!loaded.ok) throw new Error(loaded.problems.join("\n"));
  const { users, worlds, popular } = loaded.store;
  if (table === "users") {
    return {
      names: Array.from({ length: users.rows }, (_, row) => displayNameOf(users, row)),
      descriptions: undefined,
    };
  }
  return {
    names: Array.from(popular.all, (row) => worldNameOf(worlds, row)),
    descriptions: Array.from(popular.all, (row) => descriptionOf(worlds, row)),
  };
}

/** What JavaScript holds, its typed arrays included. RSS would hide what an engine takes of memory that was freed before. */
async function bytesHeld(): Promise<number> {
  collectGarbage();
  // What a collection frees outside of the heap is given back a little later.
  await new Promise((resolve) => setTimeout(resolve, 200));
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

async function measure(job: Job): Promise<Report> {
  const corpus = await corpusOf(job);
  const texts = (corpus.descriptions ? corpus.names.concat(corpus.descriptions) : corpus.names).map(fold);
  const log = drawLog(texts, COMMON[job.table], job.queries, 1);
  const warmUp = drawLog(texts, COMMON[job.table], job.queries, 2);
  texts.length = 0;
  const before = await bytesHeld();
  const began = performance.now();
  const { find, nativeBytes } = ENGINES[job.engine]!(corpus);
  const buildMs = performance.now() - began;
  const bytes = (await bytesHeld()) - before + nativeBytes;
  for (const name of CLASSES) {
    const end = performance.now() + WARM_UP_MS;
    for (const query of warmUp[name]) if (performance.now() < end) find(query);
  }
  const classes = {} as Record<QueryClass, { times: number[]; totals: number[] }>;
  for (const name of CLASSES) {
    classes[name] = { times: [], totals: [] };
    const rounds: number[][] = [];
    for (let round = 0; round < ROUNDS; round++) {
      rounds.push([]);
      classes[name].totals.length = 0;
      for (const query of log[name]) {
        const start = performance.now();
        const { total } = find(query);
        rounds[round]!.push(performance.now() - start);
        classes[name].totals.push(total);
      }
    }
    for (const at of log[name].keys()) classes[name].times.push(median(rounds.map((times) => times[at]!)));
  }
  return { buildMs, bytes, classes };
}

function runJob(job: Job): Promise<Report> {
  return new Promise((resolve, reject) => {
    const execArgv = [...process.execArgv, "--max-old-space-size=8192"];
    const child = fork(fileURLToPath(import.meta.url), ["--job", JSON.stringify(job)], { execArgv });
    child.on("message", (report) => resolve(report as Report));
    child.on("exit", (code) => reject(new Error(`${job.engine} ended with ${code}`)));
  });
}

const values = readOptions({
  options: {
    smoke: { type: "boolean", default: false },
    sizes: { type: "string" },
    queries: { type: "string" },
    only: { type: "string" },
    job: { type: "string" },
  },
});

/** Times are short: three digits that count. */
function timeText(ms: number): string {
  return ms < 1 ? ms.toFixed(3) : ms < 10 ? ms.toFixed(2) : ms.toFixed(0);
}

/** A table of what building takes, and one of p50 / p99 by class: of every engine, and how many times ours. */
function printTables(reports: ReadonlyMap<string, Report>): void {
  const right = reports.get("scan")!;
  const ours = reports.get("orrery")!;
  const engines = [...reports];
  console.log(
    markdown(
      ["", ...reports.keys()],
      [
        ["built in, s", ...engines.map(([, { buildMs }]) => (buildMs / 1000).toFixed(1))],
        ["memory, MB", ...engines.map(([, { bytes }]) => (bytes / 1e6).toFixed(0))],
      ],
    ),
  );
  const others = engines.filter(([engine]) => engine !== "orrery");
  const rows = CLASSES.map((name) => {
    const sorted = ({ classes }: Report): Float64Array => Float64Array.from(classes[name].times).sort();
    const at = (report: Report, share: number): number => percentile(sorted(report), share);
    const cells = others.map(([, report]) => {
      const { totals } = report.classes[name];
      const exact = totals.filter((total, query) => total === right.classes[name].totals[query]).length;
      const times = [0.5, 0.99].map((share) => timeText(at(report, share))).join(" / ");
      const ratios = [0.5, 0.99].map((share) => whole(at(report, share) / at(ours, share))).join(" / ");
      const found = exact === totals.length ? "" : `, ${exact} of ${totals.length} exact`;
      return `${times} (${ratios}${found})`;
    });
    return [name, [0.5, 0.99].map((share) => timeText(at(ours, share))).join(" / "), ...cells];
  });
  console.log(`\n${markdown(["", "orrery", ...others.map(([engine]) => engine)], rows)}`);
}

async function main(): Promise<void> {
  const sizes = (values.sizes ?? (values.smoke ? "2000" : "100000,1000000")).split(",").map(Number);
  const queries = Number(values.queries ?? (values.smoke ? 10 : 50));
  const tables = (["users", "worlds"] as const).filter((table) => (values.only ?? table) === table);
  console.log(
    `${machine()}; ${queries} queries a class; milliseconds, p50 / p99 (times orrery's p50 / p99).`,
  );
  const withSqlite = openSqlite() !== undefined;
  if (!withSqlite)
    console.error("better-sqlite3 is not installed (npm ci --prefix bench): SQLite is left out");
  for (const users of sizes) {
    const snapshot = await snapshotOf(users);
    for (const table of tables) {
      const reports = new Map<string, Report>();
      for (const engine of Object.keys(ENGINES)) {
        if (!withSqlite && engine.startsWith("SQLite")) continue;
        reports.set(engine, await runJob({ engine, table, snapshot, queries }));
      }
      console.log(`\n**Search over ${table}, ${whole(users)} users**\n`);
      printTables(reports);
      checkTotals(reports);
    }
  }
}

/** A bench of an engine that finds other things than it should is worth nothing. */
function checkTotals(reports: ReadonlyMap<string, Report>): void {
  const right = reports.get("scan")!;
  for (const engine of ["orrery", "SQLite FTS5"]) {
    const report = reports.get(engine);
    for (const name of CLASSES) {
      const wrong = report?.classes[name].totals.findIndex(
        (total, at) => total !== right.classes[name].totals[at],
      );
      if (wrong !== undefined && wrong >= 0) throw new Error(`${engine}: a wrong total in the class ${name}`);
    }
  }
}

if (values.job === undefined) {
  await main();
} else {
  process.send!(await measure(JSON.parse(values.job) as Job));
  process.disconnect();
}
