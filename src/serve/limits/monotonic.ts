/** A clock that never jumps, the same in all threads, and timers. */

/** `performance.now()` counts from the start of its thread, the uptime from that of the process but is slower to read. */
const STARTED = process.uptime() * 1000 - performance.now();

/** Milliseconds since the start of the process. */
export function monotonic(): number {
  return STARTED + performance.now();
}

/** A long timer is a chain of short ones, in milliseconds; of what each of them took, no more than so much counts. */
const STEP_MS = 5;
const MOST_OF_STEP_MS = 10;

/**
 * A timer for an answer of another process: what has arrived by then is read before it calls. Time in which this thread is
 * busy or does not run hardly counts, so that it does not take its own delay for that of the other process: a step can
 * take as long as a turn of the event loop, but a few steps are always enough.
 *
 * @returns stops it: from then on it does not call
 */
export function startRealTimer(callback: () => void, ms: number): () => void {
  let left = ms;
  let timer: NodeJS.Timeout;
  let isStopped = false;
  const end = (): void => {
    if (!isStopped) callback();
  };
  // Each of them is one turn of a busy event loop: from an immediate to a timer it would be two.
  const step = (): void => {
    const began = performance.now();
    timer = setTimeout(
      () => {
        left -= Math.min(performance.now() - began, MOST_OF_STEP_MS);
        if (left < 1) setImmediate(end);
        else step();
      },
      Math.min(left, STEP_MS),
    );
  };
  step();
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };
}
