/** Giving back the memory of a generation that is no longer served. */

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** By then, in milliseconds, requests that began before a swap are answered. */
export const RELEASE_MS = 1000;

/**
 * Gives threads that are started from now on a collector as a global. If a thread that made one as below is ended at that
 * moment, V8 prints what it was compiling on standard output: one in thirty programs that closed a replica at once.
 */
export function exposeCollector(): void {
  try {
    setFlagsFromString("--expose-gc");
  } catch {
    // Another engine.
  }
}

/**
 * Collects all garbage of the calling thread. V8 does not count shared memory towards its heap, so a thread that makes little
 * garbage would keep one old generation after another: 20 reloads at 100,000 users grew a server from 490 to 1160 MB. It takes
 * about 10 ms on the serving thread, whose heap is small; a program with a large heap should leave it alone.
 */
export function collectGarbage(): void {
  try {
    exposeCollector();
    const collect = globalThis.gc ?? (runInNewContext("gc") as () => void);
    collect();
  } catch {
    // Another engine, or a build without it: memory is given back when the engine sees fit.
  }
}
