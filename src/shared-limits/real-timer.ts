/** Timers for the answers of a server. */

/** A long timer is a chain of short steps, in milliseconds; each counts for at most `MOST_OF_STEP_MS`, however long it takes. */
const STEP_MS = 5;
const MOST_OF_STEP_MS = 10;

/** A timer ends at the latest after this multiple of its time. */
const LONGEST = 5;

/**
 * Starts a timer for answers. @returns a function that stops it. Answers that have arrived are handled before the
 * callback, and the time in which this thread was busy is mostly not counted: it is no delay of the server.
 */
export function startRealTimer(callback: () => void, ms: number): () => void {
  const latest = performance.now() + ms * LONGEST;
  let left = ms;
  let timer: NodeJS.Timeout;
  let isStopped = false;
  const end = (): void => {
    if (!isStopped) callback();
  };
  // Each step is one turn of a busy event loop; an immediate followed by a timer would be two.
  const step = (): void => {
    const began = performance.now();
    timer = setTimeout(
      () => {
        const now = performance.now();
        left -= Math.min(now - began, MOST_OF_STEP_MS);
        if (left < 1 || now >= latest) setImmediate(end);
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
