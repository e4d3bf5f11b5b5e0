/** Loads snapshots that are written for one test, and says what is wrong with them. */

import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { after } from "node:test";
import { type LoadOptions, loadSnapshot } from "../../src/snapshot/load.ts";
import { type Files, snapshotFiles, temporaryFolder, writeFiles } from "./folders.ts";
import { problemsOf } from "./loaded.ts";

export const MIB = 1_048_576;
export const CANARY = "canary-4711";

const root = temporaryFolder({ after });
export let folders = 0;

export function freshFolder(): string {
  return join(root, String(++folders));
}

/** Writes a snapshot (one good row a file unless given), loads it, and removes it. */
export async function load(given: Files | ReadonlyMap<string, Buffer> = {}, options: LoadOptions = {}) {
  const files = given instanceof Map ? (given as ReadonlyMap<string, Buffer>) : snapshotFiles(given as Files);
  const folder = writeFiles(freshFolder(), files);
  try {
    return await loadSnapshot(folder, options);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The snapshot is refused with problems that begin like these, one each, in this order. */
export async function assertProblems(given: Files, ...starts: string[]): Promise<readonly string[]> {
  const problems = problemsOf(await load(given));
  const matching = problems.filter((line, at) => line.startsWith(starts[at] ?? "\n"));
  assert.deepEqual(problems, starts.length === matching.length ? matching : starts);
  return problems;
}
