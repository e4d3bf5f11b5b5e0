/** The queries of an export, one a table. */

import { byTable, FIELDS, TABLES, type TableName } from "../../model/schema.ts";
import { nearest } from "../../util/distance.ts";
import { isObject, notJson } from "../../util/json.ts";
import { SourceError } from "../../util/source-error.ts";

/** A query a table. */
export type Queries = Readonly<Record<TableName, string>>;

/** A name as databases have it: `visitsLast7Days` is `visits_last_7_days`. */
function columnName(name: string): string {
  return name
    .replace(/[A-Z]|\d+/g, "_$&")
    .replaceAll("-", "_")
    .toLowerCase();
}

/** The queries that are used where none are given. `docs/snapshots.md` quotes them. */
export const DEFAULT_QUERIES: Queries = byTable((table) => {
  const columns = FIELDS[table].map(({ name }) => columnName(name));
  return `SELECT ${columns.join(", ")} FROM ${columnName(table)}`;
});

/** A name without what conventions differ in: `visits_last_7_days` and `visitsLast7Days` are one. */
export function plainName(name: string): string {
  return name.replace(/[-_]/g, "").toLowerCase();
}

/** The table that a name means: `world_stats`, `statistics` and `world-stats.ndjson` are `world-stats`. */
function tableOf(name: string): TableName | undefined {
  const plain = plainName(name.replace(/\.ndjson$/i, ""));
  if (["stats", "statistics", "worldstatistics"].includes(plain)) return "world-stats";
  return TABLES.find((table) => plainName(table) === plain);
}

/** A query without the semicolons and white space at its end, with which it could not stand in another. */
function bare(query: string): string {
  return query.replace(/[\s;]+$/, "");
}

/**
 * Reads a file of queries: `{"users":"SELECT …", …}`. A table that it does not name keeps its default.
 *
 * @throws {SourceError} saying what is wrong
 */
export function parseQueries(text: string): Queries {
  const json = text.replace(/^\uFEFF/, "");
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    throw new SourceError(notJson(json));
  }
  if (!isObject(value)) throw new SourceError("must be an object with a query by table");
  const queries: Partial<Record<TableName, string>> = {};
  for (const [name, query] of Object.entries(value)) {
    const table = tableOf(name);
    if (table === undefined) {
      const meant = nearest(name, TABLES);
      const help = meant === undefined ? `one of ${TABLES.join(", ")}` : `did you mean "${meant}"?`;
      throw new SourceError(`there is no table ${JSON.stringify(name)}; ${help}`);
    }
    if (queries[table] !== undefined) throw new SourceError(`${table}: there are two queries`);
    if (typeof query !== "string" || bare(query).trim() === "")
      throw new SourceError(`${table}: must be the text of a query`);
    queries[table] = bare(query);
  }
  return { ...DEFAULT_QUERIES, ...queries };
}
