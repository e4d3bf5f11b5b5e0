/** Why a snapshot that loads well does not replace the served or published one. */

import type { Store } from "../store/generation.ts";
import { isCount, isObject } from "../util/json.ts";
import { loadSnapshot } from "./load.ts";
import { readManifestOf } from "./manifest.ts";

/** The first load failed. */
export class SnapshotError extends Error {
  override name = "SnapshotError";
  /** One line a problem. */
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join("\n"));
    this.problems = problems;
  }
}

/** Tables smaller than this may shrink freely: half of a handful is no sign of a broken export. */
const SHRINK_GUARD_ROWS = 100;

/** Numbers of visible rows of the tables that must not shrink. */
export interface VisibleRows {
  readonly users: number;
  readonly worlds: number;
}

export function visibleIn({ users, worlds }: Store): VisibleRows {
  return { users: users.rows, worlds: worlds.rows };
}

/** A line for each table of which most is gone. @param where the rows before are, as in "being served" */
export function shrinkProblems(before: VisibleRows, after: VisibleRows, where: string): string[] {
  return (["users", "worlds"] as const)
    .filter((table) => before[table] >= SHRINK_GUARD_ROWS && after[table] < before[table] / 2)
    .map((table) => {
      const lost = `${after[table]} visible rows, less than half of the ${before[table]} ${where}`;
      return `${table}.ndjson: ${lost}`;
    });
}

/** A line when other contents come under the name that is being served. */
function renameProblems(before: Store, after: Store): string[] {
  if (after.id !== before.id || after.contents === before.contents) return [];
  return [`manifest.json: generation: "${after.id}" is being served with other contents`];
}

/** Why a server would not serve one after the other, a line each. */
export function refusalsOf(before: Store, after: Store, allowShrink: boolean): string[] {
  const shrunk = allowShrink ? [] : shrinkProblems(visibleIn(before), visibleIn(after), "being served");
  const problems = shrunk.map((problem) => `${problem}; use --allow-shrink to accept it`);
  return [...renameProblems(before, after), ...problems];
}

/** What was to be published has lost most of what is published; nothing was replaced. */
export class ShrunkError extends Error {
  override name = "ShrunkError";
}

/** The visible rows in a folder; undefined where it cannot be loaded. */
async function visibleOf(folder: string, maxBytes: number | undefined): Promise<VisibleRows | undefined> {
  const { visible } = (await readManifestOf(folder)) ?? {};
  if (isObject(visible) && isCount(visible.users) && isCount(visible.worlds)) {
    return { users: visible.users, worlds: visible.worlds };
  }
  const loaded = await loadSnapshot(folder, maxBytes === undefined ? {} : { maxBytes });
  return loaded.ok ? visibleIn(loaded.store) : undefined;
}

/** What is published now, and whether it may shrink. */
export interface ShrinkGuard {
  /** Undefined where there is nothing yet. */
  readonly current: string | undefined;
  readonly allowShrink?: boolean | undefined;
  /** Most bytes of rows. */
  readonly maxBytes?: number | undefined;
}

/** @throws {ShrunkError} where a folder's snapshot would be replaced by one with less than half of its users or worlds */
export async function refuseShrunk(
  after: VisibleRows,
  { current, allowShrink, maxBytes }: ShrinkGuard,
): Promise<void> {
  if (current === undefined || allowShrink) return;
  const before = await visibleOf(current, maxBytes);
  const problems = before === undefined ? [] : shrinkProblems(before, after, "that are published");
  if (problems.length > 0) throw new ShrunkError(`${problems.join("; ")}; use --allow-shrink to accept it`);
}
