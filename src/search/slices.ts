/** Long work in slices, so that whoever shares the thread is not kept waiting. */

import { setImmediate } from "node:timers";

/** How long work may hold its thread at a time, in milliseconds. */
const SLICE_MS = 8;

/**
 * Work that can pause. It yields wherever it may, at the latest after two
 * milliseconds, and returns its result. It says so when it sees that it will be
 * long. Nobody need resume it: what it holds meanwhile is its own, and is given
 * back at once by those who call `return()`.
 */
export type Work<Result> = Generator<"long" | undefined, Result>;

/**
 * How much is done between two yields: loops count about one for each random
 * access to memory. At a million rows nothing is done for 2 ms without a yield.
 */
export const STEP = 8192;

/** Does all of it at once. */
export function runNow<Result>(work: Work<Result>): Result {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
  }
}

/** Does as much as fits into a slice. */
function runSlice<Result>(work: Work<Result>): IteratorResult<unknown, Result> {
  const end = performance.now() + SLICE_MS;
  for (;;) {
    const step = work.next();
    if (step.done || performance.now() >= end) return step;
  }
}

/** Does it in slices, between which the thread sees to its other events. What fits into one slice is done at once. */
export function runInSlices<Result>(work: Work<Result>): Result | Promise<Result> {
  const first = runSlice(work);
  if (first.done) return first.value;
  return new Promise((resolve, reject) => {
    function goOn(): void {
      try {
        const step = runSlice(work);
        if (step.done) resolve(step.value);
        else setImmediate(goOn);
      } catch (error) {
        reject(error as Error);
      }
    }
    setImmediate(goOn);
  });
}
