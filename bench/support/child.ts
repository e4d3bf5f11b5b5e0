/** The server under observation as a child process, and what it serves. */

import { type ChildProcess, fork, spawnSync } from "node:child_process";
import { closeSync, existsSync, openSync, readFileSync, readSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { generateSnapshot } from "../../src/generate/generate.ts";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Node's options in the first line of a tree's command, which are lost when node is called by name. */
export function nodeOptionsOf(tree: string): string[] {
  const [firstLine] = readFileSync(join(tree, "bin/orrery.mjs"), "utf8").split("\n");
  return firstLine!.split(/\s+/).filter((word) => word.startsWith("--"));
}

export const NODE_OPTIONS = nodeOptionsOf(ROOT);

/** What runs a TypeScript file here. */
export const RUN_TYPESCRIPT = (process.features as { typescript?: unknown }).typescript
  ? []
  : ["--import", "tsx"];

/** Starts `server.ts`; it says `url` when it listens. */
export function forkServer(snapshot: string, keys: string, ...more: string[]): ChildProcess {
  return fork(join(ROOT, "bench/support/server.ts"), [snapshot, keys, ...more], {
    cwd: ROOT,
    execArgv: [...NODE_OPTIONS, ...RUN_TYPESCRIPT],
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
}

/** Pins a process with all its threads to a core, where `taskset` is. */
export function pin(pid: number, core: number): void {
  spawnSync("taskset", ["-a", "-p", "-c", String(core), String(pid)]);
}

/**
 * Runs a process only when no other wants its core, where `chrt` is. A low priority
 * is not enough: Linux lets a process finish its slice of up to 4 ms.
 */
export function runWhenIdle(pid: number): void {
  spawnSync("chrt", ["-a", "-i", "-p", "0", String(pid)]);
}

/** Waits for a message that has a property, however many others come with it. */
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

/** Raised with every change of what is generated: a folder of another number is not used again. */
const GENERATED = 2;

/**
 * A snapshot of a quarter as many worlds and a twentieth as many instances, made once.
 *
 * @param name whose it is: bench/scale.ts renames generations in its own
 */
export async function snapshotOf(users: number, name = "bench"): Promise<string> {
  const out = join(tmpdir(), `orrery-${name}-${GENERATED}-${users}`);
  if (!existsSync(join(out, "manifest.json"))) {
    const worlds = Math.round(users / 4);
    await generateSnapshot({ out, users, worlds, instances: Math.round(users / 20), seed: 1, gzip: false });
  }
  return out;
}

/** Ids of worlds that are served. The file may be larger than a string can be. */
export function visibleWorlds(snapshot: string): string[] {
  const ids: string[] = [];
  const chunk = Buffer.alloc(1 << 24);
  const file = openSync(join(snapshot, "worlds.ndjson"), "r");
  let kept = 0;
  for (;;) {
    const read = readSync(file, chunk, kept, chunk.length - kept, null);
    const filled = chunk.subarray(0, kept + read);
    let from = 0;
    for (let end = filled.indexOf(10); end >= 0; end = filled.indexOf(10, from)) {
      const line = filled.subarray(from, end);
      if (line.includes('"isPublic":true') && line.includes('"status":"ACTIVE"'))
        ids.push(line.toString("latin1", 7, 43));
      from = end + 1;
    }
    kept = filled.length - from;
    chunk.copyWithin(0, from, filled.length);
    if (read === 0) break;
  }
  closeSync(file);
  return ids;
}
