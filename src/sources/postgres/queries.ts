/** The queries of an export, one per table, and the statements that copy their rows as lines of JSON. */

import { byTable, FIELDS, type FieldType, TABLES, type TableName } from "../../model/schema.ts";
import { nearest } from "../../util/distance.ts";
import { isObject, notJson, parsedJson } from "../../util/json.ts";
import { SourceError } from "../../util/source-error.ts";
import { PlaceError } from "../../util/user-error.ts";

export type Queries = Readonly<Record<TableName, string>>;

/** A name in database style: `visitsLast7Days` becomes `visits_last_7_days`. */
export function columnName(name: string): string {
  return name
    .replace(/[A-Z]|\d+/g, "_$&")
    .replaceAll("-", "_")
    .toLowerCase();
}

/** A query of the fields of a table, optional ones only if they are among some columns. */
function plainQuery(table: TableName, has: (column: string) => boolean): string {
  const columns = FIELDS[table]
    .filter(({ name, absent }) => absent === undefined || has(columnName(name)))
    .map(({ name }) => columnName(name));
  return `SELECT ${columns.join(", ")} FROM ${columnName(table)}`;
}

/** The default queries. `docs/snapshots.md` quotes them. */
export const DEFAULT_QUERIES: Queries = byTable((table) => plainQuery(table, () => true));

/** The names of the columns of each default query's table that exist. */
export const COLUMNS_QUERY = `
  SELECT given.name AS table, array_agg(a.attname::text) AS columns
  FROM unnest($1::text[]) AS given(name) JOIN pg_attribute a ON a.attrelid = to_regclass(given.name)
  WHERE a.attnum > 0 AND NOT a.attisdropped GROUP BY given.name`;

/** The queries to run: default ones without the optional columns that their tables lack. @param rows of {@link COLUMNS_QUERY} */
export function fittingQueries(
  queries: Queries,
  rows: readonly { readonly table: string; readonly columns: readonly string[] }[],
): Queries {
  return byTable((table) => {
    if (queries[table] !== DEFAULT_QUERIES[table]) return queries[table];
    const { columns = [] } = rows.find((row) => row.table === columnName(table)) ?? {};
    return plainQuery(table, (column) => columns.includes(column));
  });
}

/** A name independent of naming style: equal for `visits_last_7_days` and `visitsLast7Days`. */
function plainName(name: string): string {
  return name.replace(/[-_]/g, "").toLowerCase();
}

/** The table that a name means: `world_stats`, `statistics` and `world-stats.ndjson` are `world-stats`. */
function tableOf(name: string): TableName | undefined {
  const plain = plainName(name.replace(/\.ndjson$/i, ""));
  if (["stats", "statistics", "worldstatistics"].includes(plain)) return "world-stats";
  return TABLES.find((table) => plainName(table) === plain);
}

/** A query without trailing semicolons and white space, so that it can be nested in another. */
function bare(query: string): string {
  return query.replace(/[\s;]+$/, "");
}

/** Reads a file of queries: `{"users":"SELECT …", …}`. Other tables keep their defaults. @throws {PlaceError} */
export function parseQueries(text: string): Queries {
  const json = text.replace(/^\uFEFF/, "");
  const value = parsedJson(json);
  if (value === undefined) throw new PlaceError(notJson(json));
  if (!isObject(value)) throw new PlaceError("must be an object with a query by table");
  const queries: Partial<Record<TableName, string>> = {};
  for (const [name, query] of Object.entries(value)) {
    const table = tableOf(name);
    if (table === undefined) {
      const meant = nearest(name, TABLES);
      const help = meant === undefined ? `one of ${TABLES.join(", ")}` : `did you mean "${meant}"?`;
      throw new PlaceError(`there is no table ${JSON.stringify(name)}; ${help}`);
    }
    if (queries[table] !== undefined) throw new PlaceError(`${table}: there are two queries`);
    if (typeof query !== "string" || bare(query) === "")
      throw new PlaceError(`${table}: must be the text of a query`);
    queries[table] = bare(query);
  }
  return { ...DEFAULT_QUERIES, ...queries };
}

/** Stands for every type that is not built into PostgreSQL: enumerations, case-insensitive texts. */
const OWN_TYPE = "own";

/** Looks up types by their object ids, in the given order. */
export const TYPES_QUERY = `
  SELECT CASE WHEN t.oid < 16384 THEN t.typname ELSE '${OWN_TYPE}' END AS type, t.oid::regtype::text AS shown
  FROM unnest($1::oid[]) WITH ORDINALITY AS given(oid, at) JOIN pg_type t ON t.oid = given.oid ORDER BY at`;

export interface Column {
  readonly name: string;
  /** Its type, and the name of that for messages; see {@link TYPES_QUERY}. */
  readonly type: string;
  readonly shown: string;
}

const FRACTIONAL: readonly string[] = ["numeric", "float4", "float8"];

const TEXTS: readonly string[] = ["text", "varchar", "bpchar", "name", "uuid"];
const JSONS: readonly string[] = ["json", "jsonb", "text"];

/** The accepted column types of each type of field, and its name in messages. */
const KINDS: Readonly<Record<FieldType, { readonly types: readonly string[]; readonly words: string }>> = {
  id: { types: [...TEXTS, OWN_TYPE], words: "a UUID" },
  text: { types: [...TEXTS, OWN_TYPE], words: "text" },
  boolean: { types: ["bool"], words: "a boolean" },
  count: { types: ["int2", "int4", "int8", ...FRACTIONAL], words: "a whole number" },
  time: { types: ["timestamptz", "timestamp", "date", ...TEXTS], words: "a time" },
};

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/**
 * A time in the format of the API. `to_char` would drop the "BC" of years before 1, and makes NULL of `infinity`:
 * left unchanged, they are refused later, by their names.
 */
function timeOf(utc: string, column: string): string {
  const text = `to_char(${utc}, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
  return `CASE WHEN ${utc} < '0001-01-01' OR NOT isfinite(${utc}) THEN ${column}::text ELSE ${text} END`;
}

/** A count. A fraction becomes a text, which is refused later: a number of many digits would be rounded when read. */
function countOf(column: string): string {
  return `CASE WHEN ${column} = trunc(${column}) THEN to_json(${column}) ELSE to_json(${column}::text) END`;
}

function expressionOf({ name, type }: Column): string {
  const column = `query.${quoted(name)}`;
  if (type === "timestamptz") return timeOf(`(${column} AT TIME ZONE 'UTC')`, column);
  if (type === "timestamp") return timeOf(column, column);
  if (type === "date") return timeOf(`${column}::timestamp`, column);
  if (FRACTIONAL.includes(type)) return countOf(column);
  return type === OWN_TYPE ? `${column}::text` : column;
}

function fieldsOf(table: TableName, columns: readonly Column[]): string[] {
  const fail = (what: string): never => {
    throw new SourceError(`${table}: ${what}`);
  };
  return FIELDS[table].flatMap(({ name, type, absent }) => {
    const [column, ...others] = columns.filter((given) => plainName(given.name) === plainName(name));
    if (column === undefined) {
      if (absent !== undefined) return [];
      const names = columns.map((given) => given.name).join(", ");
      return fail(`the query gives no column for ${name}, but ${names || "none at all"}`);
    }
    if (others.length > 0) fail(`the query gives ${others.length + 1} columns for ${name}`);
    const { types, words } = KINDS[type];
    if (!types.includes(column.type)) fail(`column ${column.name}: must be ${words}, is ${column.shown}`);
    return [`${expressionOf(column)} AS ${quoted(name)}`];
  });
}

/** A query as a subquery. The line breaks end a comment at its end. */
export function nested(query: string): string {
  return `(\n${query}\n) AS query`;
}

/** The columns of a query as fields of its table; values of a column of JSON objects are JSON, those of other columns are not. */
function fieldsQuery(table: TableName, { query, columns }: Described): string {
  const json = jsonColumn(columns);
  const fields =
    json === undefined
      ? fieldsOf(table, columns)
      : FIELDS[table].map(({ name }) => `query.${quoted(json)}::json -> '${name}' AS ${quoted(name)}`);
  return `SELECT ${fields.join(", ")} FROM ${nested(query)}`;
}

/** Name of the only column, if its values are whole rows. */
function jsonColumn(columns: readonly Column[]): string | undefined {
  const [only] = columns;
  return columns.length === 1 && JSONS.includes(only!.type) ? only!.name : undefined;
}

/** A field as text, from JSON too. */
function castToText(name: string): string {
  return `(to_json(fields.${quoted(name)}) #>> '{}')`;
}

/**
 * The condition that a row of a table is visible, and the rows that it needs; rows are `fields`.
 *
 * `IS TRUE` keeps the subquery from becoming a join, which would change the order of the rows with the plan.
 */
function isVisible(table: TableName, described: Readonly<Record<TableName, Described>>): string {
  const conditions = FIELDS[table].flatMap(({ name, shows, refersTo }) => {
    if (shows !== undefined) return [`${castToText(name)} = '${shows.only}'`];
    if (!refersTo?.needs) return [];
    const other = refersTo.table;
    const [key] = FIELDS[other];
    return [
      `(lower(${castToText(name)}) IN (SELECT lower(${castToText(key!.name)}) FROM (${fieldsQuery(other, described[other])}) AS fields
        WHERE ${isVisible(other, described)})) IS TRUE`,
    ];
  });
  return conditions.join(" AND ") || "true";
}

/** Whether all rows of a table are visible, whatever is in other tables. */
export function isAlwaysVisible(table: TableName): boolean {
  return FIELDS[table].every(({ shows, refersTo }) => shows === undefined && !refersTo?.needs);
}

/** A query and its columns: the fields, by their names in any convention, or one column of JSON objects. */
export interface Described {
  readonly query: string;
  readonly columns: readonly Column[];
}

/** Copies a query's rows as text without escapes: JSON contains no control characters except white space between its parts. */
function copyOf(lines: string): string {
  return `COPY (${lines}) TO STDOUT (FORMAT csv, DELIMITER E'\\x02', QUOTE E'\\x01', NULL 'null', ENCODING 'UTF8')`;
}

function onOneLine(json: string): string {
  return `translate(${json}::text, E'\\n\\r', '  ')`;
}

/**
 * The statement that copies a query's rows, one JSON object per line.
 *
 * CSV with control characters as delimiter and quote leaves the lines unescaped. Text format would double every backslash.
 *
 * @throws {SourceError} when the columns do not fit the table
 */
export function copyStatement(table: TableName, described: Described): string {
  const json = jsonColumn(described.columns);
  return copyOf(
    json === undefined
      ? `SELECT row_to_json(fields) FROM (${fieldsQuery(table, described)}) AS fields`
      : `SELECT ${onOneLine(`query.${quoted(json)}`)} FROM ${nested(described.query)}`,
  );
}

/** The same for visible rows alone, without fields that a snapshot does not have. @param described at least the tables that decide which */
export function copyVisible(table: TableName, described: Readonly<Record<TableName, Described>>): string {
  const rows = fieldsQuery(table, described[table]);
  const line = onOneLine("row_to_json(fields)");
  return copyOf(`SELECT ${line} FROM (${rows}) AS fields WHERE ${isVisible(table, described)}`);
}
