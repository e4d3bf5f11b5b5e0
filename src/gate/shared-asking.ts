/** Asking a counter server for the permits of keys, each key once at a time, and taking what it answers. */

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
  /** Asks for permits of a key; whoever wants to ask meanwhile is told of the same answer. */
  readonly ask: (slot: number, limit: number, want: number, notify: Notify) => void;
  /** Keys that were asked for, by slot, and the limits that they were asked for with. */
  readonly known: ReadonlyMap<number, number>;
  /** Questions to the server, and those that it did not answer. */
  readonly figures: () => { readonly asks: number; readonly failures: number };
}

/** Makes the one that asks for a replica. */
export function createAsking(leases: Leases, { mono, wall, lease }: AskingHost): Asking {
  /** By slot, while it is asked for: who wants to know. */
  const asking = new Map<number, Set<Notify>>();
  const known = new Map<number, number>();
  let asks = 0;
  let failures = 0;
  return {
    ask(slot, limit, want, notify) {
      const others = asking.get(slot);
      if (others !== undefined) {
        others.add(notify);
        return;
      }
      const told = new Set([notify]);
      asking.set(slot, told);
      known.set(slot, limit);
      asks++;
      const sent = mono();
      lease(slot, makeAsk(leases, slot, limit, want), (answer) => {
        if (answer === undefined) failures++;
        else takeAnswer(leases, slot, limit, answer, sent, mono(), wall());
        Atomics.store(leases.away, slot, answer === undefined ? 1 : 0);
        asking.delete(slot);
        for (const one of told) one(slot, answer === undefined ? undefined : sent);
      });
    },
    known,
    figures: () => ({ asks, failures }),
  };
}
