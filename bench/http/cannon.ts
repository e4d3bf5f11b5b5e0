/**
 * The process of the load: receives jobs as messages, and answers each with its run.
 *
 * Reads CPU time directly around the timed run, so that neither the start of this process nor the warm-up counts.
 */

import { readFileSync } from "node:fs";
import autocannon from "autocannon";
import { percentile } from "../support/load.ts";
import { cpuSecondsOf, type LoadJob, type Run } from "./load.ts";

function rssOf(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1]) * 1024;
}

/** A server that needs longer for the warm-up requests is slow enough to be warm. */
const MOST_WARM_UP_SECONDS = 4;

/** Requests that a connection prepares; the preparation of more would outlast some runs. */
const MOST_PREPARED = 500;

interface Volley {
  readonly answered: number;
  /** Milliseconds. */
  readonly latencies: number[];
  readonly statuses: Record<string, number>;
  readonly errors: number;
  readonly timeouts: number;
  readonly elapsed: number;
  readonly cpu: number;
}

/** Keeps all connections busy for some seconds or requests. Each connection begins at a different place in the list. */
async function fire(job: LoadJob, seconds: number, most = Number.POSITIVE_INFINITY): Promise<Volley> {
  const { paths, headers, connections } = job;
  const requests = paths.map((path) => ({ method: "GET" as const, path, headers: { ...headers } }));
  const latencies: number[] = [];
  const statuses: Record<string, number> = {};
  const connected = new Set<autocannon.Client>();
  let made = 0;
  let answered = 0;
  let first = Number.NaN;
  let last = Number.NaN;
  const before = cpuSecondsOf(job.pid);
  const { errors, timeouts } = await new Promise<autocannon.Result>((resolve, reject) => {
    const options: autocannon.Options & { sampleInt: number } = {
      url: job.url,
      connections,
      duration: seconds,
      idReplacement: job.unique,
      // The interval at which it checks for the end of the run; the default is a second.
      sampleInt: 100,
      setupClient: (client) => {
        const from = Math.floor((made++ * requests.length) / connections) % requests.length;
        client.setRequests(requests.slice(from).concat(requests.slice(0, from)).slice(0, MOST_PREPARED));
      },
    };
    const shot = autocannon(options, (error: Error | null, result) =>
      error ? reject(error) : resolve(result),
    );
    // Its own histogram counts whole milliseconds; most replies here take less than one.
    shot.on("response", (client, status, _bytes, ms) => {
      // The time of a connection's first request includes the setup of all connections.
      if (connected.has(client)) latencies.push(ms);
      else connected.add(client);
      statuses[status] = (statuses[status] ?? 0) + 1;
      last = performance.now();
      if (++answered === 1) first = last;
      if (answered === most) shot.stop();
    });
  });
  const cpu = cpuSecondsOf(job.pid) - before;
  return { answered, latencies, statuses, errors, timeouts, elapsed: (last - first) / 1000, cpu };
}

async function measure(job: LoadJob): Promise<Run> {
  if (job.warmUpRequests > 0) await fire(job, MOST_WARM_UP_SECONDS, job.warmUpRequests);
  const { answered, latencies, elapsed, cpu, ...rest } = await fire(job, job.seconds);
  const sorted = Float64Array.from(latencies).sort();
  return {
    ...rest,
    requests: answered,
    perCpuSecond: answered / cpu,
    perSecond: answered / elapsed,
    p50: percentile(sorted, 0.5),
    p99: percentile(sorted, 0.99),
    p999: percentile(sorted, 0.999),
    rss: rssOf(job.pid),
  };
}

process.on("message", (job) => {
  void measure(job as LoadJob).then((run) => process.send!(run));
});
