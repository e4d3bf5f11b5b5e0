/** Work that can pause, so that other work on the thread need not wait. */

/** Work that pauses at each yield, after a millisecond at most. Its caller may drop it at any pause. */
export type Work<Result> = Generator<undefined, Result>;

/** Does work without pauses. */
export function runNow<Result>(work: Work<Result>): Result {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
  }
}
