/**
 * Measures the delay of the calling thread's event loop, by a timer that is due every 20 ms. Node's own histogram omits the
 * first delay after each reset and forgets nothing without a reset; other runtimes have none.
 */

import { performance } from "node:perf_hooks";

const INTERVAL_MS = 20;
/** Delays of about ten seconds. */
const SAMPLES = 512;
/** Delays between two marks of the utilization: about five seconds. */
const MARK = 256;

/** Bun and Deno have the function, but it always returns 0. */
const TELLS_UTILIZATION = !("bun" in process.versions || "deno" in process.versions);

/** Watches for good; the timer does not keep the process alive. @param onDelay receives each delay, in milliseconds */
export function watchEventLoop(onDelay: (ms: number) => void) {
  const delays = new Float64Array(SAMPLES);
  let count = 0;
  let last = performance.now();
  const utilizationNow = () => (TELLS_UTILIZATION ? performance.eventLoopUtilization() : undefined);
  let before = utilizationNow();
  let mark = before;
  setInterval(() => {
    const now = performance.now();
    const delay = Math.max(0, now - last - INTERVAL_MS);
    delays[count++ % SAMPLES] = delay;
    last = now;
    onDelay(delay);
    if (count % MARK !== 0) return;
    before = mark;
    mark = utilizationNow();
  }, INTERVAL_MS).unref();
  return () => {
    const seen = delays.slice(0, Math.min(count, SAMPLES)).sort();
    const at = (share: number): number | null =>
      seen.length === 0 ? null : Math.round(seen[Math.floor(share * (seen.length - 1))]! * 100) / 100;
    const busy = before && performance.eventLoopUtilization(before).utilization;
    // The busy share of the last 5 to 10 seconds, 0 to 1; null where the runtime does not report it.
    const utilization = busy !== undefined && Number.isFinite(busy) ? Math.round(busy * 1000) / 1000 : null;
    return { utilization, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) };
  };
}
