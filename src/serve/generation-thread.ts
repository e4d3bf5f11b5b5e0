/**
 * The thread of a generation: loads a folder, packs it into shared memory,
 * indexes it, and then answers its searches until it is ended. It does one
 * generation only, so whatever loading left behind goes with it.
 */

import { readlinkSync } from "node:fs";
import { setPriority } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import { withCache, withPages } from "../search/cache.ts";
import { createSearch, type Searches } from "../search/search.ts";
import { runInSlices } from "../search/slices.ts";
import { type Loaded, type LoadOptions, loadSnapshot, type Refused } from "../snapshot/load.ts";
import { type Found, reviveStore, type Store, type WholeSearch } from "../store/generation.ts";
import { beginWork, standAside, standingAside } from "./stand-aside.ts";
import type { SearchAnswer, SearchRequest, Task, ThreadMessage } from "./thread-messages.ts";

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
  readonly search: Searches;
  readonly indexMs: number;
}

function index(store: Store, loaded: Loaded | undefined): Ready {
  const began = performance.now();
  const search = createSearch(store);
  return { loaded, search, indexMs: performance.now() - began };
}

/** Loads or takes a store and indexes it; what only that needed is garbage afterwards. */
async function prepare(task: Task): Promise<Ready | Refused> {
  if (task.kind === "index") return index(reviveStore(task.store), undefined);
  const result = await loadSnapshot(task.folder, optionsOf(task));
  return result.ok ? index(result.store, result) : result;
}

async function run(task: Task): Promise<void> {
  const ready = await prepare(task);
  if ("problems" in ready) {
    say({ kind: "refused", refused: ready });
    return;
  }
  // In slices, so that a search that takes long does not keep the others waiting.
  const whole: WholeSearch = {
    users: (term) => runInSlices(standingAside(ready.search.users(term), sendAnswers)),
    worlds: (term) => runInSlices(standingAside(ready.search.worlds(term), sendAnswers)),
  };
  const search = withCache(withPages(whole), task.cacheBytes);
  function answer({ number, name, term, page }: SearchRequest): void {
    // A copy, since the rows are a view of all that was found, which stays here.
    const give = ({ total, rows }: Found): void =>
      giveAnswer({ number, found: { total, rows: rows.slice() } });
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
  say({ kind: "ready", loaded: ready.loaded, indexMs: ready.indexMs });
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
