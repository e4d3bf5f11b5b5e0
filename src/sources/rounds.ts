/** Commands that publish a snapshot once, or again and again (`--every`), until a signal stops them. */

import { setTimeout as sleep } from "node:timers/promises";
import type { CommandIo } from "../cli/command.ts";
import { CommandError, type Options } from "../cli/options.ts";
import { formatTime } from "../model/time.ts";
import { STOP_SIGNALS } from "../util/process/early-signals.ts";

/** What is done in each round. */
export interface Rounds {
  /** Does it; resolves to one line on what came of it. The signal ends it. */
  readonly run: (signal: AbortSignal) => Promise<string>;
  /** What is done between two rounds, so many seconds apart; what it does is told by failures alone. */
  readonly between?: { readonly seconds: number; readonly run: (signal: AbortSignal) => Promise<void> };
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

/** Waits until a time of `performance.now()`, or the signal. */
async function waitUntil(time: number, signal: AbortSignal): Promise<void> {
  await sleep(Math.max(0, time - performance.now()), undefined, { signal }).catch(() => {});
}

/** Rounds that begin `seconds` apart, or one after the other where they take longer, until the signal. */
class Repeated {
  readonly #rounds: Rounds;
  readonly #signal: AbortSignal;
  readonly #say: (line: string) => void;
  /** When a round last went well. */
  #wellAt: string | undefined;

  constructor(rounds: Rounds, signal: AbortSignal, say: (line: string) => void) {
    this.#rounds = rounds;
    this.#signal = signal;
    this.#say = say;
  }

  async repeat(seconds: number): Promise<void> {
    for (;;) {
      const next = performance.now() + seconds * 1000;
      const problem = await this.#attempt(async (signal) => this.#say(await this.#rounds.run(signal)));
      if (problem === undefined) this.#wellAt = formatTime(Date.now());
      else this.#say(`${this.#wellAt === undefined ? "" : `last success ${this.#wellAt}, `}${problem}`);
      await this.#fill(next);
      await waitUntil(next, this.#signal);
      if (this.#signal.aborted) return;
    }
  }

  /** Does what is done between rounds, until it is time for the next one. A failure is told once. */
  async #fill(end: number): Promise<void> {
    const { between } = this.#rounds;
    if (between === undefined) return;
    let told: string | undefined;
    for (;;) {
      const next = performance.now() + between.seconds * 1000;
      await waitUntil(Math.min(next, end), this.#signal);
      if (this.#signal.aborted || performance.now() >= end) return;
      const problem = await this.#attempt(between.run);
      if (problem !== undefined && problem !== told) this.#say(problem);
      told = problem;
    }
  }

  /** @returns what went wrong, as far as a later attempt may well succeed @throws anything else */
  async #attempt(run: (signal: AbortSignal) => Promise<void>): Promise<string | undefined> {
    try {
      await run(this.#signal);
      return undefined;
    } catch (error) {
      if (this.#signal.aborted) return undefined;
      if (!this.#rounds.isPassing(error)) throw error;
      return failureOf(this.#rounds.explain(error));
    }
  }
}

/** Runs one round, or with `--every` any number of them; a signal ends the process. @throws what `explain` gives */
export async function runRounds(
  options: Options<"export" | "mirror">,
  io: CommandIo,
  rounds: Rounds,
): Promise<void> {
  const { every } = options.values;
  const stop = new AbortController();
  for (const signal of STOP_SIGNALS) {
    process.once(signal, () => stop.abort(new CommandError(`stopped by ${signal}`)));
  }
  const say = (line: string): void => io.complain(`orrery: ${line}\n`);
  try {
    if (every === undefined) say(await rounds.run(stop.signal));
    else
      await new Repeated(rounds, stop.signal, (line) => say(`${formatTime(Date.now())} ${line}`)).repeat(
        every,
      );
  } catch (error) {
    if (!stop.signal.aborted) throw rounds.explain(error);
    say((stop.signal.reason as Error).message);
    await rounds.close?.();
    io.exit(1);
  } finally {
    await rounds.close?.();
  }
  // A thread may still be at work on what is of no more interest.
  if (stop.signal.aborted) io.exit(0);
}
