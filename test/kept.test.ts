/** Reuse by a load of the previous one: opened files, shared parts, and faults that it still refuses. */

import assert from "node:assert/strict";
import { readFileSync, utimesSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { ROW_FILES, type RowFile } from "../src/model/model.ts";
import { indexStore, partsMade } from "../src/search/search.ts";
import { loadInThread } from "../src/server/load/threaded-loader.ts";
import { type Loaded, loadSnapshot } from "../src/snapshot/load.ts";
import { indexReusing } from "../src/snapshot/reuse.ts";
import {
  bytesOf,
  id,
  instance,
  manifestOf,
  type RawRow,
  snapshotFiles,
  temporaryFolder,
  user,
  withManifest,
  world,
  worldStats,
  writeFiles,
} from "./support/folders.ts";
import { type FileSystem, loadWith, mustLoad, problemsOf, realFiles } from "./support/loaded.ts";
import { replace as replaceFile } from "./support/place.ts";
import { prepare } from "./support/prepared.ts";

const ROWS = {
  "users.ndjson": [user(1), user(2), user(3)],
  "worlds.ndjson": [
    world(1),
    world(2, { ownerId: id("a", 9) }),
    world(3, { isPublic: false, ownerId: id("a", 8) }),
    world(4, { ownerId: id("a", 2) }),
  ],
  "world-stats.ndjson": [worldStats(1), worldStats(2, { totalVisits: 7 }), worldStats(3), worldStats(8)],
  "instances.ndjson": [
    instance(1),
    instance(2, { worldId: id("b", 3) }),
    instance(3, { worldId: id("b", 7) }),
  ],
} as const satisfies Record<RowFile, readonly RawRow[]>;

function replace(folder: string, name: string, contents: readonly RawRow[] | string): void {
  replaceFile(join(folder, name), bytesOf(contents));
}

/** The real file system, with the names of the files opened and read. */
function watchedFiles(): { files: Partial<FileSystem>; opened: string[]; read: Set<string> } {
  const opened: string[] = [];
  const read = new Set<string>();
  const open: FileSystem["open"] = async (...call) => {
    const handle = await realFiles.open(...call);
    const name = basename(String(call[0]));
    opened.push(name);
    const { read: readFrom } = handle;
    handle.read = ((...more: unknown[]) => {
      read.add(name);
      return Reflect.apply(readFrom, handle, more);
    }) as typeof handle.read;
    return handle;
  };
  return { files: { open }, opened, read };
}

/**
 * Loads, changes, and loads again; the second load must equal one that reuses nothing.
 *
 * @returns in `read` the tables that the second load read, in `kept` the parts of the index from the previous one
 */
async function loadAgain(folder: string, change: (folder: string) => unknown) {
  const previous = mustLoad(await loadSnapshot(folder));
  const index = previous.index ?? indexStore(previous.store);
  await change(folder);
  const { files, opened } = watchedFiles();
  const after = mustLoad(await loadWith(files, folder, { previous }));
  const whole = mustLoad(await loadSnapshot(folder));
  const plain = ({ store, reports, kept, bytes }: Loaded) => ({ store, reports, kept, bytes });
  assert.deepEqual(plain(after), plain(whole));
  const made = partsMade(after.index ?? indexReusing(after, index), index);
  const read = ROW_FILES.filter((file) => !after.reused.has(file));
  return { previous, after, opened, read, kept: ["users", "worlds"].filter((name) => !(name in made)) };
}

describe("a load while a snapshot is published", () => {
  const place = (t: TestContext): string =>
    writeFiles(temporaryFolder(t), withManifest(snapshotFiles(ROWS), "first"));

  /** Replaces the users after a load's look at the folder and before its first open, `times` times. */
  function publishing(folder: string, times: number): Partial<FileSystem> {
    let left = times;
    const open: FileSystem["open"] = (...call) => {
      if (basename(String(call[0])) === "manifest.json" && left-- > 0) {
        const rows = { ...ROWS, "users.ndjson": [...ROWS["users.ndjson"], user(40 + left)] };
        writeFiles(folder, withManifest(snapshotFiles(rows), `g${left}`));
      }
      return realFiles.open(...call);
    };
    return { open };
  }

  test("looks again, and loads the newer one", async (t) => {
    const folder = place(t);
    const { store } = mustLoad(await loadWith(publishing(folder, 2), folder));
    assert.equal(store.users.rows, 4);
  });

  test("ends when the folder does not come to rest", async (t) => {
    const folder = place(t);
    const problems = problemsOf(await loadWith(publishing(folder, 9), folder));
    assert.deepEqual(problems, [`${folder}: changed while it was being read`]);
  });
});

describe("a load after another", () => {
  const place = (t: TestContext): string => writeFiles(temporaryFolder(t), snapshotFiles(ROWS));

  test("opens no file when none changed", async (t) => {
    const { opened, read, previous, after } = await loadAgain(place(t), () => {});
    assert.deepEqual([opened, read], [[], []]);
    assert.equal(after.store.id, previous.store.id);
  });

  test("opens instances alone when they changed; tables, rankings and indexes are the same objects", async (t) => {
    const { opened, read, kept, previous, after } = await loadAgain(place(t), (folder) =>
      replace(folder, "instances.ndjson", [instance(5), instance(6, { worldId: id("b", 3) })]),
    );
    assert.deepEqual([opened, read], [["instances.ndjson"], ["instances.ndjson"]]);
    assert.deepEqual(kept, ["users", "worlds"]);
    for (const part of ["users", "worlds", "worldStats", "worldsByOwner"] as const) {
      assert.equal(after.store[part], previous.store[part], part);
    }
    assert.notEqual(after.store.id, previous.store.id);
    // Tells a hidden world from a missing one without reading worlds.
    const report = after.reports.find(({ table }) => table === "instances.ndjson")!;
    assert.deepEqual(report.hidden, { "world is hidden": 1 });
    assert.equal(report.dangling.count, 0);
  });

  test("opens users alone when they changed, and finds the owners of worlds again", async (t) => {
    const { opened, kept, after } = await loadAgain(place(t), (folder) =>
      replace(folder, "users.ndjson", [user(2), user(9, { createdAt: "2026-01-09T00:00Z" })]),
    );
    assert.deepEqual(opened, ["users.ndjson"]);
    assert.deepEqual(kept, ["worlds"]);
    const { dangling } = after.reports.find(({ table }) => table === "worlds.ndjson")!;
    assert.deepEqual(dangling.examples, [
      `worlds.ndjson:1: ownerId: dangling reference: ${id("a", 1)}`,
      `worlds.ndjson:3: ownerId: dangling reference: ${id("a", 8)}`,
    ]);
  });

  test("reads instances and statistics again when other worlds are visible, and only then", async (t) => {
    const folder = place(t);
    const [first, second, hidden, last] = ROWS["worlds.ndjson"];
    const loadWorlds = (...worlds: RawRow[]) =>
      loadAgain(folder, () => replace(folder, "worlds.ndjson", worlds));
    const text = await loadWorlds({ ...first, description: "other" }, second, hidden, last);
    assert.deepEqual(text.read, ["worlds.ndjson"]);
    const shown = await loadWorlds(first, second, { ...hidden, isPublic: true }, last);
    assert.deepEqual(shown.read, ["worlds.ndjson", "world-stats.ndjson", "instances.ndjson"]);
    assert.equal(shown.after.store.instances.rows, shown.previous.store.instances.rows + 1);
    // The numbers of visible and hidden worlds are the same, but one hidden world is gone.
    const gone = await loadWorlds(first, second, world(7, { isPublic: false }), last);
    assert.deepEqual(gone.read, ["worlds.ndjson", "world-stats.ndjson", "instances.ndjson"]);
  });

  test("hashes a file that only looks different, and keeps its rows", async (t) => {
    const folder = place(t);
    const touched = await loadAgain(folder, () => {
      utimesSync(join(folder, "users.ndjson"), 1, 1);
      replace(folder, "worlds.ndjson", readFileSync(join(folder, "worlds.ndjson"), "utf8"));
    });
    assert.deepEqual(touched.read, []);
    assert.deepEqual(touched.kept, ["users", "worlds"]);
    // The same size, but other bytes.
    const file = join(folder, "users.ndjson");
    const other = await loadAgain(folder, () =>
      replace(folder, "users.ndjson", readFileSync(file, "utf8").replace("user 1", "user 7")),
    );
    assert.deepEqual(other.read, ["users.ndjson"]);
  });

  test("refuses a manifest that says something else of a file that is not read again", async (t) => {
    const folder = writeFiles(temporaryFolder(t), withManifest(snapshotFiles(ROWS), "g-1"));
    const previous = mustLoad(await loadSnapshot(folder));
    for (const [what, value] of [
      ["sha256", "0".repeat(64)],
      ["bytes", 1],
      ["rows", 1],
    ] as const) {
      const manifest = manifestOf(snapshotFiles(ROWS), "g-2");
      (manifest.files["users.ndjson"] as Record<string, unknown>)[what] = value;
      writeFileSync(join(folder, "manifest.json"), JSON.stringify(manifest));
      const { files: system, opened } = watchedFiles();
      const problems = problemsOf(await loadWith(system, folder, { previous }));
      assert.deepEqual(opened, ["manifest.json"]);
      assert.deepEqual(problems, problemsOf(await loadSnapshot(folder)));
      assert.ok(problems[0]!.startsWith(`manifest.json: files: users.ndjson: ${what}: listed ${value}, `));
    }
    const right = manifestOf(snapshotFiles(ROWS), "g-3");
    writeFileSync(join(folder, "manifest.json"), JSON.stringify(right));
    const { files: system, opened } = watchedFiles();
    const named = mustLoad(await loadWith(system, folder, { previous }));
    assert.deepEqual([opened, named.store.id], [["manifest.json"], "g-3"]);
    assert.equal(named.store.users, previous.store.users);
  });

  test("counts the bytes of files that are not read again", async (t) => {
    const folder = place(t);
    const previous = mustLoad(await loadSnapshot(folder));
    const users = Array.from({ length: 40 }, (_, n) => user(n));
    replace(folder, "users.ndjson", users);
    const size = ROW_FILES.reduce((sum, name) => sum + readFileSync(join(folder, name)).length, 0);
    mustLoad(await loadSnapshot(folder, { previous, maxBytes: size }));
    const problems = problemsOf(await loadSnapshot(folder, { previous, maxBytes: size - 1 }));
    assert.deepEqual(problems, problemsOf(await loadSnapshot(folder, { maxBytes: size - 1 })));
    assert.match(problems[0]!, /^instances\.ndjson: the snapshot is larger than 16 GiB/);
  });

  test("does not read a prepared file again, whatever name a manifest gives it", async (t) => {
    const folder = place(t);
    const prepared = temporaryFolder(t);
    await prepare(folder, prepared, true);
    const previous = mustLoad(await loadSnapshot(prepared));
    const { files, read } = watchedFiles();
    const same = mustLoad(await loadWith(files, prepared, { previous }));
    assert.deepEqual([[...read], same.store.id], [["manifest.json"], previous.store.id]);
    assert.deepEqual([...same.reused], [...ROW_FILES]);
    assert.equal(same.store.users, previous.store.users);
    const listed = join(prepared, "manifest.json");
    const manifest = JSON.parse(readFileSync(listed, "utf8"));
    writeFileSync(listed, JSON.stringify({ ...manifest, generation: "renamed" }));
    read.clear();
    const renamed = mustLoad(await loadWith(files, prepared, { previous: same }));
    assert.deepEqual([[...read], renamed.store.id], [["manifest.json"], "renamed"]);
    assert.deepEqual(renamed.store, mustLoad(await loadSnapshot(prepared)).store);
    manifest.files["generation.orrery"].sha256 = "0".repeat(64);
    writeFileSync(listed, JSON.stringify(manifest));
    const problems = problemsOf(await loadSnapshot(prepared));
    assert.deepEqual(problemsOf(await loadSnapshot(prepared, { previous })), problems);
  });
});

/** Whether a change of one array is seen in the other. */
function isSameMemory(a: Uint32Array, b: Uint32Array): boolean {
  a[0]! ^= 1;
  const isSame = b[0] === a[0];
  a[0]! ^= 1;
  return isSame;
}

test("threads hand over what is kept: it lies in the same memory in every generation", async (t) => {
  const folder = writeFiles(temporaryFolder(t), snapshotFiles(ROWS));
  const first = await loadInThread(folder, {});
  assert.ok(first.ok);
  replace(folder, "instances.ndjson", [instance(9)]);
  const { store, kept, index } = first;
  const second = await loadInThread(folder, { previous: { store, kept, index } });
  assert.ok(second.ok);
  assert.equal(second.index.users, first.index.users);
  assert.equal(second.index.worlds, first.index.worlds);
  assert.ok(isSameMemory(first.store.users.starts, second.store.users.starts));
  assert.ok(isSameMemory(first.store.worlds.ids.words, second.store.worlds.ids.words));
  assert.ok(isSameMemory(first.kept.worlds!.owners, second.kept.worlds!.owners));
  assert.equal(second.store.instances.rows, 1);
});
