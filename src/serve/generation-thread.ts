/**
 * The thread of a generation: loads a folder, packs it into shared memory,
 * indexes it, and then answers its searches until it is ended. It does one
 * generation only, so whatever loading left behind goes with it.
 */

import { readlinkSync } from "node:fs";
import { setPriority } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import { pageOf } from "../search/query/result-set.ts";
import { createResultCache } from "../search/result-cache.ts";
import { Scheduler } from "../search/schedule/scheduler.ts";
import {
  indexStore,
  indexUsersOf,
  indexWorldsOf,
  openSearch,
  type Searches,
  type SearchIndex,
} from "../search/search.ts";
import type { Work } from "../search/shared/work.ts";
import type { WorldIndex } from "../search/shared/world-index.ts";
import { type Loaded, type LoadOptions, loadSnapshot, type Refused } from "../snapshot/load.ts";
import { BUSY, type Busy, type Found, reviveStore, type Store } from "../store/generation.ts";
import { indexLoaded } from "./index-loaded.ts";
import type { SearchAnswer, SearchBatch, SearchRequest, Task, ThreadMessage } from "./thread-messages.ts";
import { startWorker } from "./worker-options.ts";
import { beginWork, yieldCpu, yieldingCpu } from "./yield-cpu.ts";

const port = parentPort!;
const NICE = 10;

/** On a busy machine requests go before loading. Best effort: it takes Linux, where threads have priorities. */
function stepBack(): void {
  try {
    const thread = Number(readlinkSync("/proc/thread-self").split("/").at(-1));
    setPriority(thread, NICE);
  } catch {}
}

function say(message: ThreadMessage): void {
  port.postMessage(message);
}

/** Answers go out together: a message a search takes both threads as long as most searches. */
let answers: SearchAnswer[] = [];

function sendAnswers(): void {
  if (answers.length === 0) return;
  say({ kind: "answers", answers });
  answers = [];
}

function giveAnswer(answer: SearchAnswer): void {
  if (answers.push(answer) === 1) setImmediate(sendAnswers);
  yieldCpu(sendAnswers);
}

/** What the thread works with, and what it tells of its loading. */
interface Ready {
  readonly loaded: Loaded | undefined;
  readonly index: SearchIndex;
  readonly indexMs: number;
}

/** Worlds are indexed by a thread that does nothing else. @throws why it could not start, or what it died of */
function indexWorldsElsewhere(store: Store): Promise<WorldIndex> {
  return new Promise((resolve, reject) => {
    const task: Task = { kind: "index-worlds", store };
    const worker = startWorker("generation-thread", task);
    worker.once("message", resolve);
    worker.once("error", reject);
    worker.once("exit", (status) => reject(new Error(`exit status ${status}`)));
  });
}

/** Indexes users here and worlds elsewhere at the same time. */
async function indexInTwo(store: Store): Promise<SearchIndex> {
  // Whatever it is: what fails here too is told from here.
  const elsewhere = indexWorldsElsewhere(store).catch(() => undefined);
  const users = indexUsersOf(store);
  return { users, worlds: (await elsewhere) ?? indexWorldsOf(store) };
}

/** Takes an index, or loads a folder and indexes it; what only that needed is garbage afterwards. */
async function prepare(task: Exclude<Task, { kind: "index-worlds" }>): Promise<Ready | Refused> {
  if (task.kind === "search") return { loaded: undefined, index: task.index, indexMs: 0 };
  const loaded = await loadSnapshot(task.folder, optionsOf(task));
  if (!loaded.ok) return loaded;
  const { store } = loaded;
  const isMuch = store.users.rows + store.worlds.rows > task.mostAlone;
  const indexed = await indexLoaded(task.folder, loaded, () =>
    isMuch ? indexInTwo(store) : indexStore(store),
  );
  return "problems" in indexed ? indexed : { loaded, ...indexed };
}

/**
 * Answers what it is asked, in slices that are fair between keys.
 *
 * @param cacheBytes memory for results; they are kept whole
 */
function answerBatches(searches: Searches, cacheBytes: number): (batch: SearchBatch) => void {
  const scheduler = new Scheduler<Found>();
  const cache = createResultCache(cacheBytes);
  /** Those under way that nobody waits for any more are false. */
  const isWanted = new Map<number, boolean>();

  function* search({ name, term, page }: SearchRequest): Work<Found> {
    const key = `${name} ${term}`;
    // Known by the time it begins, if another key asked the same.
    const known = cache.find(key, page);
    if (known !== undefined) return known;
    const results = yield* yieldingCpu(searches[name](term, page), sendAnswers);
    cache.keep(key, results, page);
    return pageOf(results, page);
  }

  function answer(request: SearchRequest): void {
    const { number, key } = request;
    isWanted.set(number, true);
    const give = (found: Found | Busy): void => {
      isWanted.delete(number);
      // A copy, since the rows may be a view of all that was found, which stays here.
      if (found !== BUSY) {
        giveAnswer({ number, found: { total: found.total, rows: new Uint32Array(found.rows) } });
      }
    };
    const fail = (error: unknown): void => {
      isWanted.delete(number);
      giveAnswer({ number, problem: String(error) });
    };
    scheduler.run(() => search(request), { key, isGone: () => !isWanted.get(number) }).then(give, fail);
  }

  return ({ asked, dropped }) => {
    for (const number of dropped) if (isWanted.has(number)) isWanted.set(number, false);
    if (answers.length === 0 && isWanted.size === 0) beginWork();
    asked.forEach(answer);
  };
}

async function run(task: Task): Promise<void> {
  if (task.kind === "index-worlds") {
    port.postMessage(indexWorldsOf(reviveStore(task.store)));
    return;
  }
  const ready = await prepare(task);
  if ("problems" in ready) {
    say({ kind: "refused", refused: ready });
    return;
  }
  port.on("message", answerBatches(openSearch(ready.index), task.cacheBytes));
  say({ kind: "ready", loaded: ready.loaded, index: ready.index, indexMs: ready.indexMs });
}

function optionsOf({ maxBytes }: Extract<Task, { kind: "load" }>): LoadOptions {
  let told = 0;
  const onProgress = (share: number): void => {
    if (share < 1 && share - told < 0.01) return;
    told = share;
    say({ kind: "progress", share });
  };
  return maxBytes === undefined ? { onProgress } : { onProgress, maxBytes };
}

stepBack();
// No await at the top: the one-file program is CommonJS.
run(workerData as Task).catch((error: unknown) => {
  queueMicrotask(() => {
    throw error;
  });
});
