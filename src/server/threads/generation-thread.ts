/**
 * The thread of a generation: loads a folder, packs it into shared memory, indexes it, and then answers its searches
 * until it is ended. It handles one generation only, so its end frees all garbage of the load.
 */

import { parentPort, workerData } from "node:worker_threads";
import { keepingResults } from "../../search/cache.ts";
import {
  indexStore,
  indexUsersOf,
  indexWorldsOf,
  openSearch,
  partsMade,
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
import { answerInSlices } from "../search/questions.ts";

const port = parentPort!;

function say(message: ThreadMessage): void {
  port.postMessage(message);
}

interface Prepared extends Ready {
  readonly index: SearchIndex;
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
  return { users, worlds: (await elsewhere) ?? indexWorldsOf(store) };
}

/** Bytes of row files above which garbage is collected before indexing. */
const MUCH_BYTES = 2 ** 25;

/** Takes an index, or loads a folder and indexes it; the temporary data are garbage afterwards. */
async function prepare(task: Exclude<Task, { kind: "index-worlds" }>): Promise<Prepared | Refused> {
  if (task.kind === "search") return { loaded: undefined, index: task.index, made: task.index, indexMs: 0 };
  const before = task.before && { ...task.before, store: reviveStore(task.before.store) };
  const loaded = await loadSnapshot(task.folder, {
    maxBytes: task.maxBytes,
    before,
    onProgress: progressOf(task),
  });
  // The task lives as long as the thread does.
  task.before = undefined;
  if (!loaded.ok) return loaded;
  const { store } = loaded;
  // Frees staged rows, so that the index can use their memory.
  if (loaded.bytes > MUCH_BYTES) collectGarbage();
  const isMuch = store.users.rows + store.worlds.rows > task.mostAlone;
  const indexed = await indexLoaded(task.folder, loaded, () =>
    isMuch ? indexInTwo(store) : indexStore(store, before),
  );
  if ("problems" in indexed) return indexed;
  return { loaded, made: partsMade(indexed.index, before?.index), ...indexed };
}

async function run(task: Task): Promise<void> {
  if (task.kind === "index-worlds") {
    port.postMessage(indexWorldsOf(reviveStore(task.store)));
    return;
  }
  const prepared = await prepare(task);
  if ("problems" in prepared) {
    say({ kind: "refused", refused: prepared });
    return;
  }
  const { index, ...ready } = prepared;
  const search = keepingResults(openSearch(index), task.cacheBytes);
  port.on(
    "message",
    answerInSlices(search, (answer) => say({ kind: "answer", answer })),
  );
  say({ kind: "ready", ...ready });
  // An idle thread never collects its garbage.
  setImmediate(collectGarbage);
}

function progressOf({ before, tellsProgress }: Extract<Task, { kind: "load" }>): (share: number) => void {
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
