/**
 * What searches cost a server that also answers lookups.
 *
 *     npx tsx bench/flood.ts [--smoke] [--users 1000000] [--rounds 3]
 *
 * First: the latency of world-by-id at a constant 1,000 requests/s, with and
 * without 16 clients that search as fast as they can for what was never asked
 * before; the clients are a process of their own. Then: the server's CPU time
 * for a cached page of a search, over that for world-by-id. Rounds alternate
 * and the medians count. The server with its search thread has one core, both
 * loads have the other; the searching clients run at idle priority, so that what
 * is measured is the server and not a client that waits for its core.
 */

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import autocannon from "autocannon";
import { addKey } from "../src/cli/keysfile.ts";
import { ask, forkServer, pin, runWhenIdle, said, snapshotOf, visibleWorlds } from "./support/child.ts";
import { constantLoad, median } from "./support/load.ts";
import type { Report } from "./support/server.ts";

const RATE = 1000;

const { values } = parseArgs({
  options: {
    smoke: { type: "boolean", default: false },
    users: { type: "string" },
    rounds: { type: "string" },
  },
});
const users = Number(values.users ?? (values.smoke ? 2000 : 1_000_000));
const rounds = Number(values.rounds ?? (values.smoke ? 1 : 5));
const roundMs = values.smoke ? 500 : 6000;

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function startSearchers(url: string, token: string, snapshot: string): ChildProcess {
  const file = fileURLToPath(new URL("./support/searchers.ts", import.meta.url));
  return fork(file, [url, token, snapshot], { stdio: ["ignore", "inherit", "inherit", "ipc"] });
}

async function stop(child: ChildProcess): Promise<void> {
  child.kill("SIGKILL");
  await once(child, "exit");
}

console.log(`node ${process.version}, ${cpus().length} × ${cpus()[0]!.model}; ${users} users`);
if (cpus().length > 1) pin(process.pid, 1);
const snapshot = await snapshotOf(users);
const keys = join(tmpdir(), `orrery-bench-keys-${process.pid}.json`);
const token = await addKey(keys, { name: "bench", kind: "cli", prefix: "svcx_" });
const headers = { Authorization: `Bearer ${token}` };
const worlds = visibleWorlds(snapshot);

async function measureLookups(): Promise<void> {
  // Without a cache every search is a search.
  const server = forkServer(snapshot, keys, "0");
  pin(server.pid!, 0);
  const url = await said<string>(server, "url");
  const target = (): string => `${url}/worlds/${worlds[Math.floor(Math.random() * worlds.length)]}`;
  const lookUp = (ms: number) => {
    const end = performance.now() + ms;
    return constantLoad(target, headers, RATE, () => performance.now() > end);
  };
  /** The latency of lookups beside searches, and how many of those there were a second. */
  async function besideSearches(ms: number) {
    const searchers = startSearchers(url, token, snapshot);
    await said(searchers, "searching");
    runWhenIdle(searchers.pid!);
    const before = await ask<number>(searchers, "count", "count");
    const lookups = await lookUp(ms);
    const searches = (await ask<number>(searchers, "count", "count")) - before;
    await stop(searchers);
    return { lookups, searched: searches / (ms / 1000) };
  }
  // Both paths are compiled before anything counts.
  await lookUp(roundMs / 2);
  await besideSearches(roundMs / 2);
  const quiet: number[] = [];
  const flooded: number[] = [];
  const searched: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const without = await lookUp(roundMs);
    const { lookups: during, searched: rate } = await besideSearches(roundMs);
    searched.push(rate);
    if (without.failures + during.failures > 0) throw new Error("requests failed");
    quiet.push(without.p99);
    flooded.push(during.p99);
    await sleep(200);
  }
  const ratio = median(flooded) / median(quiet);
  console.log(
    `world-by-id at ${RATE}/s: p99 ${median(quiet).toFixed(2)} ms alone, ${median(flooded).toFixed(2)} ms beside ` +
      `${median(searched).toFixed(0)} uncached searches/s of 16 clients: ${ratio.toFixed(2)} ×`,
  );
  await stop(server);
}

/** Microseconds of the server's CPU time a request. */
async function costOf(server: ChildProcess, requests: autocannon.Request[], url: string): Promise<number> {
  const before = (await ask<Report>(server, "report", "report")).cpuMs;
  const result = await autocannon({ url, connections: 16, duration: roundMs / 1000, headers, requests });
  const cpuMs = (await ask<Report>(server, "report", "report")).cpuMs - before;
  if (result.non2xx + result.errors + result.timeouts > 0) throw new Error("requests failed");
  return (cpuMs * 1000) / result["2xx"];
}

async function measureCached(): Promise<void> {
  const server = forkServer(snapshot, keys);
  pin(server.pid!, 0);
  const url = await said<string>(server, "url");
  const base = new URL(url).pathname;
  const byId = Array.from({ length: 500 }, (_, at) => ({
    path: `${base}/worlds/${worlds[(at * 7919) % worlds.length]}`,
  }));
  const cases: Record<string, autocannon.Request[]> = {
    "world by id": byId,
    "users/search, 20 of a cached query": [{ path: `${base}/users/search?q=neko` }],
    "worlds/search, 20 of a cached query": [{ path: `${base}/worlds/search?q=the%20world` }],
    "worlds, page of 20": [{ path: `${base}/worlds?offset=100` }],
  };
  const costs = new Map<string, number[]>(Object.keys(cases).map((name) => [name, []]));
  for (const requests of Object.values(cases)) await costOf(server, requests, url);
  for (let round = 0; round < rounds; round++) {
    for (const [name, requests] of Object.entries(cases))
      costs.get(name)!.push(await costOf(server, requests, url));
  }
  const least = median(costs.get("world by id")!);
  for (const [name, all] of costs) {
    console.log(
      `${name}: ${median(all).toFixed(1)} µs of CPU, ${(median(all) / least).toFixed(2)} × world by id`,
    );
  }
  await stop(server);
}

await measureLookups();
await measureCached();
