/**
 * The effect of searches and large pages on a server that also answers lookups.
 *
 *     npx tsx bench/flood.ts [--smoke] [--users 1000000] [--rounds 5]
 *     npx tsx bench/flood.ts --searches [--smoke] [--worlds 250000] [--rounds 5] [--seconds 6]
 *     npx tsx bench/flood.ts --tokenless [--smoke] [--users 20000] [--rounds 3] [--seconds 4] [--only 304] [--tree .]
 *
 * First: the latency of world-by-id at a constant 1,000 requests/s, alone, beside 16 clients that search as fast as they
 * can with new queries, and beside 16 that ask for pages of 50 anywhere in the list; the clients are a separate process.
 * Then: the server's CPU time for a cached page of a search, over that for world-by-id. Rounds alternate; the figures are
 * medians with the lowest and the highest, and ratios are those of each round. The server with its search thread has one
 * core, both loads share the other; the flooding clients run at idle priority, so that the latency is the server's and
 * not that of a client waiting for its core.
 *
 * With `--searches` it prints instead how a flood of the most expensive searches affects all other callers:
 * `support/search-flood.ts`. With `--tokenless` it prints how connections without a token affect them, kind by kind:
 * `support/tokenless-flood.ts`; `--only` names one kind,
 * `--tree` a checkout whose built program is measured.
 */

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import autocannon from "autocannon";
import { ask, forkServer, pin, ROOT, runWhenIdle, said, snapshotOf, visibleWorlds } from "./support/child.ts";
import { addKey } from "./support/keys.ts";
import { constantLoad, type LoadResult } from "./support/load.ts";
import { readOptions } from "./support/options.ts";
import { machine, markdown, spread, whole } from "./support/output.ts";
import { printSearchFlood } from "./support/search-flood.ts";
import type { Report } from "./support/server.ts";
import { printTokenlessFlood } from "./support/tokenless-flood.ts";

const RATE = 1000;

const values = readOptions({
  options: {
    smoke: { type: "boolean", default: false },
    users: { type: "string" },
    rounds: { type: "string" },
    searches: { type: "boolean", default: false },
    worlds: { type: "string" },
    seconds: { type: "string" },
    tokenless: { type: "boolean", default: false },
    tree: { type: "string", default: ROOT },
    only: { type: "string" },
  },
});
const users = Number(values.users ?? (values.smoke ? 2000 : 1_000_000));
const rounds = Number(values.rounds ?? (values.smoke ? 1 : 5));
const roundMs = values.smoke ? 500 : 3000;

if (values.searches) {
  await printSearchFlood({
    worlds: Number(values.worlds ?? (values.smoke ? 20_000 : 250_000)),
    rounds,
    phaseMs: Number(values.seconds ?? (values.smoke ? 1 : 6)) * 1000,
  });
  process.exit();
}

if (values.tokenless) {
  if (cpus().length > 1) pin(process.pid, 1);
  await printTokenlessFlood({
    users: Number(values.users ?? (values.smoke ? 2000 : 20_000)),
    rounds: Number(values.rounds ?? (values.smoke ? 1 : 3)),
    phaseMs: Number(values.seconds ?? (values.smoke ? 0.4 : 4)) * 1000,
    tree: values.tree,
    only: values.only,
  });
  process.exit();
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Requests of the flooding clients. */
type Flood = "searches" | "pages";

function startClients(flood: Flood, url: string): ChildProcess {
  const file = fileURLToPath(new URL("./support/searchers.ts", import.meta.url));
  const args = [url, token, snapshot, flood];
  return fork(file, args, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
}

async function stop(child: ChildProcess): Promise<void> {
  child.kill("SIGKILL");
  await once(child, "exit");
}

console.log(`${machine()}; ${whole(users)} users, medians of ${rounds} rounds (lowest–highest).\n`);
if (cpus().length > 1) pin(process.pid, 1);
const snapshot = await snapshotOf(users);
const keys = join(tmpdir(), `orrery-bench-keys-${process.pid}.json`);
const token = await addKey(keys, { name: "bench", kind: "cli", prefix: "svcx_" });
const headers = { Authorization: `Bearer ${token}` };
const worlds = visibleWorlds(snapshot);

type Latencies = LoadResult & { readonly flooded: number };

async function measureLookups(): Promise<void> {
  // Without a cache every search costs a search.
  const server = forkServer(snapshot, keys, "0");
  pin(server.pid!, 0);
  const url = await said<string>(server, "url");
  const target = (): string => `${url}/worlds/${worlds[Math.floor(Math.random() * worlds.length)]}`;
  const lookUp = (ms: number) => {
    const end = performance.now() + ms;
    return constantLoad(target, headers, RATE, () => performance.now() > end);
  };
  /** The latency of lookups beside a flood, and the flood's answers a second. */
  async function beside(flood: Flood, ms: number): Promise<Latencies> {
    const clients = startClients(flood, url);
    await said(clients, "searching");
    runWhenIdle(clients.pid!);
    const before = await ask<number>(clients, "count", "count");
    const lookups = await lookUp(ms);
    const answered = (await ask<number>(clients, "count", "count")) - before;
    await stop(clients);
    return { ...lookups, flooded: answered / (ms / 1000) };
  }
  const FLOODS = ["searches", "pages"] as const;
  // Compiles all paths before the rounds that count.
  await lookUp(roundMs / 2);
  for (const flood of FLOODS) await beside(flood, roundMs / 2);
  const found: Record<"alone" | Flood, Latencies[]> = { alone: [], searches: [], pages: [] };
  for (let round = 0; round < rounds; round++) {
    found.alone.push({ ...(await lookUp(roundMs)), flooded: Number.NaN });
    for (const flood of FLOODS) found[flood].push(await beside(flood, roundMs));
    await sleep(200);
  }
  const all = Object.values(found).flat();
  if (all.some(({ failures }) => failures > 0)) throw new Error("requests failed");
  const ratio = (rounds: readonly Latencies[], of: "p99" | "p999"): string =>
    rounds === found.alone
      ? ""
      : spread(
          rounds.map((one, round) => one[of] / found.alone[round]![of]),
          2,
        );
  const rows = [
    ["alone", found.alone] as const,
    ["beside uncached searches", found.searches] as const,
    ["beside pages of 50", found.pages] as const,
  ].map(([name, rounds]) => [
    name,
    spread(
      rounds.map(({ flooded }) => flooded),
      whole,
    ),
    ...(["p50", "p99", "p999"] as const).map((of) =>
      spread(
        rounds.map((one) => one[of]),
        2,
      ),
    ),
    ratio(rounds, "p99"),
    ratio(rounds, "p999"),
  ]);
  console.log(`World by id at ${whole(RATE)}/s, milliseconds:\n`);
  console.log(
    markdown(["", "of the flood, a second", "p50", "p99", "p99.9", "p99, times", "p99.9, times"], rows),
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
  const least = costs.get("world by id")!;
  const rows = [...costs].map(([name, all]) => [
    name,
    spread(all, 1),
    spread(
      all.map((cost, round) => cost / least[round]!),
      2,
    ),
  ]);
  console.log("\nAsked again and again, microseconds of CPU a request:\n");
  console.log(markdown(["", "µs", "times world by id"], rows));
  await stop(server);
}

await measureLookups();
await measureCached();
