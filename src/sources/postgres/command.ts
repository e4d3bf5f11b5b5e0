/** `orrery export`: a snapshot from PostgreSQL; and the process of a server that exports once, a round. */

import type { CommandIo, Program } from "../../cli/command.ts";
import { failureAt, type Options, UsageError } from "../../cli/options.ts";
import { readGiven } from "../../files/given.ts";
import { escaped } from "../../util/escaped.ts";
import { SourceError } from "../../util/source-error.ts";
import { type RoundSettings, serveRound } from "../round-process.ts";
import { type Round, runRound } from "../rounds.ts";
import { stopSignal } from "../stop-signal.ts";
import { type ExportOptions, exportDry, exportOnce } from "./export.ts";
import { readPostgresUrl } from "./postgres-url.ts";
import { DEFAULT_QUERIES, parseQueries, type Queries } from "./queries.ts";

async function readQueries(file: string | undefined): Promise<Queries> {
  if (file === undefined) return DEFAULT_QUERIES;
  try {
    return parseQueries((await readGiven(file)).bytes.toString());
  } catch (error) {
    throw failureAt(file, error);
  }
}

async function readUrl(
  { values, names }: Options<"export">,
  io: CommandIo,
): Promise<ReturnType<typeof readPostgresUrl>> {
  try {
    const url = values.postgres === "-" ? await io.readFirstLine() : values.postgres;
    return readPostgresUrl(url, io.environment);
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
    throw new UsageError(`${names.postgres}: ${error.message}`);
  }
}

async function exportRound(options: ExportOptions): Promise<Round> {
  const exported = await exportOnce(options);
  const { rows, bytes, visible, left } = exported;
  const leftOut = left.length === 0 ? [] : [`left out ${left.length} broken: ${left.join("; ")}`];
  const parts = [`${rows} rows`, `${bytes} bytes`, ...(visible === "" ? [] : [visible]), ...leftOut];
  return { ...exported, details: parts.join(", ") };
}

export async function exportRows(options: Options<"export">, io: CommandIo, program: Program): Promise<void> {
  const from = await readUrl(options, io);
  const { values } = options;
  const task = { ...values, from, queries: await readQueries(values.queries) };
  if (values.dryRun) {
    const lines = await exportDry({ ...task, signal: stopSignal() }).catch((error: unknown) => {
      throw failureAt(values.out, error);
    });
    await io.deliver(`${lines.map(escaped).join("\n")}\n`);
    return;
  }
  await runRound(options, io, program, (signal) => exportRound({ ...task, signal }));
}

/** Exports once for the server that started this process. */
export async function exportForServer(io: CommandIo): Promise<void> {
  await serveRound(io, async ({ postgres, queries, ...settings }: RoundSettings, onProgress) => {
    const from = readPostgresUrl(postgres, io.environment);
    const task = { ...settings, gzip: false, from, queries: await readQueries(queries) };
    return await exportRound({ ...task, onProgress, signal: stopSignal() });
  });
}
