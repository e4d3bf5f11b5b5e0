/** The thread that indexes the names of a generation, then answers similar searches until it is ended. */

import { parentPort, workerData } from "node:worker_threads";
import { runNow } from "../search/work.ts";
import { answerInSlices } from "../server/similar/questions.ts";
import { reviveStore } from "../store/generation.ts";
import { beginWork, stepBack, yieldingCpu } from "../util/process/yield-cpu.ts";
import {
  type FromSimilar,
  indexSimilar,
  keepSimilar,
  namesIn,
  type SimilarIndex,
  type SimilarTask,
} from "./similar.ts";

const port = parentPort!;
const task = workerData as SimilarTask;
const store = reviveStore(task.store);

function say(message: FromSimilar): void {
  port.postMessage(message);
}

/** Undefined when the names are too many for an index. */
function indexNames(): SimilarIndex | undefined {
  beginWork();
  try {
    return runNow(yieldingCpu(indexSimilar(store)));
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    say({ kind: "refused", problem: error.message });
    return undefined;
  }
}

stepBack();
const index = indexNames();
if (index !== undefined) {
  const searches = keepSimilar({ ...task, store }, index);
  port.on(
    "message",
    answerInSlices(
      (name, term, page) => searches.search(name, term, page),
      (answer) => say({ kind: "answer", answer }),
    ),
  );
  say({ kind: "ready", names: namesIn(index) });
}
