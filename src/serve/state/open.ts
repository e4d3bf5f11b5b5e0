/** The state that adapters answer from, opened and kept current. */

import type { State } from "../../answer.ts";
import { createKeyRing, type KeyRecord, KeyRing } from "../../gate/keys.ts";
import { type Counters, createCounters, createSharedCounters } from "../../gate/limit.ts";
import type { RequestCells } from "../../metrics/counters.ts";
import type { Observe } from "../../observe.ts";
import type { CacheCounts, CachedSearch } from "../../search/cache.ts";
import type { SearchIndex } from "../../search/search.ts";
import type { Generation } from "../../store/generation.ts";
import type { SharedLimitsKeeper, SharedLimitsSettings } from "../limits/keep-shared.ts";
import { openSource } from "../load/open-source.ts";
import type { SnapshotEvents } from "../load/snapshot-events.ts";
import { keepSnapshot, type SnapshotKeeper } from "../load/snapshots.ts";
import { composeState, type StateSettings } from "./compose.ts";
import type { CountsKeeper } from "./keep-counts.ts";
import { type KeysKeeper, keepKeys } from "./keyfile.ts";
import { openSearching, type Searching } from "./open-searching.ts";

/** What to open. */
export interface OpenStateOptions extends StateSettings {
  /** Folder of the snapshot, or its URL. */
  readonly snapshot: string;
  /** Folder for copies of snapshots by URL. */
  readonly cache?: string | undefined;
  /** File of a bearer token for the URL. */
  readonly snapshotTokenFile?: string | undefined;
  /** What named that file, for messages; `--snapshot-token-file` when absent. */
  readonly snapshotTokenName?: string | undefined;
  /** Told what share of a snapshot was downloaded, from 0 to 1. */
  readonly onDownload?: (share: number) => void;
  /** A keys file, which is kept current, or its records. */
  readonly keys: string | readonly KeyRecord[];
  /** Seconds a window. */
  readonly rateWindow: number;
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

/** Who is told of new keys and generations: the state, once there is one, and other threads. */
class Current {
  keys = new KeyRing();
  state: State | undefined;
  follower: Follower | undefined;

  readonly takeKeys = (keys: KeyRing): void => {
    this.keys = keys;
    if (this.state) this.state.gate.keys = keys;
    this.follower?.takeKeys(keys);
  };

  readonly takeGeneration = (generation: Generation, index: SearchIndex): void => {
    if (this.state) this.state.generation = generation;
    this.follower?.takeGeneration(generation, index);
  };
}

async function openSharedLimits(
  { sharedLimits, observe }: OpenStateOptions,
  counters: Counters,
): Promise<SharedLimitsKeeper | undefined> {
  if (sharedLimits === undefined) return undefined;
  // Imported when it is needed.
  const { keepSharedLimits } = await import("../limits/keep-shared.ts");
  return await keepSharedLimits(sharedLimits, counters, observe);
}

/** Undefined where keys are given, not their file. */
async function openKeys(
  { keys, observe }: OpenStateOptions,
  counters: Counters,
  onKeys: (keys: KeyRing) => void,
): Promise<KeysKeeper | undefined> {
  if (typeof keys === "string") return await keepKeys(keys, counters, observe, onKeys);
  onKeys(createKeyRing(keys, counters));
  return undefined;
}

async function openSaving(
  { countsFile: file, observe }: OpenStateOptions,
  counters: Counters,
  sharedLimits: SharedLimitsKeeper | undefined,
): Promise<CountsKeeper | undefined> {
  if (file === undefined) return undefined;
  // Imported when it is needed.
  const { keepCounts } = await import("./keep-counts.ts");
  // Shared windows are those of the server's clock.
  const windowClock = sharedLimits && (() => Date.now() + sharedLimits.leases.clock[0]!);
  return await keepCounts({ file, counters, observe, ...(windowClock ? { windowClock } : {}) });
}

async function openSnapshots(
  options: OpenStateOptions,
  { pending, countSearch, similar, load }: Searching,
  onGeneration: Current["takeGeneration"],
): Promise<SnapshotKeeper> {
  const { onReleased, onProgress, snapshotEvents } = options;
  const source = await openSource(options);
  return await keepSnapshot(
    {
      folder: options.snapshot,
      ...(source ? { source } : {}),
      load,
      ...(similar ? { openSimilar: similar.open } : {}),
      maxBytes: options.maxSnapshotBytes,
      allowShrink: options.allowShrink ?? false,
      ...(onReleased ? { onReleased } : {}),
      ...(onProgress ? { onProgress } : {}),
      ...(snapshotEvents ? { events: snapshotEvents } : {}),
      pending,
      ...(countSearch ? { countSearch } : {}),
      observe: options.observe,
    },
    onGeneration,
  );
}

/** What keeps a state current. */
interface Keepers {
  readonly keys: KeysKeeper | undefined;
  readonly snapshots: SnapshotKeeper;
  readonly saving: CountsKeeper | undefined;
  readonly searching: Searching;
  readonly sharedLimits: SharedLimitsKeeper | undefined;
}

/** Opens them one after the other; those before one that fails are closed. */
async function openKeepers(
  options: OpenStateOptions,
  counters: Counters,
  current: Current,
): Promise<Keepers> {
  const sharedLimits = await openSharedLimits(options, counters);
  let keys: KeysKeeper | undefined;
  try {
    keys = await openKeys(options, counters, current.takeKeys);
    const saving = await openSaving(options, counters, sharedLimits);
    const searching = await openSearching(options);
    const snapshots = await openSnapshots(options, searching, current.takeGeneration);
    return { keys, snapshots, saving, searching, sharedLimits };
  } catch (error) {
    keys?.stop();
    void sharedLimits?.close();
    throw error;
  }
}

/**
 * Loads keys and snapshot, and begins to check them for changes.
 *
 * @throws {KeysFileError} when the keys cannot be used
 * @throws {SnapshotError} when the snapshot cannot be loaded
 */
export async function openState(options: OpenStateOptions): Promise<OpenState> {
  const { rateWindow, watch, observe } = options;
  const mayShare = options.sharedCounters || options.sharedLimits !== undefined;
  const counters = mayShare ? createSharedCounters(rateWindow) : createCounters(rateWindow);
  const current = new Current();
  const keepers = await openKeepers(options, counters, current);
  const state = composeState(options, {
    counters,
    shared: keepers.sharedLimits?.limits,
    // Both may be newer than the first.
    keys: current.keys,
    generation: keepers.snapshots.current(),
    requestCounters: keepers.searching.requestCounters,
    observe,
  });
  current.state = state;
  if (watch > 0) keepers.snapshots.watch(watch * 1000);
  return opened(current, state, keepers);
}

function opened(current: Current, state: State, keepers: Keepers): OpenState {
  const { keys, snapshots, saving, searching, sharedLimits } = keepers;
  return {
    state,
    sharedLimits,
    searchIndex: snapshots.index,
    searchCounts: snapshots.searchCounts,
    searchHolds: snapshots.searchHolds,
    keysProblem: () => keys?.problem(),
    follow(follower) {
      current.follower = follower;
    },
    async reload() {
      await Promise.all([keys?.reload(), snapshots.reload()]);
    },
    beginSimilar: () => searching.similar?.begin(),
    beginSaving: () => saving?.begin(),
    stop() {
      keys?.stop();
      snapshots.stop();
    },
    async saveCounts() {
      await sharedLimits?.close();
      await saving?.stop();
    },
    close() {
      void sharedLimits?.close();
      snapshots.close();
    },
  };
}
