/** The state that doors answer from, put together and kept current. */

import type { State } from "../answer.ts";
import { createKeyRing, type KeyRecord, KeyRing } from "../gate/keys.ts";
import { createCounters } from "../gate/limit.ts";
import type { Prefixes } from "../gate/token.ts";
import { createFixedHeaders } from "../headers.ts";
import type { Observe } from "../observe.ts";
import type { CacheCounts } from "../search/cache.ts";
import { keepKeys } from "./keyfile.ts";
import { keepSnapshot } from "./snapshots.ts";
import { createThreadedLoader } from "./threaded-loader.ts";

/** What to open. */
export interface OpenStateOptions {
  /** Folder of the snapshot. */
  readonly snapshot: string;
  /** A keys file, which is kept current, or its records. */
  readonly keys: string | readonly KeyRecord[];
  readonly prefixes: Prefixes;
  /** Requests of an API key a window. */
  readonly rateLimit: number;
  /** Seconds a window. */
  readonly rateWindow: number;
  readonly cors: boolean;
  /** Seconds between looks at the snapshot; 0 for none. */
  readonly watch: number;
  readonly maxSnapshotBytes: number;
  /** Whether a new snapshot may have less than half of the users or worlds; false when absent. */
  readonly allowShrink?: boolean;
  /** Told what share of a snapshot was read, from 0 to 1. */
  readonly onProgress?: (share: number) => void;
  readonly searchCacheBytes: number;
  readonly accessLog: boolean;
  /** Whether snapshots are loaded and searched in threads of their own; true when absent. */
  readonly threads?: boolean;
  /** Called when an old generation is no longer needed by anybody. */
  readonly onReleased?: () => void;
  readonly observe: Observe;
}

/** A state and what keeps it current. */
export interface OpenState {
  readonly state: State;
  /** Reads keys and snapshot again. */
  readonly reload: () => Promise<void>;
  /** Stops looking at the files. */
  readonly stop: () => void;
  /** What became of the searches of the generation that is served. */
  readonly searchCounts: () => CacheCounts;
  /** Ends the threads; to be called when the last request was answered. */
  readonly close: () => void;
}

/**
 * Loads keys and snapshot, and begins to look at them for changes.
 *
 * @throws {KeysFileError} when the keys cannot be used
 * @throws {SnapshotError} when the snapshot cannot be loaded
 */
export async function openState(options: OpenStateOptions): Promise<OpenState> {
  const { observe } = options;
  const counters = createCounters(options.rateWindow);
  const gate: State["gate"] = {
    prefixes: options.prefixes,
    defaultLimit: options.rateLimit,
    counters,
    keys: new KeyRing(),
  };
  const keys =
    typeof options.keys === "string"
      ? await keepKeys(options.keys, counters, observe, (ring) => {
          gate.keys = ring;
        })
      : undefined;
  if (typeof options.keys !== "string") gate.keys = createKeyRing(options.keys, counters);
  // Imported when it is needed: what loads and indexes is half of all code, and with threads only they need it.
  const load =
    (options.threads ?? true) ? createThreadedLoader(observe) : (await import("./local-loader.ts")).loadHere;
  let state: State | undefined;
  const snapshots = await keepSnapshot(
    {
      folder: options.snapshot,
      load,
      cacheBytes: options.searchCacheBytes,
      maxBytes: options.maxSnapshotBytes,
      allowShrink: options.allowShrink ?? false,
      ...(options.onReleased ? { onReleased: options.onReleased } : {}),
      ...(options.onProgress ? { onProgress: options.onProgress } : {}),
      observe,
    },
    (generation) => {
      if (state) state.generation = generation;
    },
  ).catch((error: unknown) => {
    keys?.stop();
    throw error;
  });
  state = {
    gate,
    headers: createFixedHeaders(options.cors),
    observe,
    accessLog: options.accessLog,
    generation: snapshots.current(),
  };
  if (options.watch > 0) snapshots.watch(options.watch * 1000);
  return {
    state,
    async reload() {
      await Promise.all([keys?.reload(), snapshots.reload()]);
    },
    stop() {
      keys?.stop();
      snapshots.stop();
    },
    searchCounts: snapshots.searchCounts,
    close: snapshots.close,
  };
}
