/** The listener for operators, as the server knows it: who opens it, and what it is told. */

import type { KeyUse } from "../auth/key-use.ts";
import type { SharedLimitsPlan } from "../auth/shared.ts";
import type { Observe } from "../observe/events.ts";
import type { RequestCells } from "../observe/metrics/counters.ts";
import type { Settings } from "../settings/settings.ts";
import type { SnapshotEvents } from "./load/loader.ts";
import type { OpenState } from "./open.ts";
import type { ServingThreads } from "./threads/serving-threads.ts";

/** It cannot listen. */
export class AdminListenError extends Error {
  override name = "AdminListenError";
}

/** What it is opened with. */
export interface AdminGiven {
  readonly settings: Settings;
  readonly servingThreads: number;
  /** How limits are shared; undefined where they are not. */
  readonly sharedLimits: SharedLimitsPlan | undefined;
  /** Where requests are counted. */
  readonly requestCells: RequestCells;
  /** Where each thread that serves counts the requests of keys. */
  readonly keyUse: readonly KeyUse[];
  readonly observe: Observe;
}

/** A running admin listener. */
export interface Admin {
  /** Ends with a slash. */
  readonly url: string;
  /** Most connections, for which descriptors are to be left. */
  readonly maxConnections: number;
  /** To be told of all that is observed. */
  readonly observe: Observe;
  readonly snapshotEvents: SnapshotEvents;
  /** @param share of a snapshot that was read, 0 to 1 */
  readonly onProgress: (share: number) => void;
  /** Hands over the state, when the first snapshot is loaded. */
  readonly takeState: (opened: OpenState) => void;
  /** The threads that serve, where there are several. */
  readonly takeThreads: (tell: ServingThreads["tell"]) => void;
  /** The server stops: no more requests should be sent. */
  readonly startDraining: () => void;
  /** Stops listening. */
  readonly close: () => Promise<void>;
}

/** Starts it. @throws {AdminListenError} */
export type OpenAdmin = (given: AdminGiven) => Promise<Admin>;
