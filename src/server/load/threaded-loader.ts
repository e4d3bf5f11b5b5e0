/** Loads and indexes a snapshot in a thread of its own, which ends then: its end frees all garbage of the load. */

import { availableParallelism } from "node:os";
import type { GramPlan } from "../../search/index-grams.ts";
import type { SearchIndex } from "../../search/search.ts";
import { type Loaded, type Refused, refusedFor } from "../../snapshot/loaded.ts";
import { indexReusing } from "../../snapshot/reuse.ts";
import { reviveStore, type Store } from "../../store/generation.ts";
import { whyNoThread } from "../../util/process/connection-limit.ts";
import { endWorker, GENERATION_THREAD, startWorker, whenEnded } from "../../util/process/worker-options.ts";
import type { LoadedSearchable, LoaderOptions, Serving } from "./loader.ts";

/** The task of a thread: load and index a folder, or help another thread with that. */
export type Task =
  | {
      readonly kind: "load";
      readonly folder: string;
      readonly reportsProgress: boolean;
      /** Above this number of users and worlds, another thread helps to index them. */
      readonly mostAlone: number;
      readonly previous: Serving | undefined;
    }
  | HelperTask;

/** Indexes a store, folds its worlds and plans their grams, or builds the second part of planned grams. */
type HelperTask =
  | ({ readonly kind: "index"; readonly previous: SearchIndex | undefined } & Pick<
      Loaded,
      "store" | "reused"
    >)
  | { readonly kind: "plan-worlds"; readonly store: Store }
  | { readonly kind: "index-part"; readonly plan: GramPlan };

export interface Ready extends Omit<LoadedSearchable, "index"> {
  /** The index, without the parts reused from the previous one. */
  readonly made: Partial<SearchIndex>;
}

/** What a thread that loads sends: the share that was read, and at last the result. */
type LoadMessage = number | Refused | Ready;

/** Does a task in another thread. @throws why it could not start, or the cause of its death */
export function doElsewhere<Result>(task: HelperTask): Promise<Result> {
  return new Promise((resolve, reject) => {
    const worker = startWorker(GENERATION_THREAD, task);
    worker.once("message", resolve);
    worker.once("error", reject);
    worker.once("exit", (status) => reject(new Error(`exit status ${status}`)));
  });
}

/** Indexes a store in a thread; on the calling one if that fails. */
export async function indexInThread(
  { store, reused }: Pick<Loaded, "store" | "reused">,
  previous: SearchIndex | undefined,
): Promise<SearchIndex> {
  const task: HelperTask = { kind: "index", store, reused, previous };
  const made = await doElsewhere<Partial<SearchIndex>>(task).catch(() => undefined);
  return made ? ({ ...previous, ...made } as SearchIndex) : indexReusing({ store, reused }, previous);
}

/** Up to this number, one thread indexes users and worlds in less time than another takes to start. */
const MOST_ALONE = 200_000;

/** Loads in a thread. Another helps to index a large first generation; in a reload that processor is for requests. */
export async function loadInThread(
  folder: string,
  { previous, onProgress, signal }: LoaderOptions,
  mostAlone = MOST_ALONE,
): Promise<LoadedSearchable | Refused> {
  const died = (problem: string): Refused => refusedFor(`${folder}: ${problem}`, { died: true });
  const problem = whyNoThread();
  if (problem !== undefined) return died(problem);
  const isFirst = previous === undefined;
  const task: Task = {
    kind: "load",
    folder,
    reportsProgress: onProgress !== undefined,
    mostAlone: isFirst && availableParallelism() > 1 ? mostAlone : Number.POSITIVE_INFINITY,
    previous,
  };
  const worker = startWorker(GENERATION_THREAD, task);
  const end = (): void => endWorker(worker);
  signal?.addEventListener("abort", end);
  const result = await new Promise<Ready | Refused>((resolve) => {
    if (signal?.aborted) end();
    worker.on("message", (message: LoadMessage) => {
      if (typeof message === "number") onProgress?.(message);
      else resolve(message);
    });
    whenEnded(worker, GENERATION_THREAD, (cause) => resolve(died(`the loading thread died: ${cause}`)));
  });
  signal?.removeEventListener("abort", end);
  end();
  if (!result.ok) return result;
  const { made, ...loaded } = result;
  const index = { ...previous?.index, ...made } as SearchIndex;
  return { ...loaded, store: reviveStore(loaded.store), index };
}
