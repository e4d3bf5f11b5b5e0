/** Guarding against a broken export: a snapshot that lost most of a table. */

import type { Observation } from "../../observe.ts";
import type { Store } from "../../store/generation.ts";

/** Tables smaller than this may shrink freely: half of a handful is no sign of a broken export. */
const SHRINK_GUARD_ROWS = 100;

/** Why a store must not follow another: it lost most of a table. */
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

/** Visible rows of each table. */
export function countsOf(store: Store): { users: number; worlds: number; instances: number } {
  return { users: store.users.rows, worlds: store.worlds.rows, instances: store.instances.rows };
}

/** What there is to say of a store that follows another: the tables, however small, of which less than half is left. */
export function shrunkTables(before: Store, after: Store): Observation[] {
  const counts = countsOf(after);
  return Object.entries(countsOf(before)).flatMap(([table, from]) => {
    const to = counts[table as keyof typeof counts];
    return to < from / 2 ? [{ kind: "snapshot-shrunk", table, from, to } as const] : [];
  });
}
