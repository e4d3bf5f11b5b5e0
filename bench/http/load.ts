/** The load: autocannon in a separate process, and its figures. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT, RUN_TYPESCRIPT } from "../support/child.ts";
import { onCore } from "./servers.ts";

/** A mark in a header, which autocannon replaces by another text in each request. */
export const EACH = "[<id>]";

/** A job for the load's process. */
export interface LoadJob {
  readonly url: string;
  /** The process with the measured CPU time and memory. */
  readonly pid: number;
  readonly paths: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  /** Whether {@link EACH} in the headers becomes another text with each request. */
  readonly unique: boolean;
  readonly connections: number;
  /** Requests before the timed run. A number, not a time: V8 compiles functions after so many calls, fast or slow. */
  readonly warmUpRequests: number;
  readonly seconds: number;
}

/** The result of one timed run. Latencies in milliseconds, memory in bytes. */
export interface Run {
  readonly requests: number;
  /** Requests by status. */
  readonly statuses: Readonly<Record<string, number>>;
  readonly errors: number;
  readonly timeouts: number;
  /** Requests a second of the server's CPU time, all its threads together. */
  readonly perCpuSecond: number;
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
  readonly rss: number;
}

/** The kernel counts process times in hundredths of a second, on every Linux that Node runs on. */
const TICKS_A_SECOND = 100;

/** Seconds of CPU that all threads of a process have used. */
export function cpuSecondsOf(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The program's name stands in brackets and may hold anything; utime and stime are 12 and 13 fields after it.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS_A_SECOND;
}

/** CPU time of all live threads of a process, in microseconds; {@link cpuSecondsOf} counts whole ticks. */
export function microsOf(pid: number): number {
  const ofThread = (thread: string): number =>
    Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0]) / 1000;
  return readdirSync(`/proc/${pid}/task`).reduce((sum, thread) => sum + ofThread(thread), 0);
}

/** The load's process. It runs all loads, so that its code is compiled once. */
let cannon: ChildProcess | undefined;

function startCannon(): ChildProcess {
  const command = [process.execPath, ...RUN_TYPESCRIPT, join(ROOT, "bench/http/cannon.ts")];
  const [program, args] = onCore(1, command);
  return spawn(program, args, { cwd: ROOT, stdio: ["ignore", "inherit", "inherit", "ipc"] });
}

/** Runs a load; only one may run at a time. @throws {Error} when its process fails */
export async function runLoad(job: LoadJob): Promise<Run> {
  cannon ??= startCannon();
  const child = cannon;
  const over = new AbortController();
  const { signal } = over;
  // Between two loads the process must not keep this one alive.
  child.ref();
  child.channel!.ref();
  try {
    child.send(job);
    const heard = await Promise.race([
      once(child, "message", { signal }),
      once(child, "exit", { signal }).then(([code]) => Number(code)),
    ]);
    if (!Array.isArray(heard)) {
      cannon = undefined;
      throw new Error(`the load ended with ${heard}`);
    }
    return heard[0] as Run;
  } finally {
    over.abort();
    child.unref();
    child.channel?.unref();
  }
}

/** With fewer, percentiles mean nothing, and CPU time has ticks of 10 ms; a short run only shows that all works. */
const LEAST_REQUESTS = process.argv.includes("--smoke") ? 1 : 100;

/** The reason why a run does not count, or undefined. */
export function flawOf(run: Run, status: number): string | undefined {
  if (run.errors > 0) return `${run.errors} errors`;
  if (run.timeouts > 0) return `${run.timeouts} timeouts`;
  const others = Object.keys(run.statuses).filter((some) => some !== String(status));
  if (others.length > 0)
    return `status ${others.map((some) => `${some} × ${run.statuses[some]}`).join(", ")}`;
  if (run.requests < LEAST_REQUESTS)
    return `only ${run.requests} requests were answered: --seconds gives it more`;
  return undefined;
}
