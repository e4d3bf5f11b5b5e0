/** `orrery export`: a snapshot out of PostgreSQL, once or again and again. */

import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { buildPrepared } from "../serve/load/build-prepared.ts";
import { STOP_SIGNALS } from "../serve/process/early-signals.ts";
import {
  BadRowsError,
  type Exported,
  type ExportOptions,
  exportOnce,
  type Prepare,
} from "../source/export.ts";
import { MissingPackageError } from "../source/postgres.ts";
import { PostgresError } from "../source/postgres-errors.ts";
import { PostgresUrlError, readPostgresUrl } from "../source/postgres-url.ts";
import { OccupiedError } from "../source/publish.ts";
import { DEFAULT_QUERIES, parseQueries, type Queries, QueriesError } from "../source/queries.ts";
import { systemErrorText } from "../system-error.ts";
import { formatTime } from "../time.ts";
import type { World } from "./command.ts";
import { CommandError, type Options, ProblemsError, UsageError } from "./options.ts";

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

function readUrl(options: Options): ReturnType<typeof readPostgresUrl> {
  try {
    return readPostgresUrl(options.text("postgres"));
  } catch (error) {
    if (!(error instanceof PostgresUrlError)) throw error;
    throw new UsageError(`${options.nameOf("postgres")}: ${error.message}`);
  }
}

/** An error as what the command says of it; defects stay what they are. */
function explain(error: unknown, out: string): unknown {
  if (error instanceof BadRowsError) return new ProblemsError(error.problems);
  if (error instanceof PostgresError) return new CommandError(error.message);
  if (error instanceof MissingPackageError) return new CommandError(`export ${error.message}`);
  const why = error instanceof OccupiedError ? error.message : systemErrorText(error);
  return why === undefined ? error : new CommandError(`${out}: ${why}`);
}

/** Whether the next round may well succeed without anybody's help. */
function isPassing(error: unknown): boolean {
  if (error instanceof MissingPackageError || error instanceof OccupiedError) return false;
  return (
    error instanceof BadRowsError || error instanceof PostgresError || systemErrorText(error) !== undefined
  );
}

/** One line on what came of a round. */
function lineOf({ generation, rows, bytes, isNew }: Exported, began: number): string {
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  const outcome = isNew ? `published generation ${generation}` : `unchanged, still generation ${generation}`;
  return `${outcome}: ${rows} rows, ${bytes} bytes, ${seconds} s`;
}

function failureOf(error: unknown): string {
  const { message } = error as Error;
  const [first, ...others] = message.split("\n");
  return `not published: ${first}${others.length > 0 ? ` (and ${others.length} more)` : ""}`;
}

/** Rounds that begin `seconds` apart, or one behind the other where they take longer, until the signal. */
async function repeat(options: ExportOptions, seconds: number, say: (line: string) => void): Promise<void> {
  const { signal, out } = options;
  for (;;) {
    const began = performance.now();
    try {
      say(lineOf(await exportOnce(options), began));
    } catch (error) {
      if (signal.aborted) return;
      if (!isPassing(error)) throw error;
      say(failureOf(explain(error, out)));
    }
    const pause = Math.max(0, began + seconds * 1000 - performance.now());
    await sleep(pause, undefined, { signal }).catch(() => {});
    if (signal.aborted) return;
  }
}

const prepare: Prepare = (from, to, maxBytes) => buildPrepared(from, to, { maxBytes, manifest: true });

/** Runs the command. */
export async function exportRows(options: Options, world: World): Promise<void> {
  const from = readUrl(options);
  const out = options.text("out");
  const every = options.optional("every");
  const stop = new AbortController();
  for (const signal of STOP_SIGNALS) {
    process.once(signal, () => stop.abort(new CommandError(`stopped by ${signal}`)));
  }
  const say = (line: string): void => world.complain(`orrery: ${line}\n`);
  const task: ExportOptions = {
    ...{ from, out, queries: await readQueries(options.optional("queries")) },
    ...{ gzip: options.flag("gzip"), maxBytes: options.integer("max-snapshot-bytes") },
    ...{ onlyChanges: every !== undefined, signal: stop.signal },
    prepare: options.flag("build") ? prepare : undefined,
  };
  try {
    if (every === undefined) {
      const began = performance.now();
      say(lineOf(await exportOnce(task), began));
    } else {
      await repeat(task, Number(every), (line) => say(`${formatTime(Date.now())} ${line}`));
    }
  } catch (error) {
    if (!stop.signal.aborted) throw explain(error, out);
    say((stop.signal.reason as Error).message);
    world.exit(1);
  }
  // A thread may still be at work on what is of no more interest.
  if (stop.signal.aborted) world.exit(0);
}
