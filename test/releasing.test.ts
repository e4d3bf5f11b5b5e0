/** How a reload leaves the serving thread alone: what is let go of when, and what is not said meanwhile. */

import assert from "node:assert/strict";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { generateSnapshot } from "../src/generate/generate.ts";
import { observeNothing } from "../src/observe.ts";
import type { Loader, LoaderOptions } from "../src/serve/load/loader.ts";
import { createLocalLoader } from "../src/serve/load/local-loader.ts";
import { keepSnapshot } from "../src/serve/load/snapshots.ts";
import { RELEASE_MS } from "../src/serve/process/collect.ts";
import { temporaryFolder } from "./support/folders.ts";

interface Reloads {
  /** What was done with generations, in order. */
  readonly done: string[];
  /** Options of each load. */
  readonly loads: LoaderOptions[];
  readonly reload: (seed: number) => Promise<void>;
  readonly close: () => void;
}

async function keepChanging(t: TestContext, onProgress?: () => void): Promise<Reloads> {
  const folder = temporaryFolder(t);
  const snapshot = (seed: number): string => join(folder, String(seed));
  const make = (seed: number): Promise<unknown> =>
    generateSnapshot({ out: snapshot(seed), users: 5, worlds: 3, instances: 1, seed, gzip: false });
  const done: string[] = [];
  const loads: LoaderOptions[] = [];
  const real = createLocalLoader(0);
  const load: Loader = async (where, options) => {
    loads.push(options);
    const number = loads.length;
    const loaded = await real(where, options);
    return loaded.ok ? { ...loaded, retire: () => void done.push(`thread ${number} ends`) } : loaded;
  };
  await make(1);
  const keeper = await keepSnapshot(
    {
      folder: snapshot(1),
      load,
      allowShrink: true,
      onReleased: () => void done.push("garbage is collected"),
      ...(onProgress ? { onProgress } : {}),
      observe: observeNothing,
    },
    () => {},
  );
  async function reload(seed: number): Promise<void> {
    await make(seed);
    cpSync(snapshot(seed), snapshot(1), { recursive: true });
    await keeper.reload();
  }
  return { done, loads, reload, close: keeper.close };
}

test("the thread of an old generation ends when serving threads have let go of its memory, and gives that back itself", async (t) => {
  const { done, reload, close } = await keepChanging(t);
  t.after(close);
  t.mock.timers.enable({ apis: ["setTimeout"] });
  await reload(2);
  t.mock.timers.tick(RELEASE_MS - 1);
  assert.deepEqual(done, []);
  t.mock.timers.tick(1);
  assert.deepEqual(done, ["garbage is collected"]);
  t.mock.timers.tick(RELEASE_MS);
  assert.deepEqual(done, ["garbage is collected", "thread 1 ends"]);
});

test("a stop ends the threads of old generations, too, each but once", async (t) => {
  const { done, reload, close } = await keepChanging(t);
  t.mock.timers.enable({ apis: ["setTimeout"] });
  await reload(2);
  await reload(3);
  close();
  assert.deepEqual(done.toSorted(), ["thread 1 ends", "thread 2 ends", "thread 3 ends"]);
  t.mock.timers.tick(RELEASE_MS * 3);
  assert.deepEqual(done.filter((what) => what !== "garbage is collected").length, 3);
});

test("progress is told at the start and not in a reload, when it would wake the serving thread for nobody", async (t) => {
  const { loads, reload, close } = await keepChanging(t, () => {});
  t.after(close);
  await reload(2);
  assert.deepEqual(
    loads.map(({ onProgress }) => onProgress !== undefined),
    [true, false],
  );
});
