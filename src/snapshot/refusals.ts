/** Reasons not to replace the served or published snapshot by one that loads well. */

import type { Store } from "../store/generation.ts";
import { isCount, isObject } from "../util/json.ts";
import { PlaceError } from "../util/user-error.ts";
import { loadSnapshot } from "./load.ts";
import { readManifestOf } from "./manifest.ts";

/** Tables smaller than this may shrink freely: the loss of a few rows is no sign of a broken export. */
const SHRINK_GUARD_ROWS = 100;

export interface VisibleRows {
  readonly users: number;
  readonly worlds: number;
}

export function visibleIn({ users, worlds }: Store): VisibleRows {
  return { users: users.rows, worlds: worlds.rows };
}

/** A line for each table that lost more than half of its rows. @param where describes the rows before, as in "being served" */
function shrinkProblems(previous: VisibleRows, after: VisibleRows, where: string): string[] {
  return (["users", "worlds"] as const)
    .filter((table) => previous[table] >= SHRINK_GUARD_ROWS && after[table] < previous[table] / 2)
    .map((table) => {
      return `${table}.ndjson: ${after[table]} visible rows, less than half of the ${previous[table]} ${where}`;
    });
}

/** Why a server would not replace one store by the other, one line per reason. */
export function refusalsOf(previous: Store, after: Store, allowShrink: boolean): string[] {
  const shrunk = allowShrink ? [] : shrinkProblems(visibleIn(previous), visibleIn(after), "being served");
  const problems = shrunk.map(
    (problem) => `${problem}; use --allow-shrink (option allowShrink) to accept it`,
  );
  if (after.id !== previous.id || after.contents === previous.contents) return problems;
  return [`manifest.json: generation: "${after.id}" is being served with other contents`, ...problems];
}

/** The visible rows of the snapshot in a folder; undefined if it cannot be loaded. */
async function visibleOf(folder: string): Promise<VisibleRows | undefined> {
  const { visible } = (await readManifestOf(folder)) ?? {};
  if (isObject(visible) && isCount(visible.users) && isCount(visible.worlds)) {
    return { users: visible.users, worlds: visible.worlds };
  }
  const loaded = await loadSnapshot(folder);
  return loaded.ok ? visibleIn(loaded.store) : undefined;
}

export interface ShrinkGuard {
  /** Its folder; undefined if nothing is published yet. */
  readonly current: string | undefined;
  readonly allowShrink?: boolean | undefined;
}

/** @throws {PlaceError} if the new snapshot has less than half of the published users or worlds */
export async function refuseShrunk(after: VisibleRows, { current, allowShrink }: ShrinkGuard): Promise<void> {
  if (current === undefined || allowShrink) return;
  const previous = await visibleOf(current);
  const problems = previous === undefined ? [] : shrinkProblems(previous, after, "that are published");
  if (problems.length > 0) throw new PlaceError(`${problems.join("; ")}; use --allow-shrink to accept it`);
}
