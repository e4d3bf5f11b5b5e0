/** The thread that loads and indexes one folder. */

import { parentPort, workerData } from "node:worker_threads";
import {
  indexStore,
  indexUsersOf,
  indexWorldsOf,
  partsMade,
  rankedPlaces,
  type SearchIndex,
} from "../../search/search.ts";
import type { WorldIndex } from "../../search/worlds.ts";
import { loadSnapshot, type Refused } from "../../snapshot/load.ts";
import { reviveStore, type Store } from "../../store/generation.ts";
import { collectGarbage } from "../../util/process/collect.ts";
import { GENERATION_THREAD, startWorker } from "../../util/process/worker-options.ts";
import { stepBack, yieldCpu } from "../../util/process/yield-cpu.ts";
import { indexLoaded } from "../load/loader.ts";
import type { Ready, Task, ThreadMessage } from "../load/threaded-loader.ts";

const port = parentPort!;

function say(message: ThreadMessage): void {
  port.postMessage(message);
}

/** Indexes worlds in a thread that does nothing else. @throws why it could not start, or the cause of its death */
function indexWorldsElsewhere(store: Store): Promise<WorldIndex> {
  return new Promise((resolve, reject) => {
    const task: Task = { kind: "index-worlds", store };
    const worker = startWorker(GENERATION_THREAD, task);
    worker.once("message", resolve);
    worker.once("error", reject);
    worker.once("exit", (status) => reject(new Error(`exit status ${status}`)));
  });
}

/** Indexes users here and worlds elsewhere at the same time. */
async function indexInTwo(store: Store): Promise<SearchIndex> {
  // On any failure worlds are indexed here, which reports an error of its own.
  const elsewhere = indexWorldsElsewhere(store).catch(() => undefined);
  const users = indexUsersOf(store);
  return { users, worlds: (await elsewhere) ?? indexWorldsOf(store), places: rankedPlaces(store) };
}

/** Bytes of row files above which garbage is collected before indexing. */
const MUCH_BYTES = 2 ** 25;

type LoadTask = Extract<Task, { kind: "load" }>;

async function load(task: LoadTask): Promise<Refused | Ready> {
  const before = task.before && { ...task.before, store: reviveStore(task.before.store) };
  const loaded = await loadSnapshot(task.folder, {
    maxBytes: task.maxBytes,
    before,
    onProgress: progressOf(task),
  });
  if (!loaded.ok) return loaded;
  const { store } = loaded;
  // Frees staged rows, so that the index can use their memory.
  if (loaded.bytes > MUCH_BYTES) collectGarbage();
  const isMuch = store.users.rows + store.worlds.rows > task.mostAlone;
  const indexed = await indexLoaded(task.folder, loaded, () =>
    isMuch ? indexInTwo(store) : indexStore(store, before),
  );
  if ("problems" in indexed) return indexed;
  return { loaded, made: partsMade(indexed.index, before?.index), indexMs: indexed.indexMs };
}

async function run(task: Task): Promise<void> {
  if (task.kind === "index-worlds") {
    port.postMessage(indexWorldsOf(reviveStore(task.store)));
    return;
  }
  const result = await load(task);
  if ("problems" in result) say({ kind: "refused", refused: result });
  else say({ kind: "ready", ...result });
}

function progressOf({ before, tellsProgress }: LoadTask): (share: number) => void {
  let told = 0;
  const isServing = before !== undefined;
  return (share) => {
    if (isServing) yieldCpu();
    if (!tellsProgress || (share < 1 && share - told < 0.01)) return;
    told = share;
    say({ kind: "progress", share });
  };
}

stepBack();
// No await at the top: the one-file program is CommonJS.
run(workerData as Task).catch((error: unknown) => {
  queueMicrotask(() => {
    throw error;
  });
});
