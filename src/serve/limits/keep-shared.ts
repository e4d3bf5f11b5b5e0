/**
 * Shared limits of a replica: one thread asks the counter server, for itself and
 * for the other threads, and takes the answers into the leases, which all see.
 */

import { randomBytes } from "node:crypto";
import type { Counters } from "../../gate/limit.ts";
import { makeAsk } from "../../gate/shared-answers.ts";
import { type Asking, createAsking } from "../../gate/shared-asking.ts";
import { createLeases, type Leases, readTally, type SharedLimitsFigures } from "../../gate/shared-leases.ts";
import { createSharedLimits, type SharedLimits } from "../../gate/shared-waiting.ts";
import type { Observe } from "../../observe.ts";
import { type OpenConnection, openConnection } from "./connection.ts";
import { type CounterServer, createCounterServer } from "./counter-server.ts";
import { monotonic, startRealTimer } from "./monotonic.ts";
import type { RedisTarget } from "./redis-url.ts";

/** How limits are shared. */
export interface SharedLimitsSettings {
  readonly target: RedisTarget;
  /** Replicas that share the limit while the server is away. */
  readonly replicas: number;
  /** Whether requests without a permit are refused meanwhile. */
  readonly denies: boolean;
  /** Opens connections; tests stand in for it. */
  readonly open?: OpenConnection;
  /** How long an answer may take and how long a request waits, in milliseconds; longer in tests on busy machines. */
  readonly answerMs?: number;
  readonly waitMs?: number;
}

/** The thread that asks. */
export interface SharedLimitsKeeper {
  readonly leases: Leases;
  /** For requests of this thread. */
  readonly limits: SharedLimits;
  /** Asks for permits of a key. */
  readonly ask: Asking["ask"];
  readonly figures: () => SharedLimitsFigures;
  /** Gives back what is held, as far as that is quick, and closes; to be called when the last request was answered. */
  readonly close: () => Promise<void>;
}

/** How long giving back may take, in milliseconds. */
const RELEASE_MS = 500;

/** Keys that are asked for at a time, without haste. */
const BATCH = 64;

/** Waits a turn of the event loop. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/**
 * Connects, and begins to share limits.
 *
 * @param counters in shared memory
 * @throws {MissingClientError} when the client is not installed
 */
export async function keepSharedLimits(
  settings: SharedLimitsSettings,
  counters: Counters,
  observe: Observe,
): Promise<SharedLimitsKeeper> {
  const leases = createLeases(counters, settings.replicas, settings.denies);
  /** By server that is away: since when. */
  const awaySince = new Map<string, number>();
  const names: string[] = [];
  let isClosed = false;

  /** Slots count on as they are numbered, so only new ones are looked for. */
  function nameOf(slot: number): string {
    if (slot >= names.length) names.push(...[...counters.slots.keys()].slice(names.length));
    return names[slot]!;
  }

  const server: CounterServer = await createCounterServer(
    settings.target,
    counters.windowSeconds,
    randomBytes(6).toString("base64url"),
    {
      onAway(place, problem) {
        awaySince.set(place, performance.now());
        observe({ kind: "limits-away", server: place, problem, alone: !settings.denies });
      },
      onBack(place) {
        const since = awaySince.get(place) ?? performance.now();
        awaySince.delete(place);
        observe({ kind: "limits-back", server: place, ms: Math.round(performance.now() - since) });
        void tellAgain();
      },
    },
    settings.open ?? openConnection,
    settings.answerMs,
  );

  const { ask, known, figures } = createAsking(leases, {
    mono: monotonic,
    wall: Date.now,
    lease(slot, asked, settle) {
      server.lease(nameOf(slot), asked).then(settle, () => settle(undefined));
    },
  });

  /** What was counted alone becomes known to the others; a few keys at a time. */
  async function tellAgain(): Promise<void> {
    let batch = 0;
    for (const [slot, limit] of known) {
      if (isClosed) return;
      if (Atomics.load(leases.away, slot) === 0) continue;
      ask(slot, limit, 0, notifyHere);
      if (++batch % BATCH === 0) await nextTurn();
    }
  }

  const limits = createSharedLimits(leases, {
    ...(settings.waitMs === undefined ? {} : { waitMs: settings.waitMs }),
    mono: monotonic,
    ask: (slot, limit, want, since) => ask(slot, limit, want, notifyHere, since),
    startTimer: startRealTimer,
  });
  function notifyHere(slot: number, sent: number | undefined): void {
    if (sent === undefined) limits.failed(slot);
    else limits.answered(slot, sent);
  }

  return {
    leases,
    limits,
    ask,
    figures: () => ({ ...figures(), ...readTally(leases) }),
    async close() {
      if (isClosed) return;
      isClosed = true;
      const released = Promise.all(
        [...known].map(([slot, limit]) => server.release(nameOf(slot), makeAsk(leases, slot, limit, 0))),
      );
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, RELEASE_MS);
      });
      await Promise.race([released, late]);
      clearTimeout(timer);
      server.close();
    },
  };
}
