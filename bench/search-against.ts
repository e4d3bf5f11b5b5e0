/**
 * This tree's search against another commit's: the same results, and at what cost.
 *
 *     npx tsx bench/search-against.ts [--ref REF] [--users 100000] [--queries 20000] [--rounds 21] [--smoke]
 *
 * Without a commit the tree is compared with itself, which tells the noise.
 *
 * Each of the two has a process; both hold the same texts at the same time and
 * take turns, class by class, so that whatever else the machine does meets both.
 * A round's figure is the CPU time of a class of queries; the table shows the
 * medians and the median of the rounds' ratios. Before that the results of all
 * queries of a log, totals and rows of pages near and far, are hashed.
 *
 * A commit is taken as comparable if its `src/search/users.ts` and `worlds.ts`
 * have the functions that are called here.
 */

import { type ChildProcess, execFileSync, fork } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { fold } from "../src/search/fold.ts";
import type * as Users from "../src/search/users.ts";
import type * as Worlds from "../src/search/worlds.ts";
import { loadSnapshot } from "../src/snapshot/load.ts";
import type { PageOf } from "../src/store/generation.ts";
import { descriptionOf, displayNameOf, worldNameOf } from "../src/store/texts.ts";
import { createRandom } from "../src/util/random.ts";
import { CLASSES, drawLog, type QueryClass, type QueryLog } from "./search/log.ts";
import { ask, ROOT, said, snapshotOf } from "./support/child.ts";
import { median } from "./support/load.ts";
import { readOptions } from "./support/options.ts";

type Table = "users" | "worlds";
const TABLES = ["users", "worlds"] as const;

interface Job {
  readonly tree: string;
  readonly snapshot: string;
  readonly queries: number;
}

/** What a process says when it has indexed. Milliseconds of CPU time, and bytes of the index. */
interface Built {
  readonly buildMs: Readonly<Record<Table, number>>;
  readonly bytes: Readonly<Record<Table, number>>;
  readonly hashes: Readonly<Record<Table, string>>;
}

/** A class of queries over a table, asked so many times. */
interface Batch {
  readonly table: Table;
  readonly name: QueryClass;
  readonly times: number;
}

/** Distinct queries of each class that are timed, if there are so many. */
const EACH = 200;
const FIRST_PAGE: PageOf = { limit: 20, offset: 0 };
/** CPU time of a batch, in milliseconds. */
const BATCH_MS = 60;

const COMMON: Readonly<Record<Table, readonly string[]>> = {
  users: ["the", "cat", "moon", "neko", "star", "luna", "dark", "night"],
  worlds: ["the", "world", "and", "you", "with", "the world", "is", "a", "of the", "quest"],
};

interface Found {
  readonly total: number;
  page(page: PageOf): ArrayLike<number>;
}
type Find = (query: string, page?: PageOf) => Found;

function runNow(work: Generator<unknown, Found>): Found {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
  }
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Bytes of all memory that a value's arrays lie in. */
function bytesOf(value: unknown, seen = new Set<ArrayBufferLike>()): number {
  if (ArrayBuffer.isView(value)) {
    if (seen.has(value.buffer)) return 0;
    seen.add(value.buffer);
    return value.buffer.byteLength;
  }
  if (typeof value !== "object" || value === null) return 0;
  return Object.values(value).reduce((sum: number, part) => sum + bytesOf(part, seen), 0);
}

/** The log of queries whose results are hashed: all classes in turn, and pages from anywhere. */
function hashResults(find: Find, log: QueryLog, queries: number): string {
  const hash = createHash("sha256");
  const { below } = createRandom(7, "pages");
  const all = CLASSES.flatMap((name) => log[name]);
  for (let at = 0; at < queries; at++) {
    const query = all[at % all.length]!;
    const kind = below(10);
    const limit = 1 + below(100);
    const page = kind < 6 ? FIRST_PAGE : { limit, offset: below(kind < 9 ? 200 : 5000) };
    const found = kind === 9 ? find(query) : find(query, page);
    hash.update(`${query}\0${found.total}\0${Array.from(found.page(page)).join()}\n`);
  }
  return hash.digest("hex");
}

async function beChild({ tree, snapshot, queries }: Job): Promise<void> {
  const url = (file: string): string => pathToFileURL(join(tree, "src/search", file)).href;
  const { indexUsers, openUsers, searchUsers } = (await import(url("users.ts"))) as typeof Users;
  const { indexWorlds, openWorlds, searchWorlds } = (await import(url("worlds.ts"))) as typeof Worlds;
  const loaded = await loadSnapshot(snapshot);
  if (!loaded.ok) throw new Error(loaded.problems.join("\n"));
  const { users, worlds, popular } = loaded.store;
  const buildMs = { users: 0, worlds: 0 };
  const build = <Index>(table: Table, make: () => Index): Index => {
    const began = cpuMs();
    const index = make();
    buildMs[table] = cpuMs() - began;
    return index;
  };
  const usersIndex = build("users", () => indexUsers(users.rows, (row) => displayNameOf(users, row)));
  const worldsIndex = build("worlds", () =>
    indexWorlds(
      popular.all,
      (row) => worldNameOf(worlds, row),
      (row) => descriptionOf(worlds, row),
    ),
  );
  const openedUsers = openUsers(usersIndex);
  const openedWorlds = openWorlds(worldsIndex);
  const finders: Record<Table, Find> = {
    users: (query, page) => runNow(searchUsers(openedUsers, query, page)),
    worlds: (query, page) => runNow(searchWorlds(openedWorlds, query, page)),
  };
  const texts: Record<Table, string[]> = {
    users: Array.from({ length: users.rows }, (_, row) => fold(displayNameOf(users, row))),
    worlds: Array.from(popular.all, (row) =>
      fold(`${worldNameOf(worlds, row)} ${descriptionOf(worlds, row)}`),
    ),
  };
  const logs = {} as Record<Table, QueryLog>;
  const hashes = {} as Record<Table, string>;
  for (const table of TABLES) {
    const many = drawLog(texts[table], COMMON[table], Math.ceil(queries / CLASSES.length), 3);
    hashes[table] = hashResults(finders[table], many, queries);
    logs[table] = drawLog(texts[table], COMMON[table], EACH, 1);
  }
  const built: Built = {
    buildMs,
    bytes: { users: bytesOf(usersIndex), worlds: bytesOf(worldsIndex) },
    hashes,
  };
  process.on("message", (question: string) => {
    if (question === "end") return process.disconnect();
    const { table, name, times } = JSON.parse(question) as Batch;
    const began = cpuMs();
    for (let time = 0; time < times; time++) {
      for (const query of logs[table][name]) finders[table](query, FIRST_PAGE).page(FIRST_PAGE);
    }
    process.send!({ cpu: (cpuMs() - began) / times / logs[table][name].length });
  });
  process.send!({ built });
}

/** Starts a process over a tree; it says `built`. */
function start(job: Job): ChildProcess {
  const execArgv = [...process.execArgv, "--max-old-space-size=8192"];
  return fork(fileURLToPath(import.meta.url), ["--job", JSON.stringify(job)], { execArgv });
}

/** A tree of another commit, which uses this one's packages. */
function checkOut(ref: string): { readonly tree: string; readonly remove: () => void } {
  const folder = mkdtempSync(join(tmpdir(), "orrery-against-"));
  const tree = join(folder, "tree");
  execFileSync("git", ["-C", ROOT, "worktree", "add", "--detach", "--quiet", tree, ref]);
  symlinkSync(join(ROOT, "node_modules"), join(tree, "node_modules"));
  return {
    tree,
    remove() {
      execFileSync("git", ["-C", ROOT, "worktree", "remove", "--force", tree]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function timeClass(
  children: readonly ChildProcess[],
  table: Table,
  name: QueryClass,
  rounds: number,
): Promise<void> {
  const time = (child: ChildProcess, times: number): Promise<number> =>
    ask<number>(child, JSON.stringify({ table, name, times } satisfies Batch), "cpu");
  // The first run warms up; how many fit into a batch is told by the second.
  for (const child of children) await time(child, 5);
  const once = (await time(children[0]!, 5)) * EACH;
  const times = Math.max(1, Math.round(BATCH_MS / Math.max(once, 0.02)));
  const figures: number[][] = [[], []];
  for (let round = 0; round < rounds; round++) {
    const turns = round % 2 === 0 ? [0, 1] : [1, 0];
    for (const turn of turns) figures[turn]!.push(await time(children[turn]!, times));
  }
  const [before, after] = figures.map((values) => median(values) * 1000);
  const ratio = median(figures[0]!.map((value, round) => figures[1]![round]! / value));
  const cells = [name.padEnd(10), before!.toFixed(2).padStart(10), after!.toFixed(2).padStart(10)];
  console.log(`  ${cells.join(" ")} ${ratio.toFixed(3).padStart(8)}`);
}

const values = readOptions({
  options: {
    smoke: { type: "boolean", default: false },
    ref: { type: "string" },
    users: { type: "string" },
    queries: { type: "string" },
    rounds: { type: "string" },
    job: { type: "string" },
  },
});

async function main(): Promise<void> {
  const users = Number(values.users ?? (values.smoke ? 2000 : 100_000));
  const queries = Number(values.queries ?? (values.smoke ? 200 : 20_000));
  const rounds = Number(values.rounds ?? (values.smoke ? 1 : 21));
  const snapshot = await snapshotOf(users);
  const { ref } = values;
  const { tree, remove } = ref === undefined ? { tree: ROOT, remove: () => {} } : checkOut(ref);
  const children: ChildProcess[] = [];
  try {
    const built: Built[] = [];
    for (const of of [tree, ROOT]) {
      const child = start({ tree: of, snapshot, queries });
      children.push(child);
      built.push(await said<Built>(child, "built"));
    }
    for (const table of TABLES) {
      const [before, after] = built as [Built, Built];
      console.log(`\n${users} users: search over ${table}, ${ref ?? "itself"} against this tree`);
      console.log(
        `  built in ${before.buildMs[table].toFixed(0)} and ${after.buildMs[table].toFixed(0)} ms of CPU time`,
      );
      console.log(`  index: ${before.bytes[table]} and ${after.bytes[table]} bytes`);
      console.log(`  results of ${queries} queries: ${before.hashes[table]} and ${after.hashes[table]}`);
      if (before.hashes[table] !== after.hashes[table]) process.exitCode = 1;
      console.log(`  ${"µs a query".padEnd(10)} ${"before".padStart(10)} ${"after".padStart(10)}    ratio`);
      for (const name of CLASSES) await timeClass(children, table, name, rounds);
    }
  } finally {
    for (const child of children) if (child.connected) child.send("end");
    remove();
  }
}

if (values.job === undefined) await main();
else await beChild(JSON.parse(values.job) as Job);
