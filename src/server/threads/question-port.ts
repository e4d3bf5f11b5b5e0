/**
 * A thread that serves asks for long searches of a generation over a port of
 * its own to the main thread. The port goes with the generation: nobody counts
 * who still uses an old one. What is asked when nobody answers any more is
 * searched for by whoever asked.
 */

import type { MessagePort } from "node:worker_threads";
import type { Busy, Found, Generation } from "../../store/generation.ts";
import { answerBatches } from "../search/answer-batches.ts";
import { Questions } from "../search/questions.ts";
import type { SearchAnswer, SearchBatch } from "../search/search-messages.ts";

/** The end that asks. */
export interface Asker {
  /** Resolves with undefined when nobody answers any more. */
  readonly ask: Questions["ask"];
  /** Lets go of the port behind the last answer. */
  readonly retire: () => void;
}

/** Makes the end of a thread that serves. */
export function createAsker(port: MessagePort): Asker {
  let retired = false;
  let isOver = false;
  const questions = new Questions(
    (batch) => {
      port.postMessage(batch);
      return true;
    },
    () => closeIfDone(),
  );
  function closeIfDone(): void {
    if (!retired || isOver || questions.size > 0) return;
    isOver = true;
    port.close();
  }
  port.on("message", (answers: readonly SearchAnswer[]) => {
    for (const answer of answers) questions.settle(answer);
  });
  port.on("close", () => {
    isOver = true;
    questions.giveBack();
  });
  return {
    ask: (...asked) => (isOver ? Promise.resolve(undefined) : questions.ask(...asked)),
    retire() {
      retired = true;
      closeIfDone();
    },
  };
}

/** Answers from a generation, until the other end is closed or its thread is gone. */
export function answerFrom(generation: Generation, port: MessagePort): void {
  let isClosed = false;
  port.on("close", () => {
    isClosed = true;
  });
  const take = answerBatches({
    search(
      { name, term, page, similar },
      caller,
    ): Found | Busy | undefined | Promise<Found | Busy | undefined> {
      const search = similar ? generation.similar : generation.search;
      return search?.[name](term, page, caller);
    },
    send: (answers) => port.postMessage(answers),
    isGone: () => isClosed,
  });
  port.on("message", (batch: SearchBatch) => take(batch));
}
