/** Work that can pause, so that whoever shares the thread is not kept waiting; `scheduler.ts` runs it in slices. */

/**
 * Work that can pause. It yields wherever it may, at the latest after a few
 * milliseconds, and returns its result. It says so when it sees that it will be
 * long.
 */
export type Work<Result> = Generator<"long" | undefined, Result>;

/** How much is done between two yields: loops count about one for each random access to memory. */
export const STEP = 32_768;

/** Does all of it at once. */
export function runNow<Result>(work: Work<Result>): Result {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
  }
}
