/** The state that adapters answer from, opened and kept current. */

import type { State } from "../api/answer.ts";
import { createKeyRing, type KeyRecord, KeyRing } from "../auth/keys.ts";
import { createCounters, createSharedCounters } from "../auth/limit.ts";
import type { Reloaded } from "../model/reload.ts";
import { composeState } from "./compose.ts";
import { type Keepers, type OpenStateOptions, openKeepers, type Takers } from "./keepers.ts";

/** Told of new keys and generations: hands them to the state, once there is one, and to other threads that serve. */
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

/** A state and what keeps it current. */
export type OpenState = ReturnType<typeof opened>;

function opened(current: Current, state: State, keepers: Keepers) {
  const { keys, snapshots, saving, searching, sharedLimits } = keepers;
  return {
    state,
    /** Limits that are shared with other replicas. */
    sharedLimits,
    /** What the searches of its generation run over, for other threads. */
    searchIndex: () => snapshots.served.serving!.index,
    /** What became of the searches of the generation that is served. */
    searchCounts: () => snapshots.served.searchCounts(),
    /** Whether a page of a search would be answered from the cache. */
    searchHolds: snapshots.served.searchHolds,
    /** Why the keys file was not taken when it was last read; undefined when it was, or where there is none. */
    keysProblem: () => keys?.problem(),
    /** Has other threads told of everything new from now on. */
    follow(follower: Takers): void {
      current.follower = follower;
    },
    /**
     * Reads keys and snapshot again; tells what became of both.
     *
     * @param allowShrink whether the snapshot may have less than half of the users or worlds
     */
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
    /** Begins to index similar names, where that was asked for; to be called when requests are accepted. */
    beginSimilar: () => searching.similar?.begin(),
    /** Begins to save the counts, where that was asked for; to be called when requests are accepted. */
    beginSaving: () => saving?.begin(),
    /** Stops looking at the files. */
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
