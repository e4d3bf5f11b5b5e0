/** The questions to a counter server, and taking its answers into the leases. Used by one thread alone, the one that asks. */

import { cellOf, countIn, countOf, mostIn, whole, windowIn } from "./cells.ts";
import { type Leases, shareOf } from "./leases.ts";

/** A counter server's answer for one key. */
export interface LeaseAnswer {
  /** The window that is running, counted from the epoch. */
  readonly window: number;
  /** Permits that this replica was leased in it, in all. */
  readonly total: number;
  /** Permits that are left for anybody. */
  readonly rest: number;
  /** Milliseconds until the window ends. */
  readonly msLeft: number;
}

/** Receives an answer. */
export type ReceiveAnswer = (answer: LeaseAnswer) => void;

/** Two clocks drift apart by less than this share of the time that passes. */
const DRIFT = 2e-4;

/** For how long an answer that nothing is left is believed, in milliseconds. */
const RECHECK_MS = 1000;

/** More permits are asked for when this share of those held after the last answer remains. */
const ASK_AT = 1 / 4;

/**
 * Takes an answer into the leases. For one thread alone: the one that asks.
 *
 * @param sent when the server was asked, by the monotonic clock
 */
export function takeAnswer(
  leases: Leases,
  slot: number,
  limit: number,
  { window, total, rest, msLeft }: LeaseAnswer,
  sent: number,
  mono: number,
  wall: number,
): void {
  const { permits, counters } = leases;
  const { split, windowSeconds } = counters;
  whole[0] = Atomics.load(permits, slot);
  const before = windowIn(split);
  // The server's clock went back, or it lost its memory.
  if (before > window) return;
  const known = before === window ? countIn(split) : 0;
  const all = Math.min(
    Math.max(known, total + countOf(leases.elsewhere, slot, window, split)),
    mostIn(split),
  );
  // Stored first: a reader that has mixed old permits with values below reads the permits again, and sees the change.
  Atomics.store(permits, slot, cellOf(split, window, all));
  // The server's clock was read in whole milliseconds.
  const until = sent + (msLeft - 1) * (1 - DRIFT);
  leases.until[slot] = until;
  leases.wallUntil[slot] = wall + until - mono;
  leases.rest[slot] = rest;
  const asked = leases.limits[slot]!;
  // The server granted nothing new: what is held may be beyond a limit that was lowered.
  const isSpent = before === window && rest === 0 && all === known && (asked < 0 || asked > limit);
  leases.limits[slot] = isSpent ? -limit : limit;
  leases.recheck[slot] = mono + RECHECK_MS;
  leases.clock[0] = (window + 1) * windowSeconds * 1000 - msLeft + (mono - sent) / 2 - wall;
  const used = countOf(counters.cells, slot, window, split);
  leases.askBelow[slot] = rest > 0 ? Math.floor((all - used) * ASK_AT) : 0;
}

/**
 * What may be taken of an answer that came too late: what it says of the rest bounds what is let through alone, but its
 * permits reach up to the share only. Requests were counted within that instead, and other replicas, cut off as well, may
 * rely on theirs. Where nothing is let through alone, all of it.
 */
export function withinShare(leases: Leases, slot: number, limit: number, answer: LeaseAnswer): LeaseAnswer {
  if (leases.denies) return answer;
  const { split } = leases.counters;
  const elsewhere = countOf(leases.elsewhere, slot, answer.window, split);
  const most = Math.max(shareOf(leases, limit), countOf(leases.permits, slot, answer.window, split));
  const total = Math.min(answer.total, Math.max(0, most - elsewhere));
  return { ...answer, total, rest: answer.rest + answer.total - total };
}

/** A question: what this replica has and used of a key, and what it wants. */
export interface LeaseAsk {
  readonly limit: number;
  /** Window of what follows, counted from the epoch. */
  readonly window: number;
  /** Permits that this replica has been leased in it, in all, as far as it knows. */
  readonly have: number;
  /** Requests that it let pass, those without a permit included. */
  readonly used: number;
  /** Requests that wait for a permit. */
  readonly want: number;
}

/** Makes a question. */
export function makeAsk(leases: Leases, slot: number, limit: number, want: number): LeaseAsk {
  const { split, cells } = leases.counters;
  whole[0] = Atomics.load(leases.permits, slot);
  const leased = windowIn(split);
  whole[0] = Atomics.load(cells, slot);
  const window = Math.max(windowIn(split), leased);
  const elsewhere = countOf(leases.elsewhere, slot, window, split);
  const have = Math.max(0, countOf(leases.permits, slot, window, split) - elsewhere);
  const used = Math.max(0, countOf(cells, slot, window, split) - elsewhere);
  return { limit, window, have, used, want };
}
