/** The state that adapters answer from, put together and kept current. */

import type { State } from "../../answer.ts";
import { createKeyRing, type KeyRecord, KeyRing } from "../../gate/keys.ts";
import { createCounters, createSharedCounters } from "../../gate/limit.ts";
import { createNotices } from "../../gate/notices.ts";
import type { Prefixes } from "../../gate/token.ts";
import { createFixedHeaders } from "../../headers.ts";
import type { RequestCells } from "../../metrics/counters.ts";
import type { Observe } from "../../observe.ts";
import { createReference } from "../../pages/reference.ts";
import { type AccessSampling, createSampling } from "../../sampling.ts";
import type { CacheCounts, CachedSearch } from "../../search/cache.ts";
import type { SearchIndex } from "../../search/search.ts";
import type { Generation } from "../../store/generation.ts";
import type { SharedLimitsKeeper, SharedLimitsSettings } from "../limits/keep-shared.ts";
import { openSource } from "../load/open-source.ts";
import type { SnapshotEvents } from "../load/snapshot-events.ts";
import { keepSnapshot } from "../load/snapshots.ts";
import { keepKeys } from "./keyfile.ts";
import { openSearching } from "./open-searching.ts";

/** What to open. */
export interface OpenStateOptions {
  /** Folder of the snapshot, or its URL. */
  readonly snapshot: string;
  /** Folder for copies of snapshots by URL. */
  readonly cache?: string | undefined;
  /** File of a bearer token for the URL. */
  readonly snapshotTokenFile?: string | undefined;
  /** Told what share of a snapshot was downloaded, from 0 to 1. */
  readonly onDownload?: (share: number) => void;
  /** A keys file, which is kept current, or its records. */
  readonly keys: string | readonly KeyRecord[];
  readonly prefixes: Prefixes;
  /** Requests of an API key a window. */
  readonly rateLimit: number;
  /** Seconds a window. */
  readonly rateWindow: number;
  readonly cors: boolean;
  /** Whether there are pages beside the API; false when absent. */
  readonly docs?: boolean;
  /** Seconds between checks of the snapshot; 0 for none. */
  readonly watch: number;
  readonly maxSnapshotBytes: number;
  /** Whether a new snapshot may have less than half of the users or worlds; false when absent. */
  readonly allowShrink?: boolean;
  /** Told what share of a snapshot was read, from 0 to 1. */
  readonly onProgress?: (share: number) => void;
  readonly searchCacheBytes: number;
  /** Searches that may wait, over all; half of them of one key. The setting's default when absent. */
  readonly maxPendingSearches?: number;
  /** Whether there is a search for similar names; false when absent. */
  readonly similar?: boolean;
  readonly accessLog: boolean;
  /** Which requests that logs; all when absent. */
  readonly accessSampling?: AccessSampling;
  /** Whether snapshots are loaded and searched in threads of their own; true when absent. */
  readonly threads?: boolean;
  /** Whether a small first snapshot is loaded and searched on the calling thread for all that; false when absent. */
  readonly startsHere?: boolean;
  /** Called when an old generation is no longer needed by anybody. */
  readonly onReleased?: () => void;
  /** Whether short searches are done on the calling thread, not asked for by others as long ones; true when absent. */
  readonly searchesHere?: boolean;
  /** File in which the counts of the running window outlive a restart; none when absent. */
  readonly countsFile?: string | undefined;
  /** Whether other threads count requests too; false when absent. */
  readonly sharedCounters?: boolean;
  /** How limits are shared with other replicas; not at all when absent. */
  readonly sharedLimits?: SharedLimitsSettings | undefined;
  /** Where requests are counted; nothing is when absent. Threads that serve count for themselves. */
  readonly requestCells?: RequestCells | undefined;
  /** Told of loads and looks. */
  readonly snapshotEvents?: SnapshotEvents;
  readonly observe: Observe;
}

/** Who else needs to know of new keys and generations: other threads that serve. */
export interface Follower {
  readonly takeKeys: (keys: KeyRing) => void;
  readonly takeGeneration: (generation: Generation, index: SearchIndex) => void;
}

/** A state and what keeps it current. */
export interface OpenState {
  readonly state: State;
  /** What the searches of its generation run over, for other threads. */
  readonly searchIndex: () => SearchIndex;
  /** From now on told of everything new. */
  readonly follow: (follower: Follower) => void;
  /** Reads keys and snapshot again. */
  readonly reload: () => Promise<void>;
  /** Begins to index similar names, where that was asked for; to be called when requests are accepted. */
  readonly beginSimilar: () => void;
  /** Begins to save the counts, where that was asked for; to be called when requests are accepted. */
  readonly beginSaving: () => void;
  /** Stops looking at the files. */
  readonly stop: () => void;
  /** Limits that are shared with other replicas. */
  readonly sharedLimits: SharedLimitsKeeper | undefined;
  /** Gives back permits, and saves the counts for the last time; to be called when the last request was answered. */
  readonly saveCounts: () => Promise<void>;
  /** Why the keys file was not taken when it was last read; undefined when it was, or where there is none. */
  readonly keysProblem: () => string | undefined;
  /** What became of the searches of the generation that is served. */
  readonly searchCounts: () => CacheCounts;
  /** Whether a page of a search would be answered from the cache. */
  readonly searchHolds: CachedSearch["holds"];
  /** Ends the threads; to be called when the last request was answered. */
  readonly close: () => void;
}

/**
 * Loads keys and snapshot, and begins to check them for changes.
 *
 * @throws {KeysFileError} when the keys cannot be used
 * @throws {SnapshotError} when the snapshot cannot be loaded
 */
export async function openState(options: OpenStateOptions): Promise<OpenState> {
  const { observe } = options;
  const mayShare = options.sharedCounters || options.sharedLimits !== undefined;
  const counters = (mayShare ? createSharedCounters : createCounters)(options.rateWindow);
  // Imported when it is needed.
  const sharedLimits =
    options.sharedLimits === undefined
      ? undefined
      : await (await import("../limits/keep-shared.ts")).keepSharedLimits(
          options.sharedLimits,
          counters,
          observe,
        );
  let follower: Follower | undefined;
  const gate: State["gate"] = {
    prefixes: options.prefixes,
    defaultLimit: options.rateLimit,
    counters,
    shared: sharedLimits?.limits,
    keys: new KeyRing(),
    closed: false,
  };
  const keys =
    typeof options.keys === "string"
      ? await keepKeys(options.keys, counters, observe, (ring) => {
          gate.keys = ring;
          follower?.takeKeys(ring);
        })
      : undefined;
  if (typeof options.keys !== "string") gate.keys = createKeyRing(options.keys, counters);
  const countsKeeper =
    options.countsFile === undefined
      ? undefined
      : await (await import("./keep-counts.ts")).keepCounts({
          file: options.countsFile,
          counters,
          observe,
          // Shared windows are those of the server's clock.
          ...(sharedLimits ? { windowClock: () => Date.now() + sharedLimits.leases.clock[0]! } : {}),
        });
  const { pending, requestCounters, countSearch, similar, load } = await openSearching(options);
  const source = await openSource(options);
  let state: State | undefined;
  const snapshots = await keepSnapshot(
    {
      folder: options.snapshot,
      ...(source ? { source } : {}),
      load,
      ...(similar ? { openSimilar: similar.open } : {}),
      maxBytes: options.maxSnapshotBytes,
      allowShrink: options.allowShrink ?? false,
      ...(options.onReleased ? { onReleased: options.onReleased } : {}),
      ...(options.onProgress ? { onProgress: options.onProgress } : {}),
      ...(options.snapshotEvents ? { events: options.snapshotEvents } : {}),
      pending,
      ...(countSearch ? { countSearch } : {}),
      observe,
    },
    (generation, index) => {
      if (state) state.generation = generation;
      follower?.takeGeneration(generation, index);
    },
  ).catch((error: unknown) => {
    keys?.stop();
    void sharedLimits?.close();
    throw error;
  });
  state = {
    gate,
    headers: createFixedHeaders(options.cors),
    observe,
    accessLog: options.accessLog,
    pages: options.docs ? createReference(options.cors) : undefined,
    keepsAccess: options.accessSampling && createSampling(options.accessSampling),
    notices: createNotices(observe),
    requestCounters,
    generation: snapshots.current(),
  };
  if (options.watch > 0) snapshots.watch(options.watch * 1000);
  return {
    state,
    searchIndex: snapshots.index,
    follow(newFollower) {
      follower = newFollower;
    },
    async reload() {
      await Promise.all([keys?.reload(), snapshots.reload()]);
    },
    beginSimilar: () => similar?.begin(),
    beginSaving: () => countsKeeper?.begin(),
    sharedLimits,
    stop() {
      keys?.stop();
      snapshots.stop();
    },
    async saveCounts() {
      await sharedLimits?.close();
      await countsKeeper?.stop();
    },
    keysProblem: () => keys?.problem(),
    searchCounts: snapshots.searchCounts,
    searchHolds: snapshots.searchHolds,
    close() {
      void sharedLimits?.close();
      snapshots.close();
    },
  };
}
