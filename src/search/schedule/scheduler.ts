/**
 * Long searches on one thread, fair between keys: round robin in time slices.
 *
 * Each key has a queue, in order of arrival, of which one search at a time is running. A few keys at most have a
 * running search, since these hold memory; they get time slices in turn. So a search beside others of another key takes
 * about twice its time alone, however many the others are. Between slices the thread sees to its other events.
 *
 * A search whose caller is gone is dropped: for nothing while it waits, at the next slice when it is running.
 */

import { setImmediate } from "node:timers";
import { BUSY, type Busy, type Caller } from "../../store/generation.ts";
import type { Work } from "../work.ts";

/** A time slice, in milliseconds, if the work yields as often. */
const SLICE_MS = 1;

/** So many keys may have a running search. */
export const MOST_RUNNING = 4;

/** How often, in milliseconds, it is looked whether callers of waiting searches are gone. */
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
  /** By key, in order of turns; none of them is without work. */
  readonly #queues = new Map<number, KeyQueue<Result>>();
  readonly #clock: () => number;
  #running = 0;
  #swept = 0;

  /** @param clock milliseconds from any beginning */
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
    // Behind all others.
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

  /** Works for a key until a time, if there is so much to do. @returns whether anything is left */
  #runSlice(queue: KeyQueue<Result>, end: number): boolean {
    // A key that has been running makes room for keys that wait.
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
  // What it holds can be used again.
  attempt(job, () => work.return(undefined as never));
  return true;
}

/** Drops what waits for callers that are gone, so that it takes no place in a queue. */
function sweep<Result>(queue: KeyQueue<Result>): void {
  queue.waiting = queue.waiting.filter(({ caller, resolve }) => {
    const isGone = caller.isGone();
    if (isGone) resolve(BUSY);
    return !isGone;
  });
}

/** Begins the first search that somebody waits for. */
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
