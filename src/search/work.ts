/** Work that can pause, so that others on the thread are not kept waiting; the scheduler runs it in time slices. */

/**
 * Work that can pause: it yields at the latest after two milliseconds, "long" once when it expects to be
 * long. It need not be resumed: what it holds is its own, and `return()` gives that back at once.
 */
export type Work<Result> = Generator<"long" | undefined, Result>;

/**
 * How much is done between two yields: loops count about one for each random access to memory. At a million
 * rows nothing is done for 2 ms without a yield.
 */
export const STEP = 8192;

export function runNow<Result>(work: Work<Result>): Result {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
  }
}
