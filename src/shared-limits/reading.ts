/** What is left of a limit that is shared with other replicas, read without taking anything. */

import { windowAt } from "../auth/limit.ts";
import type { SharedQuota } from "../auth/shared.ts";
import { countIn, countOf, whole, windowIn } from "./cells.ts";
import { type Leases, shareOf } from "./leases.ts";

/** What is held of one key, as `takePermit` and `takeAlone` read it. */
interface Held {
  /** The window of the permits, and the newest one that was counted in. */
  readonly leased: number;
  readonly newest: number;
  readonly permitted: number;
  /** Whether the permits are of the window that is running. */
  readonly isGood: boolean;
  /** What the server had left, and the limit that it was asked with; negative as in `Leases`. */
  readonly rest: number;
  readonly asked: number;
}

function read(leases: Leases, slot: number, limit: number, mono: number, wall: number): Held {
  const { permits, counters } = leases;
  const { cells, split } = counters;
  for (;;) {
    const lease = Atomics.load(permits, slot);
    const isGood = mono < leases.until[slot]! && wall < leases.wallUntil[slot]!;
    const asked = leases.limits[slot]!;
    const rest = leases.rest[slot]!;
    // As in `takePermit`: it belongs together only if no other answer came meanwhile.
    if (Atomics.load(permits, slot) !== lease) continue;
    whole[0] = lease;
    const leased = windowIn(split);
    const permitted = Math.min(countIn(split), limit);
    whole[0] = Atomics.load(cells, slot);
    return { leased, newest: windowIn(split), permitted, isGood, rest, asked };
  }
}

/** @see takeAlone, of which this is the reading half */
function readAlone(leases: Leases, slot: number, limit: number, held: Held, wall: number): SharedQuota {
  const { counters, clock } = leases;
  const { cells, split, windowSeconds } = counters;
  const { leased, newest, permitted, isGood, rest, asked } = held;
  const window = Math.max(newest, leased, isGood ? 0 : windowAt(counters, wall + clock[0]!));
  const used = countOf(cells, slot, window, split);
  const share = shareOf(leases, limit);
  const isLeased = window === leased;
  const usable = isLeased && isGood && asked >= 0 && asked <= limit ? permitted : 0;
  const most = Math.max(usable, isLeased ? Math.min(share, permitted + rest) : share);
  const reset = (window + 1) * windowSeconds;
  return { counted: "alone", used, remaining: Math.max(0, most - used), reset };
}

/**
 * Reads what is left of a key's limit. Right after a question to the server this is what a request would get; else it is
 * what the server said last, and before it was asked the whole limit.
 *
 * @param mono milliseconds of the monotonic clock
 * @param wall milliseconds since the epoch
 */
export function readShared(
  leases: Leases,
  slot: number,
  limit: number,
  mono: number,
  wall: number,
): SharedQuota {
  const { cells, split, windowSeconds } = leases.counters;
  const held = read(leases, slot, limit, mono, wall);
  const { leased, newest, permitted, isGood, rest, asked } = held;
  const isAway = Atomics.load(leases.away, slot) !== 0;
  if (isAway || newest > leased) return readAlone(leases, slot, limit, held, wall);
  const window = isGood ? leased : windowAt(leases.counters, wall + leases.clock[0]!);
  const usedHere = countOf(cells, slot, window, split);
  const isKnown = isGood && Math.abs(asked) === limit;
  const permits = asked < 0 ? 0 : Math.max(0, permitted - usedHere);
  const left = limit - usedHere;
  const remaining = Math.max(0, isKnown ? Math.min(permits + rest, left) : left);
  return { counted: "shared", used: limit - remaining, remaining, reset: (window + 1) * windowSeconds };
}
