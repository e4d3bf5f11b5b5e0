/** The real command, started over a snapshot: how long that takes, its memory, and what requests cost it. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import type { Observation } from "../../src/observe/events.ts";
import { NODE_OPTIONS, ROOT, visibleWorlds } from "./child.ts";
import { measureServed, type Served } from "./served.ts";

type Loaded = Extract<Observation, { kind: "snapshot-loaded" }>;

/** Times in milliseconds, memory in bytes. */
export interface Start {
  readonly listening: number;
  readonly loaded: Loaded;
  readonly steady: number;
  readonly peak: number;
  readonly served: Served;
}

/** What is started. */
export interface Startable {
  readonly snapshot: string;
  readonly keys: string;
  readonly token: string;
  /** What queries are cut from. */
  readonly texts: readonly string[];
  /** Another checkout than this. */
  readonly tree?: string;
  readonly isSmoke: boolean;
}

/** Memory of a process in bytes, as Linux counts it. */
export function memoryOf(pid: number, field: "VmRSS" | "VmHWM"): number {
  const line = new RegExp(`${field}:\\s+(\\d+) kB`).exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Number(line![1]) * 1024;
}

/** Starts the real command, measures it, and ends it. */
export async function measureStart(what: Startable): Promise<Start> {
  const { snapshot, keys, token, texts, tree = ROOT, isSmoke } = what;
  const began = performance.now();
  const settings = ["--snapshot", snapshot, "--keys", keys, "--port", "0", "--rate-limit", "1000000000"];
  const args = [...NODE_OPTIONS, "bin/orrery.mjs", "serve", ...settings];
  const child = spawn(process.execPath, args, { cwd: tree, stdio: ["ignore", "pipe", "pipe"] });
  let loaded: Loaded | undefined;
  createInterface({ input: child.stderr! }).on("line", (line) => {
    const { event, ...fields } = JSON.parse(line) as Record<string, unknown>;
    if (event === "snapshot-loaded") loaded = fields as unknown as Loaded;
  });
  const [line] = (await once(child.stdout!, "data")) as [Buffer];
  const listening = performance.now() - began;
  await sleep(isSmoke ? 500 : 10_000);
  const steady = memoryOf(child.pid!, "VmRSS");
  const peak = memoryOf(child.pid!, "VmHWM");
  const url = /http\S+/.exec(line.toString())![0];
  const times = isSmoke ? 200 : 20_000;
  const served = await measureServed(child.pid!, url, token, visibleWorlds(snapshot), texts, times);
  child.kill("SIGTERM");
  await once(child, "exit");
  return { listening, loaded: loaded!, steady, peak, served };
}
