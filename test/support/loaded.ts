/** What came of loading a snapshot, and files of rows. */

import assert from "node:assert/strict";
import type { Loaded, Refused } from "../../src/snapshot/load.ts";
import { type Block, rowObject } from "../../src/store/table.ts";
import type { RawRow } from "./folders.ts";

/** What was loaded; the snapshot must be good. */
export function mustLoad(result: Loaded | Refused): Loaded {
  assert.deepEqual(result.ok ? [] : result.problems, []);
  assert.ok(result.ok);
  return result;
}

/** Why a snapshot was refused, a line each; it must be bad. */
export function problemsOf(result: Loaded | Refused): readonly string[] {
  assert.ok(!result.ok, "a bad snapshot was loaded");
  assert.ok(result.problems.length > 0, "refused without a reason");
  for (const line of result.problems) assert.doesNotMatch(line, /[\n\r]/, "one line a problem");
  return result.problems;
}

/** The rows of a table as objects. */
export function rowsOf<Row>(block: Block): Row[] {
  return Array.from({ length: block.rows }, (_, row) => rowObject<Row>(block, row));
}

/** The text of a file of rows; texts stand in it as they are. */
export const lines = (...rows: (RawRow | string)[]): string =>
  rows.map((row) => `${typeof row === "string" ? row : JSON.stringify(row)}\n`).join("");
