/**
 * Search against its peers, in one thread each, without HTTP.
 *
 *     npx tsx bench/search.ts [--smoke] [--sizes 100000,1000000] [--queries 50] [--rounds 5] [--only users|worlds] [--against DIR]
 *
 * The same texts and the same queries for every engine; each engine runs in its own process, a new one each round. Users
 * are searched by name, worlds (a quarter as many, some of them hidden) by name and description. Each process asks the
 * whole log three times, and the median of each query's times counts, as the system sometimes stops a process for some
 * milliseconds; no engine here caches results. A log of other queries warms the engine up. Figures are medians of the
 * rounds, with the lowest and the highest. SQLite comes from the bench's own package (`npm run bench:install`) and is left
 * out without it.
 *
 * With `--against DIR`, the orrery of another checkout is asked by its own bench, in turn. Two figures are orrery's alone, in CPU
 * time of the process: late pages (from result 10,000 on), and the longest stretch between two pauses, the least of three.
 */

import { fork } from "node:child_process";
import { resolve as resolvePath } from "node:path";
import { fileURLToPath } from "node:url";
import { fold } from "../src/search/fold.ts";
import { loadSnapshot } from "../src/snapshot/load.ts";
import { descriptionOf, displayNameOf, worldNameOf } from "../src/store/texts.ts";
import { collectGarbage } from "../src/util/process/collect.ts";
import { type Corpus, ENGINES, type Engine, openSqlite } from "./search/engines.ts";
import { CLASSES, drawLog, type QueryClass } from "./search/log.ts";
import { snapshotOf } from "./support/child.ts";
import { median, percentile } from "./support/load.ts";
import { readOptions } from "./support/options.ts";
import { fixed, machine, markdown, spread, whole } from "./support/output.ts";

type Table = "users" | "worlds";

/** The report of one engine's process, in milliseconds and bytes. */
interface Report {
  readonly buildMs: number;
  readonly bytes: number;
  readonly classes: Readonly<Record<QueryClass, { readonly times: number[]; readonly totals: number[] }>>;
  /** Milliseconds of CPU time of late pages, and of the longest stretch of each query; absent if the engine cannot pause. */
  readonly pauses?: { readonly late: number[]; readonly stretches: number[] };
}

interface Job {
  readonly engine: string;
  readonly table: Table;
  readonly snapshot: string;
  readonly queries: number;
}

/** Number of times that a process asks the log. */
const TIMES = 3;
/** Longest warm-up of an engine for a class of queries. */
const WARM_UP_MS = 500;

/** Words that occur in very many texts. */
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

/** Bytes held by JavaScript, with typed arrays. RSS would not grow where an engine reuses memory freed before. */
async function bytesHeld(): Promise<number> {
  collectGarbage();
  // A collection frees memory outside the heap a little later.
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
  const { find, work, nativeBytes } = ENGINES[job.engine]!(corpus);
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
    for (let round = 0; round < TIMES; round++) {
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
  return {
    buildMs,
    bytes,
    classes,
    ...(work ? { pauses: measurePauses(work, Object.values(log).flat()) } : {}),
  };
}

const LATE = 10_000;

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

function measurePauses(
  work: NonNullable<Engine["work"]>,
  queries: readonly string[],
): NonNullable<Report["pauses"]> {
  /** The whole time of a search, and its longest stretch: the least of some runs. */
  const run = (query: string, offset: number): [whole: number, longest: number] => {
    const runs = Array.from({ length: TIMES }, () => {
      const steps = work(query, offset);
      const began = cpuMs();
      let longest = 0;
      for (let isDone = false, from = began; !isDone; ) {
        isDone = steps.next().done === true;
        const now = cpuMs();
        longest = Math.max(longest, now - from);
        from = now;
      }
      return [cpuMs() - began, longest] as const;
    });
    return [Math.min(...runs.map(([all]) => all)), Math.min(...runs.map(([, longest]) => longest))];
  };
  return {
    late: queries.map((query) => run(query, LATE)[0]),
    stretches: queries.map((query) => run(query, 0)[1]),
  };
}

/** The name of the orrery of another checkout among the engines. */
const OTHER = "orrery elsewhere";

function runJob(job: Job): Promise<Report> {
  const isOther = job.engine === OTHER;
  const program = isOther ? resolvePath(values.against!, "bench/search.ts") : fileURLToPath(import.meta.url);
  return new Promise((resolve, reject) => {
    const execArgv = [...process.execArgv, "--max-old-space-size=8192"];
    const given = JSON.stringify({ ...job, engine: isOther ? "orrery" : job.engine });
    const child = fork(program, ["--job", given], { execArgv });
    child.on("message", (report) => resolve(report as Report));
    child.on("exit", (code) => reject(new Error(`${job.engine} ended with ${code}`)));
  });
}

const values = readOptions({
  options: {
    smoke: { type: "boolean", default: false },
    sizes: { type: "string" },
    queries: { type: "string" },
    rounds: { type: "string" },
    only: { type: "string" },
    against: { type: "string" },
    job: { type: "string" },
  },
});

/** A time with three significant digits, as times are short. */
function timeText(ms: number): string {
  return ms < 1 ? ms.toFixed(3) : ms < 10 ? ms.toFixed(2) : ms.toFixed(0);
}

/** Reports of an engine, by round. */
type Reports = ReadonlyMap<string, readonly Report[]>;

function latency({ classes }: Report, name: QueryClass, share: number): number {
  return percentile(Float64Array.from(classes[name].times).sort(), share);
}

/** The number of a class's totals that equal the scan's. */
function exactOf({ classes }: Report, right: Report, name: QueryClass): string {
  const { totals } = classes[name];
  const exact = totals.filter((total, query) => total === right.classes[name].totals[query]).length;
  return exact === totals.length ? "all" : `${exact} of ${totals.length}`;
}

/** Prints a table of build times and memory, and one of latencies by class and engine. */
function printTables(all: Reports): void {
  const [right] = all.get("scan")!;
  const ours = all.get("orrery")!;
  const engines = [...all];
  console.log(
    markdown(
      ["", "built in, s", "memory, MB"],
      engines.map(([engine, reports]) => [
        engine,
        spread(
          reports.map(({ buildMs }) => buildMs / 1000),
          2,
        ),
        spread(
          reports.map(({ bytes }) => bytes / 1e6),
          0,
        ),
      ]),
    ),
  );
  const rows = CLASSES.flatMap((name) =>
    engines.map(([engine, reports], at) => [
      at === 0 ? name : "",
      engine,
      ...[0.5, 0.99].map((share) =>
        spread(
          reports.map((report) => latency(report, name, share)),
          timeText,
        ),
      ),
      reports === ours
        ? ""
        : spread(
            reports.map((report, round) => latency(report, name, 0.5) / latency(ours[round]!, name, 0.5)),
            (times) => (times < 100 ? fixed(times, 1) : whole(times)),
          ),
      exactOf(reports[0]!, right!, name),
    ]),
  );
  console.log(
    `\n${markdown(["queries", "engine", "p50 ms", "p99 ms", "times orrery's p50", "exact totals"], rows, 2)}`,
  );
}

function printPauses(reports: readonly Report[]): void {
  const of = (kind: "late" | "stretches", share: number): string =>
    spread(
      reports.map(({ pauses }) => percentile(Float64Array.from(pauses![kind]).sort(), share)),
      timeText,
    );
  console.log(
    `\norrery, ms of CPU: pages from result ${whole(LATE)} on: p50 ${of("late", 0.5)}, p99 ${of("late", 0.99)}, longest ${of("late", 1)}; ` +
      `longest stretch between two pauses: p99 ${of("stretches", 0.99)}, longest ${of("stretches", 1)}.`,
  );
}

async function main(): Promise<void> {
  const sizes = (values.sizes ?? (values.smoke ? "2000" : "100000,1000000")).split(",").map(Number);
  const queries = Number(values.queries ?? (values.smoke ? 10 : 50));
  const rounds = Number(values.rounds ?? (values.smoke ? 1 : 5));
  const tables = (["users", "worlds"] as const).filter((table) => (values.only ?? table) === table);
  console.log(
    `${machine()}; ${queries} queries a class; medians of ${rounds} rounds in turns (lowest–highest).`,
  );
  const withSqlite = openSqlite() !== undefined;
  if (!withSqlite) console.error("SQLite is left out: install it with `npm run bench:install`");
  const engines = Object.keys(ENGINES).filter((engine) => withSqlite || !engine.startsWith("SQLite"));
  if (values.against !== undefined) engines.push(OTHER);
  for (const users of sizes) {
    const snapshot = await snapshotOf(users);
    for (const table of tables) {
      const all = new Map<string, Report[]>(engines.map((engine) => [engine, []]));
      for (let round = 0; round < rounds; round++) {
        for (const engine of engines)
          all.get(engine)!.push(await runJob({ engine, table, snapshot, queries }));
      }
      console.log(`\n**Search over ${table}, ${whole(users)} users**\n`);
      printTables(all);
      printPauses(all.get("orrery")!);
      checkTotals(all);
    }
  }
}

/** Checks the engines' totals: the bench of an engine with wrong results is worthless. */
function checkTotals(all: Reports): void {
  const [right] = all.get("scan")!;
  for (const engine of ["orrery", "SQLite FTS5"]) {
    for (const report of all.get(engine) ?? []) {
      const wrong = CLASSES.find((name) => exactOf(report, right!, name) !== "all");
      if (wrong !== undefined) throw new Error(`${engine}: a wrong total in the class ${wrong}`);
    }
  }
}

if (values.job === undefined) {
  await main();
} else {
  process.send!(await measure(JSON.parse(values.job) as Job));
  process.disconnect();
}
