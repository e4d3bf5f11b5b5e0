/** Finds worker threads that the code under test starts. */

import { Worker } from "node:worker_threads";

export async function workersOf(run: () => Promise<unknown>): Promise<Worker[]> {
  const workers: Worker[] = [];
  const { on } = Worker.prototype;
  // Every thread gets a listener as soon as it is made.
  Worker.prototype.on = function (this: Worker, ...args: Parameters<typeof on>) {
    if (!workers.includes(this)) workers.push(this);
    return on.apply(this, args);
  } as typeof on;
  try {
    await run();
  } finally {
    Worker.prototype.on = on;
  }
  return workers;
}
