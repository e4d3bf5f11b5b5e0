/** Work that can pause, so that whoever shares the thread is not kept waiting; the scheduler runs it in time slices. */

/**
 * Work that can pause. It yields wherever it may, at the latest after two milliseconds, and returns its
 * result. It says so when it sees that it will be long. Nobody need resume it: what it holds meanwhile is its
 * own, and is given back at once by those who call `return()`.
 */
export type Work<Result> = Generator<"long" | undefined, Result>;

/**
 * How much is done between two yields: loops count about one for each random access to memory. At a million
 * rows nothing is done for 2 ms without a yield.
 */
export const STEP = 8192;

/** Does all of it at once. */
export function runNow<Result>(work: Work<Result>): Result {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
  }
}
