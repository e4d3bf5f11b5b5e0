/** Other servers of the API on the command line. */

import { HeldError } from "../source/exclusive.ts";
import { SourceError } from "../source/problem.ts";
import { OccupiedError } from "../source/publish.ts";
import { BadRowsError } from "../source/row-folder.ts";
import { ApiUrlError, readApiUrl } from "../source/upstream/address.ts";
import { systemErrorText } from "../system-error.ts";
import type { World } from "./command.ts";
import { CommandError, type Options, ProblemsError, UsageError } from "./options.ts";
import { startProgress } from "./progress.ts";

/** Reads the address of a server. @throws {UsageError} naming the setting */
export function readServer(options: Options, flag: "from" | "against"): string {
  try {
    return readApiUrl(options.text(flag));
  } catch (error) {
    if (!(error instanceof ApiUrlError)) throw error;
    throw new UsageError(`${options.nameOf(flag)}: ${error.message}`);
  }
}

/** What was asked for an hour; undefined where nothing was. */
export function readPerHour(options: Options): number | undefined {
  const text = options.optional("requests-per-hour");
  return text === undefined ? undefined : Number(text);
}

/** An error as what a command says of it; defects stay what they are. @param place what the command works on */
export function explainUpstream(error: unknown, place: string): unknown {
  if (error instanceof BadRowsError) return new ProblemsError(error.problems);
  if (error instanceof SourceError) return new CommandError(error.message);
  const isOfPlace = error instanceof OccupiedError || error instanceof HeldError;
  const why = isOfPlace ? error.message : systemErrorText(error);
  return why === undefined ? error : new CommandError(`${place}: ${why}`);
}

/** A time to wait, for people. */
export function durationText(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.ceil(seconds / 60)} min`;
  return `${Math.floor(seconds / 3600)} h ${Math.ceil((seconds % 3600) / 60)} min`;
}

/** Shows requests that were made and are left. */
export interface RequestProgress {
  readonly show: (done: number, left: number, ms: number) => void;
  /** Says that a limit's next window is waited for. */
  readonly tellWait: (ms: number, left: number) => void;
  readonly end: () => void;
}

/** Waits that are told once only, even if they are looked at many times. */
const SAME_WAIT_MS = 5000;

/** Starts showing it: a bar on a terminal, and a line about each wait anywhere. */
export function startRequestProgress(world: World, what: string): RequestProgress {
  let bar = startProgress(world, what, "publishing");
  let began = performance.now();
  let first = -1;
  let told = 0;
  return {
    show(done, left, limitMs) {
      if (done <= 1 || first < 0) {
        began = performance.now();
        first = done;
      }
      const paceMs = ((performance.now() - began) / Math.max(1, done - first)) * left;
      const words = `${left} requests left, ${durationText(Math.max(limitMs, paceMs))}`;
      bar.show(
        left === 0 ? 0 : Math.min(0.99, done / (done + left)),
        left === 0 ? `${done} requests` : words,
      );
    },
    tellWait(ms, left) {
      const until = Date.now() + ms;
      if (Math.abs(until - told) < SAME_WAIT_MS) return;
      told = until;
      bar.end();
      const more = left === 0 ? "" : `, ${left} requests left`;
      world.complain(`orrery: the limit is used up; waiting ${durationText(ms)}${more}\n`);
      bar = startProgress(world, what, "publishing");
    },
    end: () => bar.end(),
  };
}
