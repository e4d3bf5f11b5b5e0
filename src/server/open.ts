/** The state that adapters answer from, opened and kept current. */

import type { State } from "../api/answer.ts";
import { createKeyRing, type KeyRecord, KeyRing } from "../auth/keys.ts";
import { createCounters, createSharedCounters } from "../auth/limit.ts";
import type { LimitSharing } from "../auth/shared.ts";
import type { Reloaded } from "../model/reload.ts";
import type { CacheCounts, CachedSearch } from "../search/cache.ts";
import type { SearchIndex } from "../search/search.ts";
import type { Generation } from "../store/generation.ts";
import { composeState } from "./compose.ts";
import { type Keepers, type OpenStateOptions, openKeepers } from "./keepers.ts";

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
  /**
   * Reads keys and snapshot again; tells what became of both.
   *
   * @param allowShrink whether the snapshot may have less than half of the users or worlds
   */
  readonly reload: (allowShrink?: boolean) => Promise<Reloaded>;
  /** Takes records in place of those that were given, at once. */
  readonly takeRecords: (records: readonly KeyRecord[]) => void;
  /** Begins to index similar names, where that was asked for; to be called when requests are accepted. */
  readonly beginSimilar: () => void;
  /** Begins to save the counts, where that was asked for; to be called when requests are accepted. */
  readonly beginSaving: () => void;
  /** Stops looking at the files. */
  readonly stop: () => void;
  /** Limits that are shared with other replicas. */
  readonly sharedLimits: LimitSharing | undefined;
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

/**
 * Loads keys and snapshot, and begins to check them for changes.
 *
 * @throws {KeysFileError} when the keys cannot be used
 * @throws {SnapshotError} when the snapshot cannot be loaded
 */
export async function openState(options: OpenStateOptions): Promise<OpenState> {
  const { settings, observe } = options;
  const { rateWindow, watch } = settings;
  const mayShare = options.sharedCounters || options.sharedLimits !== undefined;
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
    keyUse: options.searchesHere === false ? undefined : options.keyUse?.[0],
    observe,
    writeAccess: options.writeAccess,
    features: options.features,
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
    async reload(allowShrink) {
      const [ofKeys = "unchanged", { result, problems }] = await Promise.all([
        keys?.reload(),
        snapshots.reload(allowShrink),
      ]);
      const keysProblem = ofKeys === "refused" ? [keys!.problem()!] : [];
      const { id } = state.generation.store;
      return { keys: ofKeys, snapshot: result, generation: id, problems: [...keysProblem, ...problems] };
    },
    takeRecords: (records) => current.takeKeys(createKeyRing(records, state.gate.counters)),
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
