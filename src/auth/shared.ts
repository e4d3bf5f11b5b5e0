/** Shared limits as the core knows them; the feature that implements these interfaces decides how they are shared. */

import type { Observe } from "../observe/events.ts";
import type { SharedLimitsFigures } from "../observe/metrics/table.ts";
import type { Counters, Quota } from "./limit.ts";

export interface SharedCount {
  /** Counts one request. @param wall milliseconds since the epoch @returns a promise if it must ask first */
  readonly count: (slot: number, limit: number, wall: number) => Quota | Promise<Quota>;
}

export interface ThreadCount extends SharedCount {
  readonly receive: (message: unknown) => void;
}

/** Begins to count in such a thread. @param handed from the asking thread @param send sends it a message */
export type CountInThread = (handed: unknown, send: (message: unknown) => void) => ThreadCount;

/** The state that the next request of a key would be judged by. */
export interface SharedQuota {
  /** `shared`: by the count of all replicas; `alone`: by this replica's, since the counter server cannot be asked. */
  readonly counted: "shared" | "alone";
  readonly used: number;
  /** Number of requests that would pass here; 0 if the next one would be refused. */
  readonly remaining: number;
  readonly reset: number;
}

/** Shared limits in the thread that asks for all threads. */
export interface LimitSharing {
  readonly limits: SharedCount;
  /** For other threads: they receive it with their task. */
  readonly handed: unknown;
  /** Connects another thread. @returns takes its messages */
  readonly connect: (reply: (message: unknown) => void) => (message: unknown) => void;
  /** The clock that cuts windows minus the clock here, in milliseconds. */
  readonly clockMs: () => number;
  /** State of a key's limit as far as it is known; counts nothing. */
  readonly read: (slot: number, limit: number) => SharedQuota;
  readonly readAnew: (slot: number, limit: number) => Promise<SharedQuota>;
  readonly figures: () => SharedLimitsFigures;
  /** Returns held permits, as far as that is quick, and closes; call it when the last request was answered. */
  readonly close: () => Promise<void>;
}

/** A counter server (host and port, or socket) that cannot be asked, and why. */
export type AwayServer = Readonly<Record<"server" | "since" | "problem", string>>;

export interface SharedLimitsPlan {
  readonly replicas: number;
  /** Whether requests are refused while the counter server cannot be asked. */
  readonly denies: boolean;
  /** The servers away, how often one went away, and when the first went away or the last one came back. */
  readonly reachability: Readonly<{ away: readonly AwayServer[]; losses: number; since: string }>;
  /** Begins to share. @param counters in shared memory @throws {SettingError} when a package is missing */
  readonly open: (counters: Counters, observe: Observe) => Promise<LimitSharing>;
}
