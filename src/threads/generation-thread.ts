/** The thread that loads and indexes one folder. */

import { parentPort, workerData } from "node:worker_threads";
import { type GramPlan, indexPart, planGrams } from "../search/index-grams.ts";
import { type GramPart, joinParts } from "../search/join-grams.ts";
import {
  foldWorldsOf,
  indexStore,
  indexUsersOf,
  indexWorldNames,
  partsMade,
  type SearchIndex,
  type WorldTexts,
} from "../search/search.ts";
import { indexLoaded } from "../server/load/loader.ts";
import { doElsewhere, type Ready, type Task } from "../server/load/threaded-loader.ts";
import { loadSnapshot, type Refused } from "../snapshot/load.ts";
import { indexReusing } from "../snapshot/reuse.ts";
import { reviveStore, type Store } from "../store/generation.ts";
import { collectGarbage } from "../util/process/collect.ts";
import { throwUncaught } from "../util/process/uncaught.ts";
import { stepBack, yieldCpu } from "../util/process/yield-cpu.ts";

const port = parentPort!;

/** The texts of worlds, and how their words become grams. */
interface PlannedWorlds {
  readonly folded: WorldTexts;
  readonly plan: GramPlan;
}

function planWorlds(store: Store): PlannedWorlds {
  const folded = foldWorldsOf(store);
  return { folded, plan: planGrams(folded.texts, "words") };
}

/** Indexes in two threads: folds worlds while users are indexed, then has both parts of the grams of worlds built at once. */
async function indexInTwo(store: Store): Promise<SearchIndex> {
  const planned = doElsewhere<PlannedWorlds>({ kind: "plan-worlds", store }).catch(() => undefined);
  const users = indexUsersOf(store);
  // Without the other thread this one does the work, and reports an error of its own.
  const { folded, plan } = (await planned) ?? planWorlds(store);
  const second = doElsewhere<GramPart>({ kind: "index-part", plan }).catch(() => undefined);
  const first = indexPart(plan, 0);
  const names = indexWorldNames(folded);
  const grams = joinParts(plan, [first, (await second) ?? indexPart(plan, 1)]);
  return indexStore(store, { users, worlds: { ...folded, names, grams } });
}

/** Bytes of row files above which garbage is collected before indexing. */
const MUCH_BYTES = 2 ** 25;

type LoadTask = Extract<Task, { kind: "load" }>;

async function load(task: LoadTask): Promise<Refused | Ready> {
  const previous = task.previous && { ...task.previous, store: reviveStore(task.previous.store) };
  const loaded = await loadSnapshot(task.folder, { previous, onProgress: progressOf(task) });
  if (!loaded.ok) return loaded;
  const { store } = loaded;
  // Frees staged rows, so that the index can use their memory.
  if (loaded.bytes > MUCH_BYTES) collectGarbage();
  const isMuch = store.users.rows + store.worlds.rows > task.mostAlone;
  const indexed = await indexLoaded(task.folder, loaded, () =>
    isMuch ? indexInTwo(store) : indexReusing(loaded, previous?.index),
  );
  if (!indexed.ok) return indexed;
  const { index, ...rest } = indexed;
  return { ...rest, made: partsMade(index, previous?.index) };
}

async function run(task: Task): Promise<Refused | Ready | Partial<SearchIndex> | PlannedWorlds | GramPart> {
  if (task.kind === "load") return await load(task);
  if (task.kind === "index-part") return indexPart(task.plan, 1);
  const store = reviveStore(task.store);
  if (task.kind === "plan-worlds") return planWorlds(store);
  const { reused, previous } = task;
  return partsMade(indexReusing({ store, reused }, previous), previous);
}

function progressOf({ previous, reportsProgress }: LoadTask): (share: number) => void {
  let reported = 0;
  const isServing = previous !== undefined;
  return (share) => {
    if (isServing) yieldCpu();
    if (!reportsProgress || (share < 1 && share - reported < 0.01)) return;
    reported = share;
    port.postMessage(share);
  };
}

stepBack();
// No await at the top: the one-file program is CommonJS.
run(workerData as Task)
  .then((result) => port.postMessage(result))
  .catch(throwUncaught);
