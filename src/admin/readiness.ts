/** Whether requests should be sent here, and how old what is served is. */

import type { SnapshotEvents } from "../server/load/snapshot-events.ts";
import type { History } from "./history.ts";
import type { Readiness } from "./status.ts";

/** Follows loads, looks and the stop. Its clock cannot be set. */
export class ReadinessKeeper implements SnapshotEvents {
  readonly #history: History;
  /** 0 for never stale. */
  readonly maxAgeSeconds: number;
  #confirmedAt: number | undefined;
  #loadingSince: number | undefined;
  #progress = 0;
  #isDraining = false;

  constructor(history: History, maxAgeSeconds: number) {
    this.#history = history;
    this.maxAgeSeconds = maxAgeSeconds;
  }

  readonly began = (): void => {
    this.#loadingSince = performance.now();
    this.#progress = 0;
  };

  readonly ended = (): void => {
    this.#loadingSince = undefined;
  };

  readonly confirmed = (ageMs: number): void => {
    this.#confirmedAt = performance.now() - ageMs;
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

  /** The load that is under way. */
  get loading(): { readonly sinceMs: number; readonly progress: number } | null {
    if (this.#loadingSince === undefined) return null;
    const progress = Math.round(this.#progress * 1000) / 1000;
    return { sinceMs: Math.round(performance.now() - this.#loadingSince), progress };
  }

  get ageSeconds(): number | null {
    if (this.#confirmedAt === undefined) return null;
    return Math.max(0, Math.round((performance.now() - this.#confirmedAt) / 100) / 10);
  }

  readiness(): Readiness {
    const { served, url } = this.#history;
    const { ageSeconds } = this;
    const generation = served?.id ?? null;
    const loadedAt = served?.loadedAt ?? null;
    return { status: this.#statusAt(ageSeconds, url !== null), generation, loadedAt, ageSeconds };
  }

  #statusAt(ageSeconds: number | null, isListening: boolean): Readiness["status"] {
    if (this.#isDraining) return "draining";
    if (!isListening) return "loading";
    const isStale = this.maxAgeSeconds > 0 && (ageSeconds ?? 0) > this.maxAgeSeconds;
    return isStale ? "stale" : "ready";
  }
}

/** A readiness in a sentence. */
export function reasonOf({ status, ageSeconds }: Readiness, maxAgeSeconds: number): string {
  switch (status) {
    case "loading":
      return "The first snapshot is being loaded.";
    case "draining":
      return "The server was told to stop: it answers what still arrives and takes no new connections.";
    case "stale":
      return `The snapshot was last found to be current ${Math.round(ageSeconds ?? 0)} s ago; --max-age allows ${maxAgeSeconds} s.`;
    case "ready":
      return "Requests are answered.";
  }
}
