/**
 * The last ten minutes as charts need them: a column of moments and one of their figures. It begins with the server's
 * history and continues with the page's own.
 */

import type { Moment } from "../status.ts";

const WINDOW_SECONDS = 600;
/** Shortest time span of a chart, such as when the page was just opened. */
const LEAST_SECONDS = 120;
/** Answers farther apart than this leave a gap in the charts. */
const GAP_SECONDS = 15;
/** Far more than ten minutes have; a bound in case the clock runs too slowly. */
const MOST_MOMENTS = 2000;

/** Mutable; oldest first. */
export interface ShownHistory<Figures = Moment> {
  /** Seconds since the epoch by this machine's clock, ascending. */
  readonly moments: number[];
  /** Undefined for a gap. */
  readonly figures: (Figures | undefined)[];
}

/** Adds a moment and drops old ones. A moment not after the newest (the clock went back) starts the history anew. */
export function remember<Figures>(
  { moments, figures }: ShownHistory<Figures>,
  now: number,
  seen: Figures | undefined,
): void {
  const newest = moments.at(-1);
  if (newest !== undefined && now <= newest) {
    moments.length = 0;
    figures.length = 0;
  } else if (newest !== undefined && now - newest > GAP_SECONDS) {
    moments.push((newest + now) / 2);
    figures.push(undefined);
  }
  moments.push(now);
  figures.push(seen);
  let old = moments.findIndex((moment) => moment >= now - WINDOW_SECONDS);
  old = Math.max(old, moments.length - MOST_MOMENTS);
  moments.splice(0, old);
  figures.splice(0, old);
}

/** Whether the server has moments that are missing here: the page was just opened, hidden or paused. */
export function isBehind({ moments }: ShownHistory<unknown>, now: number): boolean {
  return now - (moments.at(-1) ?? 0) > GAP_SECONDS;
}

/** Adds a moment of the server's history, unless a newer one is known. */
export function recall<Figures>(history: ShownHistory<Figures>, moment: number, seen: Figures): void {
  if (moment > (history.moments.at(-1) ?? 0)) remember(history, moment, seen);
}

/** Adds a gap at `now`. */
export function forgetNow(history: ShownHistory<unknown>, now: number): void {
  if (history.figures.at(-1) !== undefined) remember(history, now, undefined);
}

/** The x axis of the charts, in seconds since the epoch: the known moments, but at least two minutes. */
export function span({ moments }: ShownHistory): readonly [from: number, to: number] {
  const to = moments.at(-1) ?? Date.now() / 1000;
  const from = Math.min(moments[0] ?? to, to - LEAST_SECONDS);
  return [Math.max(from, to - WINDOW_SECONDS), to];
}
