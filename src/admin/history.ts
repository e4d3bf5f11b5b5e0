/** What was observed since the start, as far as an operator asks for it: loads, keys, threads that died. */

import type { Observation, ThreadRole } from "../observe/events.ts";
import type { GenerationStatus, LoadStatus } from "./status.ts";

/** Loads that are remembered. */
const MOST_LOADS = 20;

/** What is said of a generation for as long as it is served. */
export type ServedStatus = Omit<GenerationStatus, "ageSeconds" | "createdAt" | "dataAgeSeconds">;

/** Figures of a load that loaded nothing. */
export const NOTHING_LOADED = {
  durationMs: null,
  phases: null,
  rows: null,
  read: [],
  kept: [],
  problems: [],
  retryMs: null,
} as const;

/** A listener to observations, beside the log. */
export class History {
  /** Newest first. */
  readonly loads: LoadStatus[] = [];
  readonly restarts: Record<ThreadRole, number> = { search: 0, serving: 0, similar: 0 };
  served: ServedStatus | null = null;
  /** Base URL of the API, once it listens. */
  url: string | null = null;
  /** When the keys file was last read without a problem. */
  keysLoadedAt: string | null = null;
  /** How often it held something new. */
  keysLoads = 0;

  /** Called for each request, too, where accesses are logged. */
  observe(observation: Observation): void {
    switch (observation.kind) {
      case "snapshot-loaded": {
        const { generation, counts, bytes, ms, readMs, packMs, indexMs, read, kept } = observation;
        const phases = { readMs, packMs, indexMs };
        const at = new Date().toISOString();
        this.served = { id: generation, loadedAt: at, rows: counts, bytes };
        this.#note({
          ...NOTHING_LOADED,
          at,
          result: "loaded",
          durationMs: ms,
          phases,
          rows: counts,
          read,
          kept,
        });
        break;
      }
      case "snapshot-unchanged": {
        const { ms, read, kept } = observation;
        this.#note({ ...NOTHING_LOADED, at: now(), result: "unchanged", durationMs: ms, read, kept });
        break;
      }
      case "snapshot-refused": {
        const { problems, retryMs = null } = observation;
        this.#note({ ...NOTHING_LOADED, at: now(), result: "refused", problems, retryMs });
        break;
      }
      case "thread-replaced":
        this.restarts[observation.role]++;
        break;
      case "keys-loaded":
        this.keysLoads++;
        this.keysLoadedAt = now();
        break;
      case "keys-unchanged":
        this.keysLoadedAt = now();
        break;
      case "listening":
        this.url = observation.url;
        break;
    }
  }

  #note(load: Omit<LoadStatus, "generation">): void {
    this.loads.unshift({ ...load, generation: this.served?.id ?? null });
    this.loads.length = Math.min(this.loads.length, MOST_LOADS);
  }
}

function now(): string {
  return new Date().toISOString();
}
