/**
 * Loading and long searches, in one thread per generation.
 *
 * The store and the index arrive as shared memory, at next to no cost for the serving thread. A thread that dies is
 * replaced by one with the same index; its searches wait for that.
 */

import { availableParallelism } from "node:os";
import type { Worker } from "node:worker_threads";
import { type Observe, observeNothing } from "../../observe/events.ts";
import type { SearchIndex } from "../../search/search.ts";
import type { Loaded, LoadOptions, Refused } from "../../snapshot/load.ts";
import { reviveStore, type Store } from "../../store/generation.ts";
import { whyNoThread } from "../../util/process/connection-limit.ts";
import { GrowingPauses } from "../../util/process/pauses.ts";
import { GENERATION_THREAD, startWorker, whenEnded } from "../../util/process/worker-options.ts";
import { openCachedSearch, type SearchBounds } from "../search/inline-search.ts";
import { Questions, type SearchAnswer } from "../search/questions.ts";
import type { LoadedSearchable, Loader, LoaderOptions, Serving } from "./loader.ts";

/** The task of a thread: load a folder, search the index of a thread that died, or index worlds. */
export type Task =
  | {
      readonly kind: "load";
      readonly folder: string;
      readonly maxBytes: number | undefined;
      readonly cacheBytes: number;
      readonly tellsProgress: boolean;
      /** Above this number of users and worlds, another thread indexes the worlds. */
      readonly mostAlone: number;
      /** The served generation, to be used again; the thread releases it after loading. */
      before: Serving | undefined;
    }
  | { readonly kind: "search"; readonly index: SearchIndex; readonly cacheBytes: number }
  | { readonly kind: "index-worlds"; readonly store: Store };

export interface Ready {
  /** Undefined if the index was given. */
  readonly loaded: Loaded | undefined;
  /** The index, without the parts reused from the previous one. */
  readonly made: Partial<SearchIndex>;
  readonly indexMs: number;
}

export type ThreadMessage =
  | { readonly kind: "progress"; readonly share: number }
  | { readonly kind: "refused"; readonly refused: Refused }
  | ({ readonly kind: "ready" } & Ready)
  | { readonly kind: "answer"; readonly answer: SearchAnswer };

/** The first backoff, in milliseconds, after a thread could not be started. */
const RESTART_MS = 1000;

function diedOf(problem: string): Refused {
  return { ok: false, problems: [problem], fingerprint: undefined, died: true };
}

/** The searches of one generation, across replacements of their thread. */
class GenerationThread {
  readonly #observe: Observe;
  readonly #cacheBytes: number;
  /** To be retired when no more searches come; the thread ends after its last answer. */
  readonly questions = new Questions(() => this.#end());
  #worker: Worker | undefined;
  /** Undefined before the first thread is ready. */
  index: SearchIndex | undefined;
  readonly #pauses = new GrowingPauses(RESTART_MS);

  constructor(observe: Observe, cacheBytes: number) {
    this.#observe = observe;
    this.#cacheBytes = cacheBytes;
  }

  /** Starts a thread; resolves when it is ready, refuses the folder or dies. Until it is ready, the signal ends it. */
  start(task: Task, { onProgress, signal }: LoadOptions = {}): Promise<Ready | Refused> {
    const problem = whyNoThread();
    if (problem !== undefined) return Promise.resolve(diedOf(problem));
    const worker = startWorker(GENERATION_THREAD, task);
    let given = task.kind === "load" ? task.before?.index : undefined;
    // No closure here may keep the task: it holds the previous generation, and closures live as long as the thread.
    return new Promise((resolve) => {
      const end = (): void => void worker.terminate();
      if (signal?.aborted) end();
      signal?.addEventListener("abort", end);
      worker.on("message", (message: ThreadMessage) => {
        if (message.kind === "answer") this.questions.settle(message.answer);
        else if (message.kind === "progress") onProgress?.(message.share);
        else if (message.kind === "refused") {
          resolve(message.refused);
          void worker.terminate();
        } else {
          signal?.removeEventListener("abort", end);
          this.#worker = worker;
          this.index = { ...given, ...message.made } as SearchIndex;
          given = undefined;
          this.questions.sendTo(worker);
          resolve(message);
        }
      });
      whenEnded(worker, GENERATION_THREAD, (cause) => {
        signal?.removeEventListener("abort", end);
        if (worker === this.#worker) this.#restart(cause);
        else resolve(diedOf(`the loading thread died: ${cause}`));
      });
    });
  }

  #end(): void {
    const worker = this.#worker;
    this.#worker = undefined;
    void worker?.terminate();
  }

  #restart(cause: string): void {
    this.#worker = undefined;
    this.questions.threadDied(cause);
    this.#observe({ kind: "thread-died", role: "search", cause });
    void this.#replace();
  }

  async #replace(): Promise<void> {
    // A retired generation needs no thread after its last answers.
    if (this.questions.isDone) return;
    const began = performance.now();
    const started = await this.start({ kind: "search", index: this.index!, cacheBytes: this.#cacheBytes });
    if ("problems" in started) {
      if (!this.questions.isDown)
        this.#observe({ kind: "defect", where: "search thread", error: started.problems[0] });
      this.questions.giveBack();
      setTimeout(() => void this.#replace(), this.#pauses.next()).unref();
      return;
    }
    this.#pauses.reset();
    this.#observe({ kind: "thread-replaced", role: "search", ms: Math.round(performance.now() - began) });
  }
}

/** Up to this number, one thread indexes users and worlds in less time than another takes to start. */
const MOST_ALONE = 200_000;

interface ThreadedSearching extends SearchBounds {
  /** Memory of each thread for results, which it keeps whole; none when absent. */
  readonly threadCacheBytes?: number;
  /** Most users and worlds that a thread indexes without help. */
  readonly mostAlone?: number;
}

/**
 * Makes a loader that starts a thread per generation. A second thread helps to index a large first generation: no
 * request is served yet, while a reload must leave the other processor to requests.
 */
export function createThreadedLoader(
  observe: Observe,
  { threadCacheBytes = 0, mostAlone = MOST_ALONE, ...bounds }: ThreadedSearching = {},
): Loader {
  return async (folder: string, options: LoaderOptions): Promise<LoadedSearchable | Refused> => {
    const thread = new GenerationThread(observe, threadCacheBytes);
    const isFirst = options.before === undefined;
    const task: Task = {
      kind: "load",
      folder,
      maxBytes: options.maxBytes,
      cacheBytes: threadCacheBytes,
      tellsProgress: options.onProgress !== undefined,
      mostAlone: isFirst && availableParallelism() > 1 ? mostAlone : Number.POSITIVE_INFINITY,
      before: options.before,
    };
    const started = await thread.start(task, options);
    if ("problems" in started) {
      if (!started.died) return started;
      // The message of a death names no folder.
      return { ...started, problems: started.problems.map((problem) => `${folder}: ${problem}`) };
    }
    const loaded = started.loaded!;
    const index = thread.index!;
    const { ask, retire } = thread.questions;
    const search = openCachedSearch(index, bounds, ask);
    return {
      ...loaded,
      store: reviveStore(loaded.store),
      search,
      ask,
      index,
      indexMs: started.indexMs,
      retire,
    };
  };
}

/** Loads as a server does, in a thread and with an index, for reports and builds: a snapshot that loads here loads there. */
export async function loadAsServed(
  folder: string,
  options: LoaderOptions,
): Promise<LoadedSearchable | Refused> {
  const loaded = await createThreadedLoader(observeNothing)(folder, options);
  if (loaded.ok) loaded.retire();
  return loaded;
}
