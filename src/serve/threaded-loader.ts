/**
 * Loading and searching in a thread a generation.
 *
 * A store comes over as shared memory, so that taking it costs the serving
 * thread next to nothing. The index cannot be shared: it stays in its thread,
 * which is asked by message. A thread that dies is replaced by one that indexes
 * the same store again; its searches wait for that.
 */

import { Worker } from "node:worker_threads";
import type { Observe } from "../observe.ts";
import type { LoadOptions, Refused } from "../snapshot/load.ts";
import { reviveStore, type Store, type WholeSearch } from "../store/generation.ts";
import type { LoadedSearchable, Loader } from "./loader.ts";
import type { SearchName, SearchRequest, Task, ThreadMessage } from "./thread-messages.ts";

const ENTRY = new URL("./generation-thread.mjs", import.meta.url);

interface Waiting extends SearchRequest {
  /** Threads that died while they worked on it. */
  deaths: number;
  readonly resolve: (rows: Uint32Array) => void;
  readonly reject: (error: Error) => void;
}

/** How often a search is tried before the thread's death is laid at its door. */
const MOST_DEATHS = 2;

type Ready = Extract<ThreadMessage, { kind: "ready" }>;

/** The searches of one generation, wherever their thread is. */
class GenerationThread {
  readonly #observe: Observe;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | undefined;
  #store: Store | undefined;
  #numbers = 0;
  #retired = false;

  constructor(observe: Observe) {
    this.#observe = observe;
  }

  /** Starts a thread; resolves with its first word, or with how it died before it. */
  start(task: Task, onProgress?: (share: number) => void): Promise<Ready | Refused> {
    return new Promise((resolve) => {
      const worker = new Worker(ENTRY, { workerData: task, execArgv: [] });
      let ready = false;
      let cause = "";
      worker.on("message", (message: ThreadMessage) => {
        if (message.kind === "found" || message.kind === "failed") {
          this.#settle(message);
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
        ready = true;
        this.#worker = worker;
        if (message.loaded) this.#store = message.loaded.store;
        for (const waiting of this.#waiting.values()) this.#ask(waiting);
        resolve(message);
      });
      worker.on("error", (error) => {
        cause = error.message;
      });
      worker.on("exit", (status) => {
        const problem = `the loading thread died: ${cause || `exit status ${status}`}`;
        resolve({ ok: false, problems: [problem], look: undefined });
        if (ready) this.#mourn(cause || `exit status ${status}`);
      });
    });
  }

  search(name: SearchName, term: string): Promise<Uint32Array> {
    return new Promise((resolve, reject) => {
      const waiting: Waiting = { number: this.#numbers++, name, term, deaths: 0, resolve, reject };
      this.#waiting.set(waiting.number, waiting);
      if (this.#worker) this.#ask(waiting);
    });
  }

  /** Ends the thread behind its last answer. */
  retire(): void {
    this.#retired = true;
    this.#endIfDone();
  }

  #ask({ number, name, term }: Waiting): void {
    this.#worker!.postMessage({ number, name, term } satisfies SearchRequest);
  }

  #settle(message: Extract<ThreadMessage, { kind: "found" | "failed" }>): void {
    const waiting = this.#waiting.get(message.number);
    this.#waiting.delete(message.number);
    if (message.kind === "found") waiting?.resolve(message.rows);
    else waiting?.reject(new Error(message.message));
    this.#endIfDone();
  }

  #endIfDone(): void {
    if (!this.#retired || this.#waiting.size > 0) return;
    const worker = this.#worker;
    this.#worker = undefined;
    void worker?.terminate();
  }

  /** The thread is gone: another takes its place, unless nobody needs it. */
  #mourn(cause: string): void {
    if (this.#worker === undefined) return;
    this.#worker = undefined;
    for (const waiting of this.#waiting.values()) {
      if (++waiting.deaths < MOST_DEATHS) continue;
      this.#waiting.delete(waiting.number);
      waiting.reject(new Error(`the search thread died: ${cause}`));
    }
    this.#observe({ kind: "thread-died", role: "search", cause });
    void this.#replace();
  }

  async #replace(): Promise<void> {
    const began = performance.now();
    const started = await this.start({ kind: "index", store: this.#store! });
    if ("problems" in started) {
      for (const { reject } of this.#waiting.values()) reject(new Error(started.problems[0]));
      this.#waiting.clear();
      setTimeout(() => void this.#replace(), 1000).unref();
      return;
    }
    this.#observe({ kind: "thread-replaced", role: "search", ms: Math.round(performance.now() - began) });
    this.#endIfDone();
  }
}

/** Makes a loader that gives every generation a thread of its own. */
export function createThreadedLoader(observe: Observe): Loader {
  return async (
    folder: string,
    { maxBytes, onProgress }: LoadOptions,
  ): Promise<LoadedSearchable | Refused> => {
    const thread = new GenerationThread(observe);
    const started = await thread.start({ kind: "load", folder, maxBytes }, onProgress);
    if ("problems" in started) return started;
    const loaded = started.loaded!;
    const search: WholeSearch = {
      users: (term) => thread.search("users", term),
      worlds: (term) => thread.search("worlds", term),
    };
    return {
      ...loaded,
      store: reviveStore(loaded.store),
      search,
      indexMs: started.indexMs,
      retire: () => thread.retire(),
    };
  };
}
