/** What is wrong now: the list of `/status`, and what `/metrics` counts of it. */

import type { Observation, ThreadRole } from "../observe/events.ts";
import type { LimitsHistory } from "./limits.ts";
import type { ReadinessKeeper } from "./readiness.ts";
import { PROBLEM_KINDS, type Problem, type ProblemKind } from "./status.ts";

/** How long a thread that died is spoken of, in milliseconds. */
const DEATH_MS = 600_000;

const UNDATED =
  "The snapshot does not say of when its data are (createdAt in its manifest.json), so --max-data-age does nothing.";

/** Threads of one role that died, since the first death that is still spoken of. */
interface Deaths {
  readonly since: string;
  readonly count: number;
  readonly latestAt: number;
  readonly cause: string;
  /** Threads without a successor. */
  readonly missing: number;
}

/** A listener to observations, and to the looks that find the snapshot to be what is served. */
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

  /** The files of the snapshot are the ones that are served. */
  readonly confirmed = (): void => {
    this.#lasting.delete("snapshot-refused");
  };

  observe(observation: Observation): void {
    switch (observation.kind) {
      case "snapshot-refused":
        // Files that still change are read again: nothing is wrong with them yet.
        if (!observation.changing) this.#begin("snapshot-refused", refusedText(observation));
        break;
      case "snapshot-loaded":
        this.#lasting.delete("snapshot-refused");
        // The new generation has a thread of its own.
        this.#replaced("search");
        break;
      case "snapshot-unchanged":
        this.#lasting.delete("snapshot-refused");
        break;
      case "source-failed": {
        const { problem, copy } = observation;
        const text = `The source of the snapshot cannot be used, and the copy of generation ${copy} is served: ${problem}`;
        this.#begin("source-failed", text);
        break;
      }
      case "source-recovered":
        this.#lasting.delete("source-failed");
        break;
      case "keys-refused":
        this.#begin(
          "keys-refused",
          `The keys file was refused, and the keys before stay in force: ${observation.problem}`,
        );
        break;
      case "keys-loaded":
      case "keys-unchanged":
        this.#lasting.delete("keys-refused");
        break;
      case "thread-died":
        this.#died(observation.role, observation.cause);
        break;
      case "thread-replaced":
        this.#replaced(observation.role);
        break;
    }
  }

  /** All of them now. @param now milliseconds since the epoch */
  list(now = Date.now()): readonly Problem[] {
    const all = [...this.#lasting.values(), ...this.#stale(now), ...this.#away(), ...this.#dead(now)];
    return all.sort((a, b) => PROBLEM_KINDS.indexOf(a.kind) - PROBLEM_KINDS.indexOf(b.kind));
  }

  /** How many there are of each kind. */
  counts(): Readonly<Record<ProblemKind, number>> {
    const counts = Object.fromEntries(PROBLEM_KINDS.map((kind) => [kind, 0])) as Record<ProblemKind, number>;
    for (const { kind } of this.list()) counts[kind]++;
    return counts;
  }

  /** Begins one, or says more of one that lasts. */
  #begin(kind: ProblemKind, message: string): void {
    const since = this.#lasting.get(kind)?.since ?? new Date().toISOString();
    this.#lasting.set(kind, { kind, since, message });
  }

  #died(role: ThreadRole, cause: string): void {
    const latestAt = Date.now();
    const before = this.#deaths.get(role);
    const isOver = before === undefined || isForgotten(before, latestAt);
    this.#deaths.set(role, {
      since: isOver ? new Date(latestAt).toISOString() : before.since,
      count: isOver ? 1 : before.count + 1,
      missing: isOver ? 1 : before.missing + 1,
      latestAt,
      cause,
    });
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
    return [
      ...this.#readiness.tooOld().map(({ bySeconds, message }): Problem => {
        return { kind: "data-stale", since: new Date(now - bySeconds * 1000).toISOString(), message };
      }),
      ...(undated ? [{ kind: "data-undated", since: loadedAt, message: UNDATED } as const] : []),
    ];
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
