/**
 * The thread of a generation: loads a folder, packs it into shared memory,
 * indexes it, and then answers its searches until it is ended. It does one
 * generation only, so whatever loading left behind goes with it.
 */

import { readlinkSync } from "node:fs";
import { setPriority } from "node:os";
import { parentPort, Worker, workerData } from "node:worker_threads";
import { workerEntry } from "../package.ts";
import { withCache } from "../search/cache.ts";
import { indexStore, indexUsersOf, indexWorldsOf, openSearch, type SearchIndex } from "../search/search.ts";
import { runInSlices } from "../search/slices.ts";
import type { Worlds } from "../search/worlds.ts";
import { type Loaded, type LoadOptions, loadSnapshot, type Refused } from "../snapshot/load.ts";
import { type Found, reviveStore, type Store } from "../store/generation.ts";
import { indexLoaded } from "./index-loaded.ts";
import { beginWork, standAside, standingAside } from "./stand-aside.ts";
import type { SearchAnswer, SearchRequest, Task, ThreadMessage } from "./thread-messages.ts";
import { workerOptions } from "./worker-options.ts";

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
  standAside(sendAnswers);
}

/** What the thread works with, and what it tells of its loading. */
interface Ready {
  readonly loaded: Loaded | undefined;
  readonly index: SearchIndex;
  readonly indexMs: number;
}

/** Worlds are indexed by a thread that does nothing else. @throws why it could not start, or what it died of */
function indexWorldsElsewhere(store: Store): Promise<Worlds> {
  return new Promise((resolve, reject) => {
    const task: Task = { kind: "index-worlds", store };
    const worker = new Worker(workerEntry("generation-thread"), workerOptions(task));
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
  // In slices, so that a search that takes long does not keep the others waiting.
  const searches = openSearch(ready.index);
  const search = withCache(
    {
      users: (term, page) => runInSlices(standingAside(searches.users(term, page), sendAnswers)),
      worlds: (term, page) => runInSlices(standingAside(searches.worlds(term, page), sendAnswers)),
    },
    task.cacheBytes,
  );
  function answer({ number, name, term, page }: SearchRequest): void {
    // A copy, since the rows may be a view of all that was found, which stays here.
    const give = ({ total, rows }: Found): void =>
      giveAnswer({ number, found: { total, rows: new Uint32Array(rows) } });
    const fail = (error: unknown): void => giveAnswer({ number, problem: String(error) });
    try {
      const found = search[name](term, page);
      // Not awaited when it is there: it can go out before the next search of the batch begins.
      if (found instanceof Promise) found.then(give, fail);
      else give(found);
    } catch (error) {
      fail(error);
    }
  }
  port.on("message", (requests: readonly SearchRequest[]) => {
    if (answers.length === 0) beginWork();
    requests.forEach(answer);
  });
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
await run(workerData as Task);
