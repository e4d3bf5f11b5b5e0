/** Rows from PostgreSQL: one connection, one read-only transaction on one database snapshot, one `COPY` per table. */

import type { Client, QueryConfig, QueryResult, QueryResultRow } from "pg";
import { CommandError } from "../../cli/options.ts";
import { TABLES, type TableName } from "../../model/schema.ts";
import { importFailure } from "../../util/optional-package.ts";
import { SourceError } from "../../util/source-error.ts";
import { type PostgresUrl, postgresText } from "./postgres-url.ts";
import {
  COLUMNS_QUERY,
  type Column,
  columnName,
  copyStatement,
  copyVisible,
  DEFAULT_QUERIES,
  type Described,
  fittingQueries,
  isAlwaysVisible,
  nested,
  type Queries,
  TYPES_QUERY,
} from "./queries.ts";
import { isOnDisk, isUnchanged, momentOf, type RunQuery, type TableMark } from "./unchanged.ts";

/** Timeout for the server to close the connection. */
const LEAVE_MS = 2000;
/** Idle time after which the connection is probed, to detect a server that is gone. */
const PROBE_MS = 10_000;
const COPY_BUFFER_BYTES = 1_048_576;
/** Timeout for a table lock that another session holds, such as a migration that was left open; a round stalls later. */
const LOCK_WAIT = "20s";

/** @throws {CommandError} when a package is missing */
async function importPostgres() {
  try {
    const { default: pg } = await import("pg");
    const { default: copyStreams } = await import("pg-copy-streams");
    return { Client: pg.Client, copyTo: copyStreams.to };
  } catch (error) {
    throw importFailure(["pg", "pg-copy-streams"], error, (what) => new CommandError(`export ${what}`));
  }
}

type Postgres = Awaited<ReturnType<typeof importPostgres>>;

/** Receives each table's name and its rows as they arrive, one JSON object per line. It must take all of them or reject. */
type TakeTable = (table: TableName, lines: AsyncIterable<Buffer>) => Promise<{ readonly lines: number }>;

/** Marks by table; see `unchanged.ts`. */
export type TableMarks = Readonly<Partial<Record<TableName, TableMark>>>;

interface Copying {
  readonly queries: Queries;
  /** Whether hidden rows are left out. */
  readonly visibleOnly: boolean;
  readonly take: TakeTable;
  /** Marks of an earlier export. A table that they prove unchanged is not copied. */
  readonly marks: TableMarks;
}

interface Session {
  readonly client: Client;
  readonly postgres: Postgres;
  /** An error of the server or the connection as one line. */
  readonly say: (error: unknown) => string;
}

/** Runs a query. An error names the table. */
async function ask<Row extends QueryResultRow>(
  { client, say }: Session,
  query: string | QueryConfig,
  table?: TableName,
): Promise<QueryResult<Row>> {
  try {
    return await client.query<Row>(query);
  } catch (error) {
    throw new SourceError(`${table === undefined ? "" : `${table}: `}${say(error)}`);
  }
}

/** The columns of a query, which is parsed and planned for that, but gives no rows yet. */
async function describe(table: TableName, query: string, session: Session): Promise<Described> {
  // The extended protocol accepts one statement per text, never two.
  const description = { text: `SELECT * FROM ${nested(query)} LIMIT 0`, queryMode: "extended" };
  const { fields } = await ask(session, description, table);
  const types = { text: TYPES_QUERY, values: [fields.map(({ dataTypeID }) => dataTypeID)] };
  const { rows } = await ask<Omit<Column, "name">>(session, types, table);
  return { query, columns: fields.map(({ name }, at) => ({ name, ...rows[at]! })) };
}

/** Runs queries that an export can do without. @returns undefined on an error of the server, such as a missing permission */
async function tryQueries<Found>(
  session: Session,
  find: (ask: RunQuery) => Promise<Found>,
): Promise<Found | undefined> {
  await ask(session, "SAVEPOINT try");
  try {
    return await find(async (text, values) => (await session.client.query(text, values)).rows);
  } catch {
    // Fails when the connection broke.
    await ask(session, "ROLLBACK TO SAVEPOINT try");
    return undefined;
  }
}

/** Copies one table. @returns a check that all rows arrived, to be called once the server has reported their number */
async function copyTable(
  table: TableName,
  statement: string,
  take: TakeTable,
  { client, postgres, say }: Session,
): Promise<() => number> {
  const copy = client.query(postgres.copyTo(statement, { highWaterMark: COPY_BUFFER_BYTES }));
  let broken: unknown;
  copy.on("error", (error) => {
    // An AbortError only follows a failure of `take`, which is the error to report.
    if ((error as Error).name !== "AbortError") broken ??= error;
    // The library reports an error but leaves the stream open: a reader that starts later would wait for ever.
    copy.destroy(error as Error);
  });
  let lines: number;
  try {
    ({ lines } = await take(table, copy));
  } catch (error) {
    throw broken === undefined ? error : new SourceError(`${table}: ${say(broken)}`);
  }
  return () => {
    if (copy.rowCount === lines) return lines;
    throw new SourceError(`${table}: the server sent ${copy.rowCount} rows, of which ${lines} arrived`);
  };
}

/**
 * Opens the transaction. A table whose rows are the same must give the same bytes: in the same order, whatever the settings.
 * A database or role may set the digits of floating-point numbers lower, which rounds counts stored as these: 99 to 100.
 * From version 14 on a server ends the query of a client that is gone, within a second: an export that is stopped or killed.
 * Without a timeout of locks, rounds would hang without a message; one that is set for the role or in the URL takes precedence.
 */
const BEGIN = `
  BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
  SET LOCAL synchronize_seqscans = off;
  SET LOCAL TimeZone = 'UTC';
  SET LOCAL DateStyle = 'ISO, YMD';
  SET LOCAL extra_float_digits = 3;
  SET LOCAL max_parallel_workers_per_gather = 0;
  SELECT set_config('client_connection_check_interval', '1s', true)
    WHERE current_setting('client_connection_check_interval', true) IS NOT NULL;
  SELECT set_config('lock_timeout', '${LOCK_WAIT}', true) WHERE current_setting('lock_timeout') = '0'`;

async function copyAll(copying: Copying, session: Session): Promise<TableMarks> {
  const { queries, visibleOnly, marks, take } = copying;
  await ask(session, BEGIN);
  // Otherwise the ids of many visible worlds would be searched one by one, not in a hash table.
  if (visibleOnly) await ask(session, "SET LOCAL work_mem = '1GB'");
  const columns = { text: COLUMNS_QUERY, values: [TABLES.map(columnName)] };
  const { rows } = await ask<{ table: string; columns: string[] }>(session, columns);
  const fitting = fittingQueries(queries, rows);
  const described = {} as Record<TableName, Described>;
  const statements = new Map<TableName, string>();
  // Check all queries first: a mistake in the last one is reported at once.
  for (const table of TABLES) {
    described[table] = await describe(table, fitting[table], session);
    // Which rows are visible depends on tables that come before.
    const statement = visibleOnly ? copyVisible(table, described) : copyStatement(table, described[table]);
    statements.set(table, statement);
  }
  // A mark proves nothing about another query, nor about some rows of a table: it counts all, and sees no other table.
  const markable = TABLES.filter(
    (table) => queries[table] === DEFAULT_QUERIES[table] && (!visibleOnly || isAlwaysVisible(table)),
  );
  const moment = await tryQueries(session, (run) => momentOf(markable, run));
  const copies = new Map<TableName, () => number>();
  for (const [table, statement] of statements) {
    const mark = marks[table];
    const isSame = moment && (await tryQueries(session, (run) => isUnchanged(table, mark, moment, run)));
    if (!isSame) copies.set(table, await copyTable(table, statement, take, session));
  }
  const isSafe = moment && (await tryQueries(session, (run) => isOnDisk(moment, run)));
  await ask(session, "COMMIT");
  const next: Partial<Record<TableName, TableMark>> = {};
  for (const table of TABLES) {
    const rows = copies.get(table)?.();
    const definition = moment?.definitions.get(table);
    // The mark that proved a table unchanged goes on proving it.
    if (rows === undefined) next[table] = marks[table]!;
    else if (isSafe && definition !== undefined) next[table] = { definition, rows, oldest: moment.oldest };
  }
  return next;
}

/** A client that does not connect yet. @throws {SourceError} when a certificate file is missing */
function createClient(
  postgres: Postgres,
  connectionString: string,
  { connectMs, secrets }: PostgresUrl,
): Client {
  try {
    const client = new postgres.Client({
      connectionString,
      fallback_application_name: "orrery export",
      connectionTimeoutMillis: connectMs,
      keepAlive: true,
      keepAliveInitialDelayMillis: PROBE_MS,
    });
    // An error of the connection also rejects the query on it.
    client.on("error", () => {});
    return client;
  } catch (error) {
    throw new SourceError(postgresText(error, secrets));
  }
}

/** Opens a connection for one copy, and closes it. */
async function copyOver(
  connectionString: string,
  url: PostgresUrl,
  copying: Copying,
  signal: AbortSignal,
): Promise<TableMarks> {
  const postgres = await importPostgres();
  signal.throwIfAborted();
  const say = (error: unknown): string => postgresText(error, url.secrets);
  const client = createClient(postgres, connectionString, url);
  const session: Session = { client, postgres, say };
  const hangUp = (): void => void client.connection.stream.destroy();
  let leaving: NodeJS.Timeout | undefined;
  signal.addEventListener("abort", hangUp, { once: true });
  try {
    await client.connect().catch((error: unknown) => {
      const { host, port } = client;
      throw new SourceError(`PostgreSQL at ${host}${host.startsWith("/") ? "" : `:${port}`}: ${say(error)}`);
    });
    const copied = await copyAll(copying, session);
    leaving = setTimeout(hangUp, LEAVE_MS);
    await client.end();
    return copied;
  } catch (error) {
    hangUp();
    signal.throwIfAborted();
    throw error;
  } finally {
    clearTimeout(leaving);
    signal.removeEventListener("abort", hangUp);
  }
}

/** Messages of a server, or of its rules of access, that takes no TLS. */
const WITHOUT_TLS = /does not support SSL|, SSL (encryption|on)/;

/**
 * Copies the rows of all tables out of one database snapshot, except of tables that did not change.
 *
 * @param signal ends the connection, so that the server ends the running query
 * @returns the marks for the next export
 * @throws {SourceError} one line without the password; {@link CommandError}; what `take` throws; the signal's reason
 */
export async function copyTables(
  url: PostgresUrl,
  copying: Copying,
  signal: AbortSignal,
): Promise<TableMarks> {
  const [first, second] = url.connectionStrings;
  try {
    return await copyOver(first!, url, copying, signal);
  } catch (error) {
    if (second === undefined || !WITHOUT_TLS.test(String(error))) throw error;
    return await copyOver(second, url, copying, signal);
  }
}
