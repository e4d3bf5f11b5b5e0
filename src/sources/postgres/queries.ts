/** The queries of an export, one a table, and what each must give. */

import { isObject, notJson } from "../../util/json.ts";
import { nearest } from "../../util/nearest.ts";

/** A table of a snapshot as the queries name it, which is its file without the ending. */
export type TableName = "users" | "worlds" | "world-stats" | "instances";

/** What a column of a query must hold. */
export type ColumnKind = "id" | "text" | "boolean" | "count" | "time";

/** A field of a row. */
export interface Field {
  readonly name: string;
  readonly kind: ColumnKind;
  /** May be null, or missing altogether. */
  readonly optional?: true;
}

/** The fields of every table, in the order in which they are served. */
export const FIELDS: Readonly<Record<TableName, readonly Field[]>> = {
  users: [
    { name: "id", kind: "id" },
    { name: "displayName", kind: "text" },
    { name: "userIconUrl", kind: "text", optional: true },
    { name: "createdAt", kind: "time" },
  ],
  worlds: [
    { name: "id", kind: "id" },
    { name: "name", kind: "text" },
    { name: "description", kind: "text", optional: true },
    { name: "ownerId", kind: "id" },
    { name: "isPublic", kind: "boolean" },
    { name: "status", kind: "text" },
    { name: "createdAt", kind: "time" },
    { name: "updatedAt", kind: "time" },
  ],
  "world-stats": [
    { name: "worldId", kind: "id" },
    { name: "totalVisits", kind: "count" },
    { name: "uniqueVisitors", kind: "count" },
    { name: "visitsLast7Days", kind: "count" },
    { name: "visitsLast30Days", kind: "count" },
  ],
  instances: [
    { name: "id", kind: "id" },
    { name: "worldId", kind: "id" },
    { name: "isPublic", kind: "boolean" },
    { name: "isActive", kind: "boolean" },
    { name: "createdAt", kind: "time" },
  ],
};

/** Every table, in the order in which a load reads them. */
export const TABLES = Object.keys(FIELDS) as TableName[];

/** A query a table. */
export type Queries = Readonly<Record<TableName, string>>;

/** The queries that are used where none are given. `docs/snapshots.md` quotes them. */
export const DEFAULT_QUERIES: Queries = {
  users: "SELECT id, display_name, user_icon_url, created_at FROM users",
  worlds: "SELECT id, name, description, owner_id, is_public, status, created_at, updated_at FROM worlds",
  "world-stats":
    "SELECT world_id, total_visits, unique_visitors, visits_last_7_days, visits_last_30_days FROM world_stats",
  instances: "SELECT id, world_id, is_public, is_active, created_at FROM instances",
};

/** The queries of a file cannot be used. */
export class QueriesError extends Error {
  override name = "QueriesError";
}

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

/** A query without the semicolons and white space behind it, with which it could not stand in another. */
function bare(query: string): string {
  return query.replace(/[\s;]+$/, "");
}

/**
 * Reads a file of queries: `{"users":"SELECT …", …}`. A table that it does not name keeps its default.
 *
 * @throws {QueriesError} saying what is wrong
 */
export function parseQueries(text: string): Queries {
  const json = text.replace(/^\uFEFF/, "");
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    throw new QueriesError(notJson(json));
  }
  if (!isObject(value)) throw new QueriesError("must be an object with a query by table");
  const queries: Partial<Record<TableName, string>> = {};
  for (const [name, query] of Object.entries(value)) {
    const table = tableOf(name);
    if (table === undefined) {
      const meant = nearest(name, TABLES);
      const help = meant === undefined ? `one of ${TABLES.join(", ")}` : `did you mean "${meant}"?`;
      throw new QueriesError(`there is no table ${JSON.stringify(name)}; ${help}`);
    }
    if (queries[table] !== undefined) throw new QueriesError(`${table}: there are two queries`);
    if (typeof query !== "string" || bare(query).trim() === "")
      throw new QueriesError(`${table}: must be the text of a query`);
    queries[table] = bare(query);
  }
  return { ...DEFAULT_QUERIES, ...queries };
}
