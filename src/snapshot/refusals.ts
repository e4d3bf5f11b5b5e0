/** Why a snapshot that loads well must not take the place of the one being served. */

import type { Store } from "../store/generation.ts";

/** Tables smaller than this may shrink freely: half of a handful is no sign of a broken export. */
const SHRINK_GUARD_ROWS = 100;

/** A line for each table of which most is gone; `--allow-shrink` accepts that. */
export function shrinkProblems(before: Store, after: Store): string[] {
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
export function renameProblems(before: Store, after: Store): string[] {
  if (after.id !== before.id || after.contents === before.contents) return [];
  return [`manifest.json: generation: "${after.id}" is being served with other contents`];
}
