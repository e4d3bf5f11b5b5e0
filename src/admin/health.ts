/** The health of the server: what observations since the start tell (loads, keys, problems), and whether it is ready for requests. */

import { parseTime, secondsAhead } from "../model/time.ts";
import { type Observation, type RoundsStatus, rowOf, type Tables } from "../observe/events.ts";
import type { SnapshotEvents } from "../server/load/loader.ts";
import type { Settings } from "../settings/settings.ts";
import { noWorldsText } from "../snapshot/loaded.ts";
import {
  type LoadStatus,
  PROBLEM_KINDS,
  type Problem,
  type ProblemKind,
  type Readiness,
  type ServedStatus,
  type Status,
} from "./status.ts";

const UNDATED = "The snapshot has no manifest.json with createdAt, so --max-data-age has no effect.";

const MOST_LOADS = 20;

const NO_FIGURES = {
  durationMs: null,
  phases: null,
  rows: null,
  read: [],
  kept: [],
  problems: [],
  retryMs: null,
} as const;

const NO_ROUNDS: RoundsStatus = {
  lastSuccessAt: null,
  lastSeconds: null,
  lastDetails: null,
  lastFailureAt: null,
  lastFailure: null,
};

const REASONS = {
  loading: "The first snapshot is being loaded.",
  draining: "The server was told to stop: it answers what still arrives and takes no new connections.",
  ready: "Requests are answered.",
} as const;

/**
 * Collects observations, beside the log, and tracks loads, checks and the stop: these by a monotonic clock, while the age
 * of the data follows the system clock.
 */
export class Health implements SnapshotEvents {
  /** Maximum age of the data in seconds; 0 for no limit. */
  readonly maxDataAge: number;
  /** Newest first. */
  readonly loads: LoadStatus[] = [];
  served: ServedStatus | null = null;
  /** Base URL of the API, once it listens. */
  url: string | null = null;
  /** When the keys file was last read without a problem. */
  keysLoadedAt: string | null = null;
  /** `createdAt` in the manifest of the served data; null if it has no valid one, and before the first load. */
  createdAt: string | null = null;
  /** Null until a round has ended. */
  rounds: RoundsStatus | null = null;
  readonly #events: Tables["events"];
  /** Problems that events began, by kind; `until` is when one ends without an event, in milliseconds since the epoch. */
  readonly #begun = new Map<string, { readonly problem: Problem; readonly until: number }>();
  #confirmedAt: number | undefined;
  #loadingSince: number | undefined;
  /** Share of the snapshot's bytes read so far, 0 to 1. */
  progress = 0;
  isDraining = false;

  constructor({ maxDataAge }: Pick<Settings, "maxDataAge">, events: Tables["events"]) {
    this.maxDataAge = maxDataAge;
    this.#events = events;
  }

  /** Called for each request, too, if accesses are logged. */
  observe(observation: Observation): void {
    const { round, ends, problem, problemMs } = rowOf(this.#events, observation);
    if (round !== undefined) this.rounds = { ...(this.rounds ?? NO_ROUNDS), ...round(observation) };
    if (ends !== undefined) this.#begun.delete(ends);
    const message = problem?.(observation);
    // A test holds the list of kinds to the rows.
    if (message !== undefined) this.#begin(observation.kind as ProblemKind, message, problemMs);
    switch (observation.kind) {
      case "snapshot-loaded": {
        const { generation: id, counts: rows, hiddenWorlds, bytes, ms: durationMs, read, kept } = observation;
        const { readMs, packMs, indexMs } = observation;
        this.served = { id, loadedAt: now(), rows, bytes };
        this.#note("loaded", { durationMs, phases: { readMs, packMs, indexMs }, rows, read, kept });
        if (rows.worlds === 0 && hiddenWorlds > 0) this.#begin("worlds-hidden", noWorldsText(hiddenWorlds));
        else this.#begun.delete("worlds-hidden");
        break;
      }
      case "snapshot-unchanged": {
        const { ms: durationMs, read, kept } = observation;
        this.#note("unchanged", { durationMs, read, kept });
        break;
      }
      case "snapshot-refused": {
        const { changing, problems, retryMs = null } = observation;
        this.#note(changing ? "changing" : "refused", { problems, retryMs });
        break;
      }
      case "keys-loaded":
      case "keys-unchanged":
        this.keysLoadedAt = now();
        break;
      case "listening":
        this.url = observation.url;
        break;
      case "stopping":
        this.isDraining = true;
        break;
    }
  }

  /** @param lastsMs when no event ends it */
  #begin(kind: ProblemKind, message: string, lastsMs = Number.POSITIVE_INFINITY): void {
    const before = this.#begun.get(kind);
    const since = before && Date.now() < before.until ? before.problem.since : now();
    this.#begun.set(kind, { problem: { kind, since, message }, until: Date.now() + lastsMs });
  }

  #note(result: LoadStatus["result"], figures: Partial<LoadStatus>): void {
    this.loads.unshift(this.makeLoad(result, figures));
    this.loads.length = Math.min(this.loads.length, MOST_LOADS);
  }

  /** A load that ended now. @param figures all others are unknown */
  makeLoad(result: LoadStatus["result"], figures: Partial<LoadStatus>): LoadStatus {
    return { ...NO_FIGURES, ...figures, at: now(), result, generation: this.served?.id ?? null };
  }

  readonly began = (): void => {
    this.#loadingSince = performance.now();
    this.progress = 0;
  };

  readonly ended = (): void => {
    this.#loadingSince = undefined;
  };

  readonly confirmed: SnapshotEvents["confirmed"] = (ageMs, createdAt) => {
    this.#confirmedAt = performance.now() - ageMs;
    // In a prepared file it was never validated.
    this.createdAt = createdAt === undefined || Number.isNaN(parseTime(createdAt)) ? null : createdAt;
  };

  get loading(): Status["loading"] {
    if (this.#loadingSince === undefined) return null;
    const progress = Math.round(this.progress * 1000) / 1000;
    return { sinceMs: Math.round(performance.now() - this.#loadingSince), progress };
  }

  get ageSeconds(): number | null {
    if (this.#confirmedAt === undefined) return null;
    return Math.max(0, Math.round((performance.now() - this.#confirmedAt) / 100) / 10);
  }

  /** Seconds since {@link createdAt}; null if that is unknown. */
  get dataAgeSeconds(): number | null {
    if (this.createdAt === null) return null;
    return Math.max(0, Math.round((Date.now() - parseTime(this.createdAt)) / 100) / 10);
  }

  /** Data that are too old: by how many seconds, and a sentence; else undefined. */
  tooOld(): { readonly bySeconds: number; readonly message: string } | undefined {
    const { dataAgeSeconds: age, maxDataAge: most } = this;
    if (most === 0 || age === null || age <= most) return undefined;
    const message = `The data are of ${this.createdAt}, ${Math.round(age)} s ago; --max-data-age allows ${most} s.`;
    return { bySeconds: age - most, message };
  }

  /** All current problems: those that events began, and those of the served data. */
  problems(): readonly Problem[] {
    const now = Date.now();
    const begun = [...this.#begun.values()].flatMap(({ problem, until }) => (now < until ? problem : []));
    const all = [...begun, ...this.#problemsOfData(now)];
    return all.sort((a, b) => PROBLEM_KINDS.indexOf(a.kind) - PROBLEM_KINDS.indexOf(b.kind));
  }

  /** By kind: 1 for a current problem, else 0. */
  problemCounts(): Readonly<Record<string, number>> {
    const kinds = this.problems().map(({ kind }) => kind);
    return Object.fromEntries(PROBLEM_KINDS.map((kind) => [kind, Number(kinds.includes(kind))]));
  }

  /** @param now milliseconds since the epoch */
  #problemsOfData(now: number): Problem[] {
    const problems: Problem[] = [];
    const status = this.#status();
    if (this.served === null || (status !== "stale" && status !== "ready")) return problems;
    const old = this.tooOld();
    const since = old ? new Date(now - old.bySeconds * 1000).toISOString() : this.served.loadedAt;
    const ahead = secondsAhead(this.createdAt ?? undefined, now);
    const message = `The data are of ${this.createdAt}, ${ahead} s ahead of this machine's clock: one of the clocks is wrong.`;
    if (old) problems.push({ kind: "data-stale", since, message: old.message });
    if (ahead !== 0) problems.push({ kind: "data-ahead", since, message });
    if (this.createdAt === null && this.maxDataAge > 0)
      problems.push({ kind: "data-undated", since, message: UNDATED });
    return problems;
  }

  readiness(): Readiness {
    const { id: generation = null, loadedAt = null } = this.served ?? {};
    const { ageSeconds, createdAt } = this;
    return { status: this.#status(), generation, loadedAt, ageSeconds, createdAt };
  }

  /** The status in a sentence. */
  reason(): string {
    const status = this.#status();
    return status === "stale" ? this.tooOld()!.message : REASONS[status];
  }

  #status(): Readiness["status"] {
    if (this.isDraining) return "draining";
    if (this.url === null) return "loading";
    return this.tooOld() ? "stale" : "ready";
  }
}

function now(): string {
  return new Date().toISOString();
}
