/** Work that can pause, so that other work on the thread need not wait; the scheduler runs it in time slices. */

/**
 * Work that can pause: it yields at least every two milliseconds, and yields "long" once when it expects to be long.
 * Its caller may drop it at any yield: it holds nothing that others use, and `return()` releases its memory at once.
 */
export type Work<Result> = Generator<"long" | undefined, Result>;

/**
 * Steps between two yields; a loop counts about one for each random access to memory. At a million rows no stretch
 * without a yield takes 2 ms.
 */
export const STEP = 8192;

export function runNow<Result>(work: Work<Result>): Result {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
  }
}
