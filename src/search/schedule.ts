/**
 * Searches on a thread that also serves: in slices, fair between keys.
 *
 * A search begins at once if no other waits. If it does not end within its slice of the turn of the event loop, it goes on in
 * later turns, or is dropped if its caller is gone. Each key runs one search at a time, and few keys run at a time, since a
 * running search holds memory; they take slices in turn. So beside any number of searches of another key, a search takes about
 * twice its time alone.
 */

import { setImmediate } from "node:timers";
import { BUSY, type Busy, type Caller } from "../store/generation.ts";
import { type Leave, type PendingSearches, UNBOUNDED } from "./pending.ts";
import type { Work } from "./work.ts";

/** Milliseconds of a turn of the event loop that searches may take, the last step of a search excluded. */
const SLICE_MS = 0.5;

/** Most keys that run a search. */
export const MOST_RUNNING = 4;

interface Job<Result = unknown> {
  readonly caller: Caller;
  readonly work: Work<Result>;
  readonly leave: Leave;
  readonly resolve: (result: Result | Busy) => void;
  readonly reject: (error: unknown) => void;
}

export class Scheduler {
  readonly #pending: PendingSearches;
  readonly #clock: () => number;
  /** Jobs that have not begun, by key, in order of turns. */
  readonly #waiting = new Map<number, Job[]>();
  /** At most one job of a key, in order of slices. */
  readonly #running: Job[] = [];
  /** Milliseconds that searches took in this turn. */
  #spent = 0;
  #hasTurn = false;

  /** @param pending bounds the searches that wait @param clock milliseconds from any origin */
  constructor(pending = UNBOUNDED, clock: () => number = () => performance.now()) {
    this.#pending = pending;
    this.#clock = clock;
  }

  /** Does work, at once if it is short and no other waits. @returns {@link BUSY} if too many wait or the caller is gone */
  run<Result>(work: Work<Result>, caller: Caller): Result | Busy | Promise<Result | Busy> {
    const isFree = this.#running.length === 0 && this.#waiting.size === 0 && this.#spent < SLICE_MS;
    if (isFree) {
      const began = this.#clock();
      const step = advance(work, this.#clock, began + SLICE_MS - this.#spent);
      this.#spent += this.#clock() - began;
      this.#beginTurn();
      if (step.done) return step.value;
    }
    const leave = this.#pending.enter(caller.key);
    if (leave === undefined) return BUSY;
    return new Promise<Result | Busy>((resolve, reject) => {
      const job = { caller, work, leave, resolve, reject } as Job;
      const waiting = this.#waiting.get(caller.key);
      if (isFree) this.#running.push(job);
      else if (waiting !== undefined) waiting.push(job);
      else this.#waiting.set(caller.key, [job]);
      this.#beginTurn();
    });
  }

  #beginTurn(): void {
    if (this.#hasTurn) return;
    this.#hasTurn = true;
    setImmediate(this.#turn);
  }

  readonly #turn = (): void => {
    this.#hasTurn = false;
    const end = this.#clock() + SLICE_MS;
    do {
      this.#admit();
      const job = this.#running.shift();
      if (job === undefined) break;
      if (!this.#goOn(job, end)) this.#running.push(job);
    } while (this.#clock() < end);
    this.#spent = 0;
    if (this.#running.length > 0 || this.#waiting.size > 0) this.#beginTurn();
  };

  /** Lets waiting keys run, in their order, while there is room. */
  #admit(): void {
    for (const [key, jobs] of this.#waiting) {
      if (this.#running.length >= MOST_RUNNING) return;
      if (this.#running.some(({ caller }) => caller.key === key)) continue;
      this.#running.push(jobs.shift()!);
      // To the end of the order.
      this.#waiting.delete(key);
      if (jobs.length > 0) this.#waiting.set(key, jobs);
    }
  }

  /** @returns whether the job is over */
  #goOn({ caller, work, leave, resolve, reject }: Job, end: number): boolean {
    try {
      const step = caller.isGone() ? { done: true, value: BUSY } : advance(work, this.#clock, end);
      if (!step.done) return false;
      resolve(step.value);
    } catch (error) {
      reject(error);
    }
    leave();
    return true;
  }
}

/** Goes on with work until it is done, or until a time. */
function advance<Result>(
  work: Work<Result>,
  clock: () => number,
  end: number,
): IteratorResult<undefined, Result> {
  for (;;) {
    const step = work.next();
    if (step.done || clock() >= end) return step;
  }
}
