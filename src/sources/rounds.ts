/** Runs commands that publish a snapshot once, or repeatedly (`--every`) until a signal stops them. */

import { setTimeout as sleep } from "node:timers/promises";
import type { CommandIo } from "../cli/command.ts";
import { CommandError, failureAt, type Options } from "../cli/options.ts";
import { HeldError } from "../files/ownership.ts";
import { OccupiedError } from "../files/publish.ts";
import { formatTime } from "../model/time.ts";
import { stopSignal } from "../upstream/cli.ts";
import { ToldError } from "../util/told-error.ts";

export interface Round {
  readonly generation: string;
  /** False when the same generation was published before. */
  readonly isNew: boolean;
  /** More words for the report, before the round's duration. */
  readonly details: string;
}

export interface Rounds {
  readonly run: (signal: AbortSignal) => Promise<Round>;
  /** Work that repeats between two rounds, every so many seconds if given; only its failures are reported. */
  readonly runBetween?: (signal: AbortSignal) => Promise<void>;
  readonly betweenSeconds?: number | undefined;
  /** Releases all resources; never fails. */
  readonly close?: () => Promise<void>;
}

function failureOf(error: unknown): string {
  const { message } = error as Error;
  const [first, ...others] = message.split("\n");
  return `not published: ${first}${others.length > 0 ? ` (and ${others.length} more)` : ""}`;
}

/** @param time of `performance.now()` */
async function waitUntil(time: number, signal: AbortSignal): Promise<void> {
  await sleep(Math.max(0, time - performance.now()), undefined, { signal }).catch(() => {});
}

/** Runs one round. @returns one line about its outcome */
async function runOnce({ run }: Rounds, signal: AbortSignal): Promise<string> {
  const began = performance.now();
  const { generation, isNew, details } = await run(signal);
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  const outcome = isNew ? "published generation" : "unchanged, still generation";
  return `${outcome} ${generation}: ${details} ${seconds} s`;
}

interface Repeating extends Rounds {
  readonly out: string;
  readonly signal: AbortSignal;
  readonly say: (line: string) => void;
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
  const { runBetween, betweenSeconds, signal, say } = rounds;
  if (runBetween === undefined || betweenSeconds === undefined) return;
  let told: string | undefined;
  let next = performance.now();
  for (;;) {
    // Measured from start to start, like whole rounds.
    next = Math.max(next + betweenSeconds * 1000, performance.now());
    await waitUntil(Math.min(next, end), signal);
    if (signal.aborted || performance.now() >= end) return;
    const problem = await attempt(rounds, runBetween);
    if (problem !== undefined && problem !== told) say(problem);
    told = problem;
  }
}

/** Runs rounds that start `seconds` apart, or without a pause when they take longer, until the signal. */
async function repeat(rounds: Repeating, seconds: number): Promise<void> {
  const { signal, say } = rounds;
  let wellAt: string | undefined;
  for (;;) {
    const next = performance.now() + seconds * 1000;
    const problem = await attempt(rounds, async () => say(await runOnce(rounds, signal)));
    if (problem === undefined) wellAt = formatTime(Date.now());
    else say(`${wellAt === undefined ? "" : `last success ${wellAt}, `}${problem}`);
    await fill(rounds, next);
    await waitUntil(next, signal);
    if (signal.aborted) return;
  }
}

/** Runs one round, or repeated ones with `--every`; a signal ends the process. @throws {CommandError} or {@link SourceError}; defects */
export async function runRounds(
  options: Options<"export" | "mirror">,
  io: CommandIo,
  rounds: Rounds,
): Promise<void> {
  const { every, out } = options.values;
  const signal = stopSignal();
  const say = (line: string): void => io.complain(`orrery: ${line}\n`);
  const sayWhen = (line: string): void => say(`${formatTime(Date.now())} ${line}`);
  try {
    if (every === undefined) say(await runOnce(rounds, signal));
    else await repeat({ ...rounds, out, signal, say: sayWhen }, every);
  } catch (error) {
    if (!signal.aborted) throw failureAt(out, error);
    say((signal.reason as Error).message);
    await rounds.close?.();
    await io.exit(1);
  } finally {
    await rounds.close?.();
  }
  // A thread or a connection may still be on its way to its end.
  if (signal.aborted) await io.exit(0);
}
