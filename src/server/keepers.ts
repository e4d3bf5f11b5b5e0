/** What keeps a state current: keys, snapshot, counts and shared limits, opened one after the other. */

import type { CountsKeeper } from "../auth/keep-counts.ts";
import { createKeyRing, type KeyRecord, type KeyRing } from "../auth/keys.ts";
import type { Counters } from "../auth/limit.ts";
import { type KeysKeeper, keepKeys } from "../auth/watched-keys.ts";
import type { SearchIndex } from "../search/search.ts";
import type { Settings } from "../settings/settings.ts";
import type { SharedLimitsKeeper, SharedLimitsSettings } from "../shared-limits/keep-shared.ts";
import type { Generation } from "../store/generation.ts";
import type { Features } from "./features.ts";
import { openSource, type SourceOptions } from "./load/open-source.ts";
import type { SnapshotEvents } from "./load/snapshot-events.ts";
import { keepSnapshot, type SnapshotKeeper } from "./load/snapshots.ts";
import { openSearching, type Searching, type SearchingOptions } from "./open-searching.ts";

/** What to open. */
export interface OpenStateOptions extends SearchingOptions, SourceOptions {
  readonly settings: Settings;
  readonly features: Features;
  /** Records of keys in place of the keys file. */
  readonly records?: readonly KeyRecord[] | undefined;
  /** Told what share of a snapshot was read, from 0 to 1. */
  readonly onProgress?: (share: number) => void;
  /** Called when an old generation is no longer needed by anybody. */
  readonly onReleased?: () => void;
  /** Whether other threads count requests too; false when absent. */
  readonly sharedCounters?: boolean;
  /** How limits are shared with other replicas; not at all when absent. */
  readonly sharedLimits?: SharedLimitsSettings | undefined;
  /** Takes lines of the access log, whole; each request is observed when absent. */
  readonly writeAccess?: ((lines: string) => void) | undefined;
  /** Told of loads and looks. */
  readonly snapshotEvents?: SnapshotEvents;
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
  const { keepSharedLimits } = await import("../shared-limits/keep-shared.ts");
  return await keepSharedLimits(sharedLimits, counters, observe);
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
  sharedLimits: SharedLimitsKeeper | undefined,
): Promise<CountsKeeper | undefined> {
  if (file === undefined) return undefined;
  // Imported when it is needed.
  const { keepCounts } = await import("../auth/keep-counts.ts");
  // Shared windows are those of the server's clock.
  const windowClock = sharedLimits && (() => Date.now() + sharedLimits.leases.clock[0]!);
  return await keepCounts({ file, counters, observe, ...(windowClock ? { windowClock } : {}) });
}

async function openSnapshots(
  options: OpenStateOptions,
  { pending, countSearch, similar, load }: Searching,
  onGeneration: TakeGeneration,
): Promise<SnapshotKeeper> {
  const { settings, onReleased, onProgress, snapshotEvents } = options;
  const source = await openSource(options);
  return await keepSnapshot(
    {
      folder: settings.snapshot,
      ...(source ? { source } : {}),
      load,
      ...(similar ? { openSimilar: similar.open } : {}),
      maxBytes: settings.maxSnapshotBytes,
      allowShrink: settings.allowShrink,
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
