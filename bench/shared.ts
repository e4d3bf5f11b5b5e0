/**
 * Limits shared by replicas, compared with the limits of a single replica.
 *
 *     npx tsx bench/shared.ts [--smoke] [--rounds 5] [--seconds 2]
 *
 * Prints microseconds of the server's CPU time a lookup with its own limits and with shared ones, in turn, and the rounds'
 * ratios, as medians with the lowest and the highest; the share of requests that ask the counter server, at 10,000
 * requests a second over 100 keys with a limit of a million; and the share of a limit that three replicas let through
 * under even load and under the worst skew, where two of them stop after their first request. The last two figures come
 * from the real code in simulated time and never vary. Needs `redis-server`.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { endAll, startRedis } from "../test/support/redis.ts";
import { type History, type Load, runHistory } from "../test/support/shared-world.ts";
import { flawOf, runLoad } from "./http/load.ts";
import { ORRERY, startServer } from "./http/servers.ts";
import { workloadsOf } from "./http/workloads.ts";
import { snapshotOf } from "./support/child.ts";
import { addKey } from "./support/keys.ts";
import { demand } from "./support/need.ts";
import { readOptions } from "./support/options.ts";
import { fixed, machine, markdown, spread } from "./support/output.ts";

const values = readOptions({
  options: {
    smoke: { type: "boolean", default: false },
    rounds: { type: "string" },
    seconds: { type: "string" },
  },
});
const rounds = Number(values.rounds ?? (values.smoke ? 1 : 5));
const seconds = Number(values.seconds ?? (values.smoke ? 0.5 : 2));
const CONNECTIONS = 32;
const WARM_UP_REQUESTS = values.smoke ? 2000 : 20_000;
const LIMIT = 1_000_000_000;

/** CPU time of lookups, with the server's own limits and with shared ones. */
async function compareCosts(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "orrery-bench-shared-"));
  const redis = await startRedis();
  const keys = join(folder, "keys.json");
  const token = await addKey(keys, { name: "bench", kind: "api", prefix: "svc_sk_", limit: LIMIT });
  const snapshot = await snapshotOf(values.smoke ? 200 : 2000);
  const workload = workloadsOf(snapshot).find(({ name }) => name === "world-by-id")!;
  const both = [
    { name: "limits of its own", more: [] },
    { name: "shared limits", more: ["--shared-limits", redis.url, "--replicas", "3"] },
  ];
  const running = await Promise.all(
    both.map(async ({ name, more }) => ({
      name,
      server: await startServer(ORRERY, {
        snapshot,
        keys,
        reply: "",
        settings: [...workload.settings, ...more],
      } as Parameters<typeof startServer>[1]),
      costs: [] as number[],
    })),
  );
  for (let round = -1; round < rounds; round++) {
    for (const { server, costs } of running) {
      const run = await runLoad({
        url: server.url,
        pid: server.pid,
        paths: workload.requests.map(({ path }) => path),
        headers: { Authorization: `Bearer ${token}` },
        unique: false,
        connections: CONNECTIONS,
        warmUpRequests: round < 0 ? WARM_UP_REQUESTS : 0,
        seconds,
      });
      const flaw = flawOf(run, workload.status);
      if (flaw !== undefined) throw new Error(flaw);
      // The first round warms up.
      if (round >= 0) costs.push(1e6 / run.perCpuSecond);
    }
  }
  for (const { server } of running) await server.stop();
  await endAll();
  rmSync(folder, { recursive: true, force: true });
  const own = running[0]!.costs;
  const rows = running.map(({ name, costs }) => [
    name,
    spread(costs, 2),
    spread(
      costs.map((cost, round) => cost / own[round]!),
      3,
    ),
  ]);
  console.log(`${markdown(["a lookup", "µs of CPU", "ratio"], rows)}\n`);
}

const BASE: History = {
  seed: 1,
  limit: 1000,
  window: 3600,
  replicas: 3,
  announced: 3,
  denies: false,
  offsets: [0, 1000, -1000, 0],
  loads: [],
  troubles: [],
};

/** The share for one key of a hundred: 100 requests a second, at one replica or spread over three. */
async function askedShare(replicas: number): Promise<string> {
  const count = values.smoke ? 500 : 6000;
  const loads = Array.from({ length: replicas }, (_, replica): Load => {
    return { at: replica * 3, replica, count: count / replicas, every: 10 * replicas };
  });
  const { asked, passed } = await runHistory({ ...BASE, limit: 1_000_000, replicas, loads });
  return `${fixed((100 * asked) / passed, 2)} %`;
}

async function passedShare(limit: number, loads: readonly Load[]): Promise<string> {
  return fixed((await runHistory({ ...BASE, limit, loads })).passed / limit, 3);
}

const even = (limit: number): Load[] =>
  [0, 1, 2].map((replica) => ({ at: replica, replica, count: Math.ceil((limit * 1.1) / 3), every: 2 }));
const skewed = (limit: number): Load[] => [
  { at: 0, replica: 0, count: 1, every: 0 },
  { at: 20, replica: 1, count: 1, every: 0 },
  { at: 60, replica: 2, count: Math.ceil(limit * 1.1), every: 0.2 },
];

demand("redis-server");
console.log(`${machine()}; medians of ${rounds} rounds in turn (lowest–highest).\n`);
await compareCosts();
console.log(
  `${markdown(
    ["requests that ask the counter server, limit 1,000,000", "one replica", "three"],
    [["100 keys, 10,000 requests/s", await askedShare(1), await askedShare(3)]],
  )}\n`,
);
const LIMITS = values.smoke ? [1000] : [10, 100, 1000, 10_000];
console.log(
  markdown(
    ["three replicas let through, of a limit of", ...LIMITS.map(String)],
    [
      ["even load", ...(await Promise.all(LIMITS.map((limit) => passedShare(limit, even(limit)))))],
      ["worst skew", ...(await Promise.all(LIMITS.map((limit) => passedShare(limit, skewed(limit)))))],
    ],
  ),
);
process.exit(0);
