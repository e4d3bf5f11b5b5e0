/** What keeps a state current: keys, snapshot, counts and shared limits, opened one after the other. */

import type { CountsKeeper } from "../auth/keep-counts.ts";
import type { KeyUse } from "../auth/key-use.ts";
import { createKeyRing, type KeyRecord, type KeyRing } from "../auth/keys.ts";
import type { Counters } from "../auth/limit.ts";
import type { LimitSharing, SharedLimitsPlan } from "../auth/shared.ts";
import { type KeysKeeper, keepKeys } from "../auth/watched-keys.ts";
import type { SnapshotEvents } from "./load/loader.ts";
import type { TakeGeneration } from "./load/served.ts";
import { SnapshotKeeper } from "./load/snapshots.ts";
import type { OpenSource } from "./load/source.ts";
import { openSearching, type Searching, type SearchingOptions } from "./open-searching.ts";

/** What to open. */
export interface OpenStateOptions extends SearchingOptions {
  /** Records of keys in place of the keys file. */
  readonly records?: readonly KeyRecord[] | undefined;
  /** Brings the snapshot, where that is no folder. */
  readonly source?: OpenSource | undefined;
  /** Told what share of it was downloaded, from 0 to 1. */
  readonly onDownload?: (share: number) => void;
  /** Told what share of a snapshot was read, from 0 to 1. */
  readonly onProgress?: (share: number) => void;
  /** Called when an old generation is no longer needed by anybody. */
  readonly onReleased?: () => void;
  /** Whether other threads count requests too; false when absent. */
  readonly sharedCounters?: boolean;
  /** How limits are shared with other replicas; not at all when absent. */
  readonly sharedLimits?: SharedLimitsPlan | undefined;
  /** Where each thread that serves counts the requests of each key; nothing is counted when absent. */
  readonly keyUse?: readonly KeyUse[] | undefined;
  /** Takes lines of the access log, whole; each request is observed when absent. */
  readonly writeAccess?: ((lines: string) => void) | undefined;
  /** Told of loads and looks. */
  readonly snapshotEvents?: SnapshotEvents;
}

/** Told of every key ring and generation, the first included. */
export interface Takers {
  readonly takeKeys: (keys: KeyRing) => void;
  readonly takeGeneration: TakeGeneration;
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

async function openSnapshots(
  options: OpenStateOptions,
  { pending, countSearch, similar, load }: Searching,
  onGeneration: TakeGeneration,
): Promise<SnapshotKeeper> {
  const { settings, onReleased, onProgress, onDownload, snapshotEvents, observe } = options;
  return await SnapshotKeeper.open(
    {
      folder: settings.snapshot,
      source: options.source?.({ observe, onDownload }),
      load,
      openSimilar: similar?.open,
      maxBytes: settings.maxSnapshotBytes,
      allowShrink: settings.allowShrink,
      onReleased,
      ...(onProgress ? { onProgress } : {}),
      events: snapshotEvents,
      pending,
      countSearch,
      observe,
    },
    onGeneration,
  );
}

/** What keeps a state current. */
export type Keepers = Awaited<ReturnType<typeof openKeepers>>;

/** Opens them one after the other; those before one that fails are closed. */
export async function openKeepers(
  options: OpenStateOptions,
  counters: Counters,
  { takeKeys, takeGeneration }: Takers,
) {
  const sharedLimits = await options.sharedLimits?.open(counters, options.observe);
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
