/**
 * Several threads that serve on one port. The main thread keeps keys and
 * snapshot current, hands them out, answers long searches, and replaces a
 * thread that dies; it serves no requests itself.
 *
 * The system gives each new connection to one of the threads (`reusePort`), so
 * what a thread costs its clients when it dies are its own connections.
 */

import type { AddressInfo } from "node:net";
import { MessageChannel, type Worker } from "node:worker_threads";
import type { KeyRing } from "../../auth/keys.ts";
import type { Sharing } from "../../http/port.ts";
import { forgetThread } from "../../observe/metrics/counters.ts";
import { createSharedPending, releasePending } from "../../search/schedule/pending.ts";
import type { SearchIndex } from "../../search/search.ts";
import type { Generation } from "../../store/generation.ts";
import { causeOfDeath, SERVING_THREAD, startWorker } from "../../util/process/worker-options.ts";
import type { OpenStateOptions } from "../keepers.ts";
import type { OpenState } from "../open.ts";
import { type AskedForFigures, askFigures, type ToldFigures } from "./ask-figures.ts";
import { takeBatch } from "./observation-batches.ts";
import { answerFrom } from "./question-port.ts";
import type { FromServing, SentKeys, ServingTask, StoreToServe, ToServing } from "./serving-messages.ts";
import type { CacheQuestion } from "./thread-figures.ts";

/** Between attempts to start a thread that does not start. */
const RETRY_MS = 500;

/** A thread died before it listened. */
export class ServingThreadError extends Error {
  override name = "ServingThreadError";

  constructor(cause: string) {
    super(`a serving thread died: ${cause}`);
  }
}

/** What all threads are started with, but for what changes. */
type SharedTask = Omit<ServingTask, "keys" | "generation" | "counters" | "shared" | "thread" | "pending">;

/** The threads. */
export interface ServingThreads {
  readonly address: AddressInfo;
  /** Stops all of them without losing a request. */
  readonly drain: () => Promise<void>;
  /**
   * Asks all of them for their figures; in order of their numbers.
   *
   * @returns undefined for one that does not answer within a fifth of a second
   */
  readonly tell: (asked?: CacheQuestion) => Promise<readonly ToldFigures[]>;
}

interface Thread extends AskedForFigures {
  readonly worker: Worker;
  /** Different from those of all others that run. */
  readonly number: number;
  /** Whether it has stopped listening. */
  stopped: boolean;
  drained: boolean;
}

const toSend = ({ byHash, previous }: KeyRing): SentKeys => ({ byHash, previous });

/**
 * Starts threads.
 *
 * @param opened what they serve; followed from here on
 * @throws {ServingThreadError} or the error of the system when the first cannot listen, with its code
 */
export async function startServingThreads(
  count: number,
  shared: SharedTask,
  {
    state,
    searchIndex,
    follow,
    sharedLimits,
  }: Pick<OpenState, "state" | "searchIndex" | "follow" | "sharedLimits">,
  { observe, writeAccess }: Pick<OpenStateOptions, "observe" | "writeAccess">,
): Promise<ServingThreads> {
  const threads = new Set<Thread>();
  const pending = createSharedPending(shared.settings.maxPendingSearches);
  let draining = false;
  /** Asked again whenever a thread has stopped listening, has drained, or is gone. */
  const waiting = new Set<() => void>();
  const checkAgain = (): void => {
    for (const check of waiting) check();
  };
  const until = (isSo: () => boolean): Promise<void> =>
    new Promise((resolve) => {
      const check = (): void => {
        if (!isSo()) return;
        waiting.delete(check);
        resolve();
      };
      waiting.add(check);
      check();
    });

  function tell({ worker }: Thread, message: ToServing): void {
    worker.postMessage(message, message.kind === "generation" ? [message.generation.questions] : []);
  }

  /** A generation for one thread. */
  function toServe(generation: Generation, index: SearchIndex): StoreToServe {
    const { port1, port2 } = new MessageChannel();
    answerFrom(generation, port1);
    return {
      ...{ store: generation.store, index, questions: port2 },
      hasSimilar: generation.similar !== undefined,
    };
  }

  function freeNumber(): number {
    const taken = new Set([...threads].map(({ number }) => number));
    let number = 0;
    while (taken.has(number)) number++;
    return number;
  }

  /** Starts one; resolves with its address, rejects when it dies or cannot listen before that. */
  function start(port: number, sharing: Sharing): Promise<AddressInfo> {
    return new Promise((resolve, reject) => {
      const number = freeNumber();
      const task: ServingTask = {
        ...shared,
        port,
        sharing,
        thread: number,
        pending,
        counters: state.gate.counters,
        shared: sharedLimits?.handed,
        keys: toSend(state.gate.keys),
        generation: toServe(state.generation, searchIndex()),
      };
      const worker = startWorker(SERVING_THREAD, task, [task.generation.questions]);
      const thread: Thread = { worker, number, stopped: false, drained: false, told: new Map() };
      threads.add(thread);
      let listening = false;
      let cause = "";
      const toShared = sharedLimits?.connect((message) => tell(thread, { kind: "shared", message }));
      worker.on("message", (message: FromServing) => {
        switch (message.kind) {
          case "listening":
            listening = true;
            resolve(message.address);
            break;
          case "not-listening":
            threads.delete(thread);
            reject(Object.assign(new Error(message.message), { code: message.code, syscall: "listen" }));
            void worker.terminate();
            break;
          case "observations":
            takeBatch(message, observe, writeAccess);
            tell(thread, { kind: "observed" });
            break;
          case "shared":
            toShared?.(message.message);
            break;
          case "stopped-listening":
            thread.stopped = true;
            checkAgain();
            break;
          case "told":
            thread.told.get(message.number)?.(message.figures);
            break;
          case "drained":
            thread.drained = true;
            checkAgain();
            break;
        }
      });
      worker.on("error", (error) => {
        cause = causeOfDeath(SERVING_THREAD, error);
      });
      worker.on("exit", (status) => {
        if (threads.delete(thread)) {
          releasePending(pending, number);
          if (shared.requestCells) forgetThread(shared.requestCells, number);
        }
        for (const resolve of thread.told.values()) resolve(undefined);
        checkAgain();
        reject(new ServingThreadError(cause || `exit status ${status}`));
        if (!listening || draining) return;
        observe({ kind: "thread-died", role: "serving", cause: cause || `exit status ${status}` });
        void replace();
      });
    });
  }

  async function replace(): Promise<void> {
    const began = performance.now();
    try {
      await start(address.port, "anybody");
      observe({ kind: "thread-replaced", role: "serving", ms: Math.round(performance.now() - began) });
    } catch (error) {
      observe({ kind: "defect", where: "serving thread", error });
      setTimeout(() => void (draining || replace()), RETRY_MS).unref();
    }
  }

  // Before the first one starts: what is new while they start must reach them, too.
  follow({
    takeKeys(keys) {
      for (const thread of threads) tell(thread, { kind: "keys", keys: toSend(keys) });
    },
    takeGeneration(generation, index) {
      for (const thread of threads) {
        tell(thread, { kind: "generation", generation: toServe(generation, index) });
      }
    },
  });
  const address = await start(shared.port, shared.sharing);
  const others = Array.from({ length: count - 1 }, () => start(address.port, "anybody"));
  await Promise.all(others).catch(async (error: unknown) => {
    draining = true;
    for (const { worker } of threads) await worker.terminate();
    throw error;
  });
  return {
    address,
    tell: (asked) =>
      Promise.all(
        [...threads].sort((a, b) => a.number - b.number).map((thread) => askFigures(thread, asked)),
      ),
    async drain() {
      draining = true;
      // Clients that one thread tells to leave come back at once, to the listener of another. So all stop listening
      // before the first tells them, one that is only starting, too.
      for (const thread of threads) tell(thread, { kind: "stop-listening" });
      await until(() => [...threads].every(({ stopped }) => stopped));
      for (const thread of threads) tell(thread, { kind: "drain" });
      await until(() => [...threads].every(({ drained }) => drained));
      for (const { worker } of threads) void worker.terminate();
    },
  };
}
