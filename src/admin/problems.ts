/**
 * Current problems: the counter servers of shared limits that are away, and the list of `/status`, which `/metrics`
 * counts.
 */

import type { SharedLimitsPlan } from "../auth/shared.ts";
import type { Observation, ThreadRole } from "../observe/events.ts";
import type { SharedLimitsFigures } from "../observe/metrics/exposition.ts";
import type { ReadinessKeeper } from "./history.ts";
import {
  type AwayServer,
  type LimitsStatus,
  PROBLEM_KINDS,
  type Problem,
  type ProblemKind,
} from "./status.ts";

/** Settings of shared limits that `/status` repeats for operators. */
export type LimitsSettings = Pick<SharedLimitsPlan, "replicas" | "denies">;

/** Tracks from observations which counter servers are away. */
export class LimitsHistory {
  /** Undefined if limits are not shared. */
  readonly settings: LimitsSettings | undefined;
  readonly #away = new Map<string, AwayServer>();
  #losses = 0;
  /** When the first server went away, or the last one came back. */
  #since = new Date(performance.timeOrigin).toISOString();

  constructor(settings: LimitsSettings | undefined) {
    this.settings = settings;
  }

  observe(observation: Observation): void {
    if (observation.kind === "limits-away") {
      const { server, problem } = observation;
      const at = new Date().toISOString();
      if (this.#away.size === 0) this.#since = at;
      if (!this.#away.has(server)) this.#losses++;
      this.#away.set(server, { server, since: this.#away.get(server)?.since ?? at, problem });
    } else if (observation.kind === "limits-back") {
      this.#away.delete(observation.server);
      if (this.#away.size === 0) this.#since = new Date().toISOString();
    }
  }

  get away(): readonly AwayServer[] {
    return [...this.#away.values()];
  }

  /** @param figures undefined until the first snapshot is loaded */
  status(figures: SharedLimitsFigures | undefined): LimitsStatus {
    const { settings, away } = this;
    if (settings === undefined) {
      const none = { server: null, since: null, whenAway: null, replicas: null, requests: null };
      return { shared: false, losses: 0, away: [], ...none };
    }
    return {
      shared: true,
      server: away.length > 0 ? "away" : "reachable",
      since: this.#since,
      losses: this.#losses,
      away,
      whenAway: settings.denies ? "deny" : "share",
      replicas: settings.replicas,
      requests: figures ? { waited: figures.waited, alone: figures.alone, refused: figures.refused } : null,
    };
  }
}

/** How long a thread's death is reported, in milliseconds. */
const DEATH_MS = 600_000;

const UNDATED =
  "The snapshot does not say of when its data are (createdAt in its manifest.json), so --max-data-age does nothing.";

/** Observations that end a problem. */
const ENDS: ReadonlyMap<Observation["kind"], ProblemKind> = new Map([
  ["snapshot-loaded", "snapshot-refused"],
  ["snapshot-unchanged", "snapshot-refused"],
  ["source-recovered", "source-failed"],
  ["keys-loaded", "keys-refused"],
  ["keys-unchanged", "keys-refused"],
]);

/** Deaths of threads of one role, since the first one that is still reported. */
interface Deaths {
  readonly since: string;
  readonly count: number;
  readonly latestAt: number;
  readonly cause: string;
  /** Threads that died and are not yet replaced. */
  readonly missing: number;
}

/** Tracks problems from observations, and from checks that find the served snapshot to be current. */
export class RecentProblems {
  readonly #readiness: ReadinessKeeper;
  readonly #limits: LimitsHistory;
  /** Problems that an observation begins and another one ends. */
  readonly #lasting = new Map<ProblemKind, Problem>();
  readonly #deaths = new Map<ThreadRole, Deaths>();

  constructor(readiness: ReadinessKeeper, limits: LimitsHistory) {
    this.#readiness = readiness;
    this.#limits = limits;
  }

  /** Called when the served snapshot was found to be current. */
  readonly confirmed = (): void => {
    this.#lasting.delete("snapshot-refused");
  };

  observe(observation: Observation): void {
    const ended = ENDS.get(observation.kind);
    if (ended !== undefined) this.#lasting.delete(ended);
    switch (observation.kind) {
      case "snapshot-refused":
        // Files that still change are read again: they are no problem yet.
        if (!observation.changing) this.#begin(observation.kind, refusedText(observation));
        break;
      case "snapshot-loaded":
        // The new generation has its own search thread.
        this.#replaced("search");
        break;
      case "source-failed": {
        const { kind, problem, copy } = observation;
        const served = `the copy of generation ${copy} is served`;
        this.#begin(kind, `The source of the snapshot cannot be used, and ${served}: ${problem}`);
        break;
      }
      case "keys-refused": {
        const { kind, problem } = observation;
        this.#begin(kind, `The keys file was refused, and the keys before stay in force: ${problem}`);
        break;
      }
      case "thread-died":
        this.#died(observation.role, observation.cause);
        break;
      case "thread-replaced":
        this.#replaced(observation.role);
        break;
    }
  }

  /** All current problems. @param now milliseconds since the epoch */
  list(now = Date.now()): readonly Problem[] {
    const all = [...this.#lasting.values(), ...this.#stale(now), ...this.#away(), ...this.#dead(now)];
    return all.sort((a, b) => PROBLEM_KINDS.indexOf(a.kind) - PROBLEM_KINDS.indexOf(b.kind));
  }

  /** Number of problems of each kind. */
  counts(): Readonly<Record<ProblemKind, number>> {
    const counts = Object.fromEntries(PROBLEM_KINDS.map((kind) => [kind, 0])) as Record<ProblemKind, number>;
    for (const { kind } of this.list()) counts[kind]++;
    return counts;
  }

  /** Begins a problem, or updates the message of a lasting one. */
  #begin(kind: ProblemKind, message: string): void {
    const since = this.#lasting.get(kind)?.since ?? new Date().toISOString();
    this.#lasting.set(kind, { kind, since, message });
  }

  #died(role: ThreadRole, cause: string): void {
    const latestAt = Date.now();
    const known = this.#deaths.get(role);
    const before = known === undefined || isForgotten(known, latestAt) ? undefined : known;
    const { since = new Date(latestAt).toISOString(), count = 0, missing = 0 } = before ?? {};
    this.#deaths.set(role, { since, count: count + 1, missing: missing + 1, latestAt, cause });
  }

  #replaced(role: ThreadRole): void {
    const deaths = this.#deaths.get(role);
    if (deaths === undefined) return;
    const missing = role === "serving" ? Math.max(0, deaths.missing - 1) : 0;
    this.#deaths.set(role, { ...deaths, missing });
  }

  #stale(now: number): Problem[] {
    const { status, createdAt, loadedAt } = this.#readiness.readiness();
    if (status !== "stale" && status !== "ready") return [];
    const undated = createdAt === null && loadedAt !== null && this.#readiness.limits.maxDataAge > 0;
    const old = this.#readiness.tooOld().map(({ bySeconds, message }): Problem => {
      return { kind: "data-stale", since: new Date(now - bySeconds * 1000).toISOString(), message };
    });
    return undated ? [...old, { kind: "data-undated", since: loadedAt, message: UNDATED }] : old;
  }

  #away(): Problem[] {
    const { away, settings } = this.#limits;
    const meanwhile = settings?.denies
      ? "Requests without a permit are answered with 429."
      : `Requests are counted alone, within the limit divided by ${settings?.replicas ?? 1}.`;
    return away.map(({ server, since, problem }) => ({
      kind: "limits-away",
      since,
      message: `The server of shared limits ${server} cannot be asked: ${problem}. ${meanwhile}`,
    }));
  }

  #dead(now: number): Problem[] {
    return [...this.#deaths]
      .filter(([, deaths]) => !isForgotten(deaths, now))
      .map(([role, deaths]) => ({
        kind: "thread-died",
        since: deaths.since,
        message: deathText(role, deaths),
      }));
  }
}

function isForgotten({ latestAt, missing }: Deaths, now: number): boolean {
  return missing === 0 && now - latestAt > DEATH_MS;
}

function refusedText({ problems, serving }: Extract<Observation, { kind: "snapshot-refused" }>): string {
  const more = problems.length > 1 ? ` (the first of ${problems.length} lines; all are in loads)` : "";
  return `A snapshot was refused, and generation ${serving} is still served: ${problems[0]}${more}`;
}

function deathText(role: ThreadRole, { count, cause, missing }: Deaths): string {
  const died = count === 1 ? `A ${role} thread died` : `${count} ${role} threads died, the latest`;
  const now = missing > 0 ? "It is not replaced yet." : "It was replaced.";
  return `${died}: ${cause}. ${now}`;
}
