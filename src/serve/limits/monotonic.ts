/** A clock that never jumps, the same in all threads, and timers. */

/** `performance.now()` counts from the start of its thread, the uptime from that of the process; it takes twice as long to read. */
const STARTED = process.uptime() * 1000 - performance.now();

/** Milliseconds since the start of the process. */
export function monotonic(): number {
  return STARTED + performance.now();
}

/** A timer of {@link startRealTimer} is one of so many milliseconds after another, of each no more than so much counts. */
const STEP_MS = 5;
const MOST_OF_STEP = 1.5;

/**
 * A timer that looks at what has arrived before it calls. Time in which this thread does nothing else, or does not run,
 * hardly counts: who waits for an answer must not take its own delay for that of the server.
 *
 * @returns what stops it
 */
export function startRealTimer(callback: () => void, ms: number): () => void {
  let left = ms;
  let timer: NodeJS.Timeout;
  let isStopped = false;
  const step = (): void => {
    const wait = Math.min(left, STEP_MS);
    const began = performance.now();
    timer = setTimeout(() => setImmediate(end, wait, began), wait);
  };
  const end = (wait: number, began: number): void => {
    if (isStopped) return;
    left -= Math.min(performance.now() - began, wait * MOST_OF_STEP);
    if (left < 1) callback();
    else step();
  };
  step();
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };
}
