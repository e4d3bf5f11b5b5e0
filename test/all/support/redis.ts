/** Real counter servers on ports of their own, a cluster of them, and replicas that count by them. */

import { type ChildProcess, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createSharedCounters, type Quota, slotOf } from "../../../src/auth/limit.ts";
import type { SharedCount } from "../../../src/auth/shared.ts";
import type { Observation } from "../../../src/observe/events.ts";
import { readRedisUrl } from "../../../src/shared-limits/redis-url.ts";
import { ReplicaLimits } from "../../../src/shared-limits/replica.ts";
import { temporaryFolder } from "../../support/folders.ts";
import { beforeTimer } from "../../support/patience.ts";
import { freePort } from "../../support/ports.ts";
import { afterTests, start, until } from "../../support/process.ts";

const installed = ["redis-server", "valkey-server"].filter(
  (program) => spawnSync(program, ["--version"]).status === 0,
);

/** Programs for tests of server behaviour: the installed ones, or else one that is missing. */
export const PROGRAMS: readonly string[] = installed.length > 0 ? installed : ["redis-server"];

export const PROGRAM = PROGRAMS[0]!;

export type Redis = Awaited<ReturnType<typeof startRedis>>;

/** On a busy machine an answer may take longer than a request waits by default. */
const PATIENT_MS = 600;

const started = new Set<ChildProcess>();
const counts = new Set<SharedCount>();

/** Ends all servers and replicas that were started here. */
export async function endAll(): Promise<void> {
  for (const { close } of counts) close();
  counts.clear();
  for (const child of started) child.kill("SIGKILL");
  started.clear();
}

afterTests(endAll);

async function run(program: string, folder: string, port: number, more: readonly string[]) {
  const args = ["--port", String(port), "--save", "", "--dir", folder, ...more];
  const { child, stdout } = start(args, {}, [program]);
  started.add(child);
  await until(() => {
    if (child.exitCode !== null) throw new Error(`${program} ended: ${stdout()}`);
    return stdout().includes("Ready to accept connections");
  }, `${program} to start`);
  return child;
}

/** A cluster node also takes a port ten thousand higher, which may be in use. */
const NO_PORT = /Address already in use|port number too high/;

/** @param more settings, in which `FOLDER` is a folder of its own, and `PORT` its port */
export async function startRedis(more: readonly string[] = [], program = PROGRAM, attempts = 5) {
  const folder = temporaryFolder();
  const port = await freePort();
  const settings = more.map((text) => text.replace("FOLDER", folder).replace("PORT", String(port)));
  let child: ChildProcess;
  try {
    child = await run(program, folder, port, settings);
  } catch (error) {
    if (attempts === 1 || !NO_PORT.test(String(error))) throw error;
    return await startRedis(more, program, attempts - 1);
  }
  const client = program.replace("-server", "-cli");
  return {
    port,
    folder,
    url: `redis://127.0.0.1:${port}`,
    cli: (...command: string[]) =>
      spawnSync(client, ["-p", String(port), ...command], { encoding: "utf8" }).stdout.trim(),
    signal: (signal: NodeJS.Signals) => void child.kill(signal),
    /** Kills it and starts a new one: empty, unless it keeps its data in a file. */
    async restart() {
      const isRunning = child.exitCode === null && child.signalCode === null;
      child.kill("SIGKILL");
      if (isRunning) await once(child, "exit");
      started.delete(child);
      child = await run(program, folder, port, settings);
    },
  };
}

type Counting = Awaited<ReturnType<typeof counting>>;

/** Longer than a replica of a test makes a request wait, even on a busy machine. */
const LATEST_MS = 5000;

/** A replica that counts at a server. @param answerMs how long it waits for an answer */
export async function counting(url: string, { replicas = 1, window = 3600, answerMs = PATIENT_MS } = {}) {
  const counters = createSharedCounters(window);
  const seen: Observation[] = [];
  const limits = new ReplicaLimits({ target: readRedisUrl(url), replicas, answerMs });
  const shared = await limits.open(counters, (observation) => seen.push(observation));
  counts.add(shared);
  const kinds = (): string[] => seen.map(({ kind }) => kind);
  const keyOf = (id: string) => ({ id, slot: slotOf(counters, id) });
  /** Counts a request of a key, which must not wait. */
  const count = (id: string, limit: number): Promise<Quota> =>
    beforeTimer(Promise.resolve(shared.count(keyOf(id), limit, Date.now())), LATEST_MS, "a request");
  const untilSeen = (fits: () => boolean, what: string): Promise<unknown> =>
    until(fits, () => `${what}; seen: ${JSON.stringify(seen)}`);
  return {
    limits,
    seen,
    count,
    kinds,
    close: shared.close,
    read: (id: string, limit: number) => shared.read(keyOf(id), limit, Date.now()),
    /** Counts so many requests, one after the other. @returns how many passed */
    async countEach(id: string, limit: number, times: number) {
      let passed = 0;
      for (let time = 0; time < times; time++) if ((await count(id, limit)).passed) passed++;
      return passed;
    },
    /** Counts so many requests at once. @returns how many passed */
    async countAtOnce(id: string, limit: number, times: number) {
      const quotas = await Promise.all(Array.from({ length: times }, () => count(id, limit)));
      return quotas.filter(({ passed }) => passed).length;
    },
    /** Reasons why the server was away, one for each time. */
    problems: () => seen.flatMap((one) => (one.kind === "limits-away" ? [one.problem] : [])),
    untilAway: () => untilSeen(() => kinds().at(-1) === "limits-away", "the loss of the server"),
    untilBack: () => untilSeen(() => kinds().at(-1) === "limits-back", "the return of the server"),
    /** Waits until the server counts a key. */
    untilShared: (id: string) =>
      until(async () => (await shared.read(keyOf(id), 1, Date.now())).counted === "shared", `${id} shared`),
  };
}

const SLOTS = 16_384;

function startNode(): Promise<Redis> {
  const settings = ["--cluster-enabled", "yes", "--cluster-node-timeout", "1000"];
  settings.push("--unixsocket", "FOLDER/socket");
  return startRedis([...settings, "--cluster-require-full-coverage", "no"]);
}

/** Waits until every node knows a good server for every key. */
async function untilWhole(nodes: readonly Redis[]): Promise<void> {
  for (const { cli } of nodes) {
    const info = (): string => cli("CLUSTER", "INFO");
    const isWhole = (): boolean => /cluster_state:ok/.test(info()) && info().includes(`slots_ok:${SLOTS}`);
    await until(isWhole, () => `the cluster: ${info()}`);
  }
}

/** Starts three nodes with a third of the keys each. */
export async function startCluster(): Promise<[Redis, Redis, Redis]> {
  const nodes: [Redis, Redis, Redis] = [await startNode(), await startNode(), await startNode()];
  for (const [at, node] of nodes.entries()) {
    const from = Math.floor((SLOTS * at) / 3);
    node.cli("CLUSTER", "ADDSLOTSRANGE", String(from), String(Math.floor((SLOTS * (at + 1)) / 3) - 1));
    node.cli("CLUSTER", "MEET", "127.0.0.1", String(nodes[0].port));
  }
  await untilWhole(nodes);
  return nodes;
}

/** One window for a whole test, whenever it begins. */
export const WINDOW = 315_360_000;

export async function startPair(url: string, other = url): Promise<[Counting, Counting]> {
  const given = { replicas: 2, window: WINDOW };
  return [await counting(url, given), await counting(other, given)];
}

/** Counts a key so many times at each replica in turn. @returns how many passed */
export async function countAll(
  replicas: readonly Counting[],
  key: string,
  limit: number,
  times: number,
): Promise<number> {
  let passed = 0;
  for (let time = 0; time < times; time++)
    for (const replica of replicas) passed += await replica.countEach(key, limit, 1);
  return passed;
}
