/**
 * Yielding the CPU to the serving thread, on a processor that both threads share. A low priority is not enough: Linux lets a
 * thread finish its slice of up to 4 ms before another that woke up gets its turn. A thread that sleeps yields at once.
 */

import { readlinkSync } from "node:fs";
import { setPriority } from "node:os";

/** How long the thread may work without a pause, in milliseconds, if its work yields as often. */
const MOST_MS = 0.5;
/** How long it sleeps, in milliseconds; the system makes about 0.06 of it. */
const PAUSE_MS = 0.01;

const nobody = new Int32Array(new SharedArrayBuffer(4));
let since = performance.now();

const NICE = 10;

/** On a busy machine requests go before what the calling thread does. Best effort: it takes Linux, where threads have priorities. */
export function stepBack(): void {
  try {
    const thread = Number(readlinkSync("/proc/thread-self").split("/").at(-1));
    setPriority(thread, NICE);
  } catch {}
}

/** To be called when there is work again after a time without any. */
export function beginWork(): void {
  since = performance.now();
}

/** Sleeps if the thread has worked for long enough. @param before called first, such as to give others their work */
export function yieldCpu(before: () => void): void {
  if (performance.now() - since < MOST_MS) return;
  before();
  Atomics.wait(nobody, 0, 0, PAUSE_MS);
  since = performance.now();
}

/** The same work, with room for others at every yield; see {@link yieldCpu}. */
export function* yieldingCpu<Step, Result>(
  work: Generator<Step, Result>,
  before: () => void,
): Generator<Step, Result> {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
    yieldCpu(before);
    yield step.value;
  }
}
