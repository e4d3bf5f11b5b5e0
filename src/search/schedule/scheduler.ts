/**
 * Long searches on one thread, fair between keys.
 *
 * Each key has a queue, in order of arrival, of which one search at a time has
 * begun. A few keys at most have searches that have begun, since these hold
 * memory; they get time slices in turn. So a search beside others of another
 * key takes about twice its time alone, however many the others are. Between
 * slices the thread sees to its other events.
 *
 * A search whose caller is gone is dropped: for nothing while it waits, at the
 * next slice when it has begun.
 */

import { setImmediate } from "node:timers";
import { BUSY, type Busy, type Caller } from "../../store/generation.ts";
import type { Work } from "../shared/work.ts";

/** How long a key's turn lasts, in milliseconds, if its work yields as often. */
const SLICE_MS = 1;

/** So many keys may have a search that has begun. */
export const MOST_BEGUN = 4;

/** How often, in milliseconds, it is looked whether callers of waiting searches are gone. */
const SWEEP_MS = 20;

interface Job<Result> {
  readonly begin: () => Work<Result>;
  readonly caller: Caller;
  readonly resolve: (result: Result | Busy) => void;
  readonly reject: (error: unknown) => void;
}

/** The searches of one key. */
interface Line<Result> {
  readonly key: number;
  /** In order of arrival. */
  waiting: Job<Result>[];
  begun: { readonly job: Job<Result>; readonly work: Work<Result> } | undefined;
}

/** Runs work for callers in turn. */
export class Scheduler<Result> {
  /** By key, in order of turns; none of them is without work. */
  readonly #lines = new Map<number, Line<Result>>();
  readonly #clock: () => number;
  #begun = 0;
  #swept = 0;

  /** @param clock milliseconds from any beginning */
  constructor(clock: () => number = () => performance.now()) {
    this.#clock = clock;
  }

  /** Resolves with what the work returns, or {@link BUSY} when the caller is gone; rejects with what it throws. */
  run(begin: () => Work<Result>, caller: Caller): Promise<Result | Busy> {
    return new Promise((resolve, reject) => {
      if (this.#lines.size === 0) {
        this.#swept = this.#clock();
        setImmediate(this.#turn);
      }
      const job: Job<Result> = { begin, caller, resolve, reject };
      const line = this.#lines.get(caller.key);
      if (line === undefined)
        this.#lines.set(caller.key, { key: caller.key, waiting: [job], begun: undefined });
      else line.waiting.push(job);
    });
  }

  readonly #turn = (): void => {
    const now = this.#clock();
    if (now - this.#swept >= SWEEP_MS) {
      this.#swept = now;
      for (const line of this.#lines.values()) sweep(line);
    }
    const line = this.#next();
    if (line.begun !== undefined) this.#begun--;
    const isLeft = this.#runSlice(line, now + SLICE_MS);
    if (line.begun !== undefined) this.#begun++;
    // Behind all others.
    this.#lines.delete(line.key);
    if (isLeft) this.#lines.set(line.key, line);
    if (this.#lines.size > 0) setImmediate(this.#turn);
  };

  /** The first key in turn that may go on or begin. */
  #next(): Line<Result> {
    const mayBegin = this.#begun < MOST_BEGUN;
    for (const line of this.#lines.values()) {
      if (mayBegin || line.begun !== undefined) return line;
      // Those that wait for their first slice keep their order among themselves.
      this.#lines.delete(line.key);
      this.#lines.set(line.key, line);
    }
    throw new Error("no search has begun");
  }

  /** Works for a key until a time, if there is so much to do. @returns whether anything is left */
  #runSlice(line: Line<Result>, end: number): boolean {
    // Who has had a place among the begun for longer gives it up to those that wait for one.
    const givesWay = line.begun !== undefined && this.#lines.size > MOST_BEGUN;
    if (line.begun?.job.caller.isGone()) {
      const { job, work } = line.begun;
      line.begun = undefined;
      job.resolve(BUSY);
      // What it holds can be used again.
      attempt(job, () => work.return(undefined as never));
      if (givesWay) return line.waiting.length > 0;
    }
    do {
      line.begun ??= beginNext(line);
      if (line.begun === undefined) return false;
      const { job, work } = line.begun;
      const step = attempt(job, () => work.next());
      if (step?.done) job.resolve(step.value);
      if (step === undefined || step.done) {
        line.begun = undefined;
        if (givesWay) break;
      }
    } while (this.#clock() < end);
    return line.begun !== undefined || line.waiting.length > 0;
  }
}

/** Drops what waits for callers that are gone, so that it takes no place in a queue. */
function sweep<Result>(line: Line<Result>): void {
  line.waiting = line.waiting.filter(({ caller, resolve }) => {
    const isGone = caller.isGone();
    if (isGone) resolve(BUSY);
    return !isGone;
  });
}

/** Begins the first search that somebody waits for. */
function beginNext<Result>(line: Line<Result>): Line<Result>["begun"] {
  for (let job = line.waiting.shift(); job !== undefined; job = line.waiting.shift()) {
    const { begin, caller, resolve } = job;
    if (caller.isGone()) resolve(BUSY);
    else {
      const work = attempt(job, begin);
      if (work !== undefined) return { job, work };
    }
  }
  return undefined;
}

/** What a task gives; when it throws, its job fails. */
function attempt<Result, Value>({ reject }: Job<Result>, task: () => Value): Value | undefined {
  try {
    return task();
  } catch (error) {
    reject(error);
    return undefined;
  }
}
