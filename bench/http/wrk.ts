/** The load by wrk, which needs a third of autocannon's CPU time, so that even the fastest server is kept busy. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "../support/child.ts";
import { EACH, type LoadJob, microsOf, type Run } from "./load.ts";
import { onCore } from "./servers.ts";

/** Of a second each. */
const MOST_WARM_UPS = 8;

/** Replaces {@link EACH}: contains no character that is special in a Lua pattern. */
const NUMBER = "eachone";

interface Summary extends Pick<Run, "requests" | "errors" | "timeouts" | "p50" | "p99" | "p999"> {
  /** Duration in microseconds. */
  readonly us: number;
  /** Replies with a status other than 2xx and 3xx. */
  readonly refused: number;
}

async function run(job: LoadJob, paths: string, seconds: number): Promise<Summary> {
  const headers = Object.entries(job.headers).flatMap(([name, value]) => [
    "-H",
    `${name}: ${value.replace(EACH, NUMBER)}`,
  ]);
  const script = join(ROOT, "bench/http/wrk.lua");
  const args = [
    "wrk",
    "-t1",
    `-c${job.connections}`,
    `-d${seconds}`,
    "--timeout",
    "10s",
    "-s",
    script,
    ...headers,
    job.url,
  ];
  const [program, all] = onCore(1, args);
  const env = {
    ...process.env,
    ORRERY_BENCH_PATHS: paths,
    ORRERY_BENCH_EACH: job.unique ? NUMBER : "",
    // Another part of the list in each run.
    ORRERY_BENCH_FROM: String(Math.floor(Math.random() * job.paths.length)),
  };
  const child = spawn(program, all, { env, stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  child.stdout.on("data", (text) => {
    output += text;
  });
  const [code] = await once(child, "close");
  const line = output.split("\n").find((text) => text.startsWith("{"));
  if (code !== 0 || line === undefined) throw new Error(`wrk ended with ${code}`);
  return JSON.parse(line) as Summary;
}

/**
 * Runs a load for whole seconds.
 *
 * @param status required status of replies; wrk only tells 2xx and 3xx from all others
 * @throws {Error} when there is no wrk, or it fails
 */
export async function runWrk(job: LoadJob, status: number): Promise<Run> {
  const folder = mkdtempSync(join(tmpdir(), "orrery-bench-wrk-"));
  try {
    const paths = join(folder, "paths");
    writeFileSync(paths, `${job.paths.join("\n")}\n`);
    for (let done = 0, runs = 0; done < job.warmUpRequests && runs < MOST_WARM_UPS; runs++) {
      done += (await run(job, paths, 1)).requests;
    }
    const before = microsOf(job.pid);
    const { us, refused, ...summary } = await run(job, paths, Math.max(1, Math.round(job.seconds)));
    const cpuSeconds = (microsOf(job.pid) - before) / 1e6;
    const { requests } = summary;
    const isRefusal = status >= 400;
    const others = isRefusal ? requests - refused : refused;
    const rss = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${job.pid}/status`, "latin1"))?.[1];
    return {
      ...summary,
      statuses: { [status]: requests - others, ...(others > 0 ? { others } : {}) },
      perCpuSecond: requests / cpuSeconds,
      perSecond: requests / (us / 1e6),
      p50: summary.p50 / 1000,
      p99: summary.p99 / 1000,
      p999: summary.p999 / 1000,
      rss: Number(rss) * 1024,
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
