/** The state that adapters answer from, opened and kept current: keys, snapshot, searches and shared limits. */

import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { KeyUse } from "../auth/key-use.ts";
import { createKeyRing, type KeyRecord } from "../auth/keys.ts";
import { type Counters, createCounters, createSharedCounters } from "../auth/limit.ts";
import type { SharedLimits } from "../auth/shared.ts";
import { keepKeys } from "../auth/watched-keys.ts";
import { ROW_FILES } from "../model/model.ts";
import type { Reloaded } from "../model/reload.ts";
import type { Observe } from "../observe/events.ts";
import {
  countersOf,
  type RequestCells,
  type RequestCounters,
  searchCounter,
} from "../observe/metrics/counters.ts";
import { createPendingSearches } from "../search/pending.ts";
import { Scheduler } from "../search/schedule.ts";
import type { Settings } from "../settings/settings.ts";
import { PREPARED } from "../snapshot/files.ts";
import { composeState } from "./compose.ts";
import type { Features } from "./features.ts";
import { LiveState } from "./live-state.ts";
import { SnapshotKeeper } from "./load/keeper.ts";
import type { Loader, SnapshotEvents } from "./load/loader.ts";
import type { OpenSource } from "./load/source.ts";
import { loadInThread } from "./load/threaded-loader.ts";

export interface OpenStateOptions {
  readonly settings: Settings;
  readonly features: Features;
  readonly observe: Observe;
  /** Keys in place of the keys file. */
  readonly records?: readonly KeyRecord[] | undefined;
  /** Brings the snapshot, unless that is a folder. */
  readonly source?: OpenSource | undefined;
  /** Loads it, in place of the loaders of folders. */
  readonly load?: Loader | undefined;
  /** How limits are shared with other replicas; not at all when absent. */
  readonly sharedLimits?: SharedLimits | undefined;
  /** Whether snapshots are loaded in a thread of their own; true when absent. */
  readonly threads?: boolean;
  /** Whether other threads serve; they then do short searches, and count, themselves. False when absent. */
  readonly servesElsewhere?: boolean;
  /** Whether a small first snapshot is loaded on the calling thread, if that thread serves; false when absent. */
  readonly startsHere?: boolean;
  /** Take the share, from 0 to 1, of the source that was downloaded, and of a snapshot that was read. */
  readonly onDownload?: (share: number) => void;
  readonly onProgress?: (share: number) => void;
  /** Called once an old generation can be collected. */
  readonly onReleased?: () => void;
  /** Counters of requests, and of each key's requests by thread; nothing is counted when absent. */
  readonly requestCells?: RequestCells | undefined;
  readonly keyUse?: readonly KeyUse[] | undefined;
  /** Takes whole lines of the access log; when absent, each request is observed instead. */
  readonly writeAccess?: ((lines: string) => void) | undefined;
  readonly snapshotEvents?: SnapshotEvents;
}

/** Most bytes of a small snapshot's row files: some 20,000 users, whose longest searches take a few milliseconds. */
const MOST_BYTES = 8 * 1_048_576;

/** Whether a folder holds few rows. False for compressed files, whose rows are unknown, and on errors, which the load reports. */
async function isSmall(folder: string): Promise<boolean> {
  const areWithin = async (most: number, names: readonly string[]): Promise<boolean> => {
    const sizes = await Promise.all(names.map(async (name) => (await stat(join(folder, name))).size));
    return sizes.reduce((sum, size) => sum + size) <= most;
  };
  return await areWithin(MOST_BYTES, ROW_FILES)
    // A prepared file with as many rows is larger.
    .catch(() => areWithin(3 * MOST_BYTES, [PREPARED]))
    .catch(() => false);
}

/**
 * Makes a loader that runs a small first load on the serving thread: no request is served yet, and starting a thread with
 * its own copy of the program takes more time and memory than the work.
 * @param elsewhere runs all other loads: later ones must not hold up requests
 */
export function createFirstLoader(elsewhere: Loader, importHere: () => Promise<Loader>): Loader {
  return async (folder, options) => {
    const isHere = options.previous === undefined && (await isSmall(folder));
    return (isHere ? await importHere() : elsewhere)(folder, options);
  };
}

async function openSearching(options: OpenStateOptions, requestCounters: RequestCounters | undefined) {
  const { settings, features, threads = true, startsHere, servesElsewhere, observe } = options;
  const { searchCacheBytes } = settings;
  const pending = createPendingSearches();
  const count = requestCounters && searchCounter(requestCounters);
  const given = { threads, cacheBytes: searchCacheBytes, pending, observe, count };
  const similar = await features.openSimilar?.(settings, given);
  const cacheBytes = searchCacheBytes - (similar?.cacheBytes ?? 0);
  const searchBounds = { cacheBytes, scheduler: new Scheduler(pending), count };
  // Imported only when needed: the code that loads and indexes is half of the program, and mostly only threads need it.
  const importHere = async (): Promise<Loader> => (await import("./load/loader.ts")).loadHere;
  const isFirstHere = startsHere && !servesElsewhere;
  const inThread = isFirstHere ? createFirstLoader(loadInThread, importHere) : loadInThread;
  const load = options.load ?? (threads ? inThread : await importHere());
  return { similar, searchBounds, load };
}

export type OpenState = Awaited<ReturnType<typeof openState>>;

/** Loads keys and snapshot, and begins to check them for changes. @throws {KeysFileError} or {SnapshotError} */
export async function openState(options: OpenStateOptions) {
  const { settings, servesElsewhere = false, sharedLimits, requestCells, observe } = options;
  const { rateWindow, watch } = settings;
  const isInSharedMemory = servesElsewhere || sharedLimits !== undefined;
  const counters = isInSharedMemory ? createSharedCounters(rateWindow) : createCounters(rateWindow);
  const requestCounters = servesElsewhere ? undefined : requestCells && countersOf(requestCells, 0);
  const shared = await sharedLimits?.open(counters, observe);
  const live = new LiveState();
  const keepers = await openKeepers(options, live, counters, requestCounters).catch((error: unknown) => {
    shared?.close();
    throw error;
  });
  const { keys, takeRecords, snapshots, similar, searchCacheBytes } = keepers;
  const keyUse = servesElsewhere ? undefined : options.keyUse?.[0];
  const parts = { ...options, counters, shared, requestCounters, keyUse };
  const state = composeState(settings, { ...parts, keys: live.keys, generation: live.generation! });
  live.state = state;
  if (watch > 0) snapshots.watch(watch * 1000);
  return {
    state,
    /** Counts of shared limits in this thread; undefined if they are not shared. */
    sharedCount: shared,
    /** For the results of exact searches, over all threads. */
    searchCacheBytes,
    /** The served generation's searches. */
    served: snapshots.served,
    /** Why the last read of the keys file was refused; undefined if it was not, or without a keys file. */
    keysProblem: () => keys?.problem(),
    live,
    /** Reads keys and snapshot again. @param allowShrink whether to accept less than half of the users or worlds */
    async reload(allowShrink?: boolean): Promise<Reloaded> {
      const [ofKeys = "unchanged", { result, problems }] = await Promise.all([
        keys?.reload(),
        snapshots.reload(allowShrink),
      ]);
      const keysProblem = ofKeys === "refused" ? [keys!.problem()!] : [];
      const { id } = state.generation.store;
      return { keys: ofKeys, snapshot: result, generation: id, problems: [...keysProblem, ...problems] };
    },
    takeRecords,
    /** Begins to index similar names, if the settings say so. To be called when requests are accepted. */
    begin: () => similar?.begin(),
    stop(): void {
      keys?.stop();
      snapshots.stop();
    },
    /** Stops, and ends the threads; to be called after the last answer. */
    close(): void {
      keys?.stop();
      shared?.close();
      snapshots.close();
    },
  };
}

/** Opens the keepers of a state, one after the other; on a failure closes the opened ones. */
async function openKeepers(
  options: OpenStateOptions,
  live: LiveState,
  counters: Counters,
  requestCounters: RequestCounters | undefined,
) {
  const { settings, records, onDownload, onProgress, onReleased, observe } = options;
  const takeRecords = (given: readonly KeyRecord[]): void => live.setKeys(createKeyRing(given, counters));
  if (records !== undefined) takeRecords(records);
  const keys = records
    ? undefined
    : await keepKeys(settings.keys, counters, observe, (ring) => live.setKeys(ring));
  try {
    const { similar, searchBounds, load } = await openSearching(options, requestCounters);
    const snapshots = await SnapshotKeeper.open(
      {
        folder: settings.snapshot,
        source: options.source?.({ observe, onDownload }),
        load,
        searchBounds,
        openSimilar: similar?.open,
        allowShrink: settings.allowShrink,
        onReleased,
        onProgress,
        events: options.snapshotEvents,
        observe,
      },
      (generation) => live.setGeneration(generation),
    );
    return { keys, takeRecords, snapshots, similar, searchCacheBytes: searchBounds.cacheBytes };
  } catch (error) {
    keys?.stop();
    throw error;
  }
}
