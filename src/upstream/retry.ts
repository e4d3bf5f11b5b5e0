/** Timeouts and retries of requests to a source. Durations are milliseconds; tests use shorter ones. */

import { setTimeout as sleep } from "node:timers/promises";
import { growingPause } from "../util/process/pauses.ts";
import { SourceError } from "../util/source-error.ts";

/** The limits outside tests: less than 1 KiB/s is too slow, and a server may delay a replica by five minutes. */
export const TIMING = {
  /** Timeout for the head of an answer, connecting included. */
  headMs: 10_000,
  /** Time within which `leastBytes` of a body must arrive; only waiting for them counts. */
  progressMs: 16_000,
  leastBytes: 16_384,
  /** Timeout for a whole manifest or reply. */
  manifestMs: 60_000,
  /** Pause after the first failure; it doubles with each further one, and random jitter changes each pause. */
  firstPauseMs: 500,
  /** Maximum pause between two requests to a failing source, before jitter. */
  mostPauseMs: 60_000,
  /** Maximum accepted `Retry-After` while there is no snapshot yet. */
  mostPatienceMs: 30_000,
  /** Maximum accepted `Retry-After` otherwise. */
  mostRetryAfterMs: 300_000,
};

export type Timing = Readonly<typeof TIMING>;

export interface RetryPolicy {
  /** Number of consecutive failures that ends the retries. */
  readonly attempts: number;
  /** Maximum accepted `Retry-After` between two attempts. */
  readonly waitMs: number;
  readonly timing: Timing;
  readonly signal: AbortSignal;
}

/** The pause before the next attempt. @param failures number so far, at least 1 */
export function pauseAfter(failures: number, { firstPauseMs, mostPauseMs }: Timing): number {
  return growingPause(failures, firstPauseMs, mostPauseMs) * (0.5 + Math.random());
}

/** Waits. @throws the signal's reason when it is aborted */
export async function wait(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => signal.throwIfAborted());
}

/** Runs a task until it succeeds, fails for good or exceeds the policy. `advanced` reports progress: it resets the count of failures. */
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
