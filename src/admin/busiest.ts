/** What became of the requests of keys in the window that runs: of the busiest, of one, and of all in pages. */

import type { Gate } from "../auth/admit.ts";
import { type KeyUse, readUse } from "../auth/key-use.ts";
import { readCounts } from "../auth/limit.ts";
import type { KeyStatus } from "./status.ts";

/** How many keys are reported. */
const MOST = 20;
/** Slots of a page: as many as take some two milliseconds. */
const PAGE = 500;

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

/** What keys are reported from. */
export interface KeyFigures extends Pick<Gate, "keys" | "counters" | "defaultLimit"> {
  /** Where each thread that serves counts the requests of keys. */
  readonly use: readonly KeyUse[];
  /** What is left of a key's limit where that does not follow from what was used here. */
  readonly remainingOf?: ((slot: number, limit: number) => number) | undefined;
}

/** Reads what is known of keys at a moment, by their slots; a slot without a key gives undefined. */
function keyReader({ keys, counters, defaultLimit, use, remainingOf }: KeyFigures, now: number) {
  const { bySlot } = keys;
  const { usedBy, reset } = readCounts(counters, now);
  const { useOf, requestsBy } = readUse(use, now);

  function statusOf(slot: number): KeyStatus | undefined {
    const key = bySlot[slot];
    if (key === undefined) return undefined;
    const { id, name, kind } = key;
    const { passed, refused, lastUsed } = useOf(slot);
    const limit = kind === "cli" ? null : (key.limit ?? defaultLimit);
    const used = kind === "cli" ? passed : usedBy(slot);
    return {
      ...{ id, name, kind, used, limit },
      remaining: limit === null ? null : (remainingOf?.(slot, limit) ?? Math.max(0, limit - used)),
      resetEpochSeconds: reset,
      passed,
      refused,
      lastUsedAt: lastUsed === null ? null : new Date(lastUsed * 1000).toISOString(),
    };
  }

  return {
    slots: bySlot.length,
    hasKey: (slot: number): boolean => bySlot[slot] !== undefined,
    requestsBy: (slot: number): number => requestsBy(slot, usedBy(slot)),
    statusOf,
  };
}

/**
 * Finds the busiest keys: most requests first, refused ones included. All are looked at, and few are sorted.
 *
 * @param now milliseconds since the epoch
 */
export function busiestKeys(figures: KeyFigures, now: number, most = MOST): KeyStatus[] {
  const { slots, hasKey, requestsBy, statusOf } = keyReader(figures, now);
  const heap: Heap = { slots: [], counts: [] };
  for (let slot = 0; slot < slots; slot++) {
    const requests = requestsBy(slot);
    if (requests === 0 || !hasKey(slot)) continue;
    if (heap.counts.length < most) {
      heap.slots.push(slot);
      heap.counts.push(requests);
      rise(heap);
    } else if (requests > heap.counts[0]!) {
      heap.slots[0] = slot;
      heap.counts[0] = requests;
      sink(heap);
    }
  }
  return heap.slots
    .map((slot, at) => ({ status: statusOf(slot)!, requests: heap.counts[at]! }))
    .sort((a, b) => b.requests - a.requests || (a.status.id < b.status.id ? -1 : 1))
    .map(({ status }) => status);
}

/** The status of one key; undefined when there is none of this id. @param now milliseconds since the epoch */
export function keyStatus(figures: KeyFigures, id: string, now: number): KeyStatus | undefined {
  const slot = figures.counters.slots.get(id);
  return slot === undefined ? undefined : keyReader(figures, now).statusOf(slot);
}

/**
 * A page of all keys, in order of their slots, which never change.
 *
 * @param from slot to begin with
 * @param now milliseconds since the epoch
 */
export function keyPage(
  figures: KeyFigures,
  from: number,
  now: number,
): { readonly keys: readonly KeyStatus[]; readonly next: number | null } {
  const { slots, statusOf } = keyReader(figures, now);
  const end = Math.min(slots, from + PAGE);
  const keys: KeyStatus[] = [];
  for (let slot = from; slot < end; slot++) {
    const status = statusOf(slot);
    if (status !== undefined) keys.push(status);
  }
  return { keys, next: end < slots ? end : null };
}
