/** Waiting for a source, and trying again. Durations are milliseconds; tests have shorter ones. */

import { setTimeout as sleep } from "node:timers/promises";
import { growingPause } from "../util/process/pauses.ts";
import { SourceError } from "../util/source-error.ts";

/** Limits on waiting. */
export interface Timing {
  /** Until the head of an answer is there, connecting included. */
  readonly headMs: number;
  /** In which {@link leastBytes} of a body must arrive; only waiting for them counts. */
  readonly progressMs: number;
  readonly leastBytes: number;
  /** For a whole manifest or reply. */
  readonly manifestMs: number;
  /** Pause after a first failure; each following one is twice as long, and each is made longer or shorter by chance. */
  readonly firstPauseMs: number;
  /** Longest pause between two looks at a source that fails. */
  readonly mostPauseMs: number;
  /** Longest wait that a server can ask for (`Retry-After`) while somebody waits for the snapshot. */
  readonly mostPatienceMs: number;
  /** Longest wait that it can ask for otherwise. */
  readonly mostRetryAfterMs: number;
}

/** The limits outside tests: 1 KiB/s is slow, and a replica may be five minutes late if its server asks for that. */
export const TIMING: Timing = {
  headMs: 10_000,
  progressMs: 16_000,
  leastBytes: 16_384,
  manifestMs: 60_000,
  firstPauseMs: 500,
  mostPauseMs: 60_000,
  mostPatienceMs: 30_000,
  mostRetryAfterMs: 300_000,
};

/** How often and how long to try. */
export interface RetryPolicy {
  /** Failures in a row after which it is given up. */
  readonly attempts: number;
  /** Longest wait that the server can ask for between two attempts. */
  readonly waitMs: number;
  readonly timing: Timing;
  readonly signal: AbortSignal;
}

/** A pause before another attempt. @param failures how many there were, at least 1 */
export function pauseAfter(failures: number, { firstPauseMs, mostPauseMs }: Timing): number {
  return growingPause(failures, firstPauseMs, mostPauseMs) * (0.5 + Math.random());
}

/** Waits. @throws the signal's reason when it is aborted */
export async function wait(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => signal.throwIfAborted());
}

/** Runs something until it does not fail, or fails for good. After progress (`advanced`) a failure counts as a first one again. */
export async function retry<Result>(
  { attempts, waitMs, timing, signal }: RetryPolicy,
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
