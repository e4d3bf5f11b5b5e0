/**
 * Limits shared by replicas, compared with the limits of a single replica.
 *
 *     npx tsx bench/shared.ts [--smoke] [--rounds 5] [--seconds 2]
 *
 * Prints microseconds of the server's CPU time a lookup with its own limits and with shared ones, in turn, and the rounds'
 * ratios, as medians with the lowest and the highest. All requests have one key, so requests that wait together share a
 * question to the counter server. Needs `redis-server`.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { endAll, startRedis } from "../test/all/support/redis.ts";
import { flawOf, runLoad } from "./http/load.ts";
import { ORRERY, startServer } from "./http/servers.ts";
import { workloadsOf } from "./http/workloads.ts";
import { snapshotOf } from "./support/child.ts";
import { addKey } from "./support/keys.ts";
import { demand } from "./support/need.ts";
import { readOptions } from "./support/options.ts";
import { machine, markdown, spread } from "./support/output.ts";

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

demand("redis-server");
console.log(`${machine()}; medians of ${rounds} rounds in turn (lowest–highest).\n`);
await compareCosts();
process.exit(0);
