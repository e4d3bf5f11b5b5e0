/** The state that adapters answer from, opened and kept current: keys, snapshot, searches, counts and shared limits. */

import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { State } from "../api/answer.ts";
import type { CountsKeeper } from "../auth/keep-counts.ts";
import type { KeyUse } from "../auth/key-use.ts";
import { createKeyRing, type KeyRecord, KeyRing } from "../auth/keys.ts";
import { type Counters, createCounters, createSharedCounters } from "../auth/limit.ts";
import type { LimitSharing, SharedLimitsPlan } from "../auth/shared.ts";
import { type KeysKeeper, keepKeys } from "../auth/watched-keys.ts";
import { ROW_FILES } from "../model/model.ts";
import type { Reloaded } from "../model/reload.ts";
import type { Observe } from "../observe/events.ts";
import { countersOf, type RequestCells, searchCounter } from "../observe/metrics/counters.ts";
import { createPendingSearches, UNBOUNDED } from "../search/schedule/pending.ts";
import type { Settings } from "../settings/settings.ts";
import { PREPARED } from "../snapshot/files.ts";
import { composeState } from "./compose.ts";
import type { Features } from "./features.ts";
import type { Loader, LoaderSearching, SnapshotEvents } from "./load/loader.ts";
import type { TakeGeneration } from "./load/served.ts";
import { SnapshotKeeper } from "./load/snapshots.ts";
import type { OpenSource } from "./load/source.ts";
import { createThreadedLoader } from "./load/threaded-loader.ts";

export interface OpenStateOptions {
  readonly settings: Settings;
  readonly features: Features;
  readonly observe: Observe;
  /** Keys in place of the keys file. */
  readonly records?: readonly KeyRecord[] | undefined;
  /** Brings the snapshot, unless that is a folder. */
  readonly source?: OpenSource | undefined;
  /** How limits are shared with other replicas; not at all when absent. */
  readonly sharedLimits?: SharedLimitsPlan | undefined;
  /** Whether snapshots are loaded and searched in threads of their own; true when absent. */
  readonly threads?: boolean;
  /** Whether other threads serve; they then do short searches, and count, themselves. False when absent. */
  readonly servesElsewhere?: boolean;
  /** Whether a small first snapshot is loaded and searched on the calling thread, if that thread serves; false when absent. */
  readonly startsHere?: boolean;
  /** Takes the share of the source that was downloaded, from 0 to 1. */
  readonly onDownload?: (share: number) => void;
  /** Takes the share of a snapshot that was read, from 0 to 1. */
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

/** Takes every key ring and generation, the first included. */
interface Takers {
  readonly takeKeys: (keys: KeyRing) => void;
  readonly takeGeneration: TakeGeneration;
}

/** Passes new keys and generations to the state, once it exists, and to other serving threads. */
class Current implements Takers {
  keys = new KeyRing();
  state: State | undefined;
  follower: Takers | undefined;

  readonly takeKeys: Takers["takeKeys"] = (keys) => {
    this.keys = keys;
    if (this.state) this.state.gate.keys = keys;
    this.follower?.takeKeys(keys);
  };

  readonly takeGeneration: Takers["takeGeneration"] = (generation, index) => {
    if (this.state) this.state.generation = generation;
    this.follower?.takeGeneration(generation, index);
  };
}

/** Undefined if keys are given in place of their file. */
async function openKeys(
  { settings, records, observe }: OpenStateOptions,
  counters: Counters,
  onKeys: (keys: KeyRing) => void,
): Promise<KeysKeeper | undefined> {
  if (records === undefined) return await keepKeys(settings.keys, counters, observe, onKeys);
  onKeys(createKeyRing(records, counters));
  return undefined;
}

async function openSaving(
  { settings: { state: file }, observe }: OpenStateOptions,
  counters: Counters,
  sharedLimits: LimitSharing | undefined,
): Promise<CountsKeeper | undefined> {
  if (file === undefined) return undefined;
  // Imported only when needed.
  const { keepCounts } = await import("../auth/keep-counts.ts");
  // Shared windows follow the clock of the server that shares them.
  const windowClock = sharedLimits && (() => Date.now() + sharedLimits.clockMs());
  return await keepCounts({ file, counters, observe, ...(windowClock ? { windowClock } : {}) });
}

/** Most bytes of a small snapshot's row files: some 20,000 users, whose longest searches take a few milliseconds. */
const MOST_BYTES = 8 * 1_048_576;
/** The same for a prepared file with as many rows. */
const MOST_PREPARED_BYTES = 3 * MOST_BYTES;

/** Total bytes of files in a folder; NaN when `stat` fails for one. */
async function bytesOf(folder: string, names: readonly string[]): Promise<number> {
  const sizes = names.map(async (name) => (await stat(join(folder, name))).size);
  return (await Promise.all(sizes).catch(() => [Number.NaN])).reduce((bytes, size) => bytes + size, 0);
}

/** Whether a folder holds few rows. False for compressed files, whose rows are unknown, and on errors, which the load reports. */
async function isSmall(folder: string): Promise<boolean> {
  return (
    (await bytesOf(folder, ROW_FILES)) <= MOST_BYTES ||
    (await bytesOf(folder, [PREPARED])) <= MOST_PREPARED_BYTES
  );
}

/**
 * Makes a loader that runs a small first load, and its long searches, on the serving thread: no request is served yet,
 * and starting a thread with its own copy of the program takes more time and memory than the work.
 *
 * @param elsewhere runs all other loads: later ones must not hold up requests
 * @param importHere gives the loader for the calling thread
 */
export function createFirstLoader(elsewhere: Loader, importHere: () => Promise<Loader>): Loader {
  let isFirst = true;
  return async (folder, options) => {
    const isHere = isFirst && (await isSmall(folder));
    isFirst = false;
    return (isHere ? await importHere() : elsewhere)(folder, options);
  };
}

async function chooseLoader(
  { threads = true, startsHere = false, servesElsewhere = false, observe }: OpenStateOptions,
  searching: LoaderSearching,
): Promise<Loader> {
  // Imported only when needed: the code that loads and indexes is half of the program, and mostly only threads need it.
  const importLocal = async (): Promise<Loader> =>
    (await import("./load/loader.ts")).createLocalLoader(searching);
  if (!threads) return await importLocal();
  const threaded = createThreadedLoader(observe, { ...searching, offloadsAll: servesElsewhere });
  return startsHere && !servesElsewhere ? createFirstLoader(threaded, importLocal) : threaded;
}

/** Opens the loader, the similar search and the request counters. */
async function openSearching(options: OpenStateOptions) {
  const { settings, features, threads = true, servesElsewhere, requestCells, observe } = options;
  const { searchCacheBytes, maxPendingSearches } = settings;
  // If other threads serve, they get half of the memory for results. They also bound the waiting searches and count
  // searches themselves.
  const cacheBytes = servesElsewhere ? Math.floor(searchCacheBytes / 2) : searchCacheBytes;
  const pending = servesElsewhere ? UNBOUNDED : createPendingSearches(maxPendingSearches);
  const requestCounters = servesElsewhere ? undefined : requestCells && countersOf(requestCells, 0);
  const count = requestCounters && searchCounter(requestCounters);
  const similar = await features.openSimilar?.(settings, { threads, cacheBytes, pending, observe, count });
  const ofExact = cacheBytes - (similar?.cacheBytes ?? 0);
  const load = await chooseLoader(options, { cacheBytes: ofExact, pending, count });
  return { requestCounters, similar, load };
}

/**
 * Loads keys and snapshot, and begins to check them for changes.
 *
 * @throws {KeysFileError} when the keys cannot be used
 * @throws {SnapshotError} when the snapshot cannot be loaded
 */
export async function openState(options: OpenStateOptions): Promise<OpenState> {
  const { settings, servesElsewhere = false, observe } = options;
  const { rateWindow, watch } = settings;
  const mayShare = servesElsewhere || options.sharedLimits !== undefined;
  const counters = mayShare ? createSharedCounters(rateWindow) : createCounters(rateWindow);
  const current = new Current();
  const keepers = await openKeepers(options, counters, current);
  const state = composeState(settings, {
    counters,
    shared: keepers.sharedLimits?.limits,
    // Both may be newer than the first.
    keys: current.keys,
    generation: keepers.snapshots.current(),
    requestCounters: keepers.searching.requestCounters,
    keyUse: servesElsewhere ? undefined : options.keyUse?.[0],
    observe,
    writeAccess: options.writeAccess,
    features: options.features,
  });
  current.state = state;
  if (watch > 0) keepers.snapshots.watch(watch * 1000);
  return opened(current, state, keepers);
}

type Keepers = Awaited<ReturnType<typeof openKeepers>>;

/** Opens the keepers of a state, one after the other; on a failure closes the opened ones. */
async function openKeepers(options: OpenStateOptions, counters: Counters, takers: Takers) {
  const { settings, onDownload, onProgress, onReleased, observe } = options;
  const sharedLimits = await options.sharedLimits?.open(counters, observe);
  let keys: KeysKeeper | undefined;
  try {
    keys = await openKeys(options, counters, takers.takeKeys);
    const saving = await openSaving(options, counters, sharedLimits);
    const searching = await openSearching(options);
    const snapshots = await SnapshotKeeper.open(
      {
        folder: settings.snapshot,
        source: options.source?.({ observe, onDownload }),
        load: searching.load,
        openSimilar: searching.similar?.open,
        maxBytes: settings.maxSnapshotBytes,
        allowShrink: settings.allowShrink,
        onReleased,
        onProgress,
        events: options.snapshotEvents,
        observe,
      },
      takers.takeGeneration,
    );
    return { keys, snapshots, saving, searching, sharedLimits };
  } catch (error) {
    keys?.stop();
    void sharedLimits?.close();
    throw error;
  }
}

/** A state and its keepers. */
export type OpenState = ReturnType<typeof opened>;

function opened(current: Current, state: State, keepers: Keepers) {
  const { keys, snapshots, saving, searching, sharedLimits } = keepers;
  return {
    state,
    sharedLimits,
    /** The search index of the served generation, for other threads. */
    searchIndex: () => snapshots.served.serving!.index,
    searchCounts: () => snapshots.served.searchCounts(),
    searchHolds: snapshots.served.searchHolds,
    /** Why the last read of the keys file was refused; undefined if it was not, or without a keys file. */
    keysProblem: () => keys?.problem(),
    /** Sends new keys and generations to other threads from now on. */
    follow(follower: Takers): void {
      current.follower = follower;
    },
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
    /** Replaces the given records, at once. */
    takeRecords: (records: readonly KeyRecord[]) =>
      current.takeKeys(createKeyRing(records, state.gate.counters)),
    /** Begins to index similar names, if the settings say so. To be called when requests are accepted, like `beginSaving`. */
    beginSimilar: () => searching.similar?.begin(),
    /** Begins to save the counts, if the settings say so. */
    beginSaving: () => saving?.begin(),
    /** Stops checking the files. */
    stop(): void {
      keys?.stop();
      snapshots.stop();
    },
    /** Returns permits, and saves the counts for the last time; to be called after the last answer. */
    async saveCounts(): Promise<void> {
      await sharedLimits?.close();
      await saving?.stop();
    },
    /** Ends the threads; to be called after the last answer. */
    close(): void {
      void sharedLimits?.close();
      snapshots.close();
    },
  };
}
