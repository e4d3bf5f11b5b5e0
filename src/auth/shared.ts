/** Shared limits as the core knows them; a feature implements them. */

import type { Observe } from "../observe/events.ts";
import type { SharedLimitsFigures } from "../observe/metrics/table.ts";
import type { Key } from "./keys.ts";
import type { Counters, Quota } from "./limit.ts";

export type CountedKey = Pick<Key, "id" | "slot">;

/** The state that the next request of a key would be judged by. */
export interface SharedQuota {
  /** `shared`: by the count of all replicas; `alone`: by this replica's, since the counter server cannot be asked. */
  readonly counted: "shared" | "alone";
  readonly used: number;
  /** Number of requests that would pass here; 0 if the next one would be refused. */
  readonly remaining: number;
  readonly reset: number;
}

/** Counts in a thread. Times are in milliseconds since the epoch. */
export interface SharedCount {
  /** Counts one request. @returns a promise if the counter server must be asked first */
  readonly count: (key: CountedKey, limit: number, now: number) => Quota | Promise<Quota>;
  /** Reads the state of a key's limit; counts nothing. */
  readonly read: (key: CountedKey, limit: number, now: number) => Promise<SharedQuota>;
  /** Resolves when the counter server is connected or could not be reached. */
  readonly tried: Promise<void>;
  /** Call it when the last request was answered. */
  readonly close: () => void;
}

/** Begins to count in a serving thread. @param handed by {@link SharedLimits} @param send sends a message to it */
export type CountInThread = (
  handed: unknown,
  counters: Counters,
  send: (message: unknown) => void,
) => SharedCount;

/** Shared limits of a process. */
export interface SharedLimits {
  readonly replicas: number;
  /** The counter server's address, and why it cannot be asked; null if it can. */
  readonly server: string;
  readonly problem: string | null;
  /** When it went away or came back, and how often it went away. */
  readonly since: string;
  readonly losses: number;
  readonly figures: () => SharedLimitsFigures;
  /** Begins to count in the main thread. @param counters in shared memory @throws {SettingError} when a package is missing */
  readonly open: (counters: Counters, observe: Observe) => Promise<SharedCount>;
  /** For serving threads: they receive it with their task. */
  readonly handed: unknown;
  /** Takes a message of a serving thread. */
  readonly take: (message: unknown) => void;
}
