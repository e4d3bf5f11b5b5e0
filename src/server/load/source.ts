/** The folder that is loaded: always the same one, or the newest copy of a source, and how a source is found. */

import { isAddress } from "../../files/folders.ts";
import type { Observe } from "../../observe/events.ts";
import { SettingError, type Values } from "../../settings/settings.ts";
import type { Refused } from "../../snapshot/load.ts";
import { SourceError } from "../../util/source-error.ts";
import { systemErrorText } from "../../util/system-error.ts";
import type { LoadedSearchable, Loader, LoaderOptions } from "./loader.ts";

/** Why the source is asked: somebody waits for a first snapshot, the time has come, or somebody wants it now. */
export type Occasion = "start" | "watch" | "reload";

/** Where a snapshot comes from that is no folder of somebody else's. */
export interface Source {
  /**
   * Brings what the source has now.
   *
   * @returns the folder of the newest whole copy, also when the source cannot be used
   * @throws {SourceError} when there is no copy; the signal's reason
   */
  readonly refresh: (occasion: Occasion, signal: AbortSignal) => Promise<string>;
  /**
   * Looks whether the copy that would not load is damaged, and brings what is.
   *
   * @param folder what would not load
   * @returns the folder to load instead; undefined when the copy is what the source has
   * @throws {SourceError} when it is damaged and the source cannot be used; the signal's reason
   */
  readonly repair: (folder: string, signal: AbortSignal) => Promise<string | undefined>;
  /** Milliseconds since it was last known that the copy is what the source has; 0 while the source can be used. */
  readonly ageMs: () => number;
}

export interface SourceQuestion {
  /** The value of `--snapshot`, or what is checked. */
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

/** Finds what opens a source. @throws {SettingError} when its settings are wrong */
export type FindSource = (question: SourceQuestion) => Promise<OpenSource>;

/** The same; undefined where the snapshot is a folder. @param find absent where no feature brings snapshots */
export async function findSource(
  find: FindSource | undefined,
  question: SourceQuestion,
): Promise<OpenSource | undefined> {
  if (!isAddress(question.snapshot)) return undefined;
  if (find === undefined)
    throw new SettingError("snapshot", ": snapshots by URL are not in this program", true);
  return await find(question);
}

/** A folder, and what keeps it current if anything does. */
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

  /** Whether a change of it is always a whole one. */
  get isSettled(): boolean {
    return this.#source !== undefined;
  }

  /** Milliseconds since it was last known to be what its source has. */
  get ageMs(): number {
    return this.#source?.ageMs() ?? 0;
  }

  /** Has the source bring what it has. @throws {SourceError} when there is nothing to load; the signal's reason */
  async refresh(occasion: Occasion, signal: AbortSignal): Promise<void> {
    if (this.#source) this.#path = await this.#source.refresh(occasion, signal);
  }

  /** Why it cannot be looked at. */
  problemOf(error: unknown): string {
    if (error instanceof SourceError) return error.message;
    return `${this.#path}: cannot be read: ${systemErrorText(error) ?? String(error)}`;
  }

  /** Loads it. What will not do may be a damaged copy: then it is repaired and loaded once more. */
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
