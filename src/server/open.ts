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

/** What to open. */
export interface OpenStateOptions {
  readonly settings: Settings;
  readonly features: Features;
  readonly observe: Observe;
  /** In place of the keys file. */
  readonly records?: readonly KeyRecord[] | undefined;
  /** Brings the snapshot, where that is no folder. */
  readonly source?: OpenSource | undefined;
  /** How limits are shared with other replicas; not at all when absent. */
  readonly sharedLimits?: SharedLimitsPlan | undefined;
  /** Whether snapshots are loaded and searched in threads of their own; true when absent. */
  readonly threads?: boolean;
  /** Whether other threads serve; they then do short searches, and count, themselves. False when absent. */
  readonly servesElsewhere?: boolean;
  /** Whether a small first snapshot is loaded and searched on the calling thread, if that serves; false when absent. */
  readonly startsHere?: boolean;
  /** Told what share of the source was downloaded, from 0 to 1. */
  readonly onDownload?: (share: number) => void;
  /** Told what share of a snapshot was read, from 0 to 1. */
  readonly onProgress?: (share: number) => void;
  /** Called when nobody needs an old generation any longer. */
  readonly onReleased?: () => void;
  /** Where requests are counted, and those of each key by thread; nothing is counted when absent. */
  readonly requestCells?: RequestCells | undefined;
  readonly keyUse?: readonly KeyUse[] | undefined;
  /** Takes lines of the access log, whole; each request is observed when absent. */
  readonly writeAccess?: ((lines: string) => void) | undefined;
  readonly snapshotEvents?: SnapshotEvents;
}

/** Told of every key ring and generation, the first included. */
interface Takers {
  readonly takeKeys: (keys: KeyRing) => void;
  readonly takeGeneration: TakeGeneration;
}

/** Hands new keys and generations to the state, once there is one, and to other threads that serve. */
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

/** Undefined where keys are given, not their file. */
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
  // Imported when it is needed.
  const { keepCounts } = await import("../auth/keep-counts.ts");
  // Shared windows are those of the server's clock.
  const windowClock = sharedLimits && (() => Date.now() + sharedLimits.clockMs());
  return await keepCounts({ file, counters, observe, ...(windowClock ? { windowClock } : {}) });
}

/** Most bytes of row files, together, that are small: some 20,000 users. Their longest searches take a few milliseconds. */
const MOST_BYTES = 8 * 1_048_576;
/** As many rows, prepared. */
const MOST_PREPARED_BYTES = 3 * MOST_BYTES;

/** Bytes of files in a folder together; NaN when one cannot be looked at. */
async function bytesOf(folder: string, names: readonly string[]): Promise<number> {
  const sizes = names.map(async (name) => (await stat(join(folder, name))).size);
  return (await Promise.all(sizes).catch(() => [Number.NaN])).reduce((bytes, size) => bytes + size, 0);
}

/** Whether a folder holds few rows. How many are in a compressed file is not known; to say what is wrong is the load's matter. */
async function isSmall(folder: string): Promise<boolean> {
  return (
    (await bytesOf(folder, ROW_FILES)) <= MOST_BYTES ||
    (await bytesOf(folder, [PREPARED])) <= MOST_PREPARED_BYTES
  );
}

/**
 * Makes a loader whose first load, if it is small, is done on the serving thread, and its long searches, too: nobody is
 * served yet, and to start a thread and its own copy of the program takes longer, and more memory, than there is to do.
 *
 * @param elsewhere does all others: later ones must not hold up requests
 * @param importHere gives the one for the calling thread
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
  // Imported when it is needed: what loads and indexes is half of all code, and mostly threads alone need it.
  const importLocal = async (): Promise<Loader> =>
    (await import("./load/loader.ts")).createLocalLoader(searching);
  if (!threads) return await importLocal();
  const threaded = createThreadedLoader(observe, { ...searching, offloadsAll: servesElsewhere });
  return startsHere && !servesElsewhere ? createFirstLoader(threaded, importLocal) : threaded;
}

/** What searches need: who loads and indexes, and where they are counted. */
async function openSearching(options: OpenStateOptions) {
  const { settings, features, threads = true, servesElsewhere, requestCells, observe } = options;
  const { searchCacheBytes, maxPendingSearches } = settings;
  // Half of the memory for results goes to the threads that serve, if others do. They keep the bound of searches
  // that wait, and count searches, themselves.
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

/** Opens what keeps a state current, one after the other; on a failure closes what was opened. */
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

/** A state and what keeps it current. */
export type OpenState = ReturnType<typeof opened>;

function opened(current: Current, state: State, keepers: Keepers) {
  const { keys, snapshots, saving, searching, sharedLimits } = keepers;
  return {
    state,
    sharedLimits,
    /** What the searches of its generation run over, for other threads. */
    searchIndex: () => snapshots.served.serving!.index,
    searchCounts: () => snapshots.served.searchCounts(),
    searchHolds: snapshots.served.searchHolds,
    /** Why the keys file was not taken when it was last read; undefined when it was, or where there is none. */
    keysProblem: () => keys?.problem(),
    /** Has other threads told of everything new from now on. */
    follow(follower: Takers): void {
      current.follower = follower;
    },
    /** Reads keys and snapshot again. @param allowShrink whether less than half of the users or worlds will do */
    async reload(allowShrink?: boolean): Promise<Reloaded> {
      const [ofKeys = "unchanged", { result, problems }] = await Promise.all([
        keys?.reload(),
        snapshots.reload(allowShrink),
      ]);
      const keysProblem = ofKeys === "refused" ? [keys!.problem()!] : [];
      const { id } = state.generation.store;
      return { keys: ofKeys, snapshot: result, generation: id, problems: [...keysProblem, ...problems] };
    },
    /** Takes records in place of the given ones, at once. */
    takeRecords: (records: readonly KeyRecord[]) =>
      current.takeKeys(createKeyRing(records, state.gate.counters)),
    /** To be called when requests are accepted, as the next: begins to index similar names, if the settings say so. */
    beginSimilar: () => searching.similar?.begin(),
    /** Begins to save the counts, likewise. */
    beginSaving: () => saving?.begin(),
    /** Stops the looks at the files. */
    stop(): void {
      keys?.stop();
      snapshots.stop();
    },
    /** Gives back permits, and saves the counts for the last time; to be called when the last request was answered. */
    async saveCounts(): Promise<void> {
      await sharedLimits?.close();
      await saving?.stop();
    },
    /** Ends the threads; to be called when the last request was answered. */
    close(): void {
      void sharedLimits?.close();
      snapshots.close();
    },
  };
}
