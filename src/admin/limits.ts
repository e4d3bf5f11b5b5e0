/** What is known of the counter servers of shared limits: which are away, since when, and how often one was lost. */

import type { SharedLimitsPlan } from "../auth/shared.ts";
import type { Observation } from "../observe/events.ts";
import type { SharedLimitsFigures } from "../observe/metrics/families.ts";
import type { AwayServer, LimitsStatus } from "./status.ts";

/** How limits are shared: what an operator wants to be reminded of. */
export type LimitsSettings = Pick<SharedLimitsPlan, "replicas" | "denies">;

/** A listener to observations. */
export class LimitsHistory {
  readonly settings: LimitsSettings | undefined;
  readonly #away = new Map<string, AwayServer>();
  #losses = 0;
  /** When the first server went away, or the last one came back. */
  #since = new Date(performance.timeOrigin).toISOString();

  /** @param settings undefined where limits are not shared */
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
