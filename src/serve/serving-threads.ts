/**
 * Several threads that serve on one port. The main thread keeps keys and
 * snapshot current, hands them out, passes long searches on, and replaces a
 * thread that dies; it serves no requests itself.
 *
 * The system gives each new connection to one of the threads (`reusePort`), so
 * what a thread costs its clients when it dies are its own connections.
 */

import type { AddressInfo } from "node:net";
import { availableParallelism } from "node:os";
import type { Worker } from "node:worker_threads";
import type { Observe } from "../observe.ts";
import { createSharedPending, releasePending } from "../search/schedule/pending.ts";
import { MOST_THREADS } from "../settings.ts";
import type { Generation } from "../store/generation.ts";
import { takeBatch } from "./observation-batches.ts";
import type { OpenState } from "./open.ts";
import { createPassOn } from "./pass-on.ts";
import type { Sharing } from "./port.ts";
import type { FromServing, ServingTask, ToServing } from "./serving-messages.ts";
import { causeOfDeath, startWorker } from "./worker-options.ts";

/** Between attempts to start a thread that does not start. */
const RETRY_MS = 500;

/** A number of threads from the value of its setting. */
export function threadsFrom(value: string): number {
  return value === "auto" ? Math.min(availableParallelism(), MOST_THREADS) : Number(value);
}

/** A thread died before it listened. */
export class ServingThreadError extends Error {
  override name = "ServingThreadError";

  constructor(cause: string) {
    super(`a serving thread died: ${cause}`);
  }
}

/** What all threads are started with, but for what changes. */
export interface ServingSettings
  extends Omit<ServingTask, "keys" | "generation" | "counters" | "thread" | "pending"> {
  /** Searches that may wait in all threads. */
  readonly maxPendingSearches: number;
}

/** The threads. */
export interface ServingThreads {
  readonly address: AddressInfo;
  /** Stops all of them without losing a request. */
  readonly drain: () => Promise<void>;
}

interface Thread {
  readonly worker: Worker;
  /** Different from those of all others that run. */
  readonly number: number;
  /** Number of the newest generation it has taken. */
  taken: number;
  /** Whether it has stopped listening. */
  stopped: boolean;
  drained: boolean;
}

/**
 * Starts threads.
 *
 * @param opened what they serve; followed from here on
 * @throws {ServingThreadError} or the error of the system when the first cannot listen, with its code
 */
export async function startServingThreads(
  count: number,
  { maxPendingSearches, ...settings }: ServingSettings,
  { state, searchIndex, follow }: Pick<OpenState, "state" | "searchIndex" | "follow">,
  observe: Observe,
): Promise<ServingThreads> {
  const threads = new Set<Thread>();
  const pending = createSharedPending(maxPendingSearches);
  /** Generations that somebody may still search. */
  const generations = new Map<number, Generation>([[0, state.generation]]);
  let newest = 0;
  let draining = false;
  /** Looked at whenever a thread has taken a generation, has drained, or is gone. */
  const waiting = new Set<() => void>();
  const lookAgain = (): void => {
    for (const look of waiting) look();
  };
  const until = (isSo: () => boolean): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (!isSo()) return;
        waiting.delete(look);
        resolve();
      };
      waiting.add(look);
      look();
    });

  function tell({ worker }: Thread, message: ToServing): void {
    worker.postMessage(message);
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
        ...settings,
        port,
        sharing,
        thread: number,
        pending,
        counters: state.gate.counters,
        keys: state.gate.keys.byHash,
        generation: { number: newest, store: state.generation.store, index: searchIndex() },
      };
      const worker = startWorker("serving-thread", task);
      const thread: Thread = { worker, number, taken: newest, stopped: false, drained: false };
      const passOn = createPassOn(
        (generation) => generations.get(generation),
        () => threads.has(thread),
        (generation, answers) => tell(thread, { kind: "answers", generation, answers }),
      );
      threads.add(thread);
      let listening = false;
      let cause = "";
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
          case "taken":
            thread.taken = message.generation;
            lookAgain();
            break;
          case "search":
            passOn(message);
            break;
          case "observations":
            takeBatch(message, observe);
            tell(thread, { kind: "observed" });
            break;
          case "stopped-listening":
            thread.stopped = true;
            lookAgain();
            break;
          case "drained":
            thread.drained = true;
            lookAgain();
            break;
        }
      });
      worker.on("error", (error) => {
        cause = causeOfDeath("serving-thread", error);
      });
      worker.on("exit", (status) => {
        if (threads.delete(thread)) releasePending(pending, number);
        lookAgain();
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
      for (const thread of threads) tell(thread, { kind: "keys", keys: keys.byHash });
    },
    async takeGeneration(generation, index) {
      const number = ++newest;
      generations.set(number, generation);
      const numbered = { number, store: generation.store, index };
      for (const thread of threads) tell(thread, { kind: "generation", generation: numbered });
      await until(() => [...threads].every(({ taken }) => taken >= number));
      for (const old of generations.keys()) if (old < number) generations.delete(old);
    },
  });
  const address = await start(settings.port, settings.sharing);
  const others = Array.from({ length: count - 1 }, () => start(address.port, "anybody"));
  await Promise.all(others).catch(async (error: unknown) => {
    draining = true;
    for (const { worker } of threads) await worker.terminate();
    throw error;
  });
  return {
    address,
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
