/** Sources of snapshots, and how the source of a server's snapshot is found. */

import { isAddress } from "../../files/folders.ts";
import type { Observe } from "../../observe/events.ts";
import { SettingError, type Settings } from "../../settings/settings.ts";

/** Why the source is asked: for the first load, a check of the watch or a load after it, or a reload on request. */
export type Occasion = "start" | "watch" | "reload";

/** An origin of snapshots other than a given folder. */
export interface Source {
  /**
   * Fetches the source's current snapshot. @param allowShrink whether it may have less than half of the users or worlds
   * @returns the folder of the newest whole snapshot, also when the source is unavailable
   * @throws {SourceError} when there is none; the signal's reason
   */
  readonly refresh: (occasion: Occasion, signal: AbortSignal, allowShrink?: boolean) => Promise<string>;
  /** Asked after a load failed: if the folder is a copy whose files differ from the source's, it counts as absent from now on. @returns whether it is one; absent for a source without copies */
  readonly removeDamagedCopy?: (folder: string) => Promise<boolean>;
  /** Milliseconds since the source last confirmed the snapshot; 0 for a folder, and for a URL whose host is available. */
  readonly ageMs: () => number;
  /** Changes whenever the snapshot does, without reading it; absent if the fingerprints of the folder's files tell. */
  readonly fingerprint?: () => Promise<string>;
  /** Why the source is unavailable; undefined while it is available. */
  readonly problem: () => string | undefined;
}

export function folderSource(folder: string): Source {
  return { refresh: async () => folder, ageMs: () => 0, problem: () => undefined };
}

export interface SourceQuestion {
  readonly snapshot: string;
  /** Settings that the command lacks are absent. */
  readonly settings: Partial<Settings>;
  readonly nameOf: (setting: string) => string;
  /** How this program is started, for sources that run in a process of their own; undefined in other programs. */
  readonly command?: readonly string[];
  /** The value of `XDG_CACHE_HOME`; only asked for where it is needed, since some hosts ask their user first. */
  readonly cacheHome: () => string | undefined;
}

/** Opens a source, of which nothing is asked before its first use. `onDownload` takes the share that was downloaded, from 0 to 1. */
export type OpenSource = (listeners: {
  readonly observe: Observe;
  readonly onDownload?: ((share: number) => void) | undefined;
}) => Source;

/** Finds how to open a source. @throws {SettingError} when its settings are wrong */
export type FindSource = (question: SourceQuestion) => Promise<OpenSource>;

/** Finds how to open the source of a snapshot; undefined for a folder. @param find absent without the feature */
export async function findSource(
  find: FindSource | undefined,
  question: SourceQuestion,
): Promise<OpenSource | undefined> {
  if (!isAddress(question.snapshot)) return undefined;
  if (find === undefined)
    throw new SettingError("snapshot", ": snapshots by URL are not in this program", true);
  return await find(question);
}
