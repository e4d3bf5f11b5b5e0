/** Answers questions of other threads: takes batches of them, has them searched for, and answers in batches. */

import { setImmediate } from "node:timers";
import { Scheduler } from "../../search/schedule/scheduler.ts";
import type { Work } from "../../search/work.ts";
import { BUSY, type Busy, type Caller, type Found } from "../../store/generation.ts";
import { beginWork, yieldCpu, yieldingCpu } from "../../util/process/yield-cpu.ts";
import type { SearchAnswer, SearchBatch, SearchRequest } from "./questions.ts";

/** Where the answers come from. */
export interface Answering {
  /**
   * Does one search; undefined leaves it to the asking thread.
   *
   * @param sendAnswers to be called before the thread sleeps
   */
  readonly search: (
    request: SearchRequest,
    caller: Caller,
    sendAnswers: () => void,
  ) => Found | Busy | undefined | Promise<Found | Busy | undefined>;
  /** Gives answers to the asking thread. */
  readonly send: (answers: readonly SearchAnswer[]) => void;
  /** Whether the asking thread is gone; never when absent. */
  readonly isGone?: () => boolean;
  /** Called with a batch when no search was running. */
  readonly onBegin?: () => void;
  /** Called after each answer. */
  readonly onAnswer?: (sendAnswers: () => void) => void;
}

/**
 * Answers what it is asked.
 *
 * @returns what takes a batch
 */
export function answerBatches({
  search,
  send,
  isGone = () => false,
  onBegin,
  onAnswer,
}: Answering): (batch: SearchBatch) => void {
  /** By number of a running search: whether somebody waits for it. */
  const isWanted = new Map<number, boolean>();
  /** Answers go out together: a message a search takes both threads as long as most searches. */
  let answers: SearchAnswer[] = [];

  function sendAnswers(): void {
    if (answers.length === 0) return;
    send(answers);
    answers = [];
  }

  function give(answer: SearchAnswer): void {
    isWanted.delete(answer.number);
    if (answers.push(answer) === 1) setImmediate(sendAnswers);
    onAnswer?.(sendAnswers);
  }

  async function answer(request: SearchRequest): Promise<void> {
    const { number, key } = request;
    isWanted.set(number, true);
    const caller: Caller = { key, isGone: () => isGone() || !isWanted.get(number) };
    try {
      const found = await search(request, caller, sendAnswers);
      if (found === undefined) give({ number, over: true });
      else if (found === BUSY) isWanted.delete(number);
      // A copy, since the rows may be a view of all that was found, which stays here.
      else give({ number, found: { total: found.total, rows: new Uint32Array(found.rows) } });
    } catch (error) {
      give({ number, problem: String(error) });
    }
  }

  return ({ asked, dropped }) => {
    for (const number of dropped) if (isWanted.has(number)) isWanted.set(number, false);
    if (answers.length === 0 && isWanted.size === 0) onBegin?.();
    for (const request of asked) void answer(request);
  };
}

/**
 * Answers in a thread that only searches: in slices that are fair between keys, and sleeping between them.
 *
 * @param send gives answers to the asking thread
 * @returns what takes a batch
 */
export function answerInSlices(
  search: (request: SearchRequest) => Work<Found>,
  send: (answers: readonly SearchAnswer[]) => void,
): (batch: SearchBatch) => void {
  const scheduler = new Scheduler<Found>();
  return answerBatches({
    search: (request, caller, sendAnswers) =>
      scheduler.run(() => yieldingCpu(search(request), sendAnswers), caller),
    send,
    onBegin: beginWork,
    onAnswer: yieldCpu,
  });
}
