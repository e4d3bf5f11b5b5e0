/**
 * What a request costs an orrery: as the snapshot grows, and as it serves from
 * more threads.
 *
 *     npx tsx bench/cost.ts [--smoke] [--rounds 5] [--seconds 1] [--sizes 2000,1000000] [--json FILE]
 *
 * Prints microseconds of the server's CPU time a request, all its threads
 * together; medians of rounds in turn, and the medians of the rounds' ratios to
 * the smallest snapshot. Two threads need a Node that has
 * `reusePort`, and two cores. Where there are no others the load takes its share
 * of those: that of autocannon is so large that the threads mostly wait for it,
 * and what comes out is what waiting costs. So threads are compared under `wrk`
 * where it is installed (Debian: wrk), which needs a quarter of the time.
 */

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { addKey } from "../src/auth/keys-file.ts";
import { whyNoSharing } from "../src/http/port.ts";
import { cpuSecondsOf, flawOf, runLoad } from "./http/load.ts";
import { ORRERY, type Server, startServer } from "./http/servers.ts";
import { type Workload, workloadsOf } from "./http/workloads.ts";
import { snapshotOf } from "./support/child.ts";
import { median } from "./support/load.ts";
import { readOptions } from "./support/options.ts";
import { fixed, machine, markdown, saveJson, whole } from "./support/output.ts";

const values = readOptions({
  options: {
    smoke: { type: "boolean", default: false },
    rounds: { type: "string" },
    seconds: { type: "string" },
    sizes: { type: "string" },
    json: { type: "string" },
  },
});
const rounds = Number(values.rounds ?? (values.smoke ? 1 : 5));
const seconds = Number(values.seconds ?? (values.smoke ? 0.5 : 1));
const sizes = (values.sizes ?? (values.smoke ? "200,2000" : "2000,20000,100000,1000000"))
  .split(",")
  .map(Number);
const WORKLOADS = values.smoke
  ? ["world-by-id", "list-50"]
  : ["world-by-id", "list-20", "list-50", "user-search", "world-search"];
const CONNECTIONS = 64;
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
  readonly cores: 0 | "all";
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

/** What a workload costs: microseconds, and times what it costs the first, median of the rounds' ratios. */
interface Cost {
  readonly micros: number;
  readonly times: number;
}

/** What a workload costs each server. */
async function compare(name: string, subjects: readonly Subject[], withWrk: boolean): Promise<Cost[]> {
  const running = await Promise.all(
    subjects.map(async (subject) => ({
      subject,
      workload: workloadOf(subject, name),
      server: await startServer(ORRERY, {
        ...subject,
        settings: [...subject.settings, ...workloadOf(subject, name).settings],
        keys,
        reply: "",
      }),
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
  const first = running[0]!.costs;
  return running.map(({ costs }) => ({
    micros: median(costs),
    times: median(costs.map((cost, round) => cost / first[round]!)),
  }));
}

const show = ({ micros, times }: Cost, at: number): string =>
  at === 0 ? fixed(micros, 1) : `${fixed(micros, 1)} (${fixed(times, 2)})`;

const snapshots = await Promise.all(sizes.map((users) => snapshotOf(users)));
const bySize = sizes.map(
  (users, at): Subject => ({ name: `${users} users`, snapshot: snapshots[at]!, settings: [], cores: 0 }),
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
const load = hasWrk ? "wrk" : "autocannon";
const names = ["world-by-id", "list-20"] as const;
try {
  const found = new Map<string, Cost[]>();
  for (const name of WORKLOADS) found.set(name, await compare(name, bySize, false));
  console.log(`${machine()}; medians of ${rounds} × ${seconds} s, ${CONNECTIONS} connections.\n`);
  console.log("Microseconds of CPU a request (times those at the smallest size):\n");
  const rows = [...found].map(([name, costs]) => [name, ...costs.map(show)]);
  console.log(markdown(["", ...sizes.map((users) => `${whole(users)} users`)], rows));
  const workloads = [...found].map(([workload, costs]) => ({ workload, costs }));
  saveJson(values.json, { node: process.version, sizes, workloads });
  if (obstacle === undefined) {
    const byThread: string[][] = [];
    for (const name of names) byThread.push([name, ...(await compare(name, byThreads, hasWrk)).map(show)]);
    console.log(`\n${whole(sizes[0]!)} users, under ${load}:\n`);
    console.log(markdown(["", "`--threads 1`", "`--threads 2`"], byThread));
  } else {
    console.log(`\n\`--threads 2\` is left out: it ${obstacle}.`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
// Servers that a failure left running end with this process.
process.exit();
