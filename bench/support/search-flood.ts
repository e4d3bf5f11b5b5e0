/**
 * The effect of a flood of the most expensive searches on all other callers.
 *
 * Each world has a URL, the same in all but an id, and a query is ten substrings of the common part. One key sends 1,000
 * such queries at once, again as soon as all are answered, and then hangs up. Meanwhile another key sends the same kind of
 * searches one after the other, and lookups at a constant rate. Prints both latencies without and with the flood, the
 * answers to the flood, the peak growth of the process, and the CPU time that the server spends from 100 ms after the
 * flood hung up.
 */

import { type ChildProcess, fork } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createRandom } from "../../src/util/random.ts";
import { filled } from "../../test/support/folders.ts";
import { ask, forkServer, said } from "./child.ts";
import type { Counts, Flood } from "./flooder.ts";
import { addKey } from "./keys.ts";
import { constantLoad, median, percentile } from "./load.ts";
import { machine, markdown, spread, whole } from "./output.ts";
import type { Report } from "./server.ts";

/** Settings of the measurement. */
export interface Plan {
  readonly worlds: number;
  readonly rounds: number;
  /** Length of the phase without the flood, and of the one beside it. */
  readonly phaseMs: number;
}

/** Lookups a second. */
const RATE = 200;

const random = createRandom(11, "search-flood");
const SHARED =
  "https://cdn.worlds.example.com/files/launch/index.html?region=europe&platform=standalone&asset=";

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

function uuid(at: number): string {
  return `00000000-0000-4000-8000-${at.toString(16).padStart(12, "0")}`;
}

function writeSnapshot(out: string, worlds: number): void {
  const time = "2024-01-01T00:00:00.000Z";
  mkdirSync(out);
  writeFileSync(
    join(out, "users.ndjson"),
    `${JSON.stringify(filled("users", { id: uuid(0), displayName: "owner", userIconUrl: "", createdAt: time }))}\n`,
  );
  const rows = Array.from({ length: worlds }, (_, at) =>
    JSON.stringify(
      filled("worlds", {
        id: uuid(at + 1),
        name: `world ${at}`,
        description: SHARED + at.toString(36).padStart(6, "0"),
        ownerId: uuid(0),
        isPublic: true,
        status: "ACTIVE",
        createdAt: time,
        updatedAt: time,
      }),
    ),
  );
  writeFileSync(join(out, "worlds.ndjson"), `${rows.join("\n")}\n`);
  writeFileSync(join(out, "world-stats.ndjson"), "");
  writeFileSync(join(out, "instances.ndjson"), "");
}

/** Ten substrings of the part that all worlds share, as a query that was not asked before. */
function longSearch(): string {
  const pieces = Array.from({ length: 10 }, () => {
    const length = 4 + random.below(10);
    const from = random.below(SHARED.length - length);
    return SHARED.slice(from, from + length);
  });
  return `/worlds/search?q=${encodeURIComponent(pieces.join(" "))}`;
}

interface Honest {
  readonly searches: Float64Array;
  readonly statuses: Set<number>;
  readonly lookupP99: number;
}

/** Sends long searches one after the other, and lookups beside them. */
async function beHonest({ url, token, worlds }: Target, ms: number): Promise<Honest> {
  const headers = { Authorization: `Bearer ${token}` };
  const end = performance.now() + ms;
  const lookups = constantLoad(
    () => `${url}/worlds/${uuid(1 + random.below(worlds))}`,
    headers,
    RATE,
    () => performance.now() > end,
  );
  const latencies: number[] = [];
  const statuses = new Set<number>();
  while (performance.now() < end) {
    const began = performance.now();
    const reply = await fetch(url + longSearch(), { headers });
    await reply.arrayBuffer();
    statuses.add(reply.status);
    latencies.push(performance.now() - began);
  }
  return { searches: Float64Array.from(latencies).sort(), statuses, lookupP99: (await lookups).p99 };
}

interface Case {
  readonly name: string;
  readonly requests: number;
  readonly connections: number;
  readonly key: string;
}

/** The server, and its honest caller. */
interface Target {
  readonly server: ChildProcess;
  readonly url: string;
  readonly token: string;
  readonly worlds: number;
}

/** Figures of one round; latencies and CPU time in milliseconds, memory in bytes. */
interface Round {
  readonly quiet: Honest;
  readonly beside: Honest;
  readonly counts: Counts;
  readonly grown: number;
  readonly departedMs: number;
}

const report = (server: ChildProcess): Promise<Report> => ask<Report>(server, "report", "report");

async function measure({ requests, connections, key }: Case, target: Target, ms: number): Promise<Round> {
  const { server, url } = target;
  const quiet = await beHonest(target, ms);
  const flooder = fork(fileURLToPath(new URL("./flooder.ts", import.meta.url)));
  const before = await report(server);
  const targets = Array.from({ length: requests }, longSearch);
  const flood: Flood = { url, tokens: [key], connections, targets, again: true };
  const flooding = said(flooder, "flooding");
  flooder.send(flood);
  await flooding;
  let largest = 0;
  const watch = setInterval(
    () => void report(server).then(({ rss }) => (largest = Math.max(largest, rss))),
    100,
  );
  const beside = await beHonest(target, ms);
  clearInterval(watch);
  const counts = await ask<Counts>(flooder, "count", "counts");
  await ask(flooder, "hang up", "hungUp");
  await sleep(100);
  const after = await report(server);
  await sleep(1000);
  const departedMs = (await report(server)).cpuMs - after.cpuMs;
  flooder.kill("SIGKILL");
  return { quiet, beside, counts, grown: largest - before.rss, departedMs };
}

const p50 = ({ searches }: Honest): number => median([...searches]);
const p99 = ({ searches }: Honest): number => percentile(searches, 0.99);

/** Lines of the table, each from the rounds of a case. */
const LINES: readonly (readonly [name: string, of: (rounds: readonly Round[]) => string])[] = [
  ["the flood's answers", (rounds) => countsOf(rounds.map(({ counts }) => counts))],
  ["honest searches alone: p50, ms", spreadOf(1, ({ quiet }) => p50(quiet))],
  ["… beside the flood", spreadOf(1, ({ beside }) => p50(beside))],
  ["honest searches alone: p99, ms", spreadOf(1, ({ quiet }) => p99(quiet))],
  ["… beside the flood", spreadOf(1, ({ beside }) => p99(beside))],
  ["… times", spreadOf(2, ({ quiet, beside }) => p99(beside) / p99(quiet))],
  [
    "honest searches' statuses",
    (rounds) => [...new Set(rounds.flatMap(({ beside }) => [...beside.statuses]))].join(", "),
  ],
  ["lookups alone: p99, ms", spreadOf(1, ({ quiet }) => quiet.lookupP99)],
  ["… beside the flood", spreadOf(1, ({ beside }) => beside.lookupP99)],
  ["memory, +MB", spreadOf(0, ({ grown }) => grown / 1e6)],
  ["CPU after it hung up, ms", spreadOf(0, ({ departedMs }) => departedMs)],
];

function spreadOf(digits: number, of: (round: Round) => number): (rounds: readonly Round[]) => string {
  return (rounds) => spread(rounds.map(of), digits);
}

/** Numbers of answers in all rounds, by status. */
function countsOf(all: readonly Counts[]): string {
  const sums = new Map<string, number>();
  for (const [status, count] of all.flatMap(Object.entries<number>)) {
    sums.set(status, (sums.get(status) ?? 0) + count);
  }
  return [...sums].map(([status, count]) => `${status}: ${whole(count)}`).join(", ");
}

/** Prints the latencies of both kinds of honest requests, by kind of flood. */
export async function printSearchFlood({ worlds, rounds, phaseMs }: Plan): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "orrery-search-flood-"));
  let server: ChildProcess | undefined;
  try {
    const snapshot = join(folder, "snapshot");
    const keysFile = join(folder, "keys.json");
    writeSnapshot(snapshot, worlds);
    const api = { kind: "api", prefix: "svc_sk_" } as const;
    const token = await addKey(keysFile, { name: "honest", ...api });
    const first = await addKey(keysFile, { name: "first", ...api });
    const cases: Case[] = [
      { name: "one key, 63 connections", requests: 1000, connections: 63, key: first },
      { name: "one key, 1,000 connections", requests: 1000, connections: 1000, key: first },
    ];
    server = forkServer(snapshot, keysFile, "0");
    const target: Target = { server, url: await said<string>(server, "url"), token, worlds };
    // Compiles all code before the rounds that count.
    await beHonest(target, phaseMs);
    const found = cases.map((): Round[] => []);
    for (let round = 0; round < rounds; round++) {
      for (const [at, one] of cases.entries()) found[at]!.push(await measure(one, target, phaseMs));
    }
    console.log(
      `${machine()}; ${whole(worlds)} worlds, medians of ${rounds} rounds of ${phaseMs / 1000} s (lowest–highest).\n`,
    );
    const head = ["1,000 searches at once", ...cases.map(({ name }) => name)];
    console.log(
      markdown(
        head,
        LINES.map(([name, of]) => [name, ...found.map(of)]),
      ),
    );
  } finally {
    server?.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  }
}
