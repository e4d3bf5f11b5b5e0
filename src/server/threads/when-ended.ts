import type { Worker } from "node:worker_threads";
import { causeOfDeath } from "../../util/process/worker-options.ts";

/** Calls back with the cause when a worker has ended. @param thread its entry point */
export function whenEnded(
  worker: Worker,
  thread: string,
  ended: (cause: string, error: NodeJS.ErrnoException | undefined) => void,
): void {
  let failure: Error | undefined;
  worker.on("error", (error) => {
    failure = error;
  });
  worker.on("exit", (status) =>
    ended((failure && causeOfDeath(thread, failure)) || `exit status ${status}`, failure),
  );
}
