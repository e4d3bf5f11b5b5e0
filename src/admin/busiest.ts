/** The keys that were used most in the window that is under way. */

import type { Gate } from "../auth/admit.ts";
import { readCounts } from "../auth/limit.ts";
import type { KeyStatus } from "./status.ts";

/** How many keys are reported. */
const MOST = 20;

/** Slots with the most requests: a heap whose root is the least of them. */
interface Heap {
  readonly slots: number[];
  readonly counts: number[];
}

function swap({ slots, counts }: Heap, a: number, b: number): void {
  [slots[a], slots[b]] = [slots[b]!, slots[a]!];
  [counts[a], counts[b]] = [counts[b]!, counts[a]!];
}

function rise(heap: Heap): void {
  for (let at = heap.counts.length - 1; at > 0; ) {
    const parent = (at - 1) >> 1;
    if (heap.counts[parent]! <= heap.counts[at]!) return;
    swap(heap, parent, at);
    at = parent;
  }
}

function sink(heap: Heap): void {
  for (let at = 0; ; ) {
    let least = at;
    for (const child of [at * 2 + 1, at * 2 + 2]) {
      if (child < heap.counts.length && heap.counts[child]! < heap.counts[least]!) least = child;
    }
    if (least === at) return;
    swap(heap, least, at);
    at = least;
  }
}

/**
 * Finds the busiest keys, most requests first. All are looked at, and few are sorted.
 *
 * @param now milliseconds since the epoch
 * @param remainingOf what is left of a key's limit where that does not follow from what was used here
 */
export function busiestKeys(
  { keys, counters, defaultLimit }: Pick<Gate, "keys" | "counters" | "defaultLimit">,
  now: number,
  remainingOf?: (slot: number, limit: number) => number,
  most = MOST,
): KeyStatus[] {
  const { bySlot } = keys;
  const { usedBy, reset } = readCounts(counters, now);
  const heap: Heap = { slots: [], counts: [] };
  for (let slot = 0; slot < bySlot.length; slot++) {
    const used = usedBy(slot);
    if (used === 0 || bySlot[slot] === undefined) continue;
    if (heap.counts.length < most) {
      heap.slots.push(slot);
      heap.counts.push(used);
      rise(heap);
    } else if (used > heap.counts[0]!) {
      heap.slots[0] = slot;
      heap.counts[0] = used;
      sink(heap);
    }
  }
  return heap.slots
    .map((slot, at) => {
      const { id, name, limit: own } = bySlot[slot]!;
      const limit = own ?? defaultLimit;
      const used = heap.counts[at]!;
      const remaining = remainingOf?.(slot, limit) ?? Math.max(0, limit - used);
      return { id, name, used, limit, remaining, resetEpochSeconds: reset };
    })
    .sort((a, b) => b.used - a.used || (a.id < b.id ? -1 : 1));
}
