/** What keeps a state current: keys, snapshot, counts and shared limits, opened one after the other. */

import { createKeyRing, type KeyRecord, type KeyRing } from "../../gate/keys.ts";
import type { Counters } from "../../gate/limit.ts";
import type { RequestCells } from "../../metrics/counters.ts";
import type { Observe } from "../../observe.ts";
import type { SearchIndex } from "../../search/search.ts";
import type { Generation } from "../../store/generation.ts";
import type { SharedLimitsKeeper, SharedLimitsSettings } from "../limits/keep-shared.ts";
import { openSource } from "../load/open-source.ts";
import type { SnapshotEvents } from "../load/snapshot-events.ts";
import { keepSnapshot, type SnapshotKeeper } from "../load/snapshots.ts";
import type { StateSettings } from "./compose.ts";
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

type TakeGeneration = (generation: Generation, index: SearchIndex) => void;

/** Told of every key ring and generation, the first included. */
interface Takers {
  readonly takeKeys: (keys: KeyRing) => void;
  readonly takeGeneration: TakeGeneration;
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
  onGeneration: TakeGeneration,
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
export interface Keepers {
  readonly keys: KeysKeeper | undefined;
  readonly snapshots: SnapshotKeeper;
  readonly saving: CountsKeeper | undefined;
  readonly searching: Searching;
  readonly sharedLimits: SharedLimitsKeeper | undefined;
}

/** Opens them one after the other; those before one that fails are closed. */
export async function openKeepers(
  options: OpenStateOptions,
  counters: Counters,
  { takeKeys, takeGeneration }: Takers,
): Promise<Keepers> {
  const sharedLimits = await openSharedLimits(options, counters);
  let keys: KeysKeeper | undefined;
  try {
    keys = await openKeys(options, counters, takeKeys);
    const saving = await openSaving(options, counters, sharedLimits);
    const searching = await openSearching(options);
    const snapshots = await openSnapshots(options, searching, takeGeneration);
    return { keys, snapshots, saving, searching, sharedLimits };
  } catch (error) {
    keys?.stop();
    void sharedLimits?.close();
    throw error;
  }
}
