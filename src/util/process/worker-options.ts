/** How worker threads are started, and what their deaths mean in words. */

import { basename } from "node:path";
import { getHeapStatistics } from "node:v8";
import { type Transferable, Worker, type WorkerOptions } from "node:worker_threads";
import { missingFromBundle, workerEntry } from "../../install/package.ts";
import { codeOf, damaged, damageOf } from "../system-error.ts";
import { exposeCollector } from "./collect.ts";

/** Where the core's threads begin: paths from the folder of sources, without endings. */
export const GENERATION_THREAD = "server/threads/generation-thread";
export const SERVING_THREAD = "server/threads/serving-thread";

const MEBIBYTE = 2 ** 20;

/** Heap of a thread, in mebibytes: as much as the calling one may have. */
function heapLimitMb(): number {
  return Math.floor(getHeapStatistics().heap_size_limit / MEBIBYTE);
}

/** The heap has a limit of its own, so that a thread that fills it ends alone; V8's `--max-old-space-size` goes before it. */
function workerOptions(task: unknown): WorkerOptions {
  const options = { workerData: task, execArgv: [] };
  // Bun has other heaps.
  if ("bun" in process.versions) return options;
  return { ...options, resourceLimits: { maxOldGenerationSizeMb: heapLimitMb() } };
}

/**
 * Starts a worker thread of the program with a task.
 *
 * @param thread where it begins, as {@link GENERATION_THREAD}
 * @param transferList what of the task goes over to it
 */
export function startWorker(thread: string, task: unknown, transferList: Transferable[] = []): Worker {
  const entry = workerEntry(thread);
  exposeCollector();
  return new Worker(entry, { ...workerOptions(task), eval: typeof entry === "string", transferList });
}

export function causeOfDeath(thread: string, error: Error): string {
  const missing = missingFromBundle(thread);
  if (missing !== undefined) {
    return `there is no ${missing}; a bundle needs node_modules/orrery/dist/${basename(thread)}.js beside it, bundled as an entry point of its own, or orrery as an external package, or the option threads: false`;
  }
  // Where it comes from is lost on the way here; what is read at run time is caught in the thread.
  if (error instanceof SyntaxError) return damaged(error.message);
  if (codeOf(error) !== "ERR_WORKER_OUT_OF_MEMORY") return damageOf(error) ?? error.message;
  return `its heap of ${heapLimitMb()} MiB is full; node's --max-old-space-size allows more`;
}
