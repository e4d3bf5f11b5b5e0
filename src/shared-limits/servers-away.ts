/** The counter servers that cannot be asked; observes each loss and each return once. */

import type { AwayServer } from "../auth/shared.ts";
import type { Observe } from "../observe/events.ts";

export class ServersAway {
  readonly #alone: boolean;
  readonly #away = new Map<string, AwayServer>();
  losses = 0;
  since = new Date(performance.timeOrigin).toISOString();
  observe: Observe = () => {};

  /** @param alone whether requests are counted alone meanwhile, not refused */
  constructor(alone: boolean) {
    this.#alone = alone;
  }

  get away(): readonly AwayServer[] {
    return [...this.#away.values()];
  }

  lose(server: string, problem: string): void {
    const known = this.#away.get(server);
    const since = known?.since ?? new Date().toISOString();
    this.#away.set(server, { server, since, problem });
    if (known !== undefined) return;
    if (this.#away.size === 1) this.since = since;
    this.losses++;
    this.observe({ kind: "limits-away", server, problem, alone: this.#alone });
  }

  comeBack(server: string): void {
    const known = this.#away.get(server);
    if (known === undefined) return;
    this.#away.delete(server);
    if (this.#away.size === 0) this.since = new Date().toISOString();
    this.observe({ kind: "limits-back", server, ms: Date.now() - Date.parse(known.since) });
  }
}
