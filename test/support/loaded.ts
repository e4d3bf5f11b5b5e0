/** Loads snapshots written for one test; checks of the results; files of rows. */

import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import system from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import type { SearchBounds } from "../../src/search/cache.ts";
import { Scheduler } from "../../src/search/schedule.ts";
import { type Loaded, type LoadOptions, loadSnapshot, type Refused } from "../../src/snapshot/load.ts";
import { type Block, rowObject } from "../../src/store/table.ts";
import { type Files, type RawRow, snapshotFiles, temporaryFolder, writeFiles } from "./folders.ts";

export function mustLoad(result: Loaded | Refused): Loaded {
  assert.deepEqual(result.ok ? [] : result.problems, []);
  assert.ok(result.ok);
  return result;
}

/** The reasons for a refusal, one per line; the snapshot must be bad. */
export function problemsOf(result: Loaded | Refused): readonly string[] {
  assert.ok(!result.ok, "a bad snapshot was loaded");
  assert.ok(result.problems.length > 0, "refused without a reason");
  for (const line of result.problems) assert.doesNotMatch(line, /[\n\r]/, "one line a problem");
  return result.problems;
}

/** Functions of the file system that a load calls. */
export type FileSystem = Pick<typeof system, "open" | "stat">;

export const realFiles: FileSystem = { open: system.open, stat: system.stat };

/** Runs while functions of the file system are replaced. */
export async function whileReplaced<T>(replaced: Partial<typeof system>, run: () => Promise<T>): Promise<T> {
  const real = { ...system };
  Object.assign(system, replaced);
  syncBuiltinESMExports();
  try {
    return await run();
  } finally {
    for (const name of Object.keys(replaced)) Object.assign(system, { [name]: Reflect.get(real, name) });
    syncBuiltinESMExports();
  }
}

/** Loads a snapshot meanwhile. */
export const loadWith = (replaced: Partial<FileSystem>, folder: string, options: LoadOptions = {}) =>
  whileReplaced(replaced, () => loadSnapshot(folder, options));

export function rowsOf<Row>(block: Block): Row[] {
  return Array.from({ length: block.rows }, (_, row) => rowObject<Row>(block, row));
}

/** The text of a file of rows; strings are written as they are. */
export const lines = (...rows: (RawRow | string)[]): string =>
  rows.map((row) => `${typeof row === "string" ? row : JSON.stringify(row)}\n`).join("");

export const MIB = 1_048_576;
export const CANARY = "canary-4711";

const root = temporaryFolder();
let folders = 0;

export function freshFolder(): string {
  return join(root, String(++folders));
}

/** Writes a snapshot (one good row per file unless given), loads it, and removes it. */
export async function load(given: Files | ReadonlyMap<string, Buffer> = {}, options: LoadOptions = {}) {
  const files = given instanceof Map ? (given as ReadonlyMap<string, Buffer>) : snapshotFiles(given as Files);
  const folder = writeFiles(freshFolder(), files);
  try {
    return await loadSnapshot(folder, options);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Asserts that the snapshot is refused with problems that begin with these texts, one each, in this order. */
export async function assertProblems(given: Files, ...starts: string[]): Promise<readonly string[]> {
  const problems = problemsOf(await load(given));
  const matching = problems.filter((line, at) => line.startsWith(starts[at] ?? "\n"));
  assert.deepEqual(problems, starts.length === matching.length ? matching : starts);
  return problems;
}

/** Searches of a keeper's generations that keep nothing and count nothing. */
export const SEARCH_BOUNDS: SearchBounds = { cacheBytes: 0, scheduler: new Scheduler(), count: undefined };
