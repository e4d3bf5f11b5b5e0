/** The last ten minutes as charts need them. The server's history begins them, the page's own statuses continue them. */

import type { Moment } from "../status.ts";

const WINDOW_SECONDS = 600;
/** Shortest time span of a chart, such as when the server was just started. */
const LEAST_SECONDS = 120;
/** Moments farther apart than this have a gap between them. */
export const GAP_SECONDS = 12;

/** A moment, or a gap if it has no figures. */
export interface Seen {
  /** Seconds since the epoch by the server's clock. */
  readonly at: number;
  readonly figures?: Pick<Moment, "requests" | "memory" | "threads">;
}

/** Adds the moments that are later than all known ones, and drops old ones. Starts anew if the server's clock went back. */
export function extend(history: Seen[], moments: readonly Moment[]): void {
  const times = moments.map(({ now }) => Date.parse(now) / 1000);
  if ((times.at(-1) ?? Number.POSITIVE_INFINITY) < (history.at(-1)?.at ?? 0)) history.length = 0;
  for (const [number, at] of times.entries()) {
    const newest = history.at(-1)?.at;
    if (newest !== undefined && at <= newest) continue;
    if (newest !== undefined && at - newest > GAP_SECONDS) history.push({ at: (newest + at) / 2 });
    const { requests, memory, threads } = moments[number]!;
    history.push({ at, figures: { requests, memory, threads } });
  }
  const begin = (history.at(-1)?.at ?? 0) - WINDOW_SECONDS;
  const first = history.findIndex(({ at }) => at >= begin);
  history.splice(0, first);
}

/** The x axis of the charts: the known moments, but at least two minutes. */
export function span(history: readonly Seen[]): [from: number, to: number] {
  const to = history.at(-1)!.at;
  return [Math.min(history[0]!.at, to - LEAST_SECONDS), to];
}
