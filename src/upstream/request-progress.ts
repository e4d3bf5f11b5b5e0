/** The progress of many requests to a server that limits them. */

import type { CommandIo } from "../cli/command.ts";
import { startProgress } from "../cli/progress.ts";

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
export function startRequestProgress(io: CommandIo, what: string): RequestProgress {
  let bar = startProgress(io, what, "publishing");
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
      io.complain(`orrery: the limit is used up; waiting ${durationText(ms)}${more}\n`);
      bar = startProgress(io, what, "publishing");
    },
    end: () => bar.end(),
  };
}
