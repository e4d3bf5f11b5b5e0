/**
 * Asking a counter server for the permits of keys, and taking what it answers.
 *
 * Whoever wants a key that is being asked for waits for the same answer. It does
 * not say what is left for a request that came behind the question: who cannot
 * wait for another one behind it asks again at once. Both say how many permits
 * are wanted in all, so two questions are answered with no more than one.
 */

import { type LeaseAnswer, type LeaseAsk, makeAsk, takeAnswer } from "./shared-answers.ts";
import type { Leases } from "./shared-leases.ts";

/** Told what became of asking for a key. @param sent when the server was asked, or undefined when it could not be */
export type Notify = (slot: number, sent: number | undefined) => void;

/** What asking needs of the rest of the program; stood in for where time is simulated. */
export interface AskingHost {
  /** The monotonic clock, and the wall clock, both in milliseconds. */
  readonly mono: () => number;
  readonly wall: () => number;
  /** Asks the server once. @param settle called once, later, with undefined when no answer came or none that is one */
  readonly lease: (slot: number, ask: LeaseAsk, settle: (answer: LeaseAnswer | undefined) => void) => void;
}

/** The one that asks. */
export interface Asking {
  /**
   * Asks for permits of a key, or waits for the answer to a question that is under way.
   *
   * @param since by the monotonic clock: only a question that was sent later is waited for
   */
  readonly ask: (slot: number, limit: number, want: number, notify: Notify, since?: number) => void;
  /** Keys that were asked for, by slot, and the limits that they were asked for with. */
  readonly known: ReadonlyMap<number, number>;
  /** Questions to the server, and those that it did not answer. */
  readonly figures: () => { readonly asks: number; readonly failures: number };
}

/** A question that is under way: when it was sent, and who wants to know. */
interface Question {
  readonly sent: number;
  readonly told: Set<Notify>;
}

/** Makes the one that asks for a replica. */
export function createAsking(leases: Leases, { mono, wall, lease }: AskingHost): Asking {
  /** The newest by slot. */
  const asking = new Map<number, Question>();
  const known = new Map<number, number>();
  let asks = 0;
  let failures = 0;
  return {
    ask(slot, limit, want, notify, since = Number.NEGATIVE_INFINITY) {
      const newest = asking.get(slot);
      if (newest !== undefined && newest.sent > since) {
        newest.told.add(notify);
        return;
      }
      const sent = mono();
      const question: Question = { sent, told: new Set([notify]) };
      asking.set(slot, question);
      known.set(slot, limit);
      asks++;
      lease(slot, makeAsk(leases, slot, limit, want), (answer) => {
        if (answer === undefined) failures++;
        else takeAnswer(leases, slot, limit, answer, sent, mono(), wall());
        Atomics.store(leases.away, slot, answer === undefined ? 1 : 0);
        if (asking.get(slot) === question) asking.delete(slot);
        for (const one of question.told) one(slot, answer === undefined ? undefined : sent);
      });
    },
    known,
    figures: () => ({ asks, failures }),
  };
}
