/**
 * Asks a counter server for permits, and takes its answers.
 *
 * Requests that need permits of a key while a question about it is under way
 * share the answer. It does not say what is left for a request that came after
 * the question was sent: one that has no time for a second round trip after the
 * first sends a question of its own at once. Each question says how many permits
 * are wanted in all, so two of them are granted no more than one would be.
 */

import {
  type LeaseAnswer,
  type LeaseAsk,
  makeAsk,
  type ReceiveAnswer,
  takeAnswer,
  withinShare,
} from "./answers.ts";
import type { Leases } from "./leases.ts";

/** Called with the outcome of a question. @param sent when it was sent, or undefined when it was not answered */
export type Notify = (slot: number, sent: number | undefined) => void;

/** What this needs of the rest of the program; simulations bring their own. */
export interface AskingHost {
  /** The monotonic clock, and the wall clock, both in milliseconds. */
  readonly mono: () => number;
  readonly wall: () => number;
  /**
   * Asks the server once.
   *
   * @param settle called once, later, with undefined when there was no valid answer in time
   * @param onLate receives an answer that comes after that, if one does
   */
  readonly lease: (
    slot: number,
    ask: LeaseAsk,
    settle: (answer: LeaseAnswer | undefined) => void,
    onLate: ReceiveAnswer,
  ) => void;
}

/** Asks for a whole replica. */
export interface Asking {
  /**
   * Asks for permits of a key, or shares the answer to a question that is under way.
   *
   * @param since by the monotonic clock: only the answer to a question that was sent later is shared
   */
  readonly ask: (slot: number, limit: number, want: number, notify: Notify, since?: number) => void;
  /** Keys that were asked for, by slot, and the limits that they were asked for with. */
  readonly known: ReadonlyMap<number, number>;
  /** Questions to the server, and those that it did not answer. */
  readonly figures: () => { readonly asks: number; readonly failures: number };
}

/** A question that is under way: when it was sent, and who is told of the answer. */
interface Question {
  readonly sent: number;
  readonly told: Set<Notify>;
}

/** Makes what asks for a replica. */
export function createAsking(leases: Leases, { mono, wall, lease }: AskingHost): Asking {
  /** The newest question by slot. */
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
      const take: ReceiveAnswer = (answer) => takeAnswer(leases, slot, limit, answer, sent, mono(), wall());
      const settle = (answer: LeaseAnswer | undefined): void => {
        if (answer === undefined) failures++;
        else take(answer);
        Atomics.store(leases.away, slot, answer === undefined ? 1 : 0);
        if (asking.get(slot) === question) asking.delete(slot);
        for (const one of question.told) one(slot, answer === undefined ? undefined : sent);
      };
      // The key stays away: what was let through without this answer is still to be reported.
      const onLate: ReceiveAnswer = (answer) => take(withinShare(leases, slot, limit, answer));
      lease(slot, makeAsk(leases, slot, limit, want), settle, onLate);
    },
    known,
    figures: () => ({ asks, failures }),
  };
}
