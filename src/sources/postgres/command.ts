/** `orrery export`: a snapshot out of PostgreSQL, once or again and again. */

import { readFile } from "node:fs/promises";
import type { CommandIo } from "../../cli/command.ts";
import { CommandError, type Options, ProblemsError, UsageError } from "../../cli/options.ts";
import { OccupiedError } from "../../files/publish.ts";
import { buildPrepared } from "../../server/load/build-prepared.ts";
import { ShrunkError } from "../../snapshot/shrink-guard.ts";
import { systemErrorText } from "../../util/system-error.ts";
import { runRounds } from "../rounds.ts";
import { BadRowsError } from "../row-folder.ts";
import {
  type Exported,
  type ExportOptions,
  exportLive,
  exportOnce,
  type Prepare,
  type Published,
} from "./export.ts";
import { MissingPackageError } from "./postgres.ts";
import { PostgresError } from "./postgres-errors.ts";
import { PostgresUrlError, readPostgresUrl } from "./postgres-url.ts";
import { DEFAULT_QUERIES, parseQueries, type Queries, QueriesError } from "./queries.ts";

async function readQueries(file: string | undefined): Promise<Queries> {
  if (file === undefined) return DEFAULT_QUERIES;
  try {
    return parseQueries(await readFile(file, "utf8"));
  } catch (error) {
    const why = error instanceof QueriesError ? error.message : systemErrorText(error);
    if (why === undefined) throw error;
    throw new CommandError(`${file}: ${why}`);
  }
}

function readUrl({ values, names }: Options<"export">): ReturnType<typeof readPostgresUrl> {
  try {
    return readPostgresUrl(values.postgres);
  } catch (error) {
    if (!(error instanceof PostgresUrlError)) throw error;
    throw new UsageError(`${names.postgres}: ${error.message}`);
  }
}

/** An error as what the command says of it; defects stay what they are. */
function explain(error: unknown, out: string): unknown {
  if (error instanceof BadRowsError) return new ProblemsError(error.problems);
  if (error instanceof PostgresError) return new CommandError(error.message);
  if (error instanceof MissingPackageError) return new CommandError(`export ${error.message}`);
  const isTold = error instanceof OccupiedError || error instanceof ShrunkError;
  const why = isTold ? error.message : systemErrorText(error);
  return why === undefined ? error : new CommandError(`${out}: ${why}`);
}

/** Whether the next round may well succeed without anybody's help. */
function isPassing(error: unknown): boolean {
  if (error instanceof MissingPackageError || error instanceof OccupiedError) return false;
  const passing = [BadRowsError, PostgresError, ShrunkError];
  return passing.some((kind) => error instanceof kind) || systemErrorText(error) !== undefined;
}

/** One line on what came of a round. */
function lineOf({ generation, rows, bytes, isNew }: Exported, began: number): string {
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  const outcome = isNew ? `published generation ${generation}` : `unchanged, still generation ${generation}`;
  return `${outcome}: ${rows} rows, ${bytes} bytes, ${seconds} s`;
}

const prepare: Prepare = (from, to, maxBytes) => buildPrepared(from, to, { maxBytes, manifest: true });

/** Refuses what instances alone cannot be published with. @throws {UsageError} */
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
  const {
    out,
    every,
    liveEvery,
    gzip,
    build,
    keep,
    allowShrink,
    maxSnapshotBytes: maxBytes,
  } = options.values;
  const queries = await readQueries(options.values.queries);
  const task: Omit<ExportOptions, "signal"> = {
    ...{ from, out, queries, onlyChanges: every !== undefined },
    ...{ gzip, maxBytes, keep, allowShrink, prepare: build ? prepare : undefined },
  };
  let published: Published | undefined;
  await runRounds(options, io, {
    explain: (error) => explain(error, out),
    isPassing,
    async run(signal) {
      const began = performance.now();
      const exported = await exportOnce({ ...task, last: published, signal });
      ({ published } = exported);
      return lineOf(exported, began);
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
