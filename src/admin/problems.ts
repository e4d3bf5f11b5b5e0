/** The list of problems in `/status`, which `/metrics` counts, and its part on shared limits. */

import type { SharedLimits } from "../auth/shared.ts";
import { type Observation, rowOf, type Tables } from "../observe/events.ts";
import type { History } from "./history.ts";
import { PROBLEM_KINDS, type Problem, type ProblemKind, type Status } from "./status.ts";

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

/** Tracks problems that events begin, and lists them with those of the served data. */
export class RecentProblems {
  readonly #events: Tables["events"];
  readonly #history: History;
  /** By kind; `until` is when a problem ends without an event, in milliseconds since the epoch. */
  readonly #begun = new Map<string, Problem & { readonly until: number }>();

  constructor(events: Tables["events"], history: History) {
    this.#events = events;
    this.#history = history;
  }

  /** Called when the served snapshot was found to be current. */
  readonly confirmed = (): void => {
    this.#begun.delete("snapshot-refused");
  };

  observe(observation: Observation): void {
    const { problem, problemMs, ends } = rowOf(this.#events, observation);
    if (ends !== undefined) this.#begun.delete(ends);
    const message = problem?.(observation);
    if (message === undefined) return;
    const now = Date.now();
    // A test holds the list of kinds to the rows.
    const kind = observation.kind as ProblemKind;
    const before = this.#begun.get(kind);
    const since = before && now < before.until ? before.since : new Date(now).toISOString();
    const until = problemMs === undefined ? Number.POSITIVE_INFINITY : now + problemMs;
    this.#begun.set(kind, { kind, since, message, until });
  }

  /** All current problems. @param now milliseconds since the epoch */
  list(now = Date.now()): readonly Problem[] {
    const lasting = [...this.#begun.values()].filter(({ until }) => now < until);
    const begun = lasting.map(({ until: _, ...problem }) => problem);
    const placeOf = ({ kind }: Problem): number => PROBLEM_KINDS.indexOf(kind);
    return [...begun, ...this.#history.problems(now)].sort((a, b) => placeOf(a) - placeOf(b));
  }

  counts(): Readonly<Record<string, number>> {
    const kinds = this.list().map(({ kind }) => kind);
    return Object.fromEntries(PROBLEM_KINDS.map((one) => [one, kinds.filter((kind) => kind === one).length]));
  }
}
