/** How long a source is waited for, and how often it is asked. Durations are milliseconds; tests have shorter ones. */

/** Limits on waiting. */
export interface Timing {
  /** Until the head of an answer is there, connecting included. */
  readonly headMs: number;
  /** In which {@link leastBytes} of a body must arrive; only waiting for them counts. */
  readonly progressMs: number;
  readonly leastBytes: number;
  /** For a whole manifest. */
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

/** The limits outside tests: 1 KiB/s is slow, and a replica may be five minutes behind if its server asks for that. */
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

/** A pause before another attempt. @param failures how many there were, at least 1 */
export function pauseAfter(failures: number, { firstPauseMs, mostPauseMs }: Timing): number {
  return Math.min(firstPauseMs * 2 ** (failures - 1), mostPauseMs) * (0.5 + Math.random());
}

/** Waits. @throws the signal's reason when it is aborted */
export function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (settle: () => void) => (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
      settle();
    };
    const abort = end(() => reject(signal.reason as Error));
    const timer = setTimeout(end(resolve), ms);
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort);
  });
}
