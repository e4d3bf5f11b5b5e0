/** The counter servers that cannot be asked, by one or more threads; observes each loss and each return once. */

import type { AwayServer } from "../auth/shared.ts";
import type { Observe } from "../observe/events.ts";

interface Loss extends AwayServer {
  /** Numbers of the threads that cannot ask it. */
  readonly threads: Set<number>;
}

export class ServersAway {
  readonly #alone: boolean;
  readonly #away = new Map<string, Loss>();
  losses = 0;
  since = new Date(performance.timeOrigin).toISOString();
  observe: Observe = () => {};

  /** @param alone whether requests are counted alone meanwhile, not refused */
  constructor(alone: boolean) {
    this.#alone = alone;
  }

  get away(): readonly AwayServer[] {
    return [...this.#away.values()].map(({ server, since, problem }) => ({ server, since, problem }));
  }

  lose(thread: number, server: string, problem: string): void {
    const known = this.#away.get(server);
    const since = known?.since ?? new Date().toISOString();
    const threads = (known?.threads ?? new Set()).add(thread);
    this.#away.set(server, { server, since, problem, threads });
    if (known !== undefined) return;
    if (this.#away.size === 1) this.since = since;
    this.losses++;
    this.observe({ kind: "limits-away", server, problem, alone: this.#alone });
  }

  comeBack(thread: number, server: string): void {
    const known = this.#away.get(server);
    if (!known?.threads.delete(thread) || known.threads.size > 0) return;
    this.#away.delete(server);
    if (this.#away.size === 0) this.since = new Date().toISOString();
    this.observe({ kind: "limits-back", server, ms: Date.now() - Date.parse(known.since) });
  }

  /** A thread has ended. */
  forget(thread: number): void {
    for (const server of [...this.#away.keys()]) this.comeBack(thread, server);
  }
}
