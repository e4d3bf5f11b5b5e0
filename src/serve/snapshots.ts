/**
 * Keeping the generation current: loading, reloading, watching the folder.
 *
 * A snapshot that fails to load changes nothing. A request to reload while a
 * load is under way becomes one more load behind it, however often it comes.
 */

import type { Observe } from "../observe.ts";
import { createSearch } from "../search/search.ts";
import { lookAt } from "../snapshot/files.ts";
import { type Loaded, type LoadOptions, loadSnapshot, type Refused } from "../snapshot/load.ts";
import { createGeneration, type Generation, type Store } from "../store/generation.ts";

/** What to keep current, and who is told. */
export interface SnapshotOptions extends LoadOptions {
  readonly folder: string;
  /** Memory for recent search results, in bytes. */
  readonly cacheBytes: number;
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

/** The keeper of one folder. */
export interface SnapshotKeeper {
  /** The generation to serve. */
  readonly current: () => Generation;
  /** Loads again; resolves when the load that this call asked for is over. */
  readonly reload: () => Promise<void>;
  /** Looks at the folder every so many milliseconds. */
  readonly watch: (everyMs: number) => void;
  /** Stops watching. */
  readonly stop: () => void;
}

function countsOf(store: Store) {
  return { users: store.users.rows, worlds: store.worlds.rows, instances: store.instances.rows };
}

/**
 * Loads the folder and keeps it.
 *
 * @param onGeneration called with every generation, the first included
 * @throws {SnapshotError} when the first load fails
 */
export async function keepSnapshot(
  options: SnapshotOptions,
  onGeneration: (generation: Generation) => void,
): Promise<SnapshotKeeper> {
  const { folder, cacheBytes, observe } = options;
  let generation: Generation | undefined;
  /** What the files looked like at the newest load; undefined when the next look must load. */
  let loadedLook: string | undefined;
  let running: Promise<void> | undefined;
  let queued: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;

  function accept({ store, bytes }: Loaded, began: number): void {
    const before = generation?.store;
    const next = createGeneration(store, createSearch(store, cacheBytes));
    if (before) warnOfShrink(before, store);
    generation = next;
    onGeneration(next);
    const ms = Math.round(performance.now() - began);
    observe({ kind: "snapshot-loaded", generation: store.id, counts: countsOf(store), bytes, ms });
  }

  function warnOfShrink(before: Store, after: Store): void {
    for (const [table, from] of Object.entries(countsOf(before))) {
      const to = countsOf(after)[table as keyof ReturnType<typeof countsOf>];
      if (to < from / 2) observe({ kind: "snapshot-shrunk", table, from, to });
    }
  }

  async function loadOnce(): Promise<Loaded | Refused> {
    const result = await loadSnapshot(folder, options);
    if (!result.ok || result.store.id !== generation?.store.id) return result;
    if (result.store.contents === generation.store.contents) return result;
    const problem = `manifest.json: generation: "${result.store.id}" is being served with other contents`;
    return { ok: false, problems: [problem], look: result.look };
  }

  async function load(): Promise<void> {
    const began = performance.now();
    const result = await loadOnce();
    loadedLook = result.look;
    if (!result.ok) {
      if (generation === undefined) throw new SnapshotError(result.problems);
      observe({ kind: "snapshot-refused", problems: result.problems, serving: generation.store.id });
    } else if (result.store.id === generation?.store.id) {
      const ms = Math.round(performance.now() - began);
      observe({ kind: "snapshot-unchanged", generation: result.store.id, ms });
    } else {
      accept(result, began);
    }
  }

  function reload(): Promise<void> {
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

  /** Two equal looks that differ from what is loaded: the writer is done. */
  let lastLook: string | undefined;
  async function look(): Promise<void> {
    if (running !== undefined) return;
    let seen: string;
    try {
      seen = await lookAt(folder, options.files);
    } catch (error) {
      const problem = `${folder}: cannot be looked at: ${(error as NodeJS.ErrnoException).code}`;
      if (lastLook !== problem && generation !== undefined) {
        observe({ kind: "snapshot-refused", problems: [problem], serving: generation.store.id });
      }
      lastLook = problem;
      return;
    }
    const settled = seen === lastLook;
    lastLook = seen;
    if (settled && seen !== loadedLook) await reload();
  }

  await load();
  return {
    current: () => generation!,
    reload,
    watch(everyMs) {
      const next = (): void => {
        timer = setTimeout(() => {
          void look().finally(() => {
            if (timer !== undefined) next();
          });
        }, everyMs);
      };
      next();
    },
    stop() {
      clearTimeout(timer);
      timer = undefined;
    },
  };
}
