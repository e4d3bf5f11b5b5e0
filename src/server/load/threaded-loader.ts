/**
 * Loading, and searching what takes long, in a thread a generation.
 *
 * Store and index come over as shared memory, so that taking them costs the
 * serving thread next to nothing. A thread that dies is replaced by one that
 * takes the same index; its searches wait for that.
 */

import { availableParallelism } from "node:os";
import type { Worker } from "node:worker_threads";
import type { Observe } from "../../observe/events.ts";
import { type PendingSearches, UNBOUNDED } from "../../search/schedule/pending.ts";
import { openSearch, type SearchIndex } from "../../search/search.ts";
import type { Loaded, LoadOptions, Refused } from "../../snapshot/load.ts";
import {
  type Busy,
  type Caller,
  type Found,
  type PageOf,
  reviveStore,
  type Store,
} from "../../store/generation.ts";
import { whyNoThread } from "../../util/process/connection-limit.ts";
import { GrowingPauses } from "../../util/process/pauses.ts";
import { causeOfDeath, GENERATION_THREAD, startWorker } from "../../util/process/worker-options.ts";
import { createInlineSearch, createOffloadedSearch } from "../search/inline-search.ts";
import { Questions, type SearchAnswer, type SearchBatch, type SearchName } from "../search/questions.ts";
import type { LoadedSearchable, Loader, LoaderOptions, Serving } from "./loader.ts";

/** What a thread is started for: a folder to load, an index whose search died with its thread, or worlds to index. */
export type Task =
  | {
      readonly kind: "load";
      readonly folder: string;
      readonly maxBytes: number | undefined;
      readonly keepHiddenIds: boolean;
      readonly cacheBytes: number;
      /** Whether anybody wants to be told how much was read. */
      readonly tellsProgress: boolean;
      /** With more users and worlds than these, another thread indexes the worlds. */
      readonly mostAlone: number;
      /** What is being served, to be used again; the thread lets go of it when it has loaded. */
      before: Serving | undefined;
    }
  | { readonly kind: "search"; readonly index: SearchIndex; readonly cacheBytes: number }
  | { readonly kind: "index-worlds"; readonly store: Store };

/** From a generation's thread. */
export type ThreadMessage =
  | { readonly kind: "progress"; readonly share: number }
  | { readonly kind: "refused"; readonly refused: Refused }
  /** `loaded` is undefined where the index was handed in. */
  | {
      readonly kind: "ready";
      readonly loaded: Loaded | undefined;
      /** The index, but for parts of the one before that are used again. */
      readonly made: Partial<SearchIndex>;
      readonly indexMs: number;
    }
  | { readonly kind: "answers"; readonly answers: readonly SearchAnswer[] };

/** The first pause, in milliseconds, before a thread that could not be started is tried again. */
const RESTART_MS = 1000;

/** How often a search is tried before it is taken for what the thread died of. */
const MOST_DEATHS = 2;

/** What a thread that is ready has. */
interface Ready {
  readonly loaded: Loaded | undefined;
  readonly index: SearchIndex;
  readonly indexMs: number;
}

/** The index that a thread was given parts of. */
function givenIndex(task: Task): SearchIndex | undefined {
  return task.kind === "load" ? task.before?.index : undefined;
}

/** The searches of one generation, wherever their thread is. */
class GenerationThread {
  readonly #observe: Observe;
  /** For whole results, in the thread. */
  readonly #cacheBytes: number;
  readonly #questions = new Questions(
    (batch) => this.#send(batch),
    () => this.#endIfDone(),
  );
  #worker: Worker | undefined;
  #index: SearchIndex | undefined;
  #retired = false;
  /** No thread can be started now. */
  #isDown = false;
  readonly #pauses = new GrowingPauses(RESTART_MS);

  constructor(observe: Observe, cacheBytes: number) {
    this.#observe = observe;
    this.#cacheBytes = cacheBytes;
  }

  /** Starts a thread; resolves with its first word, or with how it died before it. A signal ends it before that. */
  start(task: Task, { onProgress, signal }: LoadOptions = {}): Promise<Ready | Refused> {
    const problem = whyNoThread();
    if (problem !== undefined) {
      return Promise.resolve({ ok: false, problems: [problem], fingerprint: undefined, died: true });
    }
    const worker = startWorker(GENERATION_THREAD, task);
    let given = givenIndex(task);
    // Nothing in here may hold the task: it holds the generation before, and this lives as long as the thread.
    return new Promise((resolve) => {
      const end = (): void => void worker.terminate();
      if (signal?.aborted) end();
      signal?.addEventListener("abort", end);
      let ready = false;
      let cause = "";
      worker.on("message", (message: ThreadMessage) => {
        if (message.kind === "answers") {
          for (const answer of message.answers) this.#questions.settle(answer);
          return;
        }
        if (message.kind === "progress") {
          onProgress?.(message.share);
          return;
        }
        if (message.kind === "refused") {
          resolve(message.refused);
          void worker.terminate();
          return;
        }
        signal?.removeEventListener("abort", end);
        ready = true;
        this.#worker = worker;
        const { loaded, made, indexMs } = message;
        const index = { ...given, ...made } as SearchIndex;
        given = undefined;
        this.#index = index;
        this.#questions.askAgain();
        resolve({ loaded, index, indexMs });
      });
      worker.on("error", (error) => {
        cause = causeOfDeath(GENERATION_THREAD, error);
      });
      worker.on("exit", (status) => {
        signal?.removeEventListener("abort", end);
        cause ||= `exit status ${status}`;
        if (ready) this.#restart(cause);
        else
          resolve({
            ok: false,
            problems: [`the loading thread died: ${cause}`],
            fingerprint: undefined,
            died: true,
          });
      });
    });
  }

  /** Resolves with undefined when the thread has ended for good. */
  search(name: SearchName, term: string, page: PageOf, caller: Caller): Promise<Found | Busy | undefined> {
    // While others wait, the thread is there or is being replaced.
    const isOver = this.#retired && this.#worker === undefined && this.#questions.size === 0;
    if (isOver || this.#isDown) return Promise.resolve(undefined);
    return this.#questions.ask(name, term, page, caller);
  }

  /** Ends the thread behind its last answer. */
  retire(): void {
    this.#retired = true;
    this.#endIfDone();
  }

  /** Without a thread questions wait for the next one. */
  #send(batch: SearchBatch): boolean {
    this.#worker?.postMessage(batch);
    return this.#worker !== undefined;
  }

  #endIfDone(): void {
    if (!this.#retired || this.#questions.size > 0) return;
    const worker = this.#worker;
    this.#worker = undefined;
    void worker?.terminate();
  }

  /** The thread is gone: another takes its place, unless nobody needs it. */
  #restart(cause: string): void {
    if (this.#worker === undefined) return;
    this.#worker = undefined;
    this.#questions.fail((question) => ++question.deaths >= MOST_DEATHS, `the search thread died: ${cause}`);
    this.#observe({ kind: "thread-died", role: "search", cause });
    void this.#replace();
  }

  async #replace(): Promise<void> {
    // Nobody searches an old generation any more once its last answers are given.
    if (this.#retired && this.#questions.size === 0) return;
    const began = performance.now();
    const started = await this.start({ kind: "search", index: this.#index!, cacheBytes: this.#cacheBytes });
    if ("problems" in started) {
      if (!this.#isDown)
        this.#observe({ kind: "defect", where: "search thread", error: started.problems[0] });
      this.#isDown = true;
      this.#questions.giveBack();
      setTimeout(() => void this.#replace(), this.#pauses.next()).unref();
      return;
    }
    this.#isDown = false;
    this.#pauses.reset();
    this.#observe({ kind: "thread-replaced", role: "search", ms: Math.round(performance.now() - began) });
    this.#endIfDone();
  }
}

/** What a thread says of itself names no folder. */
function withFolder(folder: string, refused: Refused): Refused {
  return { ...refused, problems: refused.problems.map((problem) => `${folder}: ${problem}`) };
}

/** The thread's share of the memory for results: it keeps whole results of long searches. */
const THREAD_SHARE = 1 / 2;

/** Fewer users and worlds are indexed before another thread has started. */
const MOST_ALONE = 200_000;

/**
 * Makes a loader that gives every generation a thread of its own. The first
 * generation's gets help when it is large: nobody is served yet, while in a
 * reload the other processor is the requests'.
 *
 * @param cacheBytes memory for search results, in the thread and here
 * @param searchesInline whether short searches are done on the calling thread
 * @param pending bounds the searches that wait
 * @param mostAlone users and worlds that a thread indexes without help
 */
export function createThreadedLoader(
  observe: Observe,
  cacheBytes: number,
  searchesInline: boolean,
  pending: PendingSearches = UNBOUNDED,
  mostAlone = MOST_ALONE,
): Loader {
  const threadBytes = Math.floor(cacheBytes * THREAD_SHARE);
  let isFirst = true;
  return async (folder: string, options: LoaderOptions): Promise<LoadedSearchable | Refused> => {
    const thread = new GenerationThread(observe, threadBytes);
    const task: Task = {
      kind: "load",
      folder,
      maxBytes: options.maxBytes,
      keepHiddenIds: options.keepHiddenIds ?? false,
      cacheBytes: threadBytes,
      tellsProgress: options.onProgress !== undefined,
      mostAlone: isFirst && availableParallelism() > 1 ? mostAlone : Number.POSITIVE_INFINITY,
      before: options.before,
    };
    isFirst = false;
    const started = await thread.start(task, options);
    if ("problems" in started) return started.died ? withFolder(folder, started) : started;
    const loaded = started.loaded!;
    const searches = openSearch(started.index);
    const offloaded = createOffloadedSearch(searches, (name, term, page, caller) =>
      thread.search(name, term, page, caller),
    );
    const search = searchesInline ? createInlineSearch(searches, offloaded, pending) : offloaded;
    return {
      ...loaded,
      store: reviveStore(loaded.store),
      search,
      index: started.index,
      cacheBytes: cacheBytes - threadBytes,
      indexMs: started.indexMs,
      retire: () => thread.retire(),
    };
  };
}
