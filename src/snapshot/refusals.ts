/** Why a snapshot is not served, though it may load well: it must not take the place of the one being served. */

import type { Store } from "../store/generation.ts";

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

/** How many rows of the tables are visible that must not shrink. */
export interface VisibleRows {
  readonly users: number;
  readonly worlds: number;
}

/** How many of a store's are. */
export function visibleIn({ users, worlds }: Store): VisibleRows {
  return { users: users.rows, worlds: worlds.rows };
}

/** What is told of each table of which most is gone. @param where those are of which there were more, as in "being served" */
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
