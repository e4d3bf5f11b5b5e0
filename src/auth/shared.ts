/**
 * Limits that replicas share, as the core knows them: who counts, in which thread, and what is told of it. How they are
 * shared is a feature's matter.
 */

import type { Observe } from "../observe/events.ts";
import type { SharedLimitsFigures } from "../observe/metrics/exposition.ts";
import type { Counters, Quota } from "./limit.ts";

export interface SharedCount {
  /** Counts one request. @param wall milliseconds since the epoch @returns later when somebody must be asked first */
  readonly count: (slot: number, limit: number, wall: number) => Quota | Promise<Quota>;
}

export interface ThreadCount extends SharedCount {
  /** Takes what the asking thread says to this one. */
  readonly receive: (message: unknown) => void;
}

/** Begins to count in such a thread. @param handed what the asking thread handed over; `send` says something to it */
export type CountInThread = (handed: unknown, send: (message: unknown) => void) => ThreadCount;

/** What the next request of a key would be judged by. */
export interface SharedQuota {
  /** By the count of all replicas, or alone, by this replica's, since nobody can be asked. */
  readonly counted: "shared" | "alone";
  readonly used: number;
  /** How many requests would pass here; 0 when the next one would be refused. */
  readonly remaining: number;
  readonly reset: number;
}

/** What the thread has that asks for all. */
export interface LimitSharing {
  readonly limits: SharedCount;
  /** For other threads: goes over to them with their task. */
  readonly handed: unknown;
  /** Connects one of them. @returns takes what it says */
  readonly connect: (reply: (message: unknown) => void) => (message: unknown) => void;
  /** The clock that windows are cut by minus the clock here, in milliseconds. */
  readonly clockMs: () => number;
  /** What is left of a key's limit, as far as it is known, without counting anything. */
  readonly read: (slot: number, limit: number) => SharedQuota;
  readonly readAnew: (slot: number, limit: number) => Promise<SharedQuota>;
  readonly figures: () => SharedLimitsFigures;
  /** Gives back what is held, as far as that is quick, and closes; to be called when the last request was answered. */
  readonly close: () => Promise<void>;
}

export interface SharedLimitsPlan {
  readonly replicas: number;
  /** Whether requests are refused that nobody can be asked about. */
  readonly denies: boolean;
  /** Begins to share. @param counters in shared memory @throws {SettingError} when a package is missing */
  readonly open: (counters: Counters, observe: Observe) => Promise<LimitSharing>;
}
