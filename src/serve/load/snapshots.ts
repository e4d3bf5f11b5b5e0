/**
 * Keeping the generation current: loading, reloading, watching the folder.
 *
 * A snapshot that fails to load changes nothing. A request to reload while a
 * load is under way becomes one more load behind it, however often it comes.
 *
 * Long: loading, watching and letting go share the state of one generation.
 */

import type { Observe } from "../../observe.ts";
import { type CacheCounts, observeSearches, withCache } from "../../search/cache.ts";
import type { PendingSearches } from "../../search/schedule/pending.ts";
import type { SearchIndex } from "../../search/search.ts";
import { fingerprintOf } from "../../snapshot/files.ts";
import type { Refused } from "../../snapshot/load.ts";
import { renameProblems, shrinkProblems } from "../../snapshot/refusals.ts";
import { SourceError } from "../../source/problem.ts";
import type { Source } from "../../source/url.ts";
import { createGeneration, type Generation, type Store } from "../../store/generation.ts";
import { systemErrorText } from "../../system-error.ts";
import { RELEASE_MS } from "../process/collect.ts";
import { GrowingPauses } from "../process/pauses.ts";
import type { OpenSimilar, SimilarSearching } from "../search/similar.ts";
import type { LoadedSearchable, Loader, LoaderOptions, Serving } from "./loader.ts";
import { SnapshotFolder } from "./snapshot-folder.ts";

/** @internal What to keep current, and who is told. */
export interface SnapshotOptions extends LoaderOptions {
  readonly folder: string;
  /** Gives the folder instead, and brings what belongs into it. */
  readonly source?: Source;
  readonly load: Loader;
  /** Makes the similar search of a generation; there is none when absent. */
  readonly openSimilar?: SimilarSearching["open"];
  /** Whether a snapshot may have less than half of the users or worlds of the one before. */
  readonly allowShrink: boolean;
  /** Called when an old generation is no longer needed by anybody. */
  readonly onReleased?: () => void;
  /** Bounds the searches that wait for others; no bound when absent. */
  readonly pending?: PendingSearches;
  readonly observe: Observe;
}

/** The first load failed. */
export class SnapshotError extends Error {
  override name = "SnapshotError";
  /** One line a problem. */
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join("\n"));
    this.problems = problems;
  }
}

/** @internal The keeper of one folder. */
export interface SnapshotKeeper {
  /** The generation to serve. */
  readonly current: () => Generation;
  /** What its searches run over, for other threads. */
  readonly index: () => SearchIndex;
  /** Loads again; resolves when the load that this call asked for is over. */
  readonly reload: () => Promise<void>;
  /** Checks the folder every so many milliseconds. */
  readonly watch: (everyMs: number) => void;
  /** Stops watching, and trying again. */
  readonly stop: () => void;
  /** What became of the searches of the generation that is served. */
  readonly searchCounts: () => CacheCounts;
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

const NO_SEARCHES: CacheCounts = { hits: 0, joined: 0, misses: 0, entries: 0, bytes: 0 };

function countsOf(store: Store) {
  return { users: store.users.rows, worlds: store.worlds.rows, instances: store.instances.rows };
}

/** Tables that were read, and those that were kept from the generation before. */
function tablesOf({ reports }: LoadedSearchable): Record<"read" | "kept", string[]> {
  const named = (kept: boolean): string[] =>
    reports.filter(({ isKept }) => isKept === kept).map(({ table }) => table.replace(".ndjson", ""));
  return { read: named(false), kept: named(true) };
}

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
  const { observe } = options;
  const folder = new SnapshotFolder(options.folder, options.source);
  let generation: Generation | undefined;
  /** What the next load may use again. */
  let serving: Serving | undefined;
  let similar: OpenSimilar | undefined;
  let retire = (): void => {};
  let searchCounts = (): CacheCounts => NO_SEARCHES;
  /** Fingerprint of the files at the newest load; undefined when the next check must load. */
  let loadedFingerprint: string | undefined;
  let running: Promise<void> | undefined;
  let queued: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let retry: NodeJS.Timeout | undefined;
  const pauses = new GrowingPauses(RETRY_MS);
  let stopped = false;
  const closing = new AbortController();

  function accept(loaded: LoadedSearchable, began: number): void {
    const { store, kept, index, bytes } = loaded;
    const before = generation?.store;
    const search = withCache(loaded.search, loaded.cacheBytes, options.pending);
    const letGo = replaceSimilar(store, index);
    const next = createGeneration(store, search, similar?.search);
    if (before) {
      warnOfShrink(before, store);
      tellOfCache();
    }
    searchCounts = search.counts;
    generation = next;
    serving = { store, kept, index };
    onGeneration(next, index);
    // Who still asks the old one is answered as long as others wait for it, and then searches for himself.
    retire();
    letGo?.();
    retire = loaded.retire;
    if (before && options.onReleased) setTimeout(options.onReleased, RELEASE_MS).unref();
    observe({
      kind: "snapshot-loaded",
      generation: store.id,
      counts: countsOf(store),
      bytes,
      ms: Math.round(performance.now() - began),
      readMs: Math.round(loaded.readMs),
      packMs: Math.round(loaded.packMs),
      indexMs: Math.round(loaded.indexMs),
      ...tablesOf(loaded),
    });
  }

  /** Similar search goes on where the names are the same. @returns what lets go of the one before, if it does not */
  function replaceSimilar(store: Store, index: SearchIndex): OpenSimilar["retire"] | undefined {
    const old = similar;
    if (old && index.users === serving?.index.users && index.worlds === serving.index.worlds) {
      old.serveAs(store.id);
      return undefined;
    }
    similar = options.openSimilar?.(store, index);
    return old?.retire;
  }

  function tellOfCache(): void {
    observeSearches(observe, generation!.store.id, searchCounts());
  }

  function warnOfShrink(before: Store, after: Store): void {
    for (const [table, from] of Object.entries(countsOf(before))) {
      const to = countsOf(after)[table as keyof ReturnType<typeof countsOf>];
      if (to < from / 2) observe({ kind: "snapshot-shrunk", table, from, to });
    }
  }

  async function loadOnce(): Promise<LoadedSearchable | Refused> {
    const before = serving && { before: serving };
    const result = await folder.load(options.load, { ...options, ...before, signal: closing.signal });
    if (!result.ok || generation === undefined) return result;
    if (result.store.id !== generation.store.id) {
      const problems = options.allowShrink ? [] : shrinkProblems(generation.store, result.store);
      if (problems.length === 0) return result;
      result.retire();
      return { ok: false, problems, fingerprint: result.fingerprint };
    }
    result.retire();
    const problems = renameProblems(generation.store, result.store);
    if (problems.length > 0) return { ok: false, problems, fingerprint: result.fingerprint };
    // Files that only look different need not be looked into again.
    serving = { ...serving!, kept: result.kept };
    return result;
  }

  async function load(): Promise<void> {
    clearTimeout(retry);
    try {
      await folder.refresh(generation === undefined ? "start" : "reload", closing.signal);
    } catch (error) {
      if (closing.signal.aborted) return;
      if (!(error instanceof SourceError)) throw error;
      if (generation === undefined) throw new SnapshotError([error.message]);
      observe({ kind: "snapshot-refused", problems: [error.message], serving: generation.store.id });
      return;
    }
    const began = performance.now();
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
    if (!result.ok) {
      if (generation === undefined) throw new SnapshotError(result.problems);
      tellOfRefused(result, generation.store.id, retryMs);
    } else if (result.store.id === generation?.store.id) {
      const ms = Math.round(performance.now() - began);
      observe({ kind: "snapshot-unchanged", generation: result.store.id, ms, ...tablesOf(result) });
    } else {
      accept(result, began);
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

  function reload(): Promise<void> {
    if (closing.signal.aborted) return Promise.resolve();
    if (running === undefined) {
      running = load()
        .catch((error: unknown) => observe({ kind: "defect", where: "reload", error }))
        .finally(() => {
          running = undefined;
        });
      return running;
    }
    queued ??= running.then(() => {
      queued = undefined;
      return reload();
    });
    return queued;
  }

  /** Two equal fingerprints that differ from what is loaded: the writer is done. */
  let lastSeen: string | undefined;
  async function check(): Promise<void> {
    if (running !== undefined) return;
    let seen: string;
    try {
      await folder.refresh("watch", closing.signal);
      // Somebody may have asked for a load meanwhile.
      if (running !== undefined) return;
      seen = await fingerprintOf(folder.path, options.files);
    } catch (error) {
      if (closing.signal.aborted) return;
      const problem =
        error instanceof SourceError
          ? error.message
          : `${folder.path}: cannot be read: ${systemErrorText(error) ?? String(error)}`;
      if (lastSeen !== problem && generation !== undefined) {
        observe({ kind: "snapshot-refused", problems: [problem], serving: generation.store.id });
      }
      lastSeen = problem;
      return;
    }
    // What comes from a source is whole when it comes.
    const settled = seen === lastSeen || folder.isSettled;
    lastSeen = seen;
    if (settled && seen !== loadedFingerprint) await reload();
  }

  function stop(): void {
    stopped = true;
    clearTimeout(timer);
    clearTimeout(retry);
    timer = undefined;
  }

  await load();
  return {
    current: () => generation!,
    index: () => serving!.index,
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
    searchCounts: () => searchCounts(),
    close() {
      if (closing.signal.aborted) return;
      stop();
      closing.abort();
      tellOfCache();
      retire();
      similar?.retire();
    },
  };
}
