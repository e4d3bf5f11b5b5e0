/** What a thread does that searches for others: it takes batches of questions, searches in slices, and answers in batches. */

import { setImmediate } from "node:timers";
import { Scheduler } from "../search/schedule/scheduler.ts";
import type { Work } from "../search/shared/work.ts";
import { BUSY, type Busy, type Found } from "../store/generation.ts";
import type { SearchAnswer, SearchBatch, SearchRequest } from "./thread-messages.ts";
import { beginWork, yieldCpu } from "./yield-cpu.ts";

/**
 * One search of a thread.
 *
 * @param sendAnswers to be called before the thread sleeps
 */
export type ThreadSearch = (request: SearchRequest, sendAnswers: () => void) => Work<Found>;

/**
 * Answers what it is asked, in slices that are fair between keys.
 *
 * @param send gives answers to whoever asked
 * @returns what takes a batch
 */
export function answerBatches(
  search: ThreadSearch,
  send: (answers: readonly SearchAnswer[]) => void,
): (batch: SearchBatch) => void {
  const scheduler = new Scheduler<Found>();
  /** Those under way that nobody waits for any more are false. */
  const isWanted = new Map<number, boolean>();
  /** Answers go out together: a message a search takes both threads as long as most searches. */
  let answers: SearchAnswer[] = [];

  function sendAnswers(): void {
    if (answers.length === 0) return;
    send(answers);
    answers = [];
  }

  function giveAnswer(answer: SearchAnswer): void {
    if (answers.push(answer) === 1) setImmediate(sendAnswers);
    yieldCpu(sendAnswers);
  }

  function answer(request: SearchRequest): void {
    const { number, key } = request;
    isWanted.set(number, true);
    const give = (found: Found | Busy): void => {
      isWanted.delete(number);
      // A copy, since the rows may be a view of all that was found, which stays here.
      if (found !== BUSY) {
        giveAnswer({ number, found: { total: found.total, rows: new Uint32Array(found.rows) } });
      }
    };
    const fail = (error: unknown): void => {
      isWanted.delete(number);
      giveAnswer({ number, problem: String(error) });
    };
    const isGone = (): boolean => !isWanted.get(number);
    scheduler.run(() => search(request, sendAnswers), { key, isGone }).then(give, fail);
  }

  return ({ asked, dropped }) => {
    for (const number of dropped) if (isWanted.has(number)) isWanted.set(number, false);
    if (answers.length === 0 && isWanted.size === 0) beginWork();
    asked.forEach(answer);
  };
}
