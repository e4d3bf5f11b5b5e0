/** `orrery export`: a snapshot from PostgreSQL; and the process of a server that exports once, a round. */

import type { CommandIo, Program } from "../../cli/command.ts";
import { CommandError, failureAt, type Options, UsageError } from "../../cli/options.ts";
import { readGiven } from "../../files/given.ts";
import { createLog } from "../../observe/log/log.ts";
import { escaped } from "../../util/escaped.ts";
import { STOP_SIGNALS } from "../../util/process/early-signals.ts";
import { SourceError } from "../../util/source-error.ts";
import { type Round, type RoundSettings, serveRound, timed } from "../round-process.ts";
import { type ExportOptions, exportDry, exportOnce } from "./export.ts";
import { type PostgresUrl, readPostgresUrl } from "./postgres-url.ts";
import { DEFAULT_QUERIES, parseQueries, type Queries } from "./queries.ts";

/** Aborts when a signal stops the process; the reason is a {@link CommandError}. */
function stopSignal(): AbortSignal {
  const stop = new AbortController();
  for (const signal of STOP_SIGNALS)
    process.once(signal, () => stop.abort(new CommandError(`stopped by ${signal}`)));
  return stop.signal;
}

async function readQueries(file: string | undefined): Promise<Queries> {
  if (file === undefined) return DEFAULT_QUERIES;
  try {
    return parseQueries((await readGiven(file)).bytes.toString());
  } catch (error) {
    throw failureAt(file, error);
  }
}

async function readUrl({ values, names }: Options<"export">, io: CommandIo): Promise<PostgresUrl> {
  try {
    const url = values.postgres === "-" ? await io.readFirstLine() : values.postgres;
    return readPostgresUrl(url, io.environment);
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
    throw new UsageError(`${names.postgres}: ${error.message}`);
  }
}

async function exportRound(options: ExportOptions): Promise<Round> {
  const { generation, isNew, rows, bytes, visible, left } = await exportOnce(options);
  const leftOut = left.length === 0 ? [] : [`left out ${left.length} broken: ${left.join("; ")}`];
  const parts = [`${rows} rows`, `${bytes} bytes`, ...(visible === "" ? [] : [visible]), ...leftOut];
  return { generation, isNew, details: parts.join(", ") };
}

/** A signal ends the process with status 1. @throws {CommandError} or {@link SourceError}; defects */
export async function exportRows(
  options: Options<"export">,
  io: CommandIo,
  { tables }: Program,
): Promise<void> {
  const { out, logFormat, dryRun, ...settings } = options.values;
  const from = await readUrl(options, io);
  const queries = await readQueries(settings.queries);
  const signal = stopSignal();
  const task = { ...settings, out, from, queries, signal };
  try {
    if (dryRun) {
      await io.deliver(`${(await exportDry(task)).map(escaped).join("\n")}\n`);
      return;
    }
    const done = await timed(() => exportRound(task));
    if (logFormat === "json") createLog(tables.events, "info", { write: io.complain })(done);
    else {
      const outcome = done.isNew ? "published generation" : "unchanged, still generation";
      const details = `${escaped(done.details)}, ${done.seconds.toFixed(1)} s`;
      io.complain(`orrery: ${outcome} ${done.generation}: ${details}\n`);
    }
  } catch (error) {
    if (!signal.aborted) throw failureAt(out, error);
    io.complain(`orrery: ${(signal.reason as Error).message}\n`);
    io.exit(1);
  }
}

export async function exportForServer(io: CommandIo): Promise<void> {
  await serveRound(io, async ({ postgres, queries, ...settings }: RoundSettings, onProgress) => {
    const from = readPostgresUrl(postgres, io.environment);
    const files = { gzip: false, visibleOnly: false };
    const task = { ...settings, ...files, from, queries: await readQueries(queries) };
    return await exportRound({ ...task, onProgress, signal: stopSignal() });
  });
}
