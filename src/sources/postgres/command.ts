/** `orrery export`: snapshots from PostgreSQL, once or repeatedly. */

import type { CommandIo } from "../../cli/command.ts";
import { failureAt, type Options, UsageError } from "../../cli/options.ts";
import { readGiven } from "../../files/given.ts";
import { SourceError } from "../../util/source-error.ts";
import { runRounds } from "../rounds.ts";
import { exportLive, exportOnce, type LastPublished } from "./export.ts";
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

function readUrl({ values, names }: Options<"export">): ReturnType<typeof readPostgresUrl> {
  try {
    return readPostgresUrl(values.postgres);
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
    throw new UsageError(`${names.postgres}: ${error.message}`);
  }
}

export async function exportRows(options: Options<"export">, io: CommandIo): Promise<void> {
  const from = readUrl(options);
  const { values, names } = options;
  const { every, liveEvery } = values;
  if (liveEvery !== undefined && every === undefined)
    throw new UsageError(`${names.liveEvery}: requires ${names.every}`);
  const queries = await readQueries(values.queries);
  const task = { ...values, from, queries };
  let published: LastPublished | undefined;
  await runRounds(options, io, {
    async run(signal) {
      const exported = await exportOnce({ ...task, last: published, signal });
      ({ published } = exported);
      return { ...exported, details: `${exported.rows} rows, ${exported.bytes} bytes,` };
    },
    betweenSeconds: liveEvery,
    async runBetween(signal) {
      published = published && (await exportLive({ ...task, signal }, published));
    },
  });
}
