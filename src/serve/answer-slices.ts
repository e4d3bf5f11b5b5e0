/** What a thread does that searches for others: in slices that are fair between keys, and sleeping between them. */

import { Scheduler } from "../search/schedule/scheduler.ts";
import type { Work } from "../search/shared/work.ts";
import type { Found } from "../store/generation.ts";
import { answerBatches } from "./answer-batches.ts";
import type { SearchAnswer, SearchBatch, SearchRequest } from "./thread-messages.ts";
import { beginWork, yieldCpu, yieldingCpu } from "./yield-cpu.ts";

/**
 * Answers what it is asked.
 *
 * @param send gives answers to whoever asked
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
