/** The folder that is loaded: always the same one, or the newest copy of a source. */

import type { Refused } from "../../snapshot/load.ts";
import { SourceError } from "../../util/source-error.ts";
import { systemErrorText } from "../../util/system-error.ts";
import type { LoadedSearchable, Loader, LoaderOptions } from "./loader.ts";
import type { Occasion, Source } from "./source.ts";

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

  /** Whether it is whole whenever it is another. */
  get isSettled(): boolean {
    return this.#source !== undefined;
  }

  /** Milliseconds since it was last known to be what its source has. */
  get ageMs(): number {
    return this.#source?.ageMs() ?? 0;
  }

  /**
   * Has the source bring what it has; to be called before the folder is looked at.
   *
   * @throws {SourceError} when there is nothing to load; the signal's reason
   */
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
