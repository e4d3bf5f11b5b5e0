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

/** A line for each table of which most is gone; `--allow-shrink` accepts that. */
function shrinkProblems(before: Store, after: Store): string[] {
  const problems: string[] = [];
  for (const table of ["users", "worlds"] as const) {
    const from = before[table].rows;
    const to = after[table].rows;
    if (from < SHRINK_GUARD_ROWS || to >= from / 2) continue;
    const lost = `${to} visible rows, less than half of the ${from} being served`;
    problems.push(`${table}.ndjson: ${lost}; use --allow-shrink to accept it`);
  }
  return problems;
}

/** A line when other contents come under the name that is being served. */
function renameProblems(before: Store, after: Store): string[] {
  if (after.id !== before.id || after.contents === before.contents) return [];
  return [`manifest.json: generation: "${after.id}" is being served with other contents`];
}

/** Why a server would not serve one after the other, a line each. */
export function refusalsOf(before: Store, after: Store, allowShrink: boolean): string[] {
  return [...renameProblems(before, after), ...(allowShrink ? [] : shrinkProblems(before, after))];
}
