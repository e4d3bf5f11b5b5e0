/** `orrery export`: snapshots from PostgreSQL, once or repeatedly. */

import { readFile } from "node:fs/promises";
import type { CommandIo } from "../../cli/command.ts";
import { failureAt, type Options, UsageError } from "../../cli/options.ts";
import { SourceError } from "../../util/source-error.ts";
import { runRounds } from "../rounds.ts";
import { type ExportOptions, exportLive, exportOnce, type LastPublished } from "./export.ts";
import { readPostgresUrl } from "./postgres-url.ts";
import { DEFAULT_QUERIES, parseQueries, type Queries } from "./queries.ts";

async function readQueries(file: string | undefined): Promise<Queries> {
  if (file === undefined) return DEFAULT_QUERIES;
  try {
    return parseQueries(await readFile(file, "utf8"));
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

/** Refuses options under which instances cannot be published alone. @throws {UsageError} */
function checkLive({ values, names }: Options<"export">): void {
  if (values.liveEvery === undefined) return;
  if (values.every === undefined) throw new UsageError(`${names.liveEvery}: requires ${names.every}`);
  if (values.build)
    throw new UsageError(`${names.liveEvery}: not with ${names.build}, which makes one file of all rows`);
}

/** Runs the command. */
export async function exportRows(options: Options<"export">, io: CommandIo): Promise<void> {
  const from = readUrl(options);
  checkLive(options);
  const { out, every, liveEvery, gzip, build } = options.values;
  const { keep, allowShrink, maxSnapshotBytes: maxBytes } = options.values;
  const queries = await readQueries(options.values.queries);
  const task: Omit<ExportOptions, "signal"> = {
    ...{ from, out, queries, onlyChanges: every !== undefined },
    ...{ gzip, build, maxBytes, keep, allowShrink },
  };
  let published: LastPublished | undefined;
  await runRounds(options, io, {
    async run(signal) {
      const exported = await exportOnce({ ...task, last: published, signal });
      ({ published } = exported);
      return { ...exported, details: `${exported.rows} rows, ${exported.bytes} bytes,` };
    },
    ...(liveEvery !== undefined && {
      between: {
        seconds: liveEvery,
        async run(signal) {
          published = published && (await exportLive({ ...task, signal }, published));
        },
      },
    }),
  });
}
