/** Other versions of Node and other runtimes, for tests that the running one cannot do. */

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readlinkSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { codeOf } from "../../src/util/system-error.ts";
import { unavailable } from "./need.ts";
import type { Command } from "./process.ts";
import { PROGRAM, ROOT } from "./program.ts";

/** A Node of a major version: its path, or why it is missing. */
export type FoundNode = { readonly path: string } | { readonly missing: string };

/** Remembers the path that npx found beside the built tests until the next build: npx takes a second, and a dozen files ask. */
const knownPath = (version: number | string): string => join(ROOT, ".tests", `node-${version}`);

/**
 * A Node by its version or major version, or `latest`: this one if it matches, else one from npm's cache or registry.
 *
 * @throws if it is missing and tests must not be skipped
 */
export function findNode(version: number | string): FoundNode {
  const own = process.versions.node;
  if (own === version || own.startsWith(`${version}.`)) return { path: process.execPath };
  const known = knownPath(version);
  if (existsSync(known)) return { path: readlinkSync(known) };
  const asked = spawnSync("npx", ["-y", "-p", `node@${version}`, "node", "-p", "process.execPath"], {
    encoding: "utf8",
    timeout: 300_000,
  });
  const path = asked.stdout?.trim() ?? "";
  if (asked.status === 0 && path !== "") {
    remember(known, path);
    return { path };
  }
  return { missing: unavailable(`Node ${version} cannot be had by npx`) };
}

/** Does nothing if another process has just done so, or if the tests are not built. */
function remember(known: string, path: string): void {
  try {
    symlinkSync(path, known);
  } catch (error) {
    if (!["EEXIST", "ENOENT"].includes(codeOf(error) ?? "")) throw error;
  }
}

/** The reason to skip a test that needs a Node, or false. */
export function lacking(node: FoundNode): string | false {
  return "missing" in node && node.missing;
}

export function programOn(node: FoundNode): Command {
  assert.ok("path" in node, lacking(node) || "");
  return [node.path, ...PROGRAM];
}

/** The command that runs a file on Bun or Deno, or why it is missing. */
export function findRuntime(name: "bun" | "deno"): {
  readonly runtime: Command;
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

/** The failures with their reasons, without the hundreds that passed. */
function failuresOf(tap: string): string {
  return (tap.match(/^ *not ok [\s\S]*?^ *\.\.\.$/gm) ?? []).join("\n");
}

/** Runs a file of tests on another Node, and asserts that all pass; `pattern` picks some of them by name. */
export async function assertPassesOn(
  node: FoundNode,
  file: string,
  { pattern, variables = {}, atLeast }: PassOptions,
): Promise<void> {
  assert.ok("path" in node);
  const { NODE_TEST_CONTEXT: _, ...environment } = process.env;
  const some = pattern === undefined ? [] : [`--test-name-pattern=${pattern}`];
  const child = spawn(node.path, ["--test-reporter=tap", ...some, "--import", "tsx", file], {
    cwd: ROOT,
    env: { ...environment, ...variables },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const output = Promise.all([text(child.stdout), text(child.stderr)]);
  const [status] = await once(child, "close");
  const [stdout, stderr] = await output;
  assert.equal(status, 0, failuresOf(stdout) + stderr);
  const passed = Number(/^# pass (\d+)$/m.exec(stdout)?.[1]);
  assert.ok(passed >= atLeast, `only ${passed} tests`);
}

interface PassOptions {
  readonly pattern?: string;
  readonly variables?: Readonly<Record<string, string>>;
  /** Minimum number of tests that must run, to notice a changed name. */
  readonly atLeast: number;
}
