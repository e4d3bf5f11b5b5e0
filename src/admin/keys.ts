/** Limits of keys, and their requests since the start by outcome: of the busiest keys, of one key, and of all in pages. */

import type { Gate } from "../auth/admit.ts";
import { type KeyUse, requestsOf, useOf } from "../auth/key-use.ts";
import { readCounts } from "../auth/limit.ts";
import type { Reply } from "../model/message.ts";
import { errorReply, jsonReply } from "./router.ts";
import type { KeyStatus } from "./status.ts";

/** Slots per page: they take about two milliseconds. */
const PAGE = 500;

export interface KeyFigures extends Pick<Gate, "keys" | "counters" | "defaultLimit"> {
  readonly use: readonly KeyUse[];
}

/** Creates a reader of the keys at a moment, by slot; a slot without a key gives undefined. */
function keyReader({ keys, counters, defaultLimit, use }: KeyFigures, now: number) {
  const { usedBy, reset } = readCounts(counters, now);
  return (slot: number): KeyStatus | undefined => {
    const key = keys.bySlot[slot];
    if (key === undefined) return undefined;
    const { id, name, kind } = key;
    const { passed, refused, lastUsed } = useOf(use, slot);
    const limit = kind === "cli" ? null : (key.limit ?? defaultLimit);
    const used = kind === "cli" ? passed : usedBy(slot);
    const remaining = limit === null ? null : Math.max(0, limit - used);
    const lastUsedAt = lastUsed === null ? null : new Date(lastUsed * 1000).toISOString();
    return { id, name, kind, used, limit, remaining, resetEpochSeconds: reset, passed, refused, lastUsedAt };
  };
}

/** Finds the busiest keys: most requests since the start first, refused ones included. Looks at all keys, sorts only a few. */
export function busiestKeys(figures: KeyFigures, now: number, most = 20): KeyStatus[] {
  const { bySlot } = figures.keys;
  /** Most requests first: few, so that sorting them is cheap. */
  const busiest: { readonly slot: number; readonly id: string; readonly requests: number }[] = [];
  for (let slot = 0; slot < bySlot.length; slot++) {
    const requests = requestsOf(figures.use, slot);
    const isFull = busiest.length === most;
    if (requests === 0 || (isFull && requests <= busiest.at(-1)!.requests)) continue;
    const key = bySlot[slot];
    if (key === undefined) continue;
    busiest.push({ slot, id: key.id, requests });
    busiest.sort((a, b) => b.requests - a.requests).splice(most);
  }
  busiest.sort((a, b) => b.requests - a.requests || (a.id < b.id ? -1 : 1));
  const statusOf = keyReader(figures, now);
  return busiest.map(({ slot }) => statusOf(slot)!);
}

/**
 * Answers `GET /keys`: the requests of one key (`id=ID`), or of all, a page at a time (`after=N`, the `next` of the page
 * before) in order of their slots, which never change. @param figures undefined until the first snapshot is loaded
 */
export function answerKeys(query: string, figures: KeyFigures | undefined): Reply {
  const asked = new URLSearchParams(query);
  const id = asked.get("id");
  const after = asked.get("after") ?? "0";
  // Nine digits exceed any number of keys.
  if (!/^\d{1,9}$/.test(after)) return errorReply(400, "after must be the next of the page before");
  if (figures === undefined) return errorReply(503, "The first snapshot is being loaded");
  const statusOf = keyReader(figures, Date.now());
  const slots = figures.keys.bySlot.length;
  const found = id === null ? undefined : statusOf(figures.counters.slots.get(id) ?? -1);
  if (id !== null && found === undefined) return errorReply(404, "No key has this id");
  const from = Number(after);
  const end = Math.min(slots, from + PAGE);
  const page = Array.from({ length: Math.max(0, end - from) }, (_, at) => statusOf(from + at) ?? []).flat();
  return jsonReply(200, {
    // Requests are counted since then.
    startedAt: new Date(performance.timeOrigin).toISOString(),
    windowSeconds: figures.counters.windowSeconds,
    keys: found === undefined ? page : [found],
    next: found === undefined && end < slots ? end : null,
  });
}
