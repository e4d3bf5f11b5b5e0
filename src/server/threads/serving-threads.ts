/**
 * Several serving threads on one port. The system gives each new connection to one of them (`reusePort`), so a thread that
 * dies breaks only its own connections. It is replaced if it was listening, unless all of them stop.
 */

import type { AddressInfo } from "node:net";
import { MessageChannel, type MessagePort, type Worker } from "node:worker_threads";
import { forgetThread } from "../../observe/metrics/counters.ts";
import { createSharedPending, releasePending } from "../../search/pending.ts";
import { SERVING_THREAD, startWorker, whenEnded } from "../../util/process/worker-options.ts";
import { UserError } from "../../util/user-error.ts";
import type { ServedGeneration } from "../load/served.ts";
import type { OpenState, OpenStateOptions } from "../open.ts";
import {
  type CommonTask,
  type FromServing,
  passOn,
  type ServingTask,
  type StoreToServe,
  type ThreadRequest,
  type ToServing,
  takeBatch,
} from "./serving-messages.ts";

const RETRY_MS = 500;
/** System calls whose errors mean that a thread cannot listen at its address. */
const LISTENING = new Set(["listen", "getaddrinfo"]);

type Served = Pick<OpenState, "state" | "served" | "live"> &
  Pick<OpenStateOptions, "sharedLimits" | "observe" | "writeAccess">;

interface Thread {
  readonly worker: Worker;
  /** Unique among the running threads. */
  readonly number: number;
  hasListened: boolean;
  /** Resolves its open request, if there is one. */
  done: () => void;
  /** Settle its start. */
  readonly started: (address: AddressInfo) => void;
  readonly failed: (error: Error) => void;
}

function send({ worker }: Thread, message: ToServing): void {
  worker.postMessage(message, message.kind === "generation" ? portsOf(message.generation) : []);
}

function toServe({ serving, similar }: ServedGeneration): StoreToServe {
  const { store, index } = serving!;
  if (similar === undefined) return { store, index, similar };
  const { port1, port2 } = new MessageChannel();
  passOn(similar.ask, port1);
  return { store, index, similar: port2 };
}

function portsOf({ similar }: StoreToServe): MessagePort[] {
  return similar === undefined ? [] : [similar];
}

export class ServingThreads {
  readonly #common: CommonTask;
  readonly #served: Served;
  readonly #threads = new Set<Thread>();
  readonly #pending = createSharedPending();
  #address: AddressInfo | undefined;
  #isDraining = false;

  /** @param served its new keys and generations go to the threads from {@link start} on */
  constructor(common: CommonTask, served: Served) {
    this.#common = common;
    this.#served = served;
  }

  get address(): AddressInfo {
    return this.#address!;
  }

  /** Stops all threads without losing a request. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    // Clients that one thread sends away reconnect at once, to the listener of another. So all threads, also one that
    // is starting, stop listening before the first sends its clients away.
    await this.#askAll({ kind: "stop-listening" });
    await this.#askAll({ kind: "drain" });
    for (const { worker } of this.#threads) void worker.terminate();
  }

  /** @throws {UserError} when a thread dies before it listens, or the error of the system, with its code */
  async start(count: number): Promise<void> {
    const { live, served } = this.#served;
    // Before the first thread starts: changes during the start must reach the threads, too.
    live.changes = {
      onKeys: (keys, previous) => {
        const changes = keys.changesSince(previous);
        for (const thread of this.#threads) send(thread, { kind: "keys", changes });
      },
      onGeneration: () => {
        for (const thread of this.#threads) send(thread, { kind: "generation", generation: toServe(served) });
      },
    };
    this.#address = await this.#start();
    const others = Array.from({ length: count - 1 }, () => this.#start());
    await Promise.all(others).catch(async (error: unknown) => {
      this.#isDraining = true;
      for (const { worker } of this.#threads) await worker.terminate();
      throw error;
    });
  }

  #freeNumber(): number {
    const taken = new Set([...this.#threads].map(({ number }) => number));
    let number = 0;
    while (taken.has(number)) number++;
    return number;
  }

  /** Starts a thread; resolves with its address, rejects when it dies or cannot listen before that. */
  async #start(): Promise<AddressInfo> {
    const { settings } = this.#common;
    const { state, served, sharedLimits } = this.#served;
    const number = this.#freeNumber();
    const task: ServingTask = {
      ...this.#common,
      port: this.#address?.port ?? settings.port,
      sharing: this.#address !== undefined || settings.sharePort ? "anybody" : "threads",
      thread: number,
      pending: this.#pending,
      counters: state.gate.counters,
      shared: sharedLimits?.handed,
      keys: state.gate.keys.tokens,
      generation: toServe(served),
    };
    const worker = startWorker(SERVING_THREAD, task, portsOf(task.generation));
    return await new Promise((started, failed) => {
      const thread: Thread = { worker, number, hasListened: false, done() {}, started, failed };
      this.#threads.add(thread);
      worker.on("message", (message: FromServing) => this.#take(thread, message));
      whenEnded(worker, SERVING_THREAD, (cause, error) =>
        this.#end(thread, cause, LISTENING.has(error?.syscall ?? "") ? error : undefined),
      );
    });
  }

  #take(thread: Thread, message: FromServing): void {
    const { observe, writeAccess } = this.#served;
    switch (message.kind) {
      case "listening":
        thread.hasListened = true;
        thread.started(message.address);
        break;
      case "observations":
        takeBatch(message, observe, writeAccess);
        send(thread, { kind: "observed" });
        break;
      case "shared":
        this.#served.sharedLimits?.take(message.message);
        break;
      case "done":
        thread.done();
        break;
    }
  }

  /** @param whyNot the error of a thread that could not listen */
  #end(thread: Thread, cause: string, whyNot?: Error): void {
    const { requestCells } = this.#common;
    if (this.#threads.delete(thread)) {
      releasePending(this.#pending, thread.number);
      if (requestCells) forgetThread(requestCells, thread.number);
    }
    thread.done();
    thread.failed(whyNot ?? new UserError(`a serving thread died: ${cause}`));
    if (!thread.hasListened || this.#isDraining) return;
    this.#served.observe({ kind: "thread-died", role: "serving", cause });
    void this.#replace();
  }

  async #replace(): Promise<void> {
    const { observe } = this.#served;
    const began = performance.now();
    try {
      await this.#start();
      observe({ kind: "thread-replaced", role: "serving", ms: Math.round(performance.now() - began) });
    } catch (error) {
      observe({ kind: "defect", where: "serving thread", error });
      setTimeout(() => void (this.#isDraining || this.#replace()), RETRY_MS).unref();
    }
  }

  /** Resolves when every thread has confirmed a request, or is gone. */
  async #askAll(request: ThreadRequest): Promise<void> {
    const confirmed = (thread: Thread): Promise<void> =>
      new Promise((resolve) => {
        thread.done = resolve;
        send(thread, request);
      });
    await Promise.all(Array.from(this.#threads, confirmed));
  }
}
