/**
 * The last ten minutes: a column of moments and one of the figures seen then, as charts take them. It begins with the
 * server's memory, and goes on with the page's own.
 */

import type { Moment } from "../status.ts";

const WINDOW_SECONDS = 600;
/** What charts show when the page was just opened. */
const LEAST_SECONDS = 120;
/** Between answers that are farther apart than this nothing is known, and charts have a gap. */
const GAP_SECONDS = 15;
/** Far more than ten minutes have, should a clock stand still. */
const MOST_MOMENTS = 2000;

/** Mutable: oldest first. */
export interface ShownHistory<Figures = Moment> {
  /** Seconds since the epoch by the clock of this machine, rising. */
  readonly moments: number[];
  /** Undefined where nothing is known. */
  readonly figures: (Figures | undefined)[];
}

/** Adds what is seen now, and drops what is too old. A moment before the newest, by a clock that went back, begins anew. */
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

/** Whether the server knows of moments that are missing here: the page was just opened, or nobody looked. */
export function isBehind({ moments }: ShownHistory<unknown>, now: number): boolean {
  return now - (moments.at(-1) ?? 0) > GAP_SECONDS;
}

/** Adds a moment that the server remembers, unless a newer one is known. */
export function recall<Figures>(history: ShownHistory<Figures>, moment: number, seen: Figures): void {
  if (moment > (history.moments.at(-1) ?? 0)) remember(history, moment, seen);
}

/** Notes that nothing is known of now. */
export function forgetNow(history: ShownHistory<unknown>, now: number): void {
  if (history.figures.at(-1) !== undefined) remember(history, now, undefined);
}

/** What charts show along their x axis, in seconds since the epoch: what is known, two minutes at least. */
export function span({ moments }: ShownHistory): readonly [from: number, to: number] {
  const to = moments.at(-1) ?? Date.now() / 1000;
  const from = Math.min(moments[0] ?? to, to - LEAST_SECONDS);
  return [Math.max(from, to - WINDOW_SECONDS), to];
}
