/** Frees the memory of a generation that is no longer served. */

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Time after a swap by which requests that began before it are answered, in milliseconds. */
export const RELEASE_MS = 1000;

/**
 * Gives threads that start from now on the collector as a global: if a thread is ended while it makes one as below, V8
 * prints the code that it was compiling to standard output.
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
 * garbage would keep one old generation after another. A program with a large heap should not call it: it takes long there.
 */
export function collectGarbage(): void {
  try {
    exposeCollector();
    (globalThis.gc ?? (runInNewContext("gc") as () => void))();
  } catch {
    // Another engine, or a build without the collector: the engine frees memory at a time of its choice.
  }
}
