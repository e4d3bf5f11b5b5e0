/** The real command, started over a snapshot: the time of the start, its memory, and the cost of requests. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import type { Observation } from "../../src/observe/events.ts";
import { NODE_OPTIONS, ROOT } from "./child.ts";
import { cpuOf, memoryOf } from "./process.ts";
import { measureServed, type Queries, type Served } from "./served.ts";

type Loaded = Extract<Observation, { kind: "snapshot-loaded" }>;

/** Times in milliseconds, memory in bytes. */
export interface Start {
  readonly listening: number;
  /** CPU time until it listens. */
  readonly cpu: number;
  readonly loaded: Loaded;
  readonly steady: number;
  readonly peak: number;
  readonly served: Served;
}

/** A command to start, and the requests to send. */
export interface Startable {
  readonly snapshot: string;
  readonly keys: string;
  readonly token: string;
  readonly queries: Queries;
  /** Milliseconds until its memory is read. */
  readonly rest: number;
  /** Requests of each kind. */
  readonly times: number;
}

/** Starts the real command, measures it, and ends it. */
export async function measureStart(what: Startable): Promise<Start> {
  const { snapshot, keys, token, queries, rest, times } = what;
  const began = performance.now();
  const settings = ["--snapshot", snapshot, "--keys", keys, "--port", "0", "--rate-limit", "1000000000"];
  const args = [...NODE_OPTIONS, "bin/orrery.mjs", "serve", ...settings];
  const child = spawn(process.execPath, args, { cwd: ROOT, stdio: ["ignore", "pipe", "pipe"] });
  const pid = child.pid!;
  let loaded: Loaded | undefined;
  createInterface({ input: child.stderr! }).on("line", (line) => {
    const { event, ...fields } = JSON.parse(line) as Record<string, unknown>;
    if (event === "snapshot-loaded") loaded = fields as unknown as Loaded;
  });
  const [line] = (await once(child.stdout!, "data")) as [Buffer];
  const listening = performance.now() - began;
  const cpu = cpuOf(pid);
  await sleep(rest);
  const memory = { steady: memoryOf(pid, "VmRSS"), peak: memoryOf(pid, "VmHWM") };
  const url = /http\S+/.exec(line.toString())![0];
  const served = await measureServed({ pid, url, token, queries, times });
  child.kill("SIGTERM");
  await once(child, "exit");
  return { listening, cpu, loaded: loaded!, ...memory, served };
}
