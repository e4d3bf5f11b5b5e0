/** A clock that never jumps, the same in all threads, and timers. */

/** `performance.now()` counts from the start of its thread, the uptime from that of the process; it takes twice as long to read. */
const STARTED = process.uptime() * 1000 - performance.now();

/** Milliseconds since the start of the process. */
export function monotonic(): number {
  return STARTED + performance.now();
}

/** A timer that looks at what has arrived before it calls. */
export function startRealTimer(callback: () => void, ms: number): () => void {
  const timer = setTimeout(() => setImmediate(callback), ms);
  return () => clearTimeout(timer);
}
