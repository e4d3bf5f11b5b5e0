/** A clock that never jumps, the same in all threads, and timers. */

/** `performance.now()` counts from the start of its thread, the uptime from that of the process; it takes twice as long to read. */
const STARTED = process.uptime() * 1000 - performance.now();

/** Milliseconds since the start of the process. */
export function monotonic(): number {
  return STARTED + performance.now();
}

/** A timer of {@link startRealTimer} consists of steps of this many milliseconds; of each no more than this multiple counts. */
const STEP_MS = 5;
const MOST_OF_STEP = 1.5;

/** It ends after this multiple of its time at the latest. */
const LONGEST = 5;

/**
 * Starts a timer for answers. What has arrived is handled before it calls, and time in which this thread was busy or did
 * not run hardly counts: whoever waits for an answer must not take its own delay for that of the server.
 *
 * @returns what stops it
 */
export function startRealTimer(callback: () => void, ms: number): () => void {
  const latest = performance.now() + ms * LONGEST;
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
    const now = performance.now();
    left -= Math.min(now - began, wait * MOST_OF_STEP);
    if (left < 1 || now >= latest) callback();
    else step();
  };
  step();
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };
}
