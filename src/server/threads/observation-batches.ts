/**
 * Observations on their way from a serving thread to the main thread. They go
 * in batches, and few of those are under way at a time: while the main thread
 * has not taken them, requests beyond a bound are counted instead of kept, so
 * that a flood of them fills no memory.
 */

import type { Observation, Observe } from "../../observe/events.ts";

/** Most observations that wait, or are under way, when one of a request comes. */
const MAX_REQUESTS = 8192;
/** Most when any other comes, which are few and matter more. */
const MAX_ALL = 2 * MAX_REQUESTS;
/** Most in one batch, so that taking it does not hold up the main thread. */
const MAX_BATCH = 512;
/** Batches under way. */
const MAX_UNDER_WAY = 2;

/** Lines of the access log and observations, and how many more were not kept. */
export interface ObservationBatch {
  readonly lines: string;
  readonly observations: readonly Observation[];
  readonly dropped: number;
}

/** The thread's end. */
export interface BatchSender {
  readonly observe: Observe;
  /** Takes a line of the access log. */
  readonly writeAccess: (line: string) => void;
  /** To be called when the main thread has taken a batch. */
  readonly taken: () => void;
  /** Sends all that waits, whatever is under way; for the thread's end. */
  readonly flush: () => void;
}

/** Makes the thread's end. @param send puts a batch on its way */
export function createBatchSender(send: (batch: ObservationBatch) => void): BatchSender {
  let waiting: Observation[] = [];
  let lines = "";
  let lineCount = 0;
  let dropped = 0;
  let underWay = 0;
  let scheduled = false;

  function sendOne(): void {
    const observations = waiting.slice(0, MAX_BATCH);
    waiting = waiting.slice(MAX_BATCH);
    underWay++;
    send({ lines, observations, dropped });
    lines = "";
    lineCount = 0;
    dropped = 0;
  }

  function isEmpty(): boolean {
    return waiting.length === 0 && lines === "" && dropped === 0;
  }

  function schedule(): void {
    if (scheduled || underWay >= MAX_UNDER_WAY) return;
    scheduled = true;
    // What one turn of the event loop brings goes together.
    setImmediate(sendSome);
  }

  function sendSome(): void {
    scheduled = false;
    while (underWay < MAX_UNDER_WAY && !isEmpty()) sendOne();
  }

  return {
    observe(observation) {
      const kept = waiting.length + underWay * MAX_BATCH;
      if (kept >= (observation.kind === "request" ? MAX_REQUESTS : MAX_ALL)) {
        dropped++;
        return;
      }
      waiting.push(observation);
      schedule();
    },
    writeAccess(line) {
      if (lineCount >= MAX_REQUESTS) {
        dropped++;
        return;
      }
      lines += line;
      lineCount++;
      schedule();
    },
    taken() {
      underWay--;
      sendSome();
    },
    flush() {
      while (!isEmpty()) sendOne();
    },
  };
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
