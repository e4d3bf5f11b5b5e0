/**
 * Observations on their way from a serving thread to the main thread. They go
 * in batches, and few are on their way at a time: while the main thread
 * has not taken them, requests beyond a bound are counted instead of kept, so
 * that a flood of them fills no memory.
 */

import type { Observation, Observe } from "../../observe/events.ts";

/** Most observations that wait, or were sent and not taken, when one of a request comes. */
const MAX_REQUESTS = 8192;
/** Most when any other comes, which are few and matter more. */
const MAX_ALL = 2 * MAX_REQUESTS;
/** Most in one batch, so that taking it does not hold up the main thread. */
const MAX_BATCH = 512;
/** Most batches that are sent and not yet taken. */
const MAX_SENT = 2;

/** Lines of the access log and observations, and how many more were not kept. */
export interface ObservationBatch {
  readonly lines: string;
  readonly observations: readonly Observation[];
  readonly dropped: number;
}

/** The thread's end. */
export class BatchSender {
  readonly #send: (batch: ObservationBatch) => void;
  #waiting: Observation[] = [];
  #lines = "";
  #lineCount = 0;
  #dropped = 0;
  /** Batches that the main thread has not taken. */
  #sent = 0;
  #isScheduled = false;

  constructor(send: (batch: ObservationBatch) => void) {
    this.#send = send;
  }

  readonly observe: Observe = (observation) => {
    const kept = this.#waiting.length + this.#sent * MAX_BATCH;
    if (kept >= (observation.kind === "request" ? MAX_REQUESTS : MAX_ALL)) {
      this.#dropped++;
      return;
    }
    this.#waiting.push(observation);
    this.#schedule();
  };

  /** Takes a line of the access log. */
  readonly writeAccess = (line: string): void => {
    if (this.#lineCount >= MAX_REQUESTS) {
      this.#dropped++;
      return;
    }
    this.#lines += line;
    this.#lineCount++;
    this.#schedule();
  };

  /** To be called when the main thread has taken a batch. */
  taken(): void {
    this.#sent--;
    this.#sendSome();
  }

  /** Sends all that waits, however much was not taken; for the thread's end. */
  flush(): void {
    while (!this.#isEmpty()) this.#sendOne();
  }

  #sendOne(): void {
    const observations = this.#waiting.slice(0, MAX_BATCH);
    this.#waiting = this.#waiting.slice(MAX_BATCH);
    this.#sent++;
    this.#send({ lines: this.#lines, observations, dropped: this.#dropped });
    this.#lines = "";
    this.#lineCount = 0;
    this.#dropped = 0;
  }

  #isEmpty(): boolean {
    return this.#waiting.length === 0 && this.#lines === "" && this.#dropped === 0;
  }

  #schedule(): void {
    if (this.#isScheduled || this.#sent >= MAX_SENT) return;
    this.#isScheduled = true;
    // What one turn of the event loop brings goes together.
    setImmediate(() => this.#sendSome());
  }

  #sendSome(): void {
    this.#isScheduled = false;
    while (this.#sent < MAX_SENT && !this.#isEmpty()) this.#sendOne();
  }
}

/** Takes a batch at the main thread's end. */
export function takeBatch(
  { lines, observations, dropped }: ObservationBatch,
  observe: Observe,
  writeAccess?: (lines: string) => void,
): void {
  if (lines !== "") writeAccess?.(lines);
  for (const observation of observations) observe(observation);
  if (dropped > 0) observe({ kind: "log-lines-dropped", count: dropped });
}
