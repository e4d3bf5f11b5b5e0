/** Counting in a thread that asks the counter server by way of the main thread. */

import type { ThreadCount } from "../auth/shared.ts";
import type { Leases } from "./leases.ts";
import { monotonic, startRealTimer } from "./monotonic.ts";
import { createSharedLimits } from "./waiting.ts";

/** To the main thread: asks the counter server for permits of a key; `since` as in `asking.ts`. */
export interface PermitQuestion {
  readonly slot: number;
  readonly limit: number;
  readonly want: number;
  readonly since: number | undefined;
}

/** From it: the counter server was asked, or could not be. */
export interface PermitAnswer {
  readonly slot: number;
  readonly sent: number | undefined;
}

/** Begins to count. @param handed the leases, in shared memory */
export function countInThread(handed: unknown, send: (message: unknown) => void): ThreadCount {
  /** Keys that the main thread was asked to ask for. */
  const asked = new Set<number>();
  const limits = createSharedLimits(handed as Leases, {
    mono: monotonic,
    ask(slot, limit, want, since) {
      if (since === undefined && asked.has(slot)) return;
      asked.add(slot);
      send({ slot, limit, want, since } satisfies PermitQuestion);
    },
    startTimer: startRealTimer,
  });
  return {
    count: limits.count,
    receive(message) {
      const { slot, sent } = message as PermitAnswer;
      asked.delete(slot);
      if (sent === undefined) limits.failed(slot);
      else limits.answered(slot, sent);
    },
  };
}
