/**
 * What a flood of the most expensive searches costs everybody else.
 *
 *     npx tsx bench/search-flood.ts [--smoke] [--worlds 250000] [--seconds 20] [--threads 1]
 *
 * The worlds have a URL each, of which they share all but an id, and queries
 * are ten pieces of what they share. One key sends 1,000 of them at once, again
 * as soon as all are answered, and then hangs up; beside it another key searches
 * for the same kind of thing, one search after the other, and looks worlds up at
 * a constant rate. Printed are both latencies without and with the flood, what
 * the flood was answered, the growth of the process at its largest, and the CPU
 * time that the server spends from 100 ms after the flood hung up.
 */

import { type ChildProcess, fork } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { addKey } from "../src/auth/keys-file.ts";
import { createRandom } from "../src/util/random.ts";
import { ask, forkServer, said } from "./support/child.ts";
import type { Counts, Flood } from "./support/flooder.ts";
import { constantLoad, median, percentile } from "./support/load.ts";
import { readOptions } from "./support/options.ts";
import { machine, markdown, whole } from "./support/output.ts";
import type { Report } from "./support/server.ts";

const values = readOptions({
  options: {
    smoke: { type: "boolean", default: false },
    worlds: { type: "string" },
    seconds: { type: "string" },
    threads: { type: "string", default: "1" },
  },
});
const worlds = Number(values.worlds ?? (values.smoke ? 20_000 : 250_000));
const phaseMs = Number(values.seconds ?? (values.smoke ? 2 : 20)) * 1000;
/** Lookups a second. */
const RATE = 200;

const random = createRandom(11, "search-flood");
const SHARED =
  "https://cdn.worlds.example.com/files/launch/index.html?region=europe&platform=standalone&asset=";

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

function uuid(at: number): string {
  return `00000000-0000-4000-8000-${at.toString(16).padStart(12, "0")}`;
}

function writeSnapshot(out: string): void {
  const time = "2024-01-01T00:00:00.000Z";
  mkdirSync(out);
  writeFileSync(
    join(out, "users.ndjson"),
    `${JSON.stringify({ id: uuid(0), displayName: "owner", userIconUrl: "", createdAt: time })}\n`,
  );
  const rows = Array.from({ length: worlds }, (_, at) =>
    JSON.stringify({
      id: uuid(at + 1),
      name: `world ${at}`,
      description: SHARED + at.toString(36).padStart(6, "0"),
      ownerId: uuid(0),
      isPublic: true,
      status: "ACTIVE",
      createdAt: time,
      updatedAt: time,
    }),
  );
  writeFileSync(join(out, "worlds.ndjson"), `${rows.join("\n")}\n`);
  writeFileSync(join(out, "world-stats.ndjson"), "");
  writeFileSync(join(out, "instances.ndjson"), "");
}

/** Ten pieces of what all worlds share, unlike any that was asked before. */
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

/** Long searches one after the other, and lookups beside them. */
async function beHonest(url: string, token: string, ms: number): Promise<Honest> {
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
  readonly keys: readonly string[];
}

const show = (ms: number): string => ms.toFixed(ms < 10 ? 1 : 0);
const report = (server: ChildProcess): Promise<Report> => ask<Report>(server, "report", "report");

async function measure(
  { name, requests, connections, keys }: Case,
  server: ChildProcess,
  url: string,
  token: string,
): Promise<void> {
  const quiet = await beHonest(url, token, phaseMs);
  const flooder = fork(fileURLToPath(new URL("./support/flooder.ts", import.meta.url)));
  const before = await report(server);
  const flood: Flood = {
    url,
    tokens: keys,
    connections,
    targets: Array.from({ length: requests }, longSearch),
    again: true,
  };
  const flooding = said(flooder, "flooding");
  flooder.send(flood);
  await flooding;
  let largest = 0;
  const watch = setInterval(
    () => void report(server).then(({ rss }) => (largest = Math.max(largest, rss))),
    100,
  );
  const beside = await beHonest(url, token, phaseMs);
  clearInterval(watch);
  const counts = await ask<Counts>(flooder, "count", "counts");
  await ask(flooder, "hang up", "hungUp");
  await sleep(100);
  const after = await report(server);
  await sleep(1000);
  const departedMs = (await report(server)).cpuMs - after.cpuMs;
  flooder.kill("SIGKILL");
  const p99 = (searches: Float64Array): number => percentile(searches, 0.99);
  rows.push([
    name,
    Object.entries(counts)
      .map(([status, count]) => `${status}: ${whole(count)}`)
      .join(", "),
    `${show(median([...quiet.searches]))} → ${show(median([...beside.searches]))}`,
    `${show(p99(quiet.searches))} → ${show(p99(beside.searches))}`,
    (p99(beside.searches) / p99(quiet.searches)).toFixed(2),
    [...beside.statuses].join(", "),
    `${show(quiet.lookupP99)} → ${show(beside.lookupP99)}`,
    ((largest - before.rss) / 1e6).toFixed(0),
    show(departedMs),
  ]);
}

const HEAD = [
  "flood",
  "answered",
  "honest p50, ms",
  "honest p99, ms",
  "times",
  "honest statuses",
  "lookups p99, ms",
  "memory, +MB",
  "CPU behind it, ms",
];
const rows: string[][] = [];

const folder = mkdtempSync(join(tmpdir(), "orrery-search-flood-"));
let server: ChildProcess | undefined;
try {
  const snapshot = join(folder, "snapshot");
  const keysFile = join(folder, "keys.json");
  writeSnapshot(snapshot);
  const api = { kind: "api", prefix: "svc_sk_" } as const;
  const honest = await addKey(keysFile, { name: "honest", ...api });
  const first = await addKey(keysFile, { name: "first", ...api });
  const second = await addKey(keysFile, { name: "second", ...api });
  const cli = await addKey(keysFile, { name: "cli", kind: "cli", prefix: "svcx_" });
  const cases: Case[] = [
    { name: "one key, 63 connections", requests: 1000, connections: 63, keys: [first] },
    { name: "one key, 1,000 connections", requests: 1000, connections: 1000, keys: [first] },
    { name: "two keys, 63 connections", requests: 1000, connections: 63, keys: [first, second] },
    { name: "a CLI token, 5,000 at once", requests: 5000, connections: 63, keys: [cli] },
  ];
  server = forkServer(snapshot, keysFile, "0", values.threads);
  const url = await said<string>(server, "url");
  // Everything is compiled before anything counts.
  await beHonest(url, honest, phaseMs / 4);
  for (const one of values.smoke ? cases.slice(0, 1) : cases) await measure(one, server, url, honest);
  console.log(
    `${machine()}; ${whole(worlds)} worlds, ${values.threads} threads, phases of ${phaseMs / 1000} s.\n`,
  );
  console.log(markdown(HEAD, rows));
} finally {
  server?.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
}
