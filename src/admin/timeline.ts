/**
 * What charts draw of the last ten minutes. The server keeps it, so that a dashboard that is opened in the middle of an
 * incident shows how it began.
 */

import type { Moment, TimelineReply } from "./status.ts";

/** How often a moment is kept. */
const EVERY_MS = 5000;
/** How many are kept: ten minutes, some 100 kB. */
const KEPT = 120;

/** Measures and keeps moments, oldest first. */
export class Timeline {
  readonly #moments: Moment[] = [];

  /** Starts; the timer does not keep the process alive. */
  constructor(measure: () => Promise<Moment>) {
    const take = async (): Promise<void> => {
      this.#moments.push(await measure());
      if (this.#moments.length > KEPT) this.#moments.shift();
    };
    // A moment that cannot be measured is a gap in the charts.
    setInterval(() => void take().catch(() => undefined), EVERY_MS).unref();
  }

  reply(): TimelineReply {
    return { now: new Date().toISOString(), everySeconds: EVERY_MS / 1000, moments: this.#moments };
  }
}
