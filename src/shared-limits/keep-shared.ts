/**
 * Shared limits of a replica: one thread asks the counter server, for itself and
 * for the other threads, and takes the answers into the leases, which all see.
 */

import { randomBytes } from "node:crypto";
import { type Counters, windowAt } from "../auth/limit.ts";
import type { Observe } from "../observe/events.ts";
import type { SharedLimitsFigures } from "../observe/metrics/families.ts";
import { makeAsk } from "./answers.ts";
import { type Asking, createAsking } from "./asking.ts";
import { type OpenConnection, openConnection } from "./connection.ts";
import { type CounterServer, createCounterServer } from "./counter-server.ts";
import { createLeases, type Leases, readTally } from "./leases.ts";
import { monotonic, startRealTimer } from "./monotonic.ts";
import type { RedisTarget } from "./redis-url.ts";
import { createSharedLimits, type SharedLimits } from "./waiting.ts";

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

/** What the thread that asks has. */
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

/**
 * Keys that are reported at a time. The next ones follow when these were answered: a server that is sent all at once
 * answers the last ones too late, and counts as away.
 */
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

  /** Key ids are listed in the order of their slots, so only new ones have to be looked up. */
  function nameOf(slot: number): string {
    if (slot >= names.length) {
      let at = 0;
      for (const name of counters.slots.keys()) if (at++ >= names.length) names.push(name);
    }
    return names[slot]!;
  }

  const { ask, known, figures } = createAsking(leases, {
    mono: monotonic,
    wall: Date.now,
    lease(slot, asked, settle, onLate) {
      server.lease(nameOf(slot), asked, onLate).then(settle, () => settle(undefined));
    },
  });

  /** Whether a key was used or leased in the window that is running: of older ones there is nothing to report. */
  function isOfWindow(slot: number, limit: number): boolean {
    return makeAsk(leases, slot, limit, 0).window >= windowAt(counters, Date.now() + leases.clock[0]!);
  }

  /** Reports keys in batches, until all are reported or `isOver`. @param report returns undefined where nothing is sent */
  async function forKeys(
    report: (slot: number, limit: number) => Promise<void> | undefined,
    isOver: () => boolean,
  ): Promise<void> {
    let batch: Promise<void>[] = [];
    for (const [slot, limit] of known) {
      const reported = report(slot, limit);
      if (reported === undefined) continue;
      batch.push(reported);
      if (batch.length < BATCH) continue;
      await Promise.all(batch);
      // Reports that fail do so at once, and would leave the event loop no turn.
      await nextTurn();
      if (isOver()) return;
      batch = [];
    }
    await Promise.all(batch);
  }

  /** Reports a key whose last question was not answered. */
  function reportAgain(slot: number, limit: number): Promise<void> | undefined {
    if (Atomics.load(leases.away, slot) === 0) return undefined;
    if (!isOfWindow(slot, limit)) {
      Atomics.store(leases.away, slot, 0);
      return undefined;
    }
    // It is reported when its server is back.
    if (!server.isUp(nameOf(slot))) return undefined;
    return new Promise((resolve) =>
      ask(slot, limit, 0, (_, sent) => {
        notifyHere(slot, sent);
        resolve();
      }),
    );
  }

  let isReporting = false;
  let reportsOnceMore = false;
  /** Reports what was counted while the server was away. */
  async function reportAll(): Promise<void> {
    reportsOnceMore = true;
    if (isReporting) return;
    isReporting = true;
    while (reportsOnceMore && !isClosed) {
      reportsOnceMore = false;
      await forKeys(reportAgain, () => isClosed || reportsOnceMore);
    }
    isReporting = false;
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
      },
      onUp: () => void reportAll(),
      onClock(offset) {
        leases.clock[0] = offset;
      },
    },
    settings.open ?? openConnection,
    settings.answerMs,
  );

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
      let isLate = false;
      const release = (isHolding: boolean): Promise<void> =>
        forKeys(
          (slot, limit) => {
            const held = makeAsk(leases, slot, limit, 0);
            if ((held.have !== held.used) !== isHolding || !isOfWindow(slot, limit)) return undefined;
            return server.release(nameOf(slot), held);
          },
          () => isLate,
        );
      // First the keys with permits that others can use.
      const released = release(true).then(() => release(false));
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, RELEASE_MS);
      });
      await Promise.race([released, late]);
      clearTimeout(timer);
      isLate = true;
      server.close();
    },
  };
}
