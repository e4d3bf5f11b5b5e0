/** What is published must not be replaced by what has less than half of its users or worlds: mostly that is a broken export. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { isObject } from "../util/json.ts";
import { MANIFEST } from "./files.ts";
import { loadSnapshot } from "./load.ts";
import { isCount } from "./manifest.ts";
import { shrinkProblems, type VisibleRows, visibleIn } from "./refusals.ts";

/** What was to be published has lost most of what is published; nothing was replaced. */
export class ShrunkError extends Error {
  override name = "ShrunkError";
}

/** Reads a file of JSON, as far as it is an object; undefined where there is none that can be read. */
export async function readObject(file: string): Promise<Record<string, unknown> | undefined> {
  try {
    const value: unknown = JSON.parse(await readFile(file, "utf8"));
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** How many rows are visible of what a folder holds; undefined where that cannot be loaded. */
async function visibleOf(folder: string, maxBytes: number | undefined): Promise<VisibleRows | undefined> {
  const { visible } = (await readObject(join(folder, MANIFEST))) ?? {};
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
