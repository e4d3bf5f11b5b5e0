/**
 * Yields a processor that a thread shares with the serving thread. A low priority is not enough: Linux lets a thread finish
 * its time slice of up to 4 ms before a thread that woke up runs. A thread that sleeps yields at once.
 */

import { readlinkSync } from "node:fs";
import { setPriority } from "node:os";

/** Longest work without a pause, in milliseconds, if the work yields often enough. */
const MOST_MS = 0.5;
/** Length of a pause, in milliseconds; the system stretches it to about 0.06. */
const PAUSE_MS = 0.01;

const nobody = new Int32Array(new SharedArrayBuffer(4));
let since = performance.now();

const NICE = 10;

/** Lets requests go before the calling thread's work on a busy machine. Best effort: only on Linux do threads have priorities. */
export function stepBack(): void {
  try {
    const thread = Number(readlinkSync("/proc/thread-self").split("/").at(-1));
    setPriority(thread, NICE);
  } catch {}
}

/** To be called when work begins after an idle time. */
export function beginWork(): void {
  since = performance.now();
}

/** Sleeps if the thread has worked for long enough. */
export function yieldCpu(): void {
  if (performance.now() - since < MOST_MS) return;
  Atomics.wait(nobody, 0, 0, PAUSE_MS);
  since = performance.now();
}

/** The same work, which lets other threads run at every yield; see {@link yieldCpu}. */
export function* yieldingCpu<Step, Result>(work: Generator<Step, Result>): Generator<Step, Result> {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
    yieldCpu();
    yield step.value;
  }
}
