/**
 * Real replicas that share limits over a real counter server.
 *
 *     npx tsx bench/replicas.ts [--smoke] [--rounds 3] [--seconds 10] [--only asked,passed,away,cores]
 *
 * Prints
 * - asked: of 10,000 requests a second over 100 keys with a limit of a million, sent to one replica or to any of three, the share for
 *   which the counter server was asked, counted by itself, the first requests after the start included;
 * - passed: what three replicas let through of a limit under even load, and under the worst skew, where two of them stop
 *   behind their first request;
 * - away: latencies at a constant rate of requests for each of which the server is asked, while all is well, and
 *   while it is stopped (SIGSTOP) or killed in the middle of the load;
 * - cores: requests a second of one replica with its clients on one core, and of two with theirs on two, with shared limits, with limits
 *   of their own, and as a measure of the machine of bare node:http.
 *
 * Replicas have core 0, the load and the counter server core 1, if not said otherwise.
 */

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import autocannon from "autocannon";
import { keyRecord } from "../test/support/place.ts";
import { endAll, PROGRAM, type Redis, startRedis } from "../test/support/redis.ts";
import { flawOf, runLoad } from "./http/load.ts";
import { recordReply } from "./http/replies.ts";
import { BARE, ORRERY, type Peer, PINNED, type Server, startServer } from "./http/servers.ts";
import { workloadsOf } from "./http/workloads.ts";
import { pin, snapshotOf } from "./support/child.ts";
import { constantLoad, median } from "./support/load.ts";
import { readOptions } from "./support/options.ts";
import { fixed, machine, markdown, whole } from "./support/output.ts";

const values = readOptions({
  options: {
    smoke: { type: "boolean", default: false },
    rounds: { type: "string" },
    seconds: { type: "string" },
    only: { type: "string" },
  },
});
const rounds = Number(values.rounds ?? (values.smoke ? 1 : 5));
const seconds = Number(values.seconds ?? (values.smoke ? 1 : 10));
const wanted = values.only?.split(",");

const RATE = values.smoke ? 2000 : 10_000;
const KEYS = 100;
/** Below a hundred each request asks. */
const ASKING_LIMIT = 90;
const ASKING_KEYS = values.smoke ? 40 : 300;
const ASKING_RATE = values.smoke ? 200 : 500;
const PASSED_LIMITS = values.smoke ? [100] : [100, 1000, 10_000];
const WARM_UP_REQUESTS = values.smoke ? 1000 : 20_000;
const WINDOW_MS = 3_600_000;

const folder = mkdtempSync(join(tmpdir(), "orrery-bench-replicas-"));
const keys = join(folder, "keys.json");
const reply = join(folder, "reply.json");
const snapshot = await snapshotOf(values.smoke ? 200 : 2000);
const lookups = workloadsOf(snapshot).find(({ name }) => name === "world-by-id")!;
const paths = lookups.requests.map(({ path }) => path);

const records: object[] = [];

/** Makes keys; servers that are started from then on know them. @returns their tokens */
function newKeys(count: number, limit: number): string[] {
  const tokens = Array.from({ length: count }, (_, at) => `svc_sk_bench-${records.length + at}`);
  records.push(...tokens.map((token) => keyRecord(token, { id: token.slice(7), limit })));
  writeFileSync(keys, JSON.stringify({ keys: records }), { mode: 0o600 });
  return tokens;
}

function authorization(token: string): { Authorization: string } {
  return { Authorization: `Bearer ${token}` };
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Nothing here may run across the end of a window, where every key has all of its limit again. */
async function stayInWindow(ms: number): Promise<void> {
  const left = WINDOW_MS - (Date.now() % WINDOW_MS);
  if (left < ms) await sleep(left);
}

function startReplica(redis: Redis, replicas: number, core: 0 | 1 = 0): Promise<Server> {
  const more = ["--shared-limits", redis.url, "--replicas", String(replicas)];
  return startServer(ORRERY, {
    ...{ snapshot, keys, reply: "", cores: core },
    settings: [...lookups.settings, ...more],
  });
}

function startReplicas(redis: Redis, replicas: number): Promise<Server[]> {
  return Promise.all(Array.from({ length: replicas }, () => startReplica(redis, replicas)));
}

async function stopAll(servers: readonly Server[]): Promise<void> {
  await Promise.all(servers.map((server) => server.stop()));
  await endAll();
}

/** How often the server ran the function that leases. */
function leasesOf(redis: Redis): number {
  const calls = [...redis.cli("INFO", "commandstats").matchAll(/^cmdstat_eval(?:sha)?:calls=(\d+)/gm)];
  return calls.reduce((sum, [, count]) => sum + Number(count), 0);
}

/** Load on one replica, at a rate, over all keys in turn. @returns replies */
async function loadOf(url: string, tokens: readonly string[], rate: number): Promise<number> {
  const requests = tokens.map((token, at) => ({
    ...{ method: "GET" as const, path: paths[at % paths.length]!, headers: authorization(token) },
  }));
  const result = await autocannon({
    ...{ url, connections: 20, overallRate: rate, duration: seconds },
    setupClient: (client) => {
      const from = Math.floor(Math.random() * requests.length);
      client.setRequests(requests.slice(from).concat(requests.slice(0, from)));
    },
  });
  if (result.errors + result.timeouts + result.non2xx > 0) throw new Error("requests failed");
  return result["2xx"];
}

async function measureAsked(): Promise<void> {
  const rows: string[][] = [];
  for (const replicas of values.smoke ? [2] : [1, 3]) {
    const tokens = newKeys(KEYS, 1_000_000);
    const redis = await startRedis();
    const servers = await startReplicas(redis, replicas);
    await stayInWindow(seconds * 1000 + 5000);
    const before = leasesOf(redis);
    const counts = await Promise.all(servers.map(({ url }) => loadOf(url, tokens, RATE / replicas)));
    const asked = leasesOf(redis) - before;
    await stopAll(servers);
    const requests = counts.reduce((sum, count) => sum + count, 0);
    rows.push([
      String(replicas),
      whole(requests / seconds),
      whole(requests),
      whole(asked),
      `${fixed((100 * asked) / requests, 2)} %`,
    ]);
  }
  console.log(
    `Over ${KEYS} keys with a limit of a million, in the first ${seconds} s; "asked" counts the server.\n`,
  );
  console.log(`${markdown(["replicas", "requests/s", "requests", "asked", "share"], rows)}\n`);
}

/** Status of one request. */
function statusOf({ url }: Server, token: string): Promise<number> {
  return new Promise((resolve, reject) => {
    get(`${url}${paths[0]!}`, { headers: authorization(token) }, (response) => {
      response.resume().on("end", () => resolve(response.statusCode!));
    }).on("error", reject);
  });
}

/** How many of some requests pass, 30 at a time, at replicas in turn. */
async function passedOf(servers: readonly Server[], token: string, requests: number): Promise<number> {
  let sent = 0;
  let passed = 0;
  async function client(): Promise<void> {
    while (sent < requests) {
      if ((await statusOf(servers[sent++ % servers.length]!, token)) === 200) passed++;
    }
  }
  await Promise.all(Array.from({ length: 30 }, client));
  return passed;
}

async function measurePassed(): Promise<void> {
  const tokens = new Map<number, string[]>();
  for (const limit of PASSED_LIMITS) tokens.set(limit, newKeys(2, limit));
  const redis = await startRedis();
  const servers = await startReplicas(redis, 3);
  const even: string[] = [];
  const skewed: string[] = [];
  for (const [limit, [one, other]] of tokens) {
    await stayInWindow(60_000);
    const requests = Math.ceil(limit * 1.1);
    even.push(fixed((await passedOf(servers, one!, requests)) / limit, 3));
    let passed = 0;
    for (const server of servers.slice(0, 2)) passed += await passedOf([server], other!, 1);
    passed += await passedOf(servers.slice(2), other!, requests);
    skewed.push(fixed(passed / limit, 3));
  }
  await stopAll(servers);
  console.log(
    `${markdown(
      ["three replicas let through, of a limit of", ...PASSED_LIMITS.map(whole)],
      [
        ["even load", ...even],
        ["worst skew", ...skewed],
      ],
    )}\n`,
  );
}

type Fault = "nothing" | "SIGSTOP" | "SIGKILL";
const FAULTS: readonly Fault[] = values.smoke ? ["SIGSTOP"] : ["nothing", "SIGSTOP", "SIGKILL"];

async function measureAway(): Promise<void> {
  const found = FAULTS.map(() => [] as Awaited<ReturnType<typeof constantLoad>>[]);
  for (let round = 0; round < rounds; round++) {
    for (const [at, fault] of FAULTS.entries()) {
      const tokens = newKeys(ASKING_KEYS, ASKING_LIMIT);
      const redis = await startRedis();
      const [server] = await startReplicas(redis, 1);
      const target = (): string => `${server!.url}${paths[Math.floor(Math.random() * paths.length)]!}`;
      let turn = 0;
      const next = () => authorization(tokens[turn++ % tokens.length]!);
      const load = async (ms: number) => {
        const end = performance.now() + ms;
        return constantLoad(target, next, ASKING_RATE, () => performance.now() > end);
      };
      await stayInWindow(seconds * 1000 + 10_000);
      await load(1000);
      const timer = setTimeout(
        () => {
          if (fault !== "nothing") redis.signal(fault);
        },
        Math.min(1000, seconds * 300),
      );
      const result = await load(Math.min(3000, seconds * 1000));
      clearTimeout(timer);
      if (result.failures > 0) throw new Error(`${result.failures} requests failed`);
      found[at]!.push(result);
      await stopAll([server!]);
    }
  }
  console.log(
    `World by id at ${ASKING_RATE}/s, the server is asked for each; milliseconds, medians of ${rounds} rounds, and the slowest of all.\n`,
  );
  const rows = FAULTS.map((fault, at) => [
    fault === "nothing" ? "all is well" : `${fault} of the counter server`,
    whole(found[at]!.reduce((sum, { requests }) => sum + requests, 0)),
    ...(["p50", "p99", "max"] as const).map((of) => fixed(median(found[at]!.map((one) => one[of])), 1)),
    fixed(Math.max(...found[at]!.map(({ max }) => max)), 1),
  ]);
  console.log(`${markdown(["", "requests", "p50", "p99", "slowest of a round", "of all"], rows)}\n`);
}

/** Requests a second of the servers on some cores, each with its clients beside it, all at once. */
async function rateOf(
  servers: readonly Server[],
  cores: readonly (0 | 1)[],
  token: string,
  warmUpRequests: number,
): Promise<number> {
  const runs = await Promise.all(
    cores.map((core) => {
      const { url, pid } = servers[core]!;
      const job = { url, pid, paths, headers: authorization(token), unique: false, warmUpRequests };
      return runLoad({ ...job, connections: 32, seconds: Math.min(2, seconds) }, core);
    }),
  );
  const flaw = runs.map((run) => flawOf(run, 200)).find((text) => text !== undefined);
  if (flaw !== undefined) throw new Error(flaw);
  return runs.reduce((sum, { perSecond }) => sum + perSecond, 0);
}

async function measureCores(): Promise<void> {
  if (!PINNED || cpus().length < 2) {
    console.log("Two replicas with a core each are left out: there are not two cores to pin them to.\n");
    return;
  }
  const [token] = newKeys(1, 1_000_000_000);
  const redis = await startRedis();
  const start = (peer: Peer, core: 0 | 1): Promise<Server> =>
    startServer(peer, { snapshot, keys, reply, settings: lookups.settings, cores: core });
  const shared = [await startReplica(redis, 2, 0), await startReplica(redis, 2, 1)];
  writeFileSync(reply, JSON.stringify(await recordReply(shared[0]!, lookups, authorization(token!))));
  const kinds: [name: string, servers: readonly Server[]][] = [["shared limits", shared]];
  if (!values.smoke) {
    kinds.push(["limits of their own", [await start(ORRERY, 0), await start(ORRERY, 1)]]);
    kinds.push(["bare node:http", [await start(BARE, 0), await start(BARE, 1)]]);
  }
  const found = kinds.map(() => ({ one: [] as number[], two: [] as number[] }));
  for (let round = -1; round < rounds; round++) {
    for (const [at, [, servers]] of kinds.entries()) {
      const two = await rateOf(servers, [0, 1], token!, round < 0 ? WARM_UP_REQUESTS : 0);
      // Cores are not equally fast.
      const first = await rateOf(servers, [0], token!, 0);
      const second = await rateOf(servers, [1], token!, 0);
      // The first round warms up.
      if (round < 0) continue;
      found[at]!.one.push((first + second) / 2);
      found[at]!.two.push(two);
    }
  }
  await stopAll(kinds.flatMap(([, servers]) => servers));
  const rows = kinds.map(([name], at) => {
    const { one, two } = found[at]!;
    return [
      name,
      whole(median(one)),
      whole(median(two)),
      fixed(median(two.map((rate, round) => rate / one[round]!)), 2),
    ];
  });
  console.log("Requests a second, world by id; clients run on the core of their server.\n");
  console.log(markdown(["", "one", "two", "times"], rows));
}

if (spawnSync(PROGRAM, ["--version"]).status !== 0) {
  console.log(`${PROGRAM} is not installed: nothing was measured.`);
  process.exit(0);
}
console.log(`${machine()}.\n`);
// The load, but where it has processes of its own.
if (PINNED) pin(process.pid, 1);
const parts = { asked: measureAsked, passed: measurePassed, away: measureAway, cores: measureCores };
for (const [name, measure] of Object.entries(parts)) {
  if (wanted?.includes(name) ?? true) await measure();
}
rmSync(folder, { recursive: true });
process.exit(0);
