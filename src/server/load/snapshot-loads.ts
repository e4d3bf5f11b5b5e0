/** One load after another: brings the folder from its source, loads it, and serves the result. `keeper.ts` decides when. */

import type { ReloadResult } from "../../model/reload.ts";
import { secondsAhead } from "../../model/time.ts";
import type { Observe } from "../../observe/events.ts";
import { fingerprintOf } from "../../snapshot/files.ts";
import { loadSnapshot, type Refused } from "../../snapshot/load.ts";
import { refusalsOf } from "../../snapshot/refusals.ts";
import { SourceError } from "../../util/source-error.ts";
import type { LoadedSearchable, Loader, LoaderOptions, SnapshotEvents } from "./loader.ts";
import {
  loadedObservation,
  ServedGeneration,
  type ServedOptions,
  type TakeGeneration,
  unchangedObservation,
} from "./served.ts";
import { folderSource, type Occasion, type Source } from "./source.ts";

export interface SnapshotOptions extends LoaderOptions, ServedOptions {
  readonly folder: string;
  /** Provides the folder instead, and keeps it current. */
  readonly source?: Source | undefined;
  readonly load: Loader;
  /** Whether a snapshot may have less than half of the users or worlds of the previous one. */
  readonly allowShrink: boolean;
  readonly observe: Observe;
  readonly events?: SnapshotEvents | undefined;
}

export interface SnapshotOutcome {
  readonly result: ReloadResult;
  /** Why it was refused, or why its source cannot be used, a line each. */
  readonly problems: readonly string[];
}

/** The outcome of a load, and for the next one: whether it failed although its files may be good, or they changed meanwhile. */
export interface LoadOutcome extends SnapshotOutcome {
  readonly failed?: boolean;
  readonly changed?: boolean;
}

/** The fingerprint of unreadable files; it equals no other. */
const UNSEEN = "unseen";

export function refused(...problems: string[]): LoadOutcome {
  return { result: "refused", problems };
}

export class SnapshotLoads {
  readonly #options: SnapshotOptions;
  readonly #source: Source;
  readonly #signal: AbortSignal;
  readonly served: ServedGeneration;
  folder: string;
  /** Fingerprint of the files at the newest load; undefined when the next check must load. */
  #fingerprint: string | undefined;
  /** Whether those files are served. */
  #isServed = false;
  #createdAt: string | undefined;

  /** @param signal ends a running load */
  constructor(options: SnapshotOptions, signal: AbortSignal, onGeneration: TakeGeneration) {
    this.#options = options;
    this.#signal = signal;
    this.folder = options.folder;
    this.#source = options.source ?? folderSource(options.folder);
    this.served = new ServedGeneration(options, onGeneration);
  }

  async load(allowShrink: boolean, occasion: Occasion): Promise<LoadOutcome> {
    const { events } = this.#options;
    events?.began();
    try {
      const problem = await this.#refresh(this.served.generation ? occasion : "start", allowShrink);
      return problem === undefined ? await this.#loadFolder(allowShrink) : refused(problem);
    } finally {
      events?.ended();
    }
  }

  /** The fingerprint of the folder, brought up to date. @throws when its files cannot be read */
  async check(): Promise<string> {
    this.folder = await this.#source.refresh("watch", this.#signal);
    return await this.#fingerprintNow();
  }

  /** Why the source cannot be used, although its copy is served; undefined if it can. */
  get sourceProblem(): string | undefined {
    return this.#source.problem();
  }

  /** Whether files that were checked are those of the newest load, served or refused. */
  isOfNewestLoad(fingerprint: string): boolean {
    return fingerprint === this.#fingerprint;
  }

  /** Whether they are served; then confirms it. If only a new manifest lists the served files, notes its time of the data. */
  async noteServed(fingerprint: string, isLoading: () => boolean): Promise<boolean> {
    const isNewest = this.isOfNewestLoad(fingerprint);
    const isServed = isNewest ? this.#isServed : await this.#takeRenewed(isLoading);
    if (isServed) this.#options.events?.confirmed(this.#source.ageMs(), this.#createdAt);
    return isServed;
  }

  /** @returns the problem of the source, if there is one */
  async #refresh(occasion: Occasion, allowShrink: boolean): Promise<string | undefined> {
    try {
      this.folder = await this.#source.refresh(occasion, this.#signal, allowShrink);
      return undefined;
    } catch (error) {
      if (this.#signal.aborted) return "";
      if (error instanceof SourceError) return error.message;
      throw error;
    }
  }

  async #loadFolder(allowShrink: boolean): Promise<LoadOutcome> {
    const began = performance.now();
    const ageMs = this.#source.ageMs();
    // A load that dies cannot say which files it read: these or newer ones.
    this.#fingerprint = await this.#fingerprintNow().catch(() => UNSEEN);
    const result = await this.#read(allowShrink);
    if (this.#signal.aborted) return refused();
    this.#isServed = result.ok;
    if (result.ok) {
      this.#fingerprint = result.fingerprint;
      return this.#serve(result, ageMs, began);
    }
    const { problems, changed = false, died = false, fingerprint } = result;
    // Files that are seen but cannot be read are tried again after a pause only, unless they change before.
    const failed = died || (fingerprint === undefined && !changed && this.#fingerprint !== UNSEEN);
    if (!failed) this.#fingerprint = fingerprint;
    return { result: "refused", problems, changed, failed };
  }

  #fingerprintNow(): Promise<string> {
    return this.#source.fingerprint?.() ?? fingerprintOf(this.folder);
  }

  async #read(allowShrink: boolean): Promise<LoadedSearchable | Refused> {
    const { generation, serving } = this.served;
    const { onProgress, ...options } = this.#options;
    // No progress is shown once requests are served. A message wakes the serving thread while the loading one still holds
    // the port's lock: at its lower priority, on a busy machine, that can last for a time slice of other threads.
    const onFirst = serving === undefined ? onProgress : undefined;
    const loading = { ...options, previous: serving, onProgress: onFirst, signal: this.#signal };
    const result = await this.#loadUndamaged(loading);
    if (!result.ok || generation === undefined) return result;
    const problems = refusalsOf(generation.store, result.store, allowShrink || options.allowShrink);
    if (problems.length > 0) return { ok: false, problems, fingerprint: result.fingerprint };
    if (result.store.id === generation.store.id) this.served.keep(result);
    return result;
  }

  /** Loads the folder. If it was a damaged copy, asks the source again, and loads once more. */
  async #loadUndamaged(loading: LoaderOptions): Promise<LoadedSearchable | Refused> {
    const { load } = this.#options;
    const result = await load(this.folder, loading);
    if (result.ok || result.died || !(await this.#source.removeDamagedCopy?.(this.folder))) return result;
    const problem = await this.#refresh("reload", false);
    if (problem === undefined) return await load(this.folder, loading);
    return { ...result, problems: [problem, ...result.problems] };
  }

  #takeTime(createdAt: string | undefined): void {
    this.#createdAt = createdAt;
    const seconds = secondsAhead(createdAt);
    if (seconds > 0) this.#options.observe({ kind: "data-ahead", createdAt: createdAt!, seconds });
  }

  #serve(loaded: LoadedSearchable, ageMs: number, began: number): LoadOutcome {
    const { events, observe } = this.#options;
    this.#takeTime(loaded.createdAt);
    events?.confirmed(ageMs, this.#createdAt);
    const isSame = loaded.store.id === this.served.generation?.store.id;
    if (!isSame) this.served.replace(loaded);
    const observationOf = isSame ? unchangedObservation : loadedObservation;
    observe(observationOf(loaded, performance.now() - began));
    return { result: isSame ? "unchanged" : "loaded", problems: [] };
  }

  /** Takes the time of the data from a manifest, if that lists the served files. @returns whether it does */
  async #takeRenewed(isLoading: () => boolean): Promise<boolean> {
    const previous = this.served.serving!;
    const renewed = await loadSnapshot(this.folder, { previous, onlyIfUnchanged: true });
    if (!renewed.ok || renewed.store.id !== previous.store.id || isLoading()) return false;
    this.#takeTime(renewed.createdAt);
    this.#fingerprint = renewed.fingerprint;
    this.#isServed = true;
    return true;
  }
}
