/** What a counter server is asked, and taking what it answers. For one thread alone: the one that asks. */

import { cellOf, countIn, countOf, mostIn, whole, windowIn } from "./shared-cells.ts";
import type { Leases } from "./shared-leases.ts";

/** What a counter server says of one key. */
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

/** Clocks run apart by less than this share of the time. */
const DRIFT = 2e-4;

/** How long it stays true, in milliseconds, that the server has nothing left. */
const RECHECK_MS = 1000;

/** Of what is held after an answer this share is left when more is asked for. */
const ASK_AT = 1 / 4;

/**
 * Takes what the server answered. For one thread alone: the one that asks.
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
  // A server whose clock went back, or that lost its memory meanwhile.
  if (before > window) return;
  const known = before === window ? countIn(split) : 0;
  const all = Math.min(
    Math.max(known, total + countOf(leases.elsewhere, slot, window, split)),
    mostIn(split),
  );
  // First of all: who reads what follows beside the permits of before sees that they have changed.
  Atomics.store(permits, slot, cellOf(split, window, all));
  // The server's clock was read in whole milliseconds.
  const until = sent + (msLeft - 1) * (1 - DRIFT);
  leases.until[slot] = until;
  leases.wallUntil[slot] = wall + until - mono;
  leases.rest[slot] = rest;
  const asked = leases.limits[slot]!;
  const isSpent = before === window && rest === 0 && (asked < 0 || asked > limit);
  leases.limits[slot] = isSpent ? -limit : limit;
  leases.recheck[slot] = mono + RECHECK_MS;
  leases.clock[0] = (window + 1) * windowSeconds * 1000 - msLeft + (mono - sent) / 2 - wall;
  const used = countOf(counters.cells, slot, window, split);
  leases.askBelow[slot] = rest > 0 ? Math.floor((all - used) * ASK_AT) : 0;
}

/** What a server is told of a key, and asked for. */
export interface LeaseAsk {
  readonly limit: number;
  /** Window of what follows, counted from the epoch. */
  readonly window: number;
  /** Permits that this replica knows to have been leased, in all. */
  readonly have: number;
  /** Requests that it let pass, those without a permit included. */
  readonly used: number;
  /** Requests that wait for a permit. */
  readonly want: number;
}

/** Makes what the server is asked. */
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
