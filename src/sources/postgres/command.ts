/** `orrery export`: snapshots from PostgreSQL, once or repeatedly. */

import type { CommandIo, Program } from "../../cli/command.ts";
import { failureAt, type Options, UsageError } from "../../cli/options.ts";
import { readGiven } from "../../files/given.ts";
import { SourceError } from "../../util/source-error.ts";
import { runRounds } from "../rounds.ts";
import { stopSignal } from "../stop-signal.ts";
import { exportDry, exportLive, exportOnce, type LastPublished } from "./export.ts";
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

export async function exportRows(options: Options<"export">, io: CommandIo, program: Program): Promise<void> {
  const from = await readUrl(options, io);
  const { values, names } = options;
  const { every, liveEvery } = values;
  if (liveEvery !== undefined && every === undefined)
    throw new UsageError(`${names.liveEvery}: requires ${names.every}`);
  const queries = await readQueries(values.queries);
  const task = { ...values, from, queries };
  if (values.dryRun) {
    const lines = await exportDry({ ...task, signal: stopSignal() }).catch((error: unknown) => {
      throw failureAt(values.out, error);
    });
    await io.deliver(`${lines.join("\n")}\n`);
    return;
  }
  let published: LastPublished | undefined;
  await runRounds(options, io, program, {
    async run(signal) {
      const exported = await exportOnce({ ...task, last: published, signal });
      ({ published } = exported);
      const { rows, bytes, visible, left } = exported;
      const leftOut = left.length === 0 ? [] : [`left out ${left.length} broken: ${left.join("; ")}`];
      const parts = [`${rows} rows`, `${bytes} bytes`, ...(visible === "" ? [] : [visible]), ...leftOut];
      return { ...exported, details: parts.join(", ") };
    },
    betweenSeconds: liveEvery,
    async runBetween(signal) {
      published = published && (await exportLive({ ...task, signal }, published));
    },
  });
}
