/**
 * Keeping the generation current: loading, reloading, watching the folder.
 *
 * A snapshot that fails to load changes nothing. A request to reload while a
 * load is under way becomes one more load behind it, however often it comes.
 */

import type { ReloadResult } from "../../model/reload.ts";
import type { CacheCounts, CachedSearch } from "../../search/cache.ts";
import type { SearchIndex } from "../../search/search.ts";
import { fingerprintOf } from "../../snapshot/files.ts";
import type { Refused } from "../../snapshot/load.ts";
import { refusalsOf, SnapshotError } from "../../snapshot/refusals.ts";
import { findRenewed } from "../../snapshot/renewed.ts";
import type { Generation } from "../../store/generation.ts";
import { Coalesced } from "../../util/process/coalesced.ts";
import { GrowingPauses } from "../../util/process/pauses.ts";
import { SourceError } from "../../util/source-error.ts";
import { loadedObservation, unchangedObservation } from "./load-observations.ts";
import type { LoadedSearchable, Loader, LoaderOptions } from "./loader.ts";
import { ServedGeneration, type ServedOptions } from "./served.ts";
import { type SnapshotEvents, tellingOf } from "./snapshot-events.ts";
import { SnapshotFolder } from "./snapshot-folder.ts";
import type { Source } from "./source.ts";

/** @internal What to keep current, and who is told. */
export interface SnapshotOptions extends LoaderOptions, ServedOptions {
  readonly folder: string;
  /** Gives the folder instead, and brings what belongs into it. */
  readonly source?: Source;
  readonly load: Loader;
  /** Whether a snapshot may have less than half of the users or worlds of the one before. */
  readonly allowShrink: boolean;
  readonly events?: SnapshotEvents;
}

/** @internal What became of a load. */
export interface SnapshotOutcome {
  readonly result: ReloadResult;
  /** Why it was refused, a line each. */
  readonly problems: readonly string[];
}

/** @internal The keeper of one folder. */
export interface SnapshotKeeper {
  /** The generation to serve. */
  readonly current: () => Generation;
  /** What its searches run over, for other threads. */
  readonly index: () => SearchIndex;
  /**
   * Loads again; resolves when the load that this call asked for is over, with its outcome.
   *
   * @param allowShrink whether that load may take what has less than half of the users or worlds
   */
  readonly reload: (allowShrink?: boolean) => Promise<SnapshotOutcome>;
  /** Checks the folder every so many milliseconds. */
  readonly watch: (everyMs: number) => void;
  /** Stops watching, and trying again: no load begins any more. */
  readonly stop: () => void;
  /** What became of the searches of the generation that is served. */
  readonly searchCounts: () => CacheCounts;
  /** Whether a page of a search would be answered from the cache. */
  readonly searchHolds: CachedSearch["holds"];
  /**
   * Stops, ends a load that is under way, and lets go of what the generation's search holds; nothing can be loaded
   * or searched after it.
   */
  readonly close: () => void;
}

/** The first pause, in milliseconds, before a load that died is tried again though the files are the same. */
const RETRY_MS = 5000;

/** The fingerprint of files that cannot be read; no other is equal to it. */
const UNSEEN = "unseen";

/**
 * Loads the folder and keeps it.
 *
 * @param onGeneration called with every generation, the first included
 * @throws {SnapshotError} when the first load fails
 * @internal
 */
export async function keepSnapshot(
  options: SnapshotOptions,
  onGeneration: (generation: Generation, index: SearchIndex) => void,
): Promise<SnapshotKeeper> {
  const { observe, events } = options;
  const folder = new SnapshotFolder(options.folder, options.source);
  const served = new ServedGeneration(options, onGeneration);
  /** Fingerprint of the files at the newest load; undefined when the next check must load. */
  let loadedFingerprint: string | undefined;
  /** Whether that is what is served. */
  let isServed = false;
  /** The moment of the data that are served. */
  let createdAt: string | undefined;
  /** Whether the next load may take what has shrunk. */
  let allowsShrinkOnce = false;
  const loads = new Coalesced(async () => {
    // It may have waited for its turn.
    if (stopped) return;
    await tellingOf(events, load).catch((error: unknown) =>
      observe({ kind: "defect", where: "reload", error }),
    );
  });
  let timer: NodeJS.Timeout | undefined;
  let retry: NodeJS.Timeout | undefined;
  const pauses = new GrowingPauses(RETRY_MS);
  let stopped = false;
  let outcome: SnapshotOutcome = { result: "unchanged", problems: [] };
  const closing = new AbortController();

  async function loadOnce(): Promise<LoadedSearchable | Refused> {
    const { generation, serving } = served;
    const allowShrink = options.allowShrink || allowsShrinkOnce;
    allowsShrinkOnce = false;
    const before = serving && { before: serving };
    const { onProgress, ...loadOptions } = options;
    // Nobody looks on once requests are served. A message wakes the serving thread while the one that loads still has the
    // port locked: with the lower priority that it has, on a busy machine that can last for as long as a slice of others.
    const shown = serving === undefined && onProgress ? { onProgress } : {};
    const result = await folder.load(options.load, {
      ...loadOptions,
      ...before,
      ...shown,
      signal: closing.signal,
    });
    if (!result.ok || generation === undefined) return result;
    const isSame = result.store.id === generation.store.id;
    const problems = refusalsOf(generation.store, result.store, allowShrink);
    if (isSame || problems.length > 0) result.retire();
    if (problems.length > 0) return { ok: false, problems, fingerprint: result.fingerprint };
    if (isSame) served.keep(result);
    return result;
  }

  async function load(): Promise<void> {
    clearTimeout(retry);
    const { generation } = served;
    try {
      await folder.refresh(generation === undefined ? "start" : "reload", closing.signal);
    } catch (error) {
      if (closing.signal.aborted) return;
      if (!(error instanceof SourceError)) throw error;
      if (generation === undefined) throw new SnapshotError([error.message]);
      outcome = { result: "refused", problems: [error.message] };
      observe({ kind: "snapshot-refused", problems: [error.message], serving: generation.store.id });
      return;
    }
    const began = performance.now();
    const { ageMs } = folder;
    // A load that dies cannot say what it read; it is that, or something newer.
    loadedFingerprint = await fingerprintOf(folder.path, options.files).catch(() => UNSEEN);
    const result = await loadOnce();
    if (closing.signal.aborted) {
      if (result.ok) result.retire();
      return;
    }
    const retryMs = result.ok || !result.died ? undefined : pauses.next();
    if (retryMs === undefined) {
      loadedFingerprint = result.fingerprint;
      pauses.reset();
    }
    isServed = result.ok;
    if (!result.ok) {
      if (generation === undefined) throw new SnapshotError(result.problems);
      outcome = { result: "refused", problems: result.problems };
      tellOfRefused(result, generation.store.id, retryMs);
      return;
    }
    ({ createdAt } = result);
    events?.confirmed(ageMs, createdAt);
    outcome = { result: result.store.id === generation?.store.id ? "unchanged" : "loaded", problems: [] };
    if (outcome.result === "unchanged") {
      observe(unchangedObservation(result, performance.now() - began));
    } else {
      served.replace(result);
      observe(loadedObservation(result, performance.now() - began));
    }
  }

  function tellOfRefused({ problems, changed }: Refused, serving: string, retryMs: number | undefined): void {
    if (retryMs === undefined) {
      // Without a watch nobody checks again.
      const changing = changed && timer !== undefined ? ({ changing: true } as const) : {};
      observe({ kind: "snapshot-refused", problems, serving, ...changing });
      return;
    }
    observe({ kind: "snapshot-refused", problems, serving, retryMs });
    if (!stopped) retry = setTimeout(() => void reload(), retryMs).unref();
  }

  async function reload(allowShrink = false): Promise<SnapshotOutcome> {
    if (stopped)
      return { result: "refused", problems: ["the server is stopping: nothing is loaded any more"] };
    allowsShrinkOnce ||= allowShrink;
    await loads.ask();
    return outcome;
  }

  /** Takes the moment of the data from a manifest that lists what is served. @returns whether it does */
  async function takeRenewed(): Promise<boolean> {
    const renewed = await findRenewed(folder.path, served.serving!, options.files);
    if (renewed === undefined || loads.isRunning) return false;
    createdAt = renewed.createdAt;
    loadedFingerprint = renewed.fingerprint;
    isServed = true;
    return true;
  }

  /** Two equal fingerprints that differ from what is loaded: the writer is done. */
  let lastSeen: string | undefined;
  async function check(): Promise<void> {
    if (loads.isRunning) return;
    let seen: string;
    let isCurrent: boolean;
    try {
      await folder.refresh("watch", closing.signal);
      // Somebody may have asked for a load meanwhile.
      if (loads.isRunning) return;
      seen = await fingerprintOf(folder.path, options.files);
      isCurrent = seen === loadedFingerprint ? isServed : await takeRenewed();
    } catch (error) {
      if (closing.signal.aborted) return;
      const problem = folder.problemOf(error);
      if (lastSeen !== problem && served.generation !== undefined) {
        observe({ kind: "snapshot-refused", problems: [problem], serving: served.generation.store.id });
      }
      lastSeen = problem;
      return;
    }
    // What comes from a source is whole when it comes.
    const settled = seen === lastSeen || folder.isSettled;
    lastSeen = seen;
    if (isCurrent) events?.confirmed(folder.ageMs, createdAt);
    else if (settled && seen !== loadedFingerprint) await reload();
  }

  function stop(): void {
    stopped = true;
    clearTimeout(timer);
    clearTimeout(retry);
    timer = undefined;
  }

  await tellingOf(events, load);
  return {
    current: () => served.generation!,
    index: () => served.serving!.index,
    reload,
    watch(everyMs) {
      const next = (): void => {
        timer = setTimeout(() => {
          void check().finally(() => {
            if (timer !== undefined) next();
          });
        }, everyMs);
      };
      next();
    },
    stop,
    searchCounts: () => served.searchCounts(),
    searchHolds: served.searchHolds,
    close() {
      if (closing.signal.aborted) return;
      stop();
      closing.abort();
      served.retire();
    },
  };
}
