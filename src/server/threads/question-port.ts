/**
 * A thread that serves asks for long searches of a generation over a port of
 * its own to the main thread. The port goes with the generation: nobody counts
 * who still uses an old one. When nobody answers any more, the
 * asking thread searches itself.
 */

import type { MessagePort } from "node:worker_threads";
import type { Busy, Found, Generation } from "../../store/generation.ts";
import { answerBatches } from "../search/answer-batches.ts";

import { Questions, type SearchAnswer, type SearchBatch } from "../search/questions.ts";

/** The end that asks, in a thread that serves. */
export class Asker {
  readonly #port: MessagePort;
  #state: "open" | "retired" | "over" = "open";
  readonly #questions = new Questions(
    (batch) => {
      this.#port.postMessage(batch);
      return true;
    },
    () => this.#closeIfDone(),
  );

  constructor(port: MessagePort) {
    this.#port = port;
    port.on("message", (answers: readonly SearchAnswer[]) => {
      for (const answer of answers) this.#questions.settle(answer);
    });
    port.on("close", () => {
      this.#state = "over";
      this.#questions.giveBack();
    });
  }

  /** Resolves with undefined when nobody answers any more. */
  readonly ask: Questions["ask"] = (...asked) =>
    this.#state === "over" ? Promise.resolve(undefined) : this.#questions.ask(...asked);

  /** Lets go of the port after the last answer. */
  readonly retire = (): void => {
    if (this.#state === "open") this.#state = "retired";
    this.#closeIfDone();
  };

  #closeIfDone(): void {
    if (this.#state !== "retired" || this.#questions.size > 0) return;
    this.#state = "over";
    this.#port.close();
  }
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
