/** Finds worker threads that the code under test starts. */

import { Worker } from "node:worker_threads";
import { type ServerOptions, startServer } from "../../src/server/server.ts";

/** Calls a function with the growing list of the worker threads that it starts. @returns its result, and the list */
export async function workersOf<T>(
  run: (workers: readonly Worker[]) => Promise<T>,
): Promise<[result: T, workers: Worker[]]> {
  const workers: Worker[] = [];
  const { on } = Worker.prototype;
  // Every thread gets a listener as soon as it is made.
  Worker.prototype.on = function (this: Worker, ...args: Parameters<typeof on>) {
    if (!workers.includes(this)) workers.push(this);
    return on.apply(this, args);
  } as typeof on;
  try {
    return [await run(workers), workers];
  } finally {
    Worker.prototype.on = on;
  }
}

/** Starts a server that stops once, after the test at the latest. @returns it, and its worker threads */
export async function startInThreads(test: { after(done: () => unknown): void }, options: ServerOptions) {
  const [server, workers] = await workersOf(() => startServer(options));
  let stopped: Promise<void> | undefined;
  const once = { ...server, stop: (reason: string) => (stopped ??= server.stop(reason)) };
  test.after(() => once.stop("test"));
  return { server: once, workers };
}
