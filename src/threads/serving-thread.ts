/** A serving thread. Searches for similar names go to the main thread, which passes them on to their thread. */

import { parentPort, workerData } from "node:worker_threads";
import { KeyRing } from "../auth/keys.ts";
import { IN_THREADS } from "../features.ts";
import { createListener } from "../http/listener.ts";
import { countersOf, searchCounter } from "../observe/metrics/counters.ts";
import { watchVitals } from "../observe/metrics/vitals.ts";
import { CachedSearch } from "../search/cache.ts";
import { sharePending } from "../search/pending.ts";
import { Scheduler } from "../search/schedule.ts";
import { openSearch } from "../search/search.ts";
import { composeState } from "../server/compose.ts";
import type { Questions } from "../server/similar/questions.ts";
import { boundedSimilar } from "../server/similar/similar.ts";
import {
  askOver,
  BatchSender,
  type FromServing,
  type ServingTask,
  type StoreToServe,
  type ToServing,
} from "../server/threads/serving-messages.ts";
import { createGeneration, type Generation, reviveStore } from "../store/generation.ts";
import { collectGarbage, RELEASE_MS } from "../util/process/collect.ts";
import { throwUncaught } from "../util/process/uncaught.ts";

const port = parentPort!;
const task = workerData as ServingTask;

function say(message: FromServing): void {
  port.postMessage(message);
}

const observations = new BatchSender((batch) => say({ kind: "observations", ...batch }));
const { observe, writeAccess } = observations;

const pending = sharePending(task.pending, task.thread);

const requestCounters = task.requestCells && countersOf(task.requestCells, task.thread);
const countSearch = requestCounters && searchCounter(requestCounters);

const searchBounds = { cacheBytes: task.cacheBytes, scheduler: new Scheduler(pending), count: countSearch };

let cached: CachedSearch;
const writeVitals = requestCounters && watchVitals(requestCounters, () => cached.counts());

/** Of the served generation; undefined without similar search. */
let questions: Questions | undefined;

function take({ store: sent, index, similar }: StoreToServe): Generation {
  questions?.retire();
  questions = similar && askOver(similar);
  const store = reviveStore(sent);
  cached = new CachedSearch(openSearch(store, index), searchBounds);
  const findSimilar = questions && boundedSimilar(questions.ask, pending, countSearch);
  return createGeneration(store, cached.find, findSimilar);
}

const shared =
  task.shared === undefined
    ? undefined
    : IN_THREADS.countInThread?.(task.shared, task.counters, (message) => say({ kind: "shared", message }));

const state = composeState(task.settings, {
  counters: task.counters,
  shared,
  keys: new KeyRing(new Map(task.keys)),
  requestCounters,
  keyUse: task.keyUse?.[task.thread],
  generation: take(task.generation),
  observe,
  writeAccess: task.writesAccess ? writeAccess : undefined,
  features: IN_THREADS,
});
// Awaited at each use: the one-file program is no module, so it has no top-level await.
const listener = createListener(state, { ...task.settings, ...task.limits }, observe);

/** Awaited by a stop, which may begin before the thread listens. */
const started = startListening().catch(throwUncaught);

port.on("message", async (message: ToServing) => {
  switch (message.kind) {
    case "keys":
      state.gate.keys = state.gate.keys.changedBy(message.changes);
      break;
    case "generation":
      state.generation = take(message.generation);
      setTimeout(collectGarbage, RELEASE_MS).unref();
      break;
    case "stop-listening":
      await started;
      await (await listener).stopListening();
      say({ kind: "done" });
      break;
    case "observed":
      observations.flush();
      break;
    case "drain":
      await (await listener).leave();
      await shared?.close();
      observations.flush();
      say({ kind: "done" });
      break;
  }
});

/** Rejects if it cannot listen; the error then ends the thread. */
async function startListening(): Promise<void> {
  await shared?.tried;
  const address = await (await listener).listen(task.settings.host, task.port, task.sharing);
  writeVitals?.();
  say({ kind: "listening", address });
}
