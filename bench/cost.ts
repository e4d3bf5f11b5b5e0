/**
 * What a request costs an orrery: as the snapshot grows, and as it serves from
 * more threads.
 *
 *     npx tsx bench/cost.ts [--smoke] [--rounds 5] [--seconds 2]
 *
 * Prints microseconds of the server's CPU time a request, all its threads
 * together; medians of rounds in turn. Two threads need a Node that has
 * `reusePort`, and two cores. Where there are no others the load takes its share
 * of those: that of autocannon is so large that the threads mostly wait for it,
 * and what comes out is what waiting costs. So threads are compared under `wrk`
 * where it is installed (Debian: wrk), which needs a quarter of the time.
 */

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { addKey } from "../src/cli/keysfile.ts";
import { whyNoSharing } from "../src/serve/port.ts";
import { cpuSecondsOf, flawOf, runLoad } from "./http/load.ts";
import { ORRERY, type Server, startServer } from "./http/servers.ts";
import { type Workload, workloadsOf } from "./http/workloads.ts";
import { snapshotOf } from "./support/child.ts";
import { median } from "./support/load.ts";

const { values } = parseArgs({
  options: {
    smoke: { type: "boolean", default: false },
    rounds: { type: "string" },
    seconds: { type: "string" },
  },
});
const rounds = Number(values.rounds ?? (values.smoke ? 1 : 5));
const seconds = Number(values.seconds ?? (values.smoke ? 0.5 : 2));
const sizes = values.smoke ? [200, 2000] : [2000, 1_000_000];
const CONNECTIONS = 32;
const WARM_UP_REQUESTS = 20_000;

const folder = mkdtempSync(join(tmpdir(), "orrery-bench-cost-"));
const keys = join(folder, "keys.json");
const limit = 2_000_000_000;
const token = await addKey(keys, { name: "bench", kind: "api", prefix: "svc_sk_", limit });
const headers = { Authorization: `Bearer ${token}` };

/** A server to compare with others. */
interface Subject {
  readonly name: string;
  readonly snapshot: string;
  readonly settings: readonly string[];
  readonly cores: "one" | "all";
}

function workloadOf({ snapshot }: Subject, name: string): Workload {
  return workloadsOf(snapshot).find((workload) => workload.name === name)!;
}

/** Microseconds a request, under autocannon. */
async function costOf(server: Server, workload: Workload, warmUpRequests: number): Promise<number> {
  const run = await runLoad({
    url: server.url,
    pid: server.pid,
    paths: workload.requests.map(({ path }) => path),
    headers,
    unique: false,
    connections: CONNECTIONS,
    warmUpRequests,
    seconds,
  });
  const flaw = flawOf(run, workload.status);
  if (flaw !== undefined) throw new Error(`${workload.name}: ${flaw}`);
  return 1e6 / run.perCpuSecond;
}

/** Microseconds a request, under wrk, which asks for the same again and again. */
function costUnderWrk(server: Server, { name, requests }: Workload): number {
  const before = cpuSecondsOf(server.pid);
  const header = `Authorization: ${headers.Authorization}`;
  const args = ["-t1", `-c${CONNECTIONS}`, `-d${Math.ceil(seconds)}s`, "-H", header];
  const { stdout } = spawnSync("wrk", [...args, server.url + requests[0]!.path], { encoding: "utf8" });
  const cpu = cpuSecondsOf(server.pid) - before;
  if (/Non-2xx|Socket errors/.test(stdout)) throw new Error(`${name}: ${stdout}`);
  return (cpu * 1e6) / Number(/(\d+) requests in/.exec(stdout)![1]);
}

/** Prints what a workload costs each server, and how many times what it costs the first. */
async function compare(name: string, subjects: readonly Subject[], withWrk: boolean): Promise<void> {
  const running = await Promise.all(
    subjects.map(async (subject) => ({
      subject,
      workload: workloadOf(subject, name),
      server: await startServer(ORRERY, { ...subject, keys, reply: "" }),
      costs: [] as number[],
    })),
  );
  for (const { server, workload } of running) await costOf(server, workload, WARM_UP_REQUESTS);
  for (let round = 0; round < rounds; round++) {
    for (const { workload, server, costs } of running) {
      costs.push(withWrk ? costUnderWrk(server, workload) : await costOf(server, workload, 0));
    }
  }
  for (const { server } of running) await server.stop();
  const first = median(running[0]!.costs);
  for (const { subject, costs } of running) {
    const cost = median(costs);
    const load = withWrk ? " (wrk)" : "";
    console.log(`${name}, ${subject.name}${load}: ${cost.toFixed(1)} µs, ${(cost / first).toFixed(2)} ×`);
  }
}

console.log(`node ${process.version}, ${cpus().length} × ${cpus()[0]!.model.trim()}`);
const snapshots = await Promise.all(sizes.map((users) => snapshotOf(users)));
const bySize = sizes.map(
  (users, at): Subject => ({ name: `${users} users`, snapshot: snapshots[at]!, settings: [], cores: "one" }),
);
const byThreads = ["1", "2"].map(
  (threads): Subject => ({
    name: `--threads ${threads}`,
    snapshot: snapshots[0]!,
    settings: ["--threads", threads],
    cores: "all",
  }),
);
const obstacle = whyNoSharing();
const hasWrk = spawnSync("wrk", ["-v"]).error === undefined;
try {
  for (const name of ["world-by-id", "list-20"]) {
    await compare(name, bySize, false);
    if (obstacle === undefined) await compare(name, byThreads, hasWrk);
  }
  if (obstacle !== undefined) console.log(`--threads 2 is left out: ${obstacle}`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
// Servers that a failure left running end with this process.
process.exit();
