/** Shared limits as the core knows them; the feature that implements these interfaces decides how they are shared. */

import type { Observe } from "../observe/events.ts";
import type { SharedLimitsFigures } from "../observe/metrics/table.ts";
import type { Counters, Quota } from "./limit.ts";

/** A key whose requests are counted. */
export interface CountedKey {
  readonly id: string;
  /** Its place in the counters. */
  readonly slot: number;
}

export interface SharedCount {
  /** Counts one request. @param wall milliseconds since the epoch @returns a promise if it must ask first */
  readonly count: (key: CountedKey, limit: number, wall: number) => Quota | Promise<Quota>;
}

/** Shared limits of one serving thread. */
export interface ThreadCount extends SharedCount {
  /** Resolves when the counter server has answered or could not be reached. */
  readonly tried: Promise<void>;
  /** Returns held permits, as far as that is quick, and closes; call it when the last request was answered. */
  readonly close: () => Promise<void>;
}

/** Begins to count in a thread. @param handed by {@link LimitSharing} @param send sends a message to it */
export type CountInThread = (
  handed: unknown,
  counters: Counters,
  send: (message: unknown) => void,
) => ThreadCount;

/** The state that the next request of a key would be judged by. */
export interface SharedQuota {
  /** `shared`: by the count of all replicas; `alone`: by this replica's, since the counter server cannot be asked. */
  readonly counted: "shared" | "alone";
  readonly used: number;
  /** Number of requests that would pass here; 0 if the next one would be refused. */
  readonly remaining: number;
  readonly reset: number;
}

/** A serving thread that counts, as the main thread knows it. */
export interface ConnectedThread {
  readonly take: (message: unknown) => void;
  /** Call it when the thread has ended. */
  readonly leave: () => void;
}

/** Shared limits in the main thread. */
export interface LimitSharing {
  readonly limits: SharedCount;
  /** For serving threads: they receive it with their task. */
  readonly handed: unknown;
  readonly connect: () => ConnectedThread;
  /** The clock that cuts windows minus the clock here, in milliseconds. */
  readonly clockMs: () => number;
  /** State of a key's limit as far as it is known; counts nothing. */
  readonly read: (key: CountedKey, limit: number) => SharedQuota;
  readonly readAnew: (key: CountedKey, limit: number) => Promise<SharedQuota>;
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
