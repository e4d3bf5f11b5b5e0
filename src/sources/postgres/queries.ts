/** The queries of an export, one per table, and the statements that copy their rows as lines of JSON. */

import { byTable, FIELDS, type FieldType, TABLES, type TableName } from "../../model/schema.ts";
import { nearest } from "../../util/distance.ts";
import { isObject, notJson, parsedJson } from "../../util/json.ts";
import { PlaceError } from "../../util/told-error.ts";

/** One query per table. */
export type Queries = Readonly<Record<TableName, string>>;

/** A name in database style: `visitsLast7Days` becomes `visits_last_7_days`. */
export function columnName(name: string): string {
  return name
    .replace(/[A-Z]|\d+/g, "_$&")
    .replaceAll("-", "_")
    .toLowerCase();
}

/** The default queries. `docs/snapshots.md` quotes them. */
export const DEFAULT_QUERIES: Queries = byTable((table) => {
  const columns = FIELDS[table].map(({ name }) => columnName(name));
  return `SELECT ${columns.join(", ")} FROM ${columnName(table)}`;
});

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
    if (typeof query !== "string" || bare(query).trim() === "")
      throw new PlaceError(`${table}: must be the text of a query`);
    queries[table] = bare(query);
  }
  return { ...DEFAULT_QUERIES, ...queries };
}

/** A column of a query's result. */
export interface Column {
  readonly name: string;
  /** Object id of its type in PostgreSQL. */
  readonly type: number;
}

/** The columns of a query do not fit its table. */
export class ColumnsError extends Error {
  override name = "ColumnsError";

  /** Object id of the type whose name the caller appends to the message. */
  readonly type: number | undefined;

  constructor(message: string, type?: number) {
    super(message);
    this.type = type;
  }
}

/** Object ids of built-in types of PostgreSQL. */
const TYPE = {
  ...{ bool: 16, name: 19, int8: 20, int2: 21, int4: 23, text: 25, json: 114, float4: 700, float8: 701 },
  ...{ bpchar: 1042, varchar: 1043, date: 1082, timestamp: 1114, timestamptz: 1184, numeric: 1700 },
  ...{ uuid: 2950, jsonb: 3802 },
} as const;

/** Numeric types that can hold fractions. */
const FRACTIONAL: readonly number[] = [TYPE.numeric, TYPE.float4, TYPE.float8];

/** The first object id of user-defined types: enumerations, case-insensitive texts. */
const FIRST_OWN_TYPE = 16_384;

const TEXTS: readonly number[] = [TYPE.text, TYPE.varchar, TYPE.bpchar, TYPE.name, TYPE.uuid];
const JSONS: readonly number[] = [TYPE.json, TYPE.jsonb, TYPE.text];

/** The accepted column types of each type of field, and its name in messages. */
const KINDS: Readonly<Record<FieldType, { readonly types: readonly number[]; readonly words: string }>> = {
  id: { types: TEXTS, words: "a UUID" },
  text: { types: TEXTS, words: "text" },
  boolean: { types: [TYPE.bool], words: "a boolean" },
  count: {
    types: [TYPE.int2, TYPE.int4, TYPE.int8, TYPE.numeric, TYPE.float4, TYPE.float8],
    words: "a whole number",
  },
  time: { types: [TYPE.timestamptz, TYPE.timestamp, TYPE.date, ...TEXTS], words: "a time" },
};

function isOfKind(kind: FieldType, type: number): boolean {
  if (KINDS[kind].types.includes(type)) return true;
  return type >= FIRST_OWN_TYPE && (kind === "text" || kind === "id");
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** A time in the format of the API. Years before 1 would lose their "BC" in `to_char`: left unchanged, they are refused later. */
function timeOf(utc: string, column: string): string {
  const text = `to_char(${utc}, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
  return `CASE WHEN ${utc} < '0001-01-01' THEN ${column}::text ELSE ${text} END`;
}

/** A count. A fraction becomes a text, which is refused later: a number of many digits would be rounded when read. */
function countOf(column: string): string {
  return `CASE WHEN ${column} = trunc(${column}) THEN to_json(${column}) ELSE to_json(${column}::text) END`;
}

function expressionOf({ name, type }: Column): string {
  const column = `query.${quoted(name)}`;
  if (type === TYPE.timestamptz) return timeOf(`(${column} AT TIME ZONE 'UTC')`, column);
  if (type === TYPE.timestamp) return timeOf(column, column);
  if (type === TYPE.date) return timeOf(`${column}::timestamp`, column);
  if (FRACTIONAL.includes(type)) return countOf(column);
  return type >= FIRST_OWN_TYPE ? `${column}::text` : column;
}

function fieldsOf(table: TableName, columns: readonly Column[]): string[] {
  const fields: string[] = [];
  for (const { name, type, absent } of FIELDS[table]) {
    const found = columns.filter((column) => plainName(column.name) === plainName(name));
    const [column] = found;
    if (column === undefined) {
      if (absent !== undefined) continue;
      const names = columns.map((given) => given.name).join(", ");
      throw new ColumnsError(`the query gives no column for ${name}, but ${names || "none at all"}`);
    }
    if (found.length > 1) throw new ColumnsError(`the query gives ${found.length} columns for ${name}`);
    if (!isOfKind(type, column.type)) {
      throw new ColumnsError(`column ${column.name}: must be ${KINDS[type].words}, is`, column.type);
    }
    fields.push(`${expressionOf(column)} AS ${quoted(name)}`);
  }
  return fields;
}

/** A query as a subquery. The line breaks end a comment at its end. */
export function nested(query: string): string {
  return `(\n${query}\n) AS query`;
}

/**
 * The statement that copies a query's rows, one JSON object per line.
 *
 * CSV with control characters as delimiter and quote leaves the lines unescaped: JSON contains no control characters except
 * white space between its parts. Text format would double every backslash.
 *
 * @param columns of the query: the fields, by their names in any convention, or one column of JSON objects
 * @throws {ColumnsError} when the columns do not fit the table
 */
export function copyStatement(table: TableName, query: string, columns: readonly Column[]): string {
  const [only] = columns;
  const isJson = columns.length === 1 && JSONS.includes(only!.type);
  const rows = isJson
    ? `SELECT translate(query.${quoted(only!.name)}::text, E'\\n\\r', '  ') FROM ${nested(query)}`
    : `SELECT row_to_json(fields) FROM (SELECT ${fieldsOf(table, columns).join(", ")} FROM ${nested(query)}) AS fields`;
  return `COPY (${rows}) TO STDOUT (FORMAT csv, DELIMITER E'\\x02', QUOTE E'\\x01', NULL 'null', ENCODING 'UTF8')`;
}
