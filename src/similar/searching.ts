/**
 * Similar search of each generation: its index is built in the background, in its own thread or, without threads, in slices on
 * the calling one. Until it is ready, the exact search answers. It dies with its thread; the next thread builds it again.
 */

import type { Worker } from "node:worker_threads";
import { missingFromBundle } from "../install/package.ts";
import { type AskPage, Questions } from "../server/similar/questions.ts";
import { boundedSimilar, type SimilarGiven, type SimilarSearching } from "../server/similar/similar.ts";
import { whyNoThread } from "../util/process/connection-limit.ts";
import { GrowingPauses } from "../util/process/pauses.ts";
import { endWorker, startWorker, whenEnded } from "../util/process/worker-options.ts";
import { codeOf } from "../util/system-error.ts";
import type { FromSimilar, SimilarEngine, SimilarOptions, SimilarTask } from "./similar.ts";

/** The share of similar search in the memory for results. */
const SHARE = 1 / 4;

/** @param thread entry point of the thread @param most users and worlds together; with more, there is no similar search */
export async function createSimilarSearching(
  given: SimilarGiven,
  thread: string,
  most: number,
): Promise<SimilarSearching> {
  const { threads, pending, observe, count } = given;
  const cacheBytes = Math.floor(given.cacheBytes * SHARE);
  // Imported on demand: with threads, only these need the indexing code.
  const openHere = threads ? undefined : (await import("./similar.ts")).openSimilarHere;
  let begin = (): void => {};
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  return {
    open(store, index) {
      if (store.users.rows + store.worlds.rows > most) return undefined;
      let generation = store.id;
      const options: SimilarOptions = { store, generation: () => generation, index, cacheBytes, observe };
      const engine: SimilarEngine = openHere?.(options) ?? new SimilarThread(options, thread);
      void begun.then(() => engine.start());
      return {
        search: boundedSimilar(engine.ask, pending, count),
        ask: engine.ask,
        serveAs(id) {
          generation = id;
        },
        retire: () => engine.retire(),
      };
    },
    begin,
    cacheBytes,
  };
}

/** The first pause, in milliseconds, before a dead thread is replaced. */
const RESTART_MS = 1000;

/** The thread of a generation; another takes its place when it dies. */
class SimilarThread implements SimilarEngine {
  readonly #options: SimilarOptions;
  readonly #thread: string;
  /** Has no thread until one is ready. */
  readonly #questions = new Questions(() => this.#end());
  readonly ask: AskPage = this.#questions.ask;
  readonly #pauses = new GrowingPauses(RESTART_MS);
  #worker: Worker | undefined;
  #hasDied = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: SimilarOptions, thread: string) {
    this.#options = options;
    this.#thread = thread;
  }

  retire(): void {
    clearTimeout(this.#timer);
    this.#questions.retire();
  }

  #end(): void {
    const worker = this.#worker;
    this.#worker = undefined;
    if (worker !== undefined) endWorker(worker);
  }

  start(): void {
    if (this.#questions.isDone) return;
    const problem = whyNoThread();
    if (problem !== undefined) {
      this.#fail(problem, true);
      return;
    }
    const began = performance.now();
    const { store, index, cacheBytes } = this.#options;
    const task: SimilarTask = { store, index, cacheBytes };
    const worker = startWorker(this.#thread, task);
    this.#worker = worker;
    worker.on("message", (message: FromSimilar) => {
      if (message.kind === "answer") this.#questions.settle(message.answer);
      else this.#ready(worker, message.names, performance.now() - began);
    });
    whenEnded(worker, this.#thread, (cause, error) => {
      // With too many names, after a heap overflow, or without its file, the next thread would die of the same.
      const isTooLarge = error?.name === "RangeError" || codeOf(error ?? {}) === "ERR_WORKER_OUT_OF_MEMORY";
      const mayWork = !isTooLarge && missingFromBundle(this.#thread) === undefined;
      if (this.#worker === worker) this.#exited(cause, mayWork);
    });
  }

  #ready(worker: Worker, names: number, passed: number): void {
    const { generation, observe } = this.#options;
    const ms = Math.round(passed);
    this.#questions.sendTo(worker);
    this.#pauses.reset();
    if (this.#hasDied) observe({ kind: "thread-replaced", role: "similar", ms });
    observe({ kind: "similar-ready", generation: generation(), names, ms });
  }

  #exited(cause: string, mayWork: boolean): void {
    const wasReady = !this.#questions.isDown;
    this.#worker = undefined;
    this.#questions.giveBack();
    if (this.#questions.isDone) return;
    if (!wasReady) {
      this.#fail(cause, mayWork);
      return;
    }
    this.#hasDied = true;
    this.#options.observe({ kind: "thread-died", role: "similar", cause });
    this.#startLater();
  }

  #fail(problem: string, mayWork: boolean): void {
    const { generation, observe } = this.#options;
    const retryMs = mayWork ? this.#startLater() : undefined;
    const again = retryMs === undefined ? {} : { retryMs };
    observe({ kind: "similar-failed", generation: generation(), problem, ...again });
  }

  #startLater(): number {
    const pause = this.#pauses.next();
    this.#timer = setTimeout(() => this.start(), pause).unref();
    return pause;
  }
}
