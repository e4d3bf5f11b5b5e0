/** The folder to load: a fixed one, or the newest copy from a source; and the search for a source. */

import { isAddress } from "../../files/folders.ts";
import type { Observe } from "../../observe/events.ts";
import { SettingError, type Values } from "../../settings/settings.ts";
import type { Refused } from "../../snapshot/load.ts";
import { SourceError } from "../../util/source-error.ts";
import { systemErrorText } from "../../util/system-error.ts";
import type { LoadedSearchable, Loader, LoaderOptions } from "./loader.ts";

/** Why the source is asked: for the first load, a check of the watch, or a later load. */
export type Occasion = "start" | "watch" | "reload";

/** An origin of snapshots other than a given folder. */
export interface Source {
  /**
   * Fetches the source's current snapshot.
   *
   * @returns the folder of the newest whole copy, also when the source is unavailable
   * @throws {SourceError} when there is no copy; the signal's reason
   */
  readonly refresh: (occasion: Occasion, signal: AbortSignal) => Promise<string>;
  /**
   * Checks whether a copy that failed to load is damaged, and fetches the damaged files again.
   *
   * @param folder the copy
   * @returns the folder to load instead; undefined when the copy is undamaged
   * @throws {SourceError} when it is damaged and the source is unavailable; the signal's reason
   */
  readonly repair: (folder: string, signal: AbortSignal) => Promise<string | undefined>;
  /** Milliseconds since the copy was last known to match the source; 0 while the source is available. */
  readonly ageMs: () => number;
}

export interface SourceQuestion {
  /** The value of `--snapshot`, or the argument of `check`. */
  readonly snapshot: string;
  readonly settings: Values<"serve" | "check">;
  /** The name of a setting in messages. */
  readonly nameOf: (setting: string) => string;
  /** The value of `XDG_CACHE_HOME`; only asked for where it is needed, since some hosts ask their user first. */
  readonly cacheHome: () => string | undefined;
}

export interface SourceListeners {
  readonly observe: Observe;
  /** @param share that was downloaded, from 0 to 1 */
  readonly onDownload?: ((share: number) => void) | undefined;
}

/** Opens a source; it is asked for nothing before its first use. */
export type OpenSource = (listeners: SourceListeners) => Source;

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

/** The folder of a snapshot, and the source that keeps it current, if any. */
export class SnapshotFolder {
  #path: string;
  readonly #source: Source | undefined;

  constructor(path: string, source: Source | undefined) {
    this.#path = path;
    this.#source = source;
  }

  get path(): string {
    return this.#path;
  }

  /** Whether each of its changes is complete at once. */
  get isSettled(): boolean {
    return this.#source !== undefined;
  }

  /** Milliseconds since it was last known to match its source. */
  get ageMs(): number {
    return this.#source?.ageMs() ?? 0;
  }

  /** Fetches the current snapshot of its source, if any. @throws {SourceError} when there is nothing to load; the signal's reason */
  async refresh(occasion: Occasion, signal: AbortSignal): Promise<void> {
    if (this.#source) this.#path = await this.#source.refresh(occasion, signal);
  }

  /** Why it cannot be read. */
  problemOf(error: unknown): string {
    if (error instanceof SourceError) return error.message;
    return `${this.#path}: cannot be read: ${systemErrorText(error) ?? String(error)}`;
  }

  /** Loads it. On a failure, repairs a damaged copy and loads once more. */
  async load(
    load: Loader,
    options: LoaderOptions & { readonly signal: AbortSignal },
  ): Promise<LoadedSearchable | Refused> {
    const result = await load(this.#path, options);
    if (result.ok || result.died || this.#source === undefined) return result;
    try {
      const repaired = await this.#source.repair(this.#path, options.signal);
      if (repaired === undefined) return result;
      this.#path = repaired;
    } catch (error) {
      if (!(error instanceof SourceError)) throw error;
      return { ...result, problems: [error.message, ...result.problems] };
    }
    return await load(this.#path, options);
  }
}
