/** Progress of a load is told at a start, where somebody looks on, and not in a reload. */

import assert from "node:assert/strict";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { generateSnapshot } from "../src/generate/generate.ts";
import { observeNothing } from "../src/observe/events.ts";
import type { Loader, LoaderOptions } from "../src/server/load/loader.ts";
import { createLocalLoader } from "../src/server/load/local-loader.ts";
import { SnapshotKeeper } from "../src/server/load/snapshots.ts";
import { temporaryFolder } from "./support/folders.ts";

test("progress is told at the start and not in a reload, when it would wake the serving thread for nobody", async (t) => {
  const folder = temporaryFolder(t);
  const snapshot = (seed: number): string => join(folder, String(seed));
  for (const seed of [1, 2])
    await generateSnapshot({ out: snapshot(seed), users: 5, worlds: 3, instances: 1, seed, gzip: false });
  const loads: LoaderOptions[] = [];
  const real = createLocalLoader(0);
  const load: Loader = (where, options) => {
    loads.push(options);
    return real(where, options);
  };
  const keeper = await SnapshotKeeper.open(
    { folder: snapshot(1), load, allowShrink: true, onProgress: () => {}, observe: observeNothing },
    () => {},
  );
  t.after(() => keeper.close());
  cpSync(snapshot(2), snapshot(1), { recursive: true });
  await keeper.reload();
  assert.deepEqual(
    loads.map(({ onProgress }) => onProgress !== undefined),
    [true, false],
  );
});
