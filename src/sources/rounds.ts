/** Runs commands that publish a snapshot once, or repeatedly (`--every`) until a signal stops them. */

import { setTimeout as sleep } from "node:timers/promises";
import type { CommandIo, Program } from "../cli/command.ts";
import { CommandError, failureAt, type Options } from "../cli/options.ts";
import { HeldError } from "../files/ownership.ts";
import { OccupiedError } from "../files/publish.ts";
import { formatTime } from "../model/time.ts";
import type { Observation } from "../observe/events.ts";
import { createLog } from "../observe/log/log.ts";
import { ToldError } from "../util/told-error.ts";
import { stopSignal } from "./stop-signal.ts";

interface Round {
  readonly generation: string;
  /** False when the same generation was published before. */
  readonly isNew: boolean;
  /** More words for the report. */
  readonly details: string;
}

export interface Rounds {
  readonly run: (signal: AbortSignal) => Promise<Round>;
  /** Work that repeats between two rounds, every so many seconds if given; only its failures are reported. */
  readonly runBetween?: (signal: AbortSignal) => Promise<void>;
  readonly betweenSeconds?: number | undefined;
}

/** What became of a round. */
type Report = Extract<Observation, { readonly kind: "round-done" | "round-failed" }>;

function failureOf(error: unknown): string {
  const { message } = error as Error;
  const [first, ...others] = message.split("\n");
  return `${first}${others.length > 0 ? ` (and ${others.length} more)` : ""}`;
}

/** A report as a line for people. @param wellAt time of the last success */
function textOf(report: Report, wellAt?: string): string {
  if (report.kind === "round-failed")
    return `${wellAt === undefined ? "" : `last success ${wellAt}, `}not published: ${report.problem}`;
  const { isNew, generation, details, seconds } = report;
  const outcome = isNew ? "published generation" : "unchanged, still generation";
  return `${outcome} ${generation}: ${details}, ${seconds.toFixed(1)} s`;
}

/** @param time of `performance.now()` */
async function waitUntil(time: number, signal: AbortSignal): Promise<void> {
  await sleep(Math.max(0, time - performance.now()), undefined, { signal }).catch(() => {});
}

async function runOnce({ run }: Rounds, signal: AbortSignal): Promise<Report> {
  const began = performance.now();
  const { generation, isNew, details } = await run(signal);
  const seconds = Number(((performance.now() - began) / 1000).toFixed(3));
  return { kind: "round-done", generation, isNew, details, seconds };
}

interface Repeating extends Rounds {
  readonly out: string;
  readonly signal: AbortSignal;
  readonly tell: (report: Report, wellAt?: string) => void;
}

/** @returns the problem, if a later attempt may succeed @throws any other error */
async function attempt(
  { out, signal }: Repeating,
  run: (signal: AbortSignal) => Promise<void>,
): Promise<string | undefined> {
  try {
    await run(signal);
    return undefined;
  } catch (error) {
    if (signal.aborted) return undefined;
    const explained = failureAt(out, error);
    // A defect, a missing package and an occupied place persist.
    if (explained === error && !(error instanceof ToldError)) throw error;
    if (error instanceof CommandError || error instanceof OccupiedError || error instanceof HeldError)
      throw error;
    return failureOf(explained);
  }
}

/** Repeats the work between rounds until the next round is due. Reports the same failure in a row once. */
async function fill(rounds: Repeating, end: number): Promise<void> {
  const { runBetween, betweenSeconds, signal, tell } = rounds;
  if (runBetween === undefined || betweenSeconds === undefined) return;
  let told: string | undefined;
  let next = performance.now();
  for (;;) {
    // Measured from start to start, like whole rounds.
    next = Math.max(next + betweenSeconds * 1000, performance.now());
    await waitUntil(Math.min(next, end), signal);
    if (signal.aborted || performance.now() >= end) return;
    const problem = await attempt(rounds, runBetween);
    if (problem !== undefined && problem !== told) tell({ kind: "round-failed", problem });
    told = problem;
  }
}

/** Runs rounds that start `seconds` apart, or without a pause when they take longer, until the signal. */
async function repeat(rounds: Repeating, seconds: number): Promise<void> {
  const { signal, tell } = rounds;
  let wellAt: string | undefined;
  for (;;) {
    const next = performance.now() + seconds * 1000;
    const problem = await attempt(rounds, async () => tell(await runOnce(rounds, signal)));
    if (problem === undefined) wellAt = formatTime(Date.now());
    else tell({ kind: "round-failed", problem }, wellAt);
    await fill(rounds, next);
    await waitUntil(next, signal);
    if (signal.aborted) return;
  }
}

/** Runs one round, or repeated ones with `--every`; a signal ends the process. @throws {CommandError} or {@link SourceError}; defects */
export async function runRounds(
  options: Options<"export">,
  io: CommandIo,
  { tables }: Program,
  rounds: Rounds,
): Promise<void> {
  const { every, out, logFormat } = options.values;
  const signal = stopSignal();
  if (options.values.untilInputEnds) io.whenInputEnds(() => void io.exit(1));
  const say = (line: string): void => io.complain(`orrery: ${line}\n`);
  const when = (): string => (every === undefined ? "" : `${formatTime(Date.now())} `);
  const tell =
    logFormat === "json"
      ? createLog(tables.events, "info", { write: io.complain })
      : (report: Report, wellAt?: string) => say(when() + textOf(report, wellAt));
  try {
    if (every === undefined) tell(await runOnce(rounds, signal));
    else await repeat({ ...rounds, out, signal, tell }, every);
  } catch (error) {
    if (!signal.aborted) throw failureAt(out, error);
    say((signal.reason as Error).message);
    await io.exit(1);
  }
  // A connection may still be on its way to its end.
  if (signal.aborted) await io.exit(0);
}
