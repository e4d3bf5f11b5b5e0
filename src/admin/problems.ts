/** The list of problems in `/status`, which `/metrics` counts, and its part on shared limits. */

import type { SharedLimits } from "../auth/shared.ts";
import { type Observation, rowOf, type Tables, type ThreadRole } from "../observe/events.ts";
import { noWorldsText } from "../snapshot/loaded.ts";
import type { History } from "./history.ts";
import { PROBLEM_KINDS, type Problem, type ProblemKind, type Status } from "./status.ts";

/** The status of shared limits. */
export function limitsStatus(limits: SharedLimits | undefined): Status["limits"] {
  if (limits === undefined)
    return {
      shared: false,
      server: null,
      since: null,
      losses: 0,
      problem: null,
      replicas: null,
      requests: null,
    };
  const { problem, since, losses, replicas } = limits;
  const { alone, refused } = limits.figures();
  const server = problem === null ? "reachable" : "away";
  return { shared: true, server, since, losses, problem, replicas, requests: { alone, refused } };
}

/** How long a thread's death, or the loss of log lines, is reported, in milliseconds. */
const REPORTED_MS = 600_000;

const UNDATED = "The snapshot has no manifest.json with createdAt, so --max-data-age has no effect.";

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
  readonly #events: Tables["events"];
  readonly #history: History;
  readonly #limits: SharedLimits | undefined;
  /** Problems that an observation begins and another one ends. */
  readonly #lasting = new Map<string, Problem>();
  readonly #deaths = new Map<ThreadRole, Deaths>();
  /** Dropped log lines, since the first one that is still reported. */
  #dropped: { readonly since: string; readonly count: number; readonly latestAt: number } | undefined;

  constructor(events: Tables["events"], history: History, limits: SharedLimits | undefined) {
    this.#events = events;
    this.#history = history;
    this.#limits = limits;
  }

  /** Called when the served snapshot was found to be current. */
  readonly confirmed = (): void => {
    this.#end("snapshot-refused");
  };

  observe(observation: Observation): void {
    const { problem, ends } = rowOf(this.#events, observation);
    if (ends !== undefined) this.#end(ends);
    const message = problem?.(observation);
    // A test holds the list of kinds to the rows.
    if (message !== undefined) this.#begin(observation.kind as ProblemKind, message);
    switch (observation.kind) {
      case "snapshot-loaded": {
        const { counts, hiddenWorlds } = observation;
        if (counts.worlds === 0 && hiddenWorlds > 0) this.#begin("worlds-hidden", noWorldsText(hiddenWorlds));
        else this.#end("worlds-hidden");
        break;
      }
      case "thread-died":
        this.#died(observation.role, observation.cause);
        break;
      case "thread-replaced":
        this.#replaced(observation.role);
        break;
      case "log-lines-dropped":
        this.#drop(observation.count);
        break;
    }
  }

  /** Begins a problem, or gives one that lasts another message. */
  #begin(kind: ProblemKind, message: string): void {
    const since = this.#lasting.get(kind)?.since ?? new Date().toISOString();
    this.#lasting.set(kind, { kind, since, message });
  }

  #end(kind: string): void {
    this.#lasting.delete(kind);
  }

  /** All current problems. @param now milliseconds since the epoch */
  list(now = Date.now()): readonly Problem[] {
    const all = [
      ...this.#lasting.values(),
      ...this.#stale(now),
      ...this.#away(),
      ...this.#dead(now),
      ...this.#lost(now),
    ];
    return all.sort((a, b) => PROBLEM_KINDS.indexOf(a.kind) - PROBLEM_KINDS.indexOf(b.kind));
  }

  /** Number of problems of each kind. */
  counts(): Readonly<Record<string, number>> {
    const kinds = this.list().map(({ kind }) => kind);
    return Object.fromEntries(PROBLEM_KINDS.map((one) => [one, kinds.filter((kind) => kind === one).length]));
  }

  #died(role: ThreadRole, cause: string): void {
    const latestAt = Date.now();
    const known = this.#deaths.get(role);
    const before = known && !isForgotten(known, latestAt) ? known : undefined;
    const { since = new Date(latestAt).toISOString(), count = 0, missing = 0 } = before ?? {};
    this.#deaths.set(role, { since, count: count + 1, missing: missing + 1, latestAt, cause });
  }

  #replaced(role: ThreadRole): void {
    const deaths = this.#deaths.get(role);
    if (deaths === undefined) return;
    const missing = role === "serving" ? Math.max(0, deaths.missing - 1) : 0;
    this.#deaths.set(role, { ...deaths, missing });
  }

  /** @param count of log lines; called for each one while many are dropped */
  #drop(count: number): void {
    const latestAt = Date.now();
    const { since, count: before } =
      this.#lost(latestAt).length > 0
        ? this.#dropped!
        : { since: new Date(latestAt).toISOString(), count: 0 };
    this.#dropped = { since, count: before + count, latestAt };
  }

  #lost(now: number): Problem[] {
    if (this.#dropped === undefined || now - this.#dropped.latestAt > REPORTED_MS) return [];
    const { since, count } = this.#dropped;
    const message = `Log lines were dropped (${count}), since they could not be written fast enough or at all.`;
    return [{ kind: "log-lines-dropped", since, message }];
  }

  #stale(now: number): Problem[] {
    const { status, createdAt, loadedAt } = this.#history.readiness();
    if (status !== "stale" && status !== "ready") return [];
    const undated = createdAt === null && loadedAt !== null && this.#history.maxDataAge > 0;
    if (undated) return [{ kind: "data-undated", since: loadedAt, message: UNDATED }];
    const old = this.#history.tooOld();
    if (old === undefined) return [];
    const since = new Date(now - old.bySeconds * 1000).toISOString();
    return [{ kind: "data-stale", since, message: old.message }];
  }

  #away(): Problem[] {
    if (this.#limits === undefined || this.#limits.problem === null) return [];
    const { server, problem, since, replicas } = this.#limits;
    const message =
      `The server of shared limits ${server} cannot be asked: ${problem}. ` +
      `Requests are counted alone, within the limit divided by ${replicas}.`;
    return [{ kind: "limits-away", since, message }];
  }

  #dead(now: number): Problem[] {
    return [...this.#deaths].flatMap(([role, deaths]) =>
      isForgotten(deaths, now)
        ? []
        : { kind: "thread-died", since: deaths.since, message: deathText(role, deaths) },
    );
  }
}

function isForgotten({ latestAt, missing }: Deaths, now: number): boolean {
  return missing === 0 && now - latestAt > REPORTED_MS;
}

function deathText(role: ThreadRole, { count, cause, missing }: Deaths): string {
  const died = count === 1 ? `A ${role} thread died` : `${count} ${role} threads died, the latest`;
  const now = missing > 0 ? "It is not replaced yet." : "It was replaced.";
  return `${died}: ${cause}. ${now}`;
}
