/** Loads rows that a program gives as objects: checked as those of files, and named by table and index. */

import { createHash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import type { RowFile } from "../model/model.ts";
import { FIELDS, type GivenRow, type ROWS, TABLES, type TableName } from "../model/schema.ts";
import { LimitError } from "../store/limits.ts";
import { isObject } from "../util/json.ts";
import type { FileReport, Loaded, LoadOptions, Refused } from "./loaded.ts";
import { Problems, showValue } from "./problems.ts";
import { type Origin, ROWS_OF, reuseEqual } from "./reuse.ts";
import { finish, stageParsed } from "./row-files.ts";
import { type Row, RowChecker } from "./rows.ts";
import { createStage } from "./stage.ts";

/** Rows of a table: an array, a generator, or any other iterable, of one pass. */
export type GivenTable<Row> = Iterable<Row> | AsyncIterable<Row>;

/** A row of users; other fields are ignored. Times are ISO 8601 texts or dates. */
export type GivenUser = GivenRow<(typeof ROWS)["users"]>;
export type GivenWorld = GivenRow<(typeof ROWS)["worlds"]>;
export type GivenWorldStats = GivenRow<(typeof ROWS)["world-stats"]>;
export type GivenInstance = GivenRow<(typeof ROWS)["instances"]>;

/** The rows of a snapshot, hidden ones included; an absent table is empty. */
export interface GivenRows {
  readonly users?: GivenTable<GivenUser>;
  readonly worlds?: GivenTable<GivenWorld>;
  readonly worldStats?: GivenTable<GivenWorldStats>;
  readonly instances?: GivenTable<GivenInstance>;
}

/** Rows between two turns of the event loop: some milliseconds. */
const AT_ONCE = 1000;

/** A row as a file would have it: dates are texts. */
function rowOf(given: Readonly<Record<string, unknown>>, fields: (typeof FIELDS)[TableName]): Row {
  const row: Record<string, unknown> = {};
  for (const { name } of fields) {
    const value = given[name];
    const isTime = value instanceof Date && !Number.isNaN(value.getTime());
    row[name] = isTime ? value.toISOString() : value;
  }
  return row;
}

/** Loads given rows. The generation is named by their contents. */
export async function loadGivenRows(rows: GivenRows, options: LoadOptions = {}): Promise<Loaded | Refused> {
  const began = performance.now();
  const problems = new Problems();
  const stage = createStage(options.limits);
  const reports: FileReport[] = [];
  const hash = createHash("sha256");
  const reused = new Set<Origin>();
  for (const table of TABLES) {
    const name = ROWS_OF[table];
    const staged = stage[table];
    const file: RowFile = `${table}.ndjson`;
    const check = new RowChecker(name, problems, "index");
    hash.update(`${table}\n`);
    const parsed = stageParsed(table, staged, check);
    const take = (value: unknown, index: number): void => {
      check.line = index;
      if (!isObject(value)) {
        check.report(`must be an object, is ${showValue(value)}`);
        return;
      }
      const row = rowOf(value, FIELDS[table]);
      // Values that JSON lacks are refused by the checks.
      hash.update(JSON.stringify(row, (_, one: unknown) => (typeof one === "bigint" ? String(one) : one)));
      parsed(row);
    };
    try {
      let count = 0;
      for await (const row of rows[name] ?? []) {
        take(row, count++);
        if (count % AT_ONCE !== 0) continue;
        options.signal?.throwIfAborted();
        await setImmediate();
      }
      const { hidden, dangling } = staged;
      reports.push({ file: name, table: file, bytes: 0, rows: count, hidden, dangling });
    } catch (error) {
      if (options.signal?.aborted) throw error;
      const what = error instanceof LimitError ? "" : "cannot be read: ";
      problems.file(name, what + (error instanceof Error ? error.message : String(error)));
    }
    if (problems.count > 0) continue;
    staged.pack();
    if (options.previous) reuseEqual(stage, file, options.previous, reused);
  }
  const contents = hash.digest("hex");
  if (problems.count > 0) return { ok: false, problems: problems.lines(), fingerprint: contents };
  const arrived = { stage, options, manifest: undefined, files: [], reused, began, packMs: 0 };
  return { ...finish(arrived, contents, reports), ok: true, fingerprint: contents };
}
