/** Frees the memory of a generation that is no longer served. */

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Time after a swap by which requests that began before it are answered, in milliseconds. */
export const RELEASE_MS = 1000;

/**
 * Gives threads that start from now on the collector as a global. If a thread that makes one as below is ended meanwhile, V8
 * prints the code it was compiling to standard output: this happened to one in thirty programs that closed a replica at once.
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
 * about 10 ms on the serving thread with its small heap; a program with a large heap should not call it.
 */
export function collectGarbage(): void {
  try {
    exposeCollector();
    const collect = globalThis.gc ?? (runInNewContext("gc") as () => void);
    collect();
  } catch {
    // Another engine, or a build without the collector: the engine frees memory at a time of its choice.
  }
}
