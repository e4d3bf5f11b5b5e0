/** Trying again what failed in passing, with growing pauses and for as long as somebody would wait. */

import { SourceError } from "../util/source-error.ts";
import { pauseAfter, type Timing, wait } from "./timing.ts";

/** How patiently to try. */
export interface Patience {
  /** Failures in a row after which it is given up. */
  readonly attempts: number;
  /** Longest wait, in milliseconds, that the server can ask for between two attempts. */
  readonly waitMs: number;
  readonly timing: Timing;
  readonly signal: AbortSignal;
}

/**
 * Runs something until it does not fail, or fails for good.
 *
 * @param run is told how to report progress; what failed behind some counts as a first failure again
 * @throws {SourceError} of the last attempt; at once whatever else `run` throws
 */
export async function tryAgain<Result>(
  { attempts, waitMs, timing, signal }: Patience,
  run: (advanced: () => void) => Promise<Result>,
): Promise<Result> {
  let failures = 0;
  const advanced = (): void => {
    failures = 0;
  };
  for (;;) {
    try {
      return await run(advanced);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof SourceError) || error.isLasting) throw error;
      const { retryAfterMs = 0 } = error;
      failures++;
      if (failures >= attempts || retryAfterMs > waitMs) throw error;
      await wait(Math.max(pauseAfter(failures, timing), retryAfterMs), signal);
    }
  }
}
