/** Starts worker threads, and explains why they died. */

import { basename } from "node:path";
import { getHeapStatistics } from "node:v8";
import { type Transferable, Worker } from "node:worker_threads";
import { missingFromBundle, workerEntry } from "../../install/package.ts";
import { codeOf, damaged, damageOf } from "../system-error.ts";
import { exposeCollector } from "./collect.ts";
import { leaveDeletedFolder } from "./working-folder.ts";

/** Entry points of the core's threads: paths from the source folder, without endings. */
export const GENERATION_THREAD = "threads/generation-thread";
export const SERVING_THREAD = "threads/serving-thread";

/** Heap limit of a thread, in mebibytes: the same as that of the calling thread. */
function heapLimitMb(): number {
  return Math.floor(getHeapStatistics().heap_size_limit / 2 ** 20);
}

/**
 * Starts a worker thread of the program with a task. Its heap has a limit of its own, so that a thread that fills it ends
 * alone; V8's `--max-old-space-size` overrides it. @param thread its entry point, such as {@link GENERATION_THREAD}
 */
export function startWorker(thread: string, task: unknown, transferList: Transferable[] = []): Worker {
  const entry = workerEntry(thread);
  exposeCollector();
  leaveDeletedFolder();
  // Bun does not use V8's heap.
  const limits = "bun" in process.versions ? undefined : { maxOldGenerationSizeMb: heapLimitMb() };
  const isText = typeof entry === "string";
  const options = { workerData: task, execArgv: [], eval: isText, transferList };
  return new Worker(entry, limits ? { ...options, resourceLimits: limits } : options);
}

/** Ends a worker that is no longer needed. Under Jest's modules in a VM its end may never come: it must not keep the process. */
export function endWorker(worker: Worker): void {
  void worker.terminate();
  worker.unref();
}

/** Calls back with the cause when a worker has ended. @param thread its entry point */
export function whenEnded(
  worker: Worker,
  thread: string,
  ended: (cause: string, error: NodeJS.ErrnoException | undefined) => void,
): void {
  let failure: NodeJS.ErrnoException | undefined;
  worker.on("error", (error) => {
    failure = error;
  });
  worker.on("exit", (status) =>
    ended((failure && causeOfDeath(thread, failure)) || `exit status ${status}`, failure),
  );
}

const EXTERNAL = 'an external package (Next: serverExternalPackages: ["orrery"])';

function causeOfDeath(thread: string, error: Error): string {
  const missing = missingFromBundle(thread);
  if (missing !== undefined) {
    return `there is no ${missing}; a bundle needs node_modules/orrery/dist/${basename(thread)}.js beside it, bundled as an entry point of its own, or orrery as ${EXTERNAL}, or the option threads: false`;
  }
  const unbundled = /^Cannot find package '([^']+)'/.exec(error.message)?.[1];
  if (unbundled !== undefined) {
    return `it cannot import the package ${unbundled}; if a bundler copied this file, name orrery ${EXTERNAL} there, otherwise install it again`;
  }
  // A program file failed to parse. The error's stack is lost between threads, but the thread catches errors in data itself.
  if (error instanceof SyntaxError) return damaged(error.message);
  if (codeOf(error) !== "ERR_WORKER_OUT_OF_MEMORY") return damageOf(error) ?? error.message;
  return `its heap of ${heapLimitMb()} MiB is full; node's --max-old-space-size allows more`;
}
