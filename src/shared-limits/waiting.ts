/** Counts requests of one thread: a request without a permit waits for an answer about its key, for a short time. */

import type { Quota } from "../auth/limit.ts";
import type { SharedCount, ThreadCount } from "../auth/shared.ts";
import { type Clocks, type Leases, WAITED } from "./leases.ts";
import { monotonic, startRealTimer } from "./monotonic.ts";
import { type Taking, takeAlone, takePermit } from "./permits.ts";

export const WAIT_MS = 45;

/**
 * How long a request waits for the answer to an earlier question. After that it asks itself. If that
 * answer is late too, the server counts as unreachable.
 */
const JOIN_MS = 4;

/** Dependencies; simulations pass their own. */
export interface WaitingHost {
  readonly waitMs?: number | undefined;
  readonly mono: () => number;
  /**
   * Asks for permits, unless a question is pending. @param since questions sent before this do not count as pending
   */
  readonly ask: (slot: number, limit: number, want: number, since?: number) => void;
  /** @returns a function that stops the timer for good */
  readonly startTimer: (callback: () => void, ms: number) => () => void;
}

interface Waiter {
  readonly limit: number;
  readonly at: Clocks;
  readonly settle: (quota: Quota) => void;
  stopTimers: () => void;
}

/** Counts requests of one thread under shared limits: each key has a queue of waiting requests. */
export class WaitingRequests implements SharedCount {
  readonly #leases: Leases;
  readonly #host: WaitingHost;
  readonly #queues = new Map<number, Waiter[]>();
  readonly #taking: Taking = { isFresh: false, askAhead: (slot, limit) => this.#askAhead(slot, limit) };

  constructor(leases: Leases, host: WaitingHost) {
    this.#leases = leases;
    this.#host = host;
  }

  readonly count: SharedCount["count"] = (slot, limit, wall) => {
    const leases = this.#leases;
    const at = { mono: this.#host.mono(), wall };
    const quota = takePermit(leases, slot, limit, at, this.#taking);
    if (quota !== undefined) return quota;
    return Atomics.load(leases.away, slot) === 0
      ? this.#wait(slot, limit, at)
      : takeAlone(leases, slot, limit, at);
  };

  /** Call it when the server has answered or could not be asked. @param sent when it was asked; undefined if it could not be */
  settle(slot: number, sent: number | undefined): void {
    const queue = this.#queues.get(slot);
    if (queue === undefined) return;
    this.#queues.delete(slot);
    if (sent === undefined) {
      for (const waiter of queue) this.#finishAlone(slot, waiter);
    } else this.#answer(slot, queue, sent);
  }

  #answer(slot: number, queue: readonly Waiter[], sent: number): void {
    const left: Waiter[] = [];
    let more: number | undefined;
    // Asked once for all waiters, below.
    const askAhead: Taking["askAhead"] = (_, limit) => {
      more = limit;
    };
    for (const waiter of queue) {
      // The answer to a question sent before the request came does not hold for the request.
      const taking = { isFresh: waiter.at.mono <= sent, askAhead };
      const quota = takePermit(this.#leases, slot, waiter.limit, this.#now(waiter), taking);
      if (quota === undefined) left.push(waiter);
      else finish(waiter, quota);
    }
    if (left.length > 0) {
      this.#queues.set(slot, left);
      this.#host.ask(slot, left[0]!.limit, left.length);
    } else if (more !== undefined) this.#askAhead(slot, more);
  }

  #askAhead(slot: number, limit: number): void {
    if (Atomics.load(this.#leases.away, slot) === 0)
      this.#host.ask(slot, limit, this.#queues.get(slot)?.length ?? 0);
  }

  #now({ at }: Waiter): Clocks {
    const mono = this.#host.mono();
    return { mono, wall: at.wall + mono - at.mono };
  }

  /** Counts a request if no answer came in time, or if its server cannot be asked. */
  #finishAlone(slot: number, waiter: Waiter): void {
    finish(waiter, takeAlone(this.#leases, slot, waiter.limit, this.#now(waiter)));
  }

  #wait(slot: number, limit: number, at: Clocks): Promise<Quota> {
    Atomics.add(this.#leases.tally, WAITED, 1n);
    return new Promise((settle) => {
      const waiter: Waiter = { limit, at, settle, stopTimers() {} };
      const queue = this.#queues.get(slot) ?? [];
      this.#queues.set(slot, queue);
      queue.push(waiter);
      const { ask, startTimer, waitMs = WAIT_MS } = this.#host;
      const stopJoining = startTimer(() => {
        ask(slot, limit, this.#queues.get(slot)!.length, at.mono);
      }, JOIN_MS);
      const stopWaiting = startTimer(() => {
        const waiting = this.#queues.get(slot)!;
        waiting.splice(waiting.indexOf(waiter), 1);
        this.#finishAlone(slot, waiter);
      }, waitMs);
      waiter.stopTimers = () => {
        stopJoining();
        stopWaiting();
      };
      ask(slot, limit, queue.length);
    });
  }
}

function finish(waiter: Waiter, quota: Quota): void {
  waiter.stopTimers();
  waiter.settle(quota);
}

/** To the main thread: asks the counter server for permits of a key; `since` as in `asking.ts`. */
export interface PermitQuestion {
  readonly slot: number;
  readonly limit: number;
  readonly want: number;
  readonly since: number | undefined;
}

/** From the main thread: the counter server was asked, or could not be. */
export interface PermitAnswer {
  readonly slot: number;
  readonly sent: number | undefined;
}

/** Counts in a thread that asks through the main thread. @param handed the leases, in shared memory */
export function countInThread(handed: unknown, send: (message: unknown) => void): ThreadCount {
  const asked = new Set<number>();
  const requests = new WaitingRequests(handed as Leases, {
    mono: monotonic,
    ask(slot, limit, want, since) {
      if (since === undefined && asked.has(slot)) return;
      asked.add(slot);
      send({ slot, limit, want, since } satisfies PermitQuestion);
    },
    startTimer: startRealTimer,
  });
  return {
    count: requests.count,
    receive(message) {
      const { slot, sent } = message as PermitAnswer;
      asked.delete(slot);
      requests.settle(slot, sent);
    },
  };
}
