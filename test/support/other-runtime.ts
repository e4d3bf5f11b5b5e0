/** Servers on other runtimes than Node: real processes of the command. */

import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { LISTENING, type Program, until } from "./process.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** What runs a program of TypeScript: words in front of its path. */
export type Runtime = readonly string[];

/** Bun or Deno by what runs a file, or why there is none. */
export function findRuntime(name: "bun" | "deno"): {
  readonly runtime: Runtime;
  readonly missing: string | false;
} {
  const local = join(ROOT, "node_modules/.bin", name);
  const program = existsSync(local) ? local : name;
  const isHere = spawnSync(program, ["--version"]).status === 0;
  return {
    runtime: name === "deno" ? [program, "run", "--allow-all", "--quiet"] : [program],
    missing: isHere ? false : `${name} is not installed`,
  };
}

const alive = new Set<ChildProcess>();

/** Ends, at once, every process that was started here and still runs. */
export function killRuntimes(): void {
  for (const child of alive) child.kill("SIGKILL");
}

/** A server in a process of another runtime. */
export interface OtherServer extends Program {
  readonly url: string;
  readonly port: number;
  readonly generation: () => string;
}

/** Starts the command on a runtime. */
export function startOn(
  [program, ...words]: Runtime,
  args: readonly string[],
  file = "dist/main.js",
): Program {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const child = spawn(program!, [...words, join(ROOT, file), ...args], {
    cwd: ROOT,
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  alive.add(child);
  const written = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      written[name] += text;
    });
  }
  const ended = new Promise<{ status: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.once("close", (status, signal) => {
      alive.delete(child);
      resolve({ status, signal });
    });
  });
  return { child, stdout: () => written.stdout, stderr: () => written.stderr, ended };
}

/** Starts `serve` on a runtime and waits until it accepts requests. */
export async function serveOn(runtime: Runtime, args: readonly string[]): Promise<OtherServer> {
  const program = startOn(runtime, ["serve", "--port", "0", ...args]);
  const line = await until(() => {
    assert.equal(program.child.exitCode, null, `it ended: ${program.stderr()}`);
    return LISTENING.exec(program.stdout());
  }, "the listening line");
  return { ...program, url: line[1]!, port: Number(line[2]), generation: () => line[3]! };
}

/** Sends SIGTERM; it must exit 0 without a word of an error. */
export async function stopOther({ child, ended, stderr }: Program): Promise<void> {
  child.kill("SIGTERM");
  assert.deepEqual(await ended, { status: 0, signal: null }, stderr());
}
