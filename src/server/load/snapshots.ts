/**
 * Keeping the generation current: loading, reloading, watching the folder. All requests to reload during a load become one
 * more load after it. After a stop no load begins; `close` also ends one that still runs.
 */

import { answered } from "../../files/given.ts";
import type { ReloadResult } from "../../model/reload.ts";
import { fingerprintOf } from "../../snapshot/files.ts";
import { loadSnapshot, type Refused } from "../../snapshot/load.ts";
import { refusalsOf } from "../../snapshot/refusals.ts";
import { Coalesced } from "../../util/process/coalesced.ts";
import { GrowingPauses } from "../../util/process/pauses.ts";
import { SourceError } from "../../util/source-error.ts";
import { problemText } from "../../util/system-error.ts";
import { PlaceError, SnapshotError } from "../../util/told-error.ts";
import type { LoadedSearchable, Loader, LoaderOptions, SnapshotEvents } from "./loader.ts";
import {
  loadedObservation,
  ServedGeneration,
  type ServedOptions,
  type TakeGeneration,
  unchangedObservation,
} from "./served.ts";
import { folderSource, type Source } from "./source.ts";

export interface SnapshotOptions extends LoaderOptions, ServedOptions {
  readonly folder: string;
  /** Provides the folder instead, and keeps it current. */
  readonly source?: Source | undefined;
  readonly load: Loader;
  /** Whether a snapshot may have less than half of the users or worlds of the previous one. */
  readonly allowShrink: boolean;
  readonly events?: SnapshotEvents | undefined;
}

export interface SnapshotOutcome {
  readonly result: ReloadResult;
  /** Why it was refused, a line each. */
  readonly problems: readonly string[];
}

/** The first backoff, in milliseconds, before a load that died is tried again although the files are unchanged. */
const RETRY_MS = 5000;

/** The fingerprint of unreadable files; it equals no other. */
const UNSEEN = "unseen";

export class SnapshotKeeper {
  readonly #options: SnapshotOptions;
  readonly #source: Source;
  readonly served: ServedGeneration;
  #folder: string;
  #isStopped = false;
  readonly #closing = new AbortController();
  readonly #loads = new Coalesced(() => this.#loadAgain());
  readonly #pauses = new GrowingPauses(RETRY_MS);
  #watch: NodeJS.Timeout | undefined;
  #retry: NodeJS.Timeout | undefined;
  #outcome: SnapshotOutcome = { result: "unchanged", problems: [] };
  /** Fingerprint of the files at the newest load; undefined when the next check must load. */
  #loadedFingerprint: string | undefined;
  /** Whether those files are served. */
  #isServed = false;
  /** Fingerprint of the files at the last check, or why it failed. */
  #lastSeen: string | undefined;
  #createdAt: string | undefined;
  #allowsShrinkOnce = false;

  private constructor(options: SnapshotOptions, onGeneration: TakeGeneration) {
    this.#options = options;
    this.#folder = options.folder;
    this.#source = options.source ?? folderSource(options.folder);
    this.served = new ServedGeneration(options, onGeneration);
  }

  /** @param onGeneration called with every generation, the first included @throws {SnapshotError} when the first load fails */
  static async open(options: SnapshotOptions, onGeneration: TakeGeneration): Promise<SnapshotKeeper> {
    const keeper = new SnapshotKeeper(options, onGeneration);
    await keeper.#load();
    return keeper;
  }

  /** Loads again; resolves with the outcome of that load. @param allowShrink whether it may accept a shrunk snapshot */
  async reload(allowShrink = false): Promise<SnapshotOutcome> {
    this.#allowsShrinkOnce ||= allowShrink;
    await this.#loads.ask();
    return this.#outcome;
  }

  watch(everyMs: number): void {
    this.#watch = setTimeout(() => {
      void this.#check().finally(() => {
        if (this.#watch !== undefined) this.watch(everyMs);
      });
    }, everyMs);
  }

  /** Stops the watch and the retries: no further load begins. */
  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#watch);
    clearTimeout(this.#retry);
    this.#watch = undefined;
  }

  /** Stops, ends a running load, and releases the resources of the generation's search. */
  close(): void {
    if (this.#closing.signal.aborted) return;
    this.stop();
    this.#closing.abort();
    this.served.retire();
  }

  async #loadAgain(): Promise<void> {
    const isLate = this.#isStopped;
    if (!isLate) {
      await this.#load().catch((error: unknown) =>
        this.#options.observe({ kind: "defect", where: "reload", error }),
      );
    }
    // A load that `close` ended has changed nothing either.
    if (isLate || this.#closing.signal.aborted)
      this.#outcome = { result: "refused", problems: ["the server is stopping: nothing is loaded any more"] };
  }

  async #load(): Promise<void> {
    this.#options.events?.began();
    try {
      await this.#loadNewest();
    } finally {
      this.#options.events?.ended();
    }
  }

  async #loadNewest(): Promise<void> {
    clearTimeout(this.#retry);
    if (!(await this.#refresh())) return;
    const began = performance.now();
    const ageMs = this.#source.ageMs();
    // A load that dies cannot say which files it read: these or newer ones.
    const seen = await this.#fingerprint().catch((error: unknown) => error);
    // A thread that loads from it would never end.
    if (seen instanceof PlaceError) return this.#tellRefused([`${this.#folder}: ${seen.message}`]);
    this.#loadedFingerprint = typeof seen === "string" ? seen : UNSEEN;
    const result = await this.#read();
    if (this.#closing.signal.aborted) return;
    if (result.ok) this.#take(result, ageMs, began);
    else this.#refuse(result);
  }

  /** @throws {PlaceError} when the file system does not answer */
  #fingerprint(): Promise<string> {
    const { fingerprint } = this.#source;
    if (fingerprint !== undefined) return fingerprint();
    return answered(this.#folder, () => fingerprintOf(this.#folder));
  }

  /** @returns whether there is something to load */
  async #refresh(): Promise<boolean> {
    const { signal } = this.#closing;
    const occasion = this.served.generation === undefined ? "start" : "reload";
    try {
      this.#folder = await this.#source.refresh(occasion, signal);
      return true;
    } catch (error) {
      if (signal.aborted) return false;
      if (!(error instanceof SourceError)) throw error;
      this.#tellRefused([error.message]);
      return false;
    }
  }

  /** @throws {SnapshotError} when nothing is served */
  #tellRefused(problems: readonly string[], more: { retryMs?: number; changing?: true } = {}): void {
    const { generation } = this.served;
    if (generation === undefined) throw new SnapshotError(problems);
    this.#outcome = { result: "refused", problems };
    this.#options.observe({ kind: "snapshot-refused", problems, serving: generation.store.id, ...more });
  }

  async #read(): Promise<LoadedSearchable | Refused> {
    const { generation, serving } = this.served;
    const { onProgress, ...options } = this.#options;
    const allowShrink = options.allowShrink || this.#allowsShrinkOnce;
    this.#allowsShrinkOnce = false;
    // No progress is shown once requests are served. A message wakes the serving thread while the loading one still holds
    // the port's lock: at its lower priority, on a busy machine, that can last for a time slice of other threads.
    const onFirst = serving === undefined ? onProgress : undefined;
    const loading = { ...options, before: serving, onProgress: onFirst, signal: this.#closing.signal };
    const result = await this.#loadRepaired(loading);
    if (!result.ok || generation === undefined) return result;
    const isSame = result.store.id === generation.store.id;
    const problems = refusalsOf(generation.store, result.store, allowShrink);
    if (problems.length > 0) return { ok: false, problems, fingerprint: result.fingerprint };
    if (isSame) this.served.keep(result);
    return result;
  }

  /** Loads the folder. On a failure, repairs a damaged copy and loads once more. */
  async #loadRepaired(loading: LoaderOptions): Promise<LoadedSearchable | Refused> {
    const { load } = this.#options;
    const result = await load(this.#folder, loading);
    if (result.ok || result.died) return result;
    try {
      const repaired = await this.#source.repair(this.#folder, this.#closing.signal);
      if (repaired === undefined) return result;
      this.#folder = repaired;
      return await load(repaired, loading);
    } catch (error) {
      if (!(error instanceof SourceError)) throw error;
      return { ...result, problems: [error.message, ...result.problems] };
    }
  }

  #take(loaded: LoadedSearchable, ageMs: number, began: number): void {
    this.#settle(loaded);
    this.#createdAt = loaded.createdAt;
    this.#options.events?.confirmed(ageMs, this.#createdAt);
    const isSame = loaded.store.id === this.served.generation?.store.id;
    this.#outcome = { result: isSame ? "unchanged" : "loaded", problems: [] };
    if (!isSame) this.served.replace(loaded);
    const observationOf = isSame ? unchangedObservation : loadedObservation;
    this.#options.observe(observationOf(loaded, performance.now() - began));
  }

  /** Notes the end of a load that did not die. */
  #settle({ ok, fingerprint }: LoadedSearchable | Refused): void {
    this.#loadedFingerprint = fingerprint;
    this.#isServed = ok;
    this.#pauses.reset();
  }

  #refuse(refused: Refused): void {
    const { problems, changed, died } = refused;
    if (!died) {
      this.#settle(refused);
      // Without a watch no further check follows.
      const isChanging = changed && this.#watch !== undefined;
      this.#tellRefused(problems, isChanging ? { changing: true } : {});
      return;
    }
    this.#isServed = false;
    const retryMs = this.#pauses.next();
    this.#tellRefused(problems, { retryMs });
    if (!this.#isStopped) this.#retry = setTimeout(() => void this.reload(), retryMs).unref();
  }

  /** Loads when two checks in a row see the same new fingerprint: the writer is done. */
  async #check(): Promise<void> {
    if (this.#loads.isRunning) return;
    let seen: string;
    let isCurrent: boolean;
    try {
      this.#folder = await this.#source.refresh("watch", this.#closing.signal);
      // A load may have begun meanwhile.
      if (this.#loads.isRunning) return;
      seen = await this.#fingerprint();
      isCurrent = seen === this.#loadedFingerprint ? this.#isServed : await this.#takeRenewed();
    } catch (error) {
      if (!this.#closing.signal.aborted) this.#tellUnreadable(error);
      return;
    }
    // A source delivers whole snapshots only.
    const settled = seen === this.#lastSeen || this.#options.source !== undefined;
    this.#lastSeen = seen;
    if (isCurrent) this.#options.events?.confirmed(this.#source.ageMs(), this.#createdAt);
    else if (settled && seen !== this.#loadedFingerprint) await this.reload();
  }

  /** Reports once why the folder cannot be read. */
  #tellUnreadable(error: unknown): void {
    const isOfSource = error instanceof SourceError;
    const problem = isOfSource ? error.message : `${this.#folder}: cannot be read: ${problemText(error)}`;
    if (this.#lastSeen !== problem) this.#tellRefused([problem]);
    this.#lastSeen = problem;
  }

  /** Takes the time of the data from a manifest, if that lists the served files. @returns whether it does */
  async #takeRenewed(): Promise<boolean> {
    const before = this.served.serving!;
    const renewed = await loadSnapshot(this.#folder, {
      before,
      maxBytes: this.#options.maxBytes,
      readsNothing: true,
    });
    if (!renewed.ok || renewed.store.id !== before.store.id || this.#loads.isRunning) return false;
    this.#createdAt = renewed.createdAt;
    this.#loadedFingerprint = renewed.fingerprint;
    this.#isServed = true;
    return true;
  }
}
