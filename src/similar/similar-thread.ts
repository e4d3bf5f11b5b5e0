/** The thread that indexes the names of a generation, then answers similar searches until it is ended. */

import { parentPort, workerData } from "node:worker_threads";
import { runNow } from "../search/work.ts";
import { answerInSlices } from "../server/similar/questions.ts";
import { reviveStore } from "../store/generation.ts";
import { beginWork, stepBack, yieldingCpu } from "../util/process/yield-cpu.ts";
import { type FromSimilar, indexSimilar, keepSimilar, namesIn, type SimilarTask } from "./similar.ts";

const port = parentPort!;
const task = workerData as SimilarTask;
const store = reviveStore(task.store);

function say(message: FromSimilar): void {
  port.postMessage(message);
}

stepBack();
beginWork();
const index = runNow(yieldingCpu(indexSimilar(store)));
const searches = keepSimilar({ ...task, store }, index);
port.on(
  "message",
  answerInSlices(
    (name, term, page) => searches.search(name, term, page),
    (answer) => say({ kind: "answer", answer }),
  ),
);
say({ kind: "ready", names: namesIn(index) });
