/** Requests of one thread that wait for permits of their keys, for a short time. */

import type { Quota } from "../auth/limit.ts";
import type { SharedCount } from "../auth/shared.ts";
import { type AskAhead, type Leases, takeAlone, takePermit, WAITED } from "./leases.ts";

/** How long a request waits for a permit, in milliseconds. */
export const WAIT_MS = 45;

/**
 * How long it waits for the answer to a question that was sent before it came.
 * Then it asks a question of its own. By the end of its time that one is either
 * answered or so late that the server counts as away.
 */
const JOIN_MS = 4;

/** What this needs of the rest of the program; simulations bring their own. */
export interface WaitingHost {
  /** How long a request waits; {@link WAIT_MS} when absent. */
  readonly waitMs?: number;
  /** The monotonic clock, in milliseconds; the same in all threads. */
  readonly mono: () => number;
  /**
   * Asks for permits; `answered` or `failed` is called later. Does nothing while a question about the key is under way.
   *
   * @param since by the monotonic clock: questions that were sent before it do not count as under way
   */
  readonly ask: (slot: number, limit: number, want: number, since?: number) => void;
  /** @returns stops the timer: from then on it does not call */
  readonly startTimer: (callback: () => void, ms: number) => () => void;
}

/** Counts requests of one thread whose limits are shared with other replicas. */
export interface SharedLimits extends SharedCount {
  /** To be called when the server has answered. @param sent when it was asked, by the monotonic clock */
  readonly answered: (slot: number, sent: number) => void;
  /** To be called when the server could not be asked. */
  readonly failed: (slot: number) => void;
}

interface Waiter {
  readonly limit: number;
  readonly wall: number;
  /** When it came, by the monotonic clock. */
  readonly at: number;
  readonly settle: (quota: Quota) => void;
  stopTimers: () => void;
}

/** Makes what counts for a thread, with a queue of waiting requests for each key. */
export function createSharedLimits(leases: Leases, host: WaitingHost): SharedLimits {
  const queues = new Map<number, Waiter[]>();
  const askAhead: AskAhead = (slot, limit) => {
    if (Atomics.load(leases.away, slot) === 0) host.ask(slot, limit, queues.get(slot)?.length ?? 0);
  };

  function finish(waiter: Waiter, quota: Quota): void {
    waiter.stopTimers();
    waiter.settle(quota);
  }

  /** For a request that was not answered in time, or whose server cannot be asked. */
  function countAlone(slot: number, { limit, wall, at }: Waiter): Quota {
    const mono = host.mono();
    const now = wall + mono - at;
    return (
      takePermit(leases, slot, limit, mono, now, false, ignore) ?? takeAlone(leases, slot, limit, mono, now)
    );
  }

  function wait(slot: number, limit: number, wall: number): Promise<Quota> {
    Atomics.add(leases.tally, WAITED, 1n);
    return new Promise((settle) => {
      const waiter: Waiter = { limit, wall, at: host.mono(), settle, stopTimers: ignore };
      let queue = queues.get(slot);
      if (queue === undefined) {
        queue = [];
        queues.set(slot, queue);
      }
      queue.push(waiter);
      const stopJoining = host.startTimer(() => {
        host.ask(slot, limit, queues.get(slot)!.length, waiter.at);
      }, JOIN_MS);
      const stopWaiting = host.startTimer(() => {
        const waiting = queues.get(slot)!;
        waiting.splice(waiting.indexOf(waiter), 1);
        finish(waiter, countAlone(slot, waiter));
      }, host.waitMs ?? WAIT_MS);
      waiter.stopTimers = () => {
        stopJoining();
        stopWaiting();
      };
      host.ask(slot, limit, queue.length);
    });
  }

  return {
    count(slot, limit, wall) {
      const mono = host.mono();
      const quota = takePermit(leases, slot, limit, mono, wall, false, askAhead);
      if (quota !== undefined) return quota;
      if (Atomics.load(leases.away, slot) !== 0) return takeAlone(leases, slot, limit, mono, wall);
      return wait(slot, limit, wall);
    },
    answered(slot, sent) {
      const queue = queues.get(slot);
      if (queue === undefined) return;
      queues.delete(slot);
      const mono = host.mono();
      const left: Waiter[] = [];
      let more: number | undefined;
      // Asked for once for all of them, below.
      const askLater: AskAhead = (_, limit) => {
        more = limit;
      };
      for (const waiter of queue) {
        const { limit, wall, at } = waiter;
        // A question that was sent before the request came does not say what is left for it.
        const isFresh = at <= sent;
        const quota = takePermit(leases, slot, limit, mono, wall + mono - at, isFresh, askLater);
        if (quota === undefined) left.push(waiter);
        else finish(waiter, quota);
      }
      if (left.length > 0) {
        queues.set(slot, left);
        host.ask(slot, left[0]!.limit, left.length);
      } else if (more !== undefined) askAhead(slot, more);
    },
    failed(slot) {
      const queue = queues.get(slot);
      if (queue === undefined) return;
      queues.delete(slot);
      for (const waiter of queue) finish(waiter, countAlone(slot, waiter));
    },
  };
}

function ignore(): void {}
