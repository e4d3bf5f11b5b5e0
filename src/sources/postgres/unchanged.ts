/**
 * Tells which tables still hold the rows of an earlier export, at a fraction of the cost of copying them.
 *
 * Each export notes the oldest transaction that was in progress. A row that it did not see was written by that transaction or a
 * later one. So if no visible row is that new, all of them were seen; if their number is equal too, none is missing.
 * This holds for heap tables that a default query reads, in one run of the server, whose log is on disk: a crash
 * that loses commits may use their numbers again. Any doubt, and any error, means that the table is copied.
 */

import { createHash } from "node:crypto";
import { FIELDS, type TableName } from "../../model/schema.ts";
import { columnName } from "./queries.ts";

/** State of a table at an export. */
export interface TableMark {
  /** Hash of the run of the server, the database, and the definition of the table. */
  readonly definition: string;
  readonly rows: number;
  /** The oldest transaction in progress, as the digits of a number that never wraps around. */
  readonly oldest: string;
}

export type RunQuery = (text: string, values?: unknown[]) => Promise<Record<string, unknown>[]>;

const MOMENT = `
  SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS oldest, pg_snapshot_xmax(pg_current_snapshot())::text AS next,
    pg_current_wal_insert_lsn()::text AS log`;

/** Types that a statement can change without writing a row are left out, but for enumerations, whose labels are included. */
const DEFINITION = `
  SELECT concat_ws(' ', pg_postmaster_start_time(), d.oid, c.oid, c.relfilenode, string_agg(concat_ws(' ', a.attnum, a.attname,
    a.atttypid, a.atttypmod, a.attmissingval,
    (SELECT string_agg(e.enumlabel, ',' ORDER BY e.oid) FROM pg_enum e WHERE e.enumtypid = t.oid)), ';' ORDER BY a.attnum)) AS text
  FROM pg_database d, pg_class c JOIN pg_am m ON m.oid = c.relam JOIN pg_attribute a ON a.attrelid = c.oid JOIN pg_type t ON t.oid = a.atttypid
  WHERE d.datname = current_database() AND c.oid = $1::regclass AND m.amname = 'heap' AND NOT c.relrowsecurity AND NOT c.relhassubclass
    AND a.attname = ANY($2)
  GROUP BY d.oid, c.oid, c.relfilenode HAVING bool_and((t.oid < 16384 OR t.typtype = 'e') AND a.attgenerated <> 'v')`;

/** Ages of transactions wrap around after 2^31. */
const MOST_AGE = 2n ** 31n;

/** The moment of a transaction, and the definitions of the tables that it can mark. */
interface DatabaseMoment {
  readonly oldest: string;
  readonly next: string;
  readonly log: string;
  readonly definitions: ReadonlyMap<TableName, string>;
}

/** Describes tables. Call it once they are locked against changes of their definitions. */
export async function momentOf(tables: readonly TableName[], ask: RunQuery): Promise<DatabaseMoment> {
  const [moment] = (await ask(MOMENT)) as { oldest: string; next: string; log: string }[];
  const definitions = new Map<TableName, string>();
  for (const table of tables) {
    const columns = FIELDS[table].map(({ name }) => columnName(name));
    const [found] = (await ask(DEFINITION, [columnName(table), columns])) as { text: string }[];
    if (found !== undefined) definitions.set(table, createHash("sha256").update(found.text).digest("hex"));
  }
  return { ...moment!, definitions };
}

/** Whether a table holds the rows that it held when it was marked. */
export async function isUnchanged(
  table: TableName,
  mark: TableMark | undefined,
  { definitions, next }: DatabaseMoment,
  ask: RunQuery,
): Promise<boolean> {
  if (mark === undefined || mark.definition !== definitions.get(table)) return false;
  const oldest = BigInt(mark.oldest);
  if (BigInt(next) - oldest >= MOST_AGE) return false;
  const [found] = (await ask(
    `SELECT count(*)::float8 AS rows, count(*) FILTER (WHERE age(xmin) <= age($1::xid))::float8 AS newer FROM ${columnName(table)}`,
    [String(BigInt.asUintN(32, oldest))],
  )) as { rows: number; newer: number }[];
  return found!.newer === 0 && found!.rows === mark.rows;
}

/** Whether a crash can lose nothing that a moment saw. */
export async function isOnDisk({ log }: DatabaseMoment, ask: RunQuery): Promise<boolean> {
  const [found] = await ask("SELECT pg_current_wal_flush_lsn() >= $1::pg_lsn AS yes", [log]);
  return found!.yes === true;
}
