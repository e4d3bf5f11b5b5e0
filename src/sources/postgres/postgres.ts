/** Rows out of PostgreSQL: one connection, one read-only transaction that sees one moment, a `COPY` a table. */

import { connect as connectSocket } from "node:net";
import type { Client, QueryConfig, QueryResult, QueryResultRow } from "pg";
import { CommandError } from "../../cli/options.ts";
import { TABLES, type TableName } from "../../model/schema.ts";
import { SourceError } from "../../util/source-error.ts";
import { type PostgresUrl, postgresText } from "./postgres-url.ts";
import type { Queries } from "./queries.ts";
import { ColumnsError, copyStatement, nested } from "./queries.ts";

const CONNECT_MS = 15_000;
/** How long a server has to answer that it cancelled a query, and to take leave. */
const LEAVE_MS = 2000;
/** A connection over which nothing comes is probed after so long, so that a server that has gone is noticed. */
const PROBE_MS = 10_000;
const COPY_BUFFER_BYTES = 1_048_576;
/** How long a lock on a table is waited for that somebody else holds, such as a migration that was left open. */
const LOCK_WAIT = "1min";

/** Length and code of the protocol's message that cancels a query. */
const CANCEL_BYTES = 16;
const CANCEL_CODE = 80_877_102;

/** Imports optional packages, which nothing else needs. @throws {CommandError} naming the command that installs them */
async function importPostgres() {
  try {
    const { default: pg } = await import("pg");
    const { default: copyStreams } = await import("pg-copy-streams");
    return { Client: pg.Client, copyTo: copyStreams.to };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ERR_MODULE_NOT_FOUND" && code !== "MODULE_NOT_FOUND") throw error;
    throw new CommandError(
      "export needs two packages that are not installed: npm install pg pg-copy-streams (with --global where orrery was)",
    );
  }
}

type Postgres = Awaited<ReturnType<typeof importPostgres>>;

/** What the library knows of a connection beside what its types say. */
interface Known {
  readonly processID: number | null;
  readonly secretKey: number | null;
  readonly host: string;
  readonly port: number;
  readonly connection: { readonly stream: { destroy(): void } };
}

function knownOf(client: Client): Known {
  return client as unknown as Known;
}

/** Asks the server to give up what a connection is doing, over a connection of its own, as the protocol wants it. */
function sendCancel({ processID, secretKey, host, port }: Known): void {
  if (processID === null || secretKey === null) return;
  const message = Buffer.alloc(CANCEL_BYTES);
  for (const [at, value] of [CANCEL_BYTES, CANCEL_CODE, processID, secretKey].entries())
    message.writeInt32BE(value | 0, at * 4);
  const socket = host.startsWith("/") ? connectSocket(`${host}/.s.PGSQL.${port}`) : connectSocket(port, host);
  socket.once("error", () => {});
  socket.setTimeout(LEAVE_MS, () => socket.destroy());
  socket.end(message);
  socket.unref();
}

/** Told of each table: its name and its rows as they come, one JSON object a line. */
export type TakeTable = (
  table: TableName,
  lines: AsyncIterable<Buffer>,
) => Promise<{ readonly lines: number }>;

/** An open transaction. */
interface Session {
  readonly client: Client;
  readonly postgres: Postgres;
  /** An error of the server or the connection as one line. */
  readonly say: (error: unknown) => string;
}

/** Runs a query; what goes wrong names the table. */
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

/** The statement that copies a table. The query is parsed and planned to know its columns, but gives no rows yet. */
async function statementFor(table: TableName, query: string, session: Session): Promise<string> {
  // In the extended protocol a text is one statement and cannot be two.
  const description = { text: `SELECT * FROM ${nested(query)} LIMIT 0`, queryMode: "extended" };
  const { fields } = await ask(session, description, table);
  try {
    return copyStatement(
      table,
      query,
      fields.map(({ name, dataTypeID }) => ({ name, type: dataTypeID })),
    );
  } catch (error) {
    if (!(error instanceof ColumnsError)) throw error;
    const words = [`${table}: ${error.message}`];
    if (error.type !== undefined) {
      const { rows } = await ask<{ type: string }>(session, `SELECT ${error.type}::regtype::text AS type`);
      words.push(rows[0]!.type);
    }
    throw new SourceError(words.join(" "));
  }
}

/** Copies one table. @returns a check, for when the server said how many rows it sent, that all of them arrived */
async function copyTable(
  table: TableName,
  statement: string,
  take: TakeTable,
  { client, postgres, say }: Session,
): Promise<() => void> {
  const copy = client.query(postgres.copyTo(statement, { highWaterMark: COPY_BUFFER_BYTES }));
  let broken: unknown;
  copy.once("error", (error) => {
    // Aborted it is because who takes the rows has failed.
    if ((error as Error).name !== "AbortError") broken = error;
  });
  let lines: number;
  try {
    ({ lines } = await take(table, copy));
  } catch (error) {
    throw broken === undefined ? error : new SourceError(`${table}: ${say(broken)}`);
  }
  return () => {
    if (copy.rowCount === lines) return;
    throw new SourceError(`${table}: the server sent ${copy.rowCount} rows, of which ${lines} arrived`);
  };
}

async function copyAll(queries: Partial<Queries>, take: TakeTable, session: Session): Promise<void> {
  await ask(session, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
  // A table that did not change is to give the same rows in the same order, and times have to be what they seem.
  await ask(session, "SET LOCAL synchronize_seqscans = off");
  await ask(session, "SET LOCAL TimeZone = 'UTC'");
  await ask(session, "SET LOCAL DateStyle = 'ISO, YMD'");
  // A database or a role may have it lowered, which rounds counts kept as floating point numbers: 99 to 100.
  await ask(session, "SET LOCAL extra_float_digits = 3");
  // Without a limit rounds would just stop, without a word. One that was set for the role or in the URL is better known.
  await ask(
    session,
    `SELECT set_config('lock_timeout', '${LOCK_WAIT}', true) WHERE current_setting('lock_timeout') = '0'`,
  );
  const statements: [TableName, string][] = [];
  // All of them first: a mistake in the last is to be told at once.
  for (const table of TABLES) {
    const query = queries[table];
    if (query !== undefined) statements.push([table, await statementFor(table, query, session)]);
  }
  const checks: (() => void)[] = [];
  for (const [table, statement] of statements) checks.push(await copyTable(table, statement, take, session));
  await ask(session, "COMMIT");
  for (const check of checks) check();
}

async function connect({ client, say }: Session): Promise<void> {
  try {
    await client.connect();
  } catch (error) {
    const { host, port } = knownOf(client);
    throw new SourceError(`PostgreSQL at ${host}${host.startsWith("/") ? "" : `:${port}`}: ${say(error)}`);
  }
}

/**
 * Copies the rows of all tables that have a query, of one moment, out of a database.
 *
 * @param take gets the rows of each table in turn; it must take all of them or reject
 * @param signal cancels what the server is doing
 * @throws {SourceError} one line without the password; {@link CommandError}; what `take` throws; the signal's reason
 */
export async function copyTables(
  { connectionString, secrets }: PostgresUrl,
  queries: Partial<Queries>,
  take: TakeTable,
  signal: AbortSignal,
): Promise<void> {
  const postgres = await importPostgres();
  signal.throwIfAborted();
  const say = (error: unknown): string => postgresText(error, secrets);
  let client: Client;
  try {
    client = new postgres.Client({
      ...{ connectionString, fallback_application_name: "orrery export" },
      ...{ connectionTimeoutMillis: CONNECT_MS, keepAlive: true, keepAliveInitialDelayMillis: PROBE_MS },
    });
  } catch (error) {
    // A file of a certificate that is not there.
    throw new SourceError(say(error));
  }
  const session: Session = { client, postgres, say };
  // What breaks a connection also breaks the query on it, which rejects.
  client.on("error", () => {});
  const hangUp = (): void => knownOf(client).connection.stream.destroy();
  let leaving: NodeJS.Timeout | undefined;
  const cancel = (): void => {
    sendCancel(knownOf(client));
    leaving = setTimeout(hangUp, LEAVE_MS);
  };
  signal.addEventListener("abort", cancel, { once: true });
  try {
    await connect(session);
    await copyAll(queries, take, session);
    leaving = setTimeout(hangUp, LEAVE_MS);
    await client.end();
  } catch (error) {
    hangUp();
    signal.throwIfAborted();
    throw error;
  } finally {
    clearTimeout(leaving);
    signal.removeEventListener("abort", cancel);
  }
}
