/** The measured server as a child process, and its snapshots. */

import { type ChildProcess, fork, spawnSync } from "node:child_process";
import { closeSync, existsSync, openSync, readFileSync, readSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { generateSnapshot } from "../../src/generate/generate.ts";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Node's options in the first line of a tree's command: a call of node by name would lose them. */
export function nodeOptionsOf(tree: string): string[] {
  const [firstLine] = readFileSync(join(tree, "bin/orrery.mjs"), "utf8").split("\n");
  return firstLine!.split(/\s+/).filter((word) => word.startsWith("--"));
}

export const NODE_OPTIONS = nodeOptionsOf(ROOT);

/** Node's options to run a TypeScript file. */
export const RUN_TYPESCRIPT = (process.features as { typescript?: unknown }).typescript
  ? []
  : ["--import", "tsx"];

/** Starts `server.ts`, which sends `url` once it listens. */
export function forkServer(snapshot: string, keys: string, ...more: string[]): ChildProcess {
  return fork(join(ROOT, "bench/support/server.ts"), [snapshot, keys, ...more], {
    cwd: ROOT,
    execArgv: [...NODE_OPTIONS, ...RUN_TYPESCRIPT],
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
}

/** Pins a process with all its threads to a core, if `taskset` is installed. */
export function pin(pid: number, core: number): void {
  spawnSync("taskset", ["-a", "-p", "-c", String(core), String(pid)]);
}

/**
 * Runs a process only when no other wants its core, if `chrt` is installed. A low priority is not enough: Linux lets a
 * process finish its time slice of up to 4 ms.
 */
export function runWhenIdle(pid: number): void {
  spawnSync("chrt", ["-a", "-i", "-p", "0", String(pid)]);
}

/** Waits for a message with a property, and ignores others. */
export function said<Value>(child: ChildProcess, property: string): Promise<Value> {
  return new Promise((resolve) => {
    child.on("message", function hear(message: Record<string, unknown>) {
      if (!(property in message)) return;
      child.off("message", hear);
      resolve(message[property] as Value);
    });
  });
}

export async function ask<Value>(child: ChildProcess, question: string, property: string): Promise<Value> {
  const answer = said<Value>(child, property);
  child.send(question);
  return await answer;
}

/** The generation of the sample, which every change of the generated rows changes: folders of another are not reused. */
const { generation: GENERATED } = JSON.parse(
  readFileSync(join(ROOT, "data/sample/manifest.json"), "utf8"),
) as { readonly generation: string };

/**
 * A snapshot with a quarter as many worlds as users and a twentieth as many instances, made once. Benches that change a
 * snapshot change a copy made of links.
 */
export async function snapshotOf(users: number): Promise<string> {
  const out = join(tmpdir(), `orrery-bench-${GENERATED}-${users}`);
  if (existsSync(join(out, "manifest.json"))) return out;
  const worlds = Math.round(users / 4);
  // Another bench may be making the same snapshot.
  const made = `${out}-${process.pid}`;
  await generateSnapshot({
    out: made,
    users,
    worlds,
    instances: Math.round(users / 20),
    seed: 1,
    gzip: false,
  });
  try {
    renameSync(made, out);
  } catch (error) {
    if (!existsSync(join(out, "manifest.json"))) throw error;
    rmSync(made, { recursive: true });
  }
  return out;
}

/** Most bytes read of a file: a text of more than half a gigabyte exceeds V8's limit. */
const MOST_READ = 2 ** 26;

/** Whole lines from the beginning of a file. */
export function linesOf(file: string): string[] {
  const bytes = Buffer.allocUnsafe(MOST_READ);
  const handle = openSync(file, "r");
  const length = readSync(handle, bytes, 0, MOST_READ, 0);
  closeSync(handle);
  return bytes.toString("utf8", 0, bytes.lastIndexOf("\n", length - 1)).split("\n");
}

/** Ids of served worlds: all of them, or very many. */
export function visibleWorlds(snapshot: string): string[] {
  return linesOf(join(snapshot, "worlds.ndjson"))
    .filter((line) => line.includes('"isPublic":true') && line.includes('"status":"ACTIVE"'))
    .map((line) => line.slice(7, 43));
}
