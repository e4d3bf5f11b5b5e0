/** Runs commands that publish a snapshot, and reports the result. */

import type { CommandIo, Program } from "../cli/command.ts";
import { failureAt, type Options } from "../cli/options.ts";
import type { Observation } from "../observe/events.ts";
import { createLog } from "../observe/log/log.ts";
import { escaped } from "../util/escaped.ts";
import { stopSignal } from "./stop-signal.ts";

export interface Round {
  readonly generation: string;
  /** False when the same generation was published before. */
  readonly isNew: boolean;
  /** More words for the report. */
  readonly details: string;
}

export type RoundDone = Extract<Observation, { readonly kind: "round-done" }>;

/** Runs a round, and reports how long it took. */
export async function timed(run: () => Promise<Round>): Promise<RoundDone> {
  const began = performance.now();
  const { generation, isNew, details } = await run();
  const seconds = Number(((performance.now() - began) / 1000).toFixed(3));
  return { kind: "round-done", generation, isNew, details, seconds };
}

function resultLine({ isNew, generation, details, seconds }: RoundDone): string {
  const outcome = isNew ? "published generation" : "unchanged, still generation";
  return `orrery: ${outcome} ${generation}: ${escaped(details)}, ${seconds.toFixed(1)} s\n`;
}

/** Runs the round of a command; a signal ends the process with status 1. @throws {CommandError} or {@link SourceError}; defects */
export async function runRound(
  options: Options<"export">,
  io: CommandIo,
  { tables }: Program,
  run: (signal: AbortSignal) => Promise<Round>,
): Promise<void> {
  const { out, logFormat } = options.values;
  const signal = stopSignal();
  try {
    const done = await timed(() => run(signal));
    if (logFormat === "json") createLog(tables.events, "info", { write: io.complain })(done);
    else io.complain(resultLine(done));
  } catch (error) {
    if (!signal.aborted) throw failureAt(out, error);
    io.complain(`orrery: ${(signal.reason as Error).message}\n`);
    io.exit(1);
  }
}
