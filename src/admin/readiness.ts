/** Whether requests should be sent here, and how old what is served is. */

import { parseTime } from "../model/time.ts";
import type { SnapshotEvents } from "../server/load/loader.ts";
import type { History } from "./history.ts";
import type { Readiness } from "./status.ts";

/** Ages at which data are too old, in seconds; 0 for never. */
export interface MostAges {
  /** `--max-age`: of the last look that found the served snapshot to be current. */
  readonly maxAge: number;
  /** `--max-data-age`: of the data themselves. */
  readonly maxDataAge: number;
}

/** Follows loads, looks and the stop. Its clock cannot be set, but for the age of the data, which is told by the system's. */
export class ReadinessKeeper implements SnapshotEvents {
  readonly #history: History;
  readonly limits: MostAges;
  /** The moment of the data that are served, as their manifest tells it; null where it does not, and before the first load. */
  createdAt: string | null = null;
  #confirmedAt: number | undefined;
  #loadingSince: number | undefined;
  #progress = 0;
  #isDraining = false;

  constructor(history: History, limits: MostAges) {
    this.#history = history;
    this.limits = limits;
  }

  readonly began = (): void => {
    this.#loadingSince = performance.now();
    this.#progress = 0;
  };

  readonly ended = (): void => {
    this.#loadingSince = undefined;
  };

  readonly confirmed: SnapshotEvents["confirmed"] = (ageMs, createdAt) => {
    this.#confirmedAt = performance.now() - ageMs;
    // Nothing has checked that of a prepared file.
    this.createdAt = createdAt === undefined || Number.isNaN(parseTime(createdAt)) ? null : createdAt;
  };

  /** @param share of the snapshot's bytes that was read, 0 to 1 */
  progress(share: number): void {
    this.#progress = share;
  }

  drain(): void {
    this.#isDraining = true;
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  /** The running load. */
  get loading(): { readonly sinceMs: number; readonly progress: number } | null {
    if (this.#loadingSince === undefined) return null;
    const progress = Math.round(this.#progress * 1000) / 1000;
    return { sinceMs: Math.round(performance.now() - this.#loadingSince), progress };
  }

  get ageSeconds(): number | null {
    if (this.#confirmedAt === undefined) return null;
    return Math.max(0, Math.round((performance.now() - this.#confirmedAt) / 100) / 10);
  }

  /** Seconds since the moment of the data; null where it is not told. */
  get dataAgeSeconds(): number | null {
    if (this.createdAt === null) return null;
    return Math.max(0, Math.round((Date.now() - parseTime(this.createdAt)) / 100) / 10);
  }

  /** The ages that are too high: by how many seconds, and a sentence. */
  tooOld(): readonly { readonly bySeconds: number; readonly message: string }[] {
    const { ageSeconds, dataAgeSeconds, limits } = this;
    const of = (age: number | null, most: number, flag: string, what: string) =>
      most > 0 && (age ?? 0) > most
        ? [
            {
              bySeconds: age! - most,
              message: `${what} ${Math.round(age!)} s ago; ${flag} allows ${most} s.`,
            },
          ]
        : [];
    return [
      ...of(ageSeconds, limits.maxAge, "--max-age", "The snapshot was last found to be current"),
      ...of(dataAgeSeconds, limits.maxDataAge, "--max-data-age", `The data are of ${this.createdAt},`),
    ];
  }

  readiness(): Readiness {
    const { served } = this.#history;
    const { ageSeconds, createdAt } = this;
    const generation = served?.id ?? null;
    const loadedAt = served?.loadedAt ?? null;
    return { status: this.#status(), generation, loadedAt, ageSeconds, createdAt };
  }

  /** The status in a sentence. */
  reason(): string {
    switch (this.#status()) {
      case "loading":
        return "The first snapshot is being loaded.";
      case "draining":
        return "The server was told to stop: it answers what still arrives and takes no new connections.";
      case "stale":
        return this.tooOld()[0]!.message;
      case "ready":
        return "Requests are answered.";
    }
  }

  #status(): Readiness["status"] {
    if (this.#isDraining) return "draining";
    if (this.#history.url === null) return "loading";
    return this.tooOld().length > 0 ? "stale" : "ready";
  }
}
