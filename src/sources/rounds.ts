/** Runs commands that publish a snapshot once, or repeatedly (`--every`) until a signal stops them. */

import { setTimeout as sleep } from "node:timers/promises";
import type { CommandIo } from "../cli/command.ts";
import { failureAt, type Options } from "../cli/options.ts";
import { HeldError } from "../files/ownership.ts";
import { OccupiedError } from "../files/publish.ts";
import { formatTime } from "../model/time.ts";
import { stopSignal } from "../upstream/cli.ts";
import { ToldError } from "../util/told-error.ts";

/** Result of a round. */
export interface Round {
  readonly generation: string;
  /** False when the same generation was published before. */
  readonly isNew: boolean;
  /** More words for the report, before the round's duration. */
  readonly details: string;
}

export interface Rounds {
  /** Runs one round. The signal ends it. */
  readonly run: (signal: AbortSignal) => Promise<Round>;
  /** Work that repeats every `seconds` between two rounds; only its failures are reported. */
  readonly between?: { readonly seconds: number; readonly run: (signal: AbortSignal) => Promise<void> };
  /** Releases all resources; never fails. */
  readonly close?: () => Promise<void>;
}

/** Whether the place to publish at causes the error. */
function isOfPlace(error: unknown): boolean {
  return error instanceof OccupiedError || error instanceof HeldError;
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

/** Context of repeated rounds. */
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
    // An occupied place and a defect persist.
    const isDefect = explained === error && !(error instanceof ToldError);
    if (isOfPlace(error) || isDefect) throw error;
    return failureOf(explained);
  }
}

/** Repeats the work between rounds until the next round is due. Reports the same failure in a row once. */
async function fill(rounds: Repeating, end: number): Promise<void> {
  const { between, signal, say } = rounds;
  if (between === undefined) return;
  let told: string | undefined;
  let next = performance.now();
  for (;;) {
    // Measured from start to start, like whole rounds.
    next = Math.max(next + between.seconds * 1000, performance.now());
    await waitUntil(Math.min(next, end), signal);
    if (signal.aborted || performance.now() >= end) return;
    const problem = await attempt(rounds, between.run);
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
    io.exit(1);
  } finally {
    await rounds.close?.();
  }
  // A thread may still be working on an abandoned load.
  if (signal.aborted) io.exit(0);
}
