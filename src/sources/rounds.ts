/** Commands that publish a snapshot once, or again and again (`--every`), until a signal stops them. */

import { setTimeout as sleep } from "node:timers/promises";
import type { World } from "../cli/command.ts";
import { CommandError, type Options } from "../cli/options.ts";
import { formatTime } from "../model/time.ts";
import { STOP_SIGNALS } from "../util/process/early-signals.ts";

/** What is done in each round. */
export interface Rounds {
  /** Does it; resolves to one line on what came of it. The signal ends it. */
  readonly run: (signal: AbortSignal) => Promise<string>;
  /** An error as what the command says of it; defects stay what they are. */
  readonly explain: (error: unknown) => unknown;
  /** Lets go of what it holds; never fails. */
  readonly close?: () => Promise<void>;
  /** Whether the next round may well succeed without anybody's help. */
  readonly isPassing: (error: unknown) => boolean;
}

function failureOf(error: unknown): string {
  const { message } = error as Error;
  const [first, ...others] = message.split("\n");
  return `not published: ${first}${others.length > 0 ? ` (and ${others.length} more)` : ""}`;
}

/** Rounds that begin `seconds` apart, or one behind the other where they take longer, until the signal. */
async function repeat(
  { run, explain, isPassing }: Rounds,
  seconds: number,
  signal: AbortSignal,
  say: (line: string) => void,
): Promise<void> {
  for (;;) {
    const began = performance.now();
    try {
      say(await run(signal));
    } catch (error) {
      if (signal.aborted) return;
      if (!isPassing(error)) throw error;
      say(failureOf(explain(error)));
    }
    const pause = Math.max(0, began + seconds * 1000 - performance.now());
    await sleep(pause, undefined, { signal }).catch(() => {});
    if (signal.aborted) return;
  }
}

/** Runs one round, or with `--every` any number of them; a signal ends the process. @throws what `explain` gives */
export async function runRounds(
  options: Options<"export" | "mirror">,
  world: World,
  rounds: Rounds,
): Promise<void> {
  const { every } = options.values;
  const stop = new AbortController();
  for (const signal of STOP_SIGNALS) {
    process.once(signal, () => stop.abort(new CommandError(`stopped by ${signal}`)));
  }
  const say = (line: string): void => world.complain(`orrery: ${line}\n`);
  try {
    if (every === undefined) say(await rounds.run(stop.signal));
    else await repeat(rounds, every, stop.signal, (line) => say(`${formatTime(Date.now())} ${line}`));
  } catch (error) {
    if (!stop.signal.aborted) throw rounds.explain(error);
    say((stop.signal.reason as Error).message);
    await rounds.close?.();
    world.exit(1);
  } finally {
    await rounds.close?.();
  }
  // A thread may still be at work on what is of no more interest.
  if (stop.signal.aborted) world.exit(0);
}
