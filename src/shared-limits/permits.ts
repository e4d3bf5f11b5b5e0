/**
 * Takes permits, and reads how many are left.
 *
 * The server's clock cuts the windows. An answer gives the remaining time of the window. A monotonic clock measures that
 * time from when the question was sent, so permits expire no later than the window ends. Then the server is asked again:
 * it may confirm them.
 *
 * The last held permit is taken only after a new answer, unless the server has none left. So no caller is told that
 * nothing remains while further requests would still pass.
 */

import { cellOf, countIn, mostIn, type Quota, whole, windowAt, windowIn } from "../auth/limit.ts";
import type { SharedQuota } from "../auth/shared.ts";
import { ALONE, type Clocks, type Leases, REFUSED, shareOf } from "./leases.ts";

interface Held {
  /** Window of the permits, and the number leased in it. */
  leased: number;
  permits: number;
  isGood: boolean;
  rest: number;
  asked: number;
  /** The counter's cell, its window, and the requests that it counts. */
  cell: bigint;
  newest: number;
  count: number;
}

/** Made once: a new object per request would be garbage. Its values are valid until the next call of {@link readHeld}. */
const held: Held = {
  leased: 0,
  permits: 0,
  isGood: false,
  rest: 0.5,
  asked: 0.5,
  cell: 0n,
  newest: 0,
  count: 0,
};

/** Reads the held permits of a key, all values from one answer. @returns the same object each time */
function readHeld(leases: Leases, slot: number, { mono, wall }: Clocks): Held {
  const { permits, counters } = leases;
  const { cells, split } = counters;
  let lease: bigint;
  do {
    lease = Atomics.load(permits, slot);
    held.isGood = mono < leases.until[slot]! && wall < leases.wallUntil[slot]!;
    held.asked = leases.limits[slot]!;
    held.rest = leases.rest[slot]!;
    // The values belong together only if no other answer came meanwhile.
  } while (Atomics.load(permits, slot) !== lease);
  whole[0] = lease;
  held.leased = windowIn(split);
  held.permits = countIn(split);
  held.cell = Atomics.load(cells, slot);
  whole[0] = held.cell;
  held.newest = windowIn(split);
  held.count = countIn(split);
  return held;
}

function usedIn({ newest, count }: Held, window: number): number {
  return newest === window ? count : 0;
}

/** Counts a request, unless another was counted since {@link readHeld}. @returns whether it was counted */
function countOne({ counters }: Leases, slot: number, window: number, used: number): boolean {
  const next = cellOf(counters.split, window, used + 1);
  return Atomics.compareExchange(counters.cells, slot, held.cell, next) === held.cell;
}

/** The remaining requests to report to a caller: never more than before in this window. */
function tell({ told, counters }: Leases, slot: number, window: number, remaining: number): number {
  const { split } = counters;
  const most = Math.min(remaining, mostIn(split));
  for (;;) {
    const cell = Atomics.load(told, slot);
    whole[0] = cell;
    const before = windowIn(split);
    if (before > window) return 0;
    if (before === window) {
      const least = countIn(split);
      if (least <= most) return least;
    }
    if (Atomics.compareExchange(told, slot, cell, cellOf(split, window, most)) === cell) return most;
  }
}

/** @param left the remaining requests after this one; below 0 if it is refused */
function quotaOf(leases: Leases, slot: number, limit: number, window: number, left: number): Quota {
  const remaining = tell(leases, slot, window, Math.max(0, left));
  const reset = (window + 1) * leases.counters.windowSeconds;
  return { passed: left >= 0, limit, remaining, reset, clockMs: leases.clock[0]! };
}

export interface Taking {
  /** Whether the last question was sent after the request had come, so that its answer holds for this request. */
  readonly isFresh: boolean;
  /** Called when the key runs out of permits; must not throw. */
  readonly askAhead: (slot: number, limit: number) => void;
}

function judge(limit: number, isFresh: boolean): "ask" | "alone" | "refuse" | "pass" {
  const { isGood, asked, rest, leased, newest } = held;
  // Another limit: the keys were reloaded.
  if (!isFresh && (!isGood || Math.abs(asked) !== limit)) return "ask";
  // Counted alone in a window that the server has not reached.
  if (newest > leased) return "alone";
  const used = usedIn(held, leased);
  const free = freeIn(held, limit);
  const isLast = rest === 0 && Math.abs(asked) === limit;
  if (free <= 0) return isLast || used >= limit ? "refuse" : "ask";
  return free > 1 || isLast || isFresh || used + 1 >= limit ? "pass" : "ask";
}

function freeIn({ asked, permits, leased }: Held, limit: number): number {
  return (asked < 0 ? 0 : Math.min(permits, limit)) - usedIn(held, leased);
}

/** Counts one request against the held permits. @returns undefined if the server must be asked first */
export function takePermit(
  leases: Leases,
  slot: number,
  limit: number,
  moment: Clocks,
  { isFresh, askAhead }: Taking,
): Quota | undefined {
  for (;;) {
    const { leased: window, rest } = readHeld(leases, slot, moment);
    const verdict = judge(limit, isFresh);
    if (verdict === "ask") return undefined;
    if (verdict === "alone") return takeAlone(leases, slot, limit, moment);
    const used = usedIn(held, window);
    if (verdict === "refuse") {
      // The answer that nothing is left may be too old.
      if (moment.mono >= leases.recheck[slot]! && used < limit) askAhead(slot, limit);
      return quotaOf(leases, slot, limit, window, -1);
    }
    const free = freeIn(held, limit);
    if (!countOne(leases, slot, window, used)) continue;
    if (free <= leases.askBelow[slot]!) askAhead(slot, limit);
    const left = Math.min(free - 1 + rest, limit - used - 1);
    return quotaOf(leases, slot, limit, window, left);
  }
}

/** The requests that pass while the server cannot be asked, by the values that {@link readHeld} read. */
function standAlone(leases: Leases, limit: number, wall: number) {
  const { newest, leased, permits, isGood, asked, rest } = held;
  const { counters, clock } = leases;
  const window = Math.max(newest, leased, isGood ? 0 : windowAt(counters, wall + clock[0]!));
  const used = usedIn(held, window);
  const share = shareOf(leases, limit);
  if (window !== leased) return { window, used, usable: 0, most: share };
  const most = Math.min(permits, limit);
  // Permits leased under a higher limit may exceed this one.
  const usable = isGood && asked >= 0 && asked <= limit ? most : 0;
  // At most the number that was left at the last answer.
  return { window, used, usable, most: Math.max(usable, Math.min(share, most + rest)) };
}

/**
 * Counts one request while the server cannot be asked: against the held permits, then against the share of the window.
 */
export function takeAlone(leases: Leases, slot: number, limit: number, moment: Clocks): Quota {
  for (;;) {
    readHeld(leases, slot, moment);
    const { window, used, usable, most } = standAlone(leases, limit, moment.wall);
    const left = most - used - 1;
    if (left >= 0 && !countOne(leases, slot, window, used)) continue;
    if (left < 0) Atomics.add(leases.tally, REFUSED, 1n);
    else if (used >= usable) Atomics.add(leases.tally, ALONE, 1n);
    return quotaOf(leases, slot, limit, window, left);
  }
}

/**
 * Reads the remaining requests of a key; takes no permit. Right after a question to the server, a request would get the
 * same result; otherwise this is the server's last answer, and before the first one the whole limit.
 */
export function readShared(leases: Leases, slot: number, limit: number, moment: Clocks): SharedQuota {
  const { counters, clock } = leases;
  const { windowSeconds } = counters;
  const { newest, leased, isGood, asked, permits, rest } = readHeld(leases, slot, moment);
  if (Atomics.load(leases.away, slot) !== 0 || newest > leased) {
    const { window, used, most } = standAlone(leases, limit, moment.wall);
    const reset = (window + 1) * windowSeconds;
    return { counted: "alone", used, remaining: Math.max(0, most - used), reset };
  }
  const window = isGood ? leased : windowAt(counters, moment.wall + clock[0]!);
  const used = usedIn(held, window);
  const known = asked < 0 ? 0 : Math.max(0, Math.min(permits, limit) - used);
  const isKnown = isGood && Math.abs(asked) === limit;
  const remaining = Math.max(0, isKnown ? Math.min(known + rest, limit - used) : limit - used);
  return { counted: "shared", used: limit - remaining, remaining, reset: (window + 1) * windowSeconds };
}
