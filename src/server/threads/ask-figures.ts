/** Asking serving threads for their figures. */

import type { Worker } from "node:worker_threads";
import type { ToServing } from "./serving-messages.ts";
import type { CacheQuestion, ThreadFigures } from "./thread-figures.ts";

/** How long a thread has to answer, in milliseconds. */
const PATIENCE_MS = 200;

/** A thread that can be asked. */
export interface AskedForFigures {
  readonly worker: Pick<Worker, "postMessage">;
  readonly number: number;
  /** Who waits for its figures, by the number of the question. Whoever receives the answer calls it. */
  readonly told: Map<number, (figures: ThreadFigures | undefined) => void>;
}

/** What came of asking one thread. */
export interface ToldFigures {
  readonly number: number;
  /** Undefined when it did not answer in time. */
  readonly figures: ThreadFigures | undefined;
}

let questions = 0;

/** Asks one thread, at once. @param asked a page of a search that its cache may hold */
export function askFigures(
  { worker, number, told }: AskedForFigures,
  asked: CacheQuestion | undefined,
): Promise<ToldFigures> {
  const question = questions++;
  return new Promise((resolve) => {
    const answered = (figures: ThreadFigures | undefined): void => {
      clearTimeout(timer);
      told.delete(question);
      resolve({ number, figures });
    };
    const timer = setTimeout(answered, PATIENCE_MS, undefined);
    told.set(question, answered);
    worker.postMessage({ kind: "tell", number: question, asked } satisfies ToServing);
  });
}
