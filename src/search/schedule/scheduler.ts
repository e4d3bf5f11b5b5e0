/**
 * Long searches on one thread, fair between keys: round robin in time slices.
 *
 * Each key has a queue in order of arrival and runs one search at a time. Only a few keys have a running search, since
 * each holds memory; they get time slices in turn. So beside another key's searches, however many, a search takes about
 * twice its time alone. Between slices the thread handles its other events.
 *
 * If its caller is gone, a search is dropped: a waiting one at no cost, a running one at its next slice.
 */

import { setImmediate } from "node:timers";
import { BUSY, type Busy, type Caller } from "../../store/generation.ts";
import type { Work } from "../work.ts";

/** A time slice in milliseconds, if the work yields that often. */
const SLICE_MS = 1;

/** Most keys with a running search. */
export const MOST_RUNNING = 4;

/** Milliseconds between two checks for waiting searches whose callers are gone. */
const SWEEP_MS = 20;

interface Job<Result> {
  readonly begin: () => Work<Result>;
  readonly caller: Caller;
  readonly resolve: (result: Result | Busy) => void;
  readonly reject: (error: unknown) => void;
}

interface KeyQueue<Result> {
  readonly key: number;
  waiting: Job<Result>[];
  running: { readonly job: Job<Result>; readonly work: Work<Result> } | undefined;
}

export class Scheduler<Result> {
  /** By key, in order of turns; each has work. */
  readonly #queues = new Map<number, KeyQueue<Result>>();
  readonly #clock: () => number;
  #running = 0;
  #swept = 0;

  /** @param clock milliseconds from any origin */
  constructor(clock: () => number = () => performance.now()) {
    this.#clock = clock;
  }

  /** Resolves with what the work returns, or {@link BUSY} when the caller is gone; rejects with what it throws. */
  run(begin: () => Work<Result>, caller: Caller): Promise<Result | Busy> {
    return new Promise((resolve, reject) => {
      if (this.#queues.size === 0) {
        this.#swept = this.#clock();
        setImmediate(this.#turn);
      }
      const job: Job<Result> = { begin, caller, resolve, reject };
      const queue = this.#queues.get(caller.key);
      if (queue === undefined)
        this.#queues.set(caller.key, { key: caller.key, waiting: [job], running: undefined });
      else queue.waiting.push(job);
    });
  }

  readonly #turn = (): void => {
    const now = this.#clock();
    if (now - this.#swept >= SWEEP_MS) {
      this.#swept = now;
      for (const queue of this.#queues.values()) sweep(queue);
    }
    const queue = this.#next();
    if (queue.running !== undefined) this.#running--;
    const isLeft = this.#runSlice(queue, now + SLICE_MS);
    if (queue.running !== undefined) this.#running++;
    // To the end of the order of turns.
    this.#queues.delete(queue.key);
    if (isLeft) this.#queues.set(queue.key, queue);
    if (this.#queues.size > 0) setImmediate(this.#turn);
  };

  /** The first key in turn that may go on or begin. */
  #next(): KeyQueue<Result> {
    const mayBegin = this.#running < MOST_RUNNING;
    for (const queue of this.#queues.values()) {
      if (mayBegin || queue.running !== undefined) return queue;
      // Keys that wait for their first slice keep their order.
      this.#queues.delete(queue.key);
      this.#queues.set(queue.key, queue);
    }
    throw new Error("no search is running");
  }

  /** Works for a key, at most until a time. @returns whether work is left */
  #runSlice(queue: KeyQueue<Result>, end: number): boolean {
    // After its search, a running key makes room for waiting keys.
    const givesWay = queue.running !== undefined && this.#queues.size > MOST_RUNNING;
    if (dropGone(queue) && givesWay) return queue.waiting.length > 0;
    do {
      queue.running ??= beginNext(queue);
      if (queue.running === undefined) return false;
      const { job, work } = queue.running;
      const step = attempt(job, () => work.next());
      if (step?.done) job.resolve(step.value);
      if (step === undefined || step.done) {
        queue.running = undefined;
        if (givesWay) break;
      }
    } while (this.#clock() < end);
    return queue.running !== undefined || queue.waiting.length > 0;
  }
}

/** Drops the running search if its caller is gone. @returns whether it was dropped */
function dropGone<Result>(queue: KeyQueue<Result>): boolean {
  if (!queue.running?.job.caller.isGone()) return false;
  const { job, work } = queue.running;
  queue.running = undefined;
  job.resolve(BUSY);
  // Releases its bitsets for reuse.
  attempt(job, () => work.return(undefined as never));
  return true;
}

/** Drops waiting searches whose callers are gone, so that they take no place in the queue. */
function sweep<Result>(queue: KeyQueue<Result>): void {
  queue.waiting = queue.waiting.filter(({ caller, resolve }) => {
    const isGone = caller.isGone();
    if (isGone) resolve(BUSY);
    return !isGone;
  });
}

/** Begins the first search whose caller is still there. */
function beginNext<Result>(queue: KeyQueue<Result>): KeyQueue<Result>["running"] {
  for (let job = queue.waiting.shift(); job !== undefined; job = queue.waiting.shift()) {
    const { begin, caller, resolve } = job;
    if (caller.isGone()) resolve(BUSY);
    else {
      const work = attempt(job, begin);
      if (work !== undefined) return { job, work };
    }
  }
  return undefined;
}

function attempt<Result, Value>({ reject }: Job<Result>, task: () => Value): Value | undefined {
  try {
    return task();
  } catch (error) {
    reject(error);
    return undefined;
  }
}
