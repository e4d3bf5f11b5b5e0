/** `diffStores` against known changes of a snapshot. */

import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import { generateSnapshot } from "../src/generate/generate.ts";
import { ROW_FILES, type RowFile } from "../src/model/model.ts";
import { diffStores, type SnapshotDiff } from "../src/snapshot/diff.ts";
import { type Loaded, loadSnapshot } from "../src/snapshot/load.ts";
import { type RawRow, readRows, temporaryFolder, writeSnapshot } from "./support/folders.ts";
import { mustLoad } from "./support/loaded.ts";

const folder = temporaryFolder();
type Rows = Record<RowFile, RawRow[]>;

async function load(rows: Rows): Promise<Loaded> {
  writeSnapshot(folder, rows);
  return mustLoad(await loadSnapshot(folder));
}

function diff(before: Loaded, after: Loaded): SnapshotDiff {
  return diffStores(before.store, after.store, after.hiddenWorlds!);
}

let original: Rows;
before(async () => {
  await generateSnapshot({ out: folder, users: 200, worlds: 150, instances: 80, seed: 9, gzip: false });
  rmSync(join(folder, "manifest.json"));
  const rows = ROW_FILES.map((file) => [file, readRows(folder, file.replace(".ndjson", ""))]);
  original = Object.fromEntries(rows) as Rows;
});

describe("the difference of two snapshots", () => {
  it("of the same rows is nothing", async () => {
    const same = diff(await load(original), await load(original));
    const nothing = { added: 0, removed: 0, changed: 0 };
    assert.deepEqual(same.tables, {
      users: nothing,
      worlds: nothing,
      worldStats: { changed: 0 },
      instances: nothing,
    });
    assert.deepEqual(same.becomeHidden, { count: 0, examples: [] });
    assert.deepEqual(same.moves, { all: [], week: [], month: [] });
  });

  it("counts rows that come, go and change, and names worlds that are hidden and moves in rankings", async () => {
    const first = await load(original);
    const rows = structuredClone(original);
    const users = rows["users.ndjson"];
    users.splice(0, 3);
    users[0]!.displayName = "somebody else";
    users.push({ ...users[1]!, id: "ffffffff-ffff-4fff-bfff-ffffffffffff" });
    const visible = rows["worlds.ndjson"].filter((row) => row.isPublic && row.status === "ACTIVE");
    const stats = new Map(rows["world-stats.ndjson"].map((row) => [row.worldId, row]));
    const [hidden, gone, risen] = visible.filter((row) => stats.has(row.id));
    hidden!.status = "ARCHIVED";
    rows["worlds.ndjson"] = rows["worlds.ndjson"].filter((row) => row !== gone);
    Object.assign(stats.get(risen!.id)!, { totalVisits: 2 ** 50, uniqueVisitors: 1 });

    const found = diff(first, await load(rows));
    assert.deepEqual(found.tables.users, { added: 1, removed: 3, changed: 1 });
    assert.deepEqual(found.tables.worlds, { added: 0, removed: 2, changed: 0 });
    assert.deepEqual(found.tables.worldStats, { changed: 1 });
    assert.equal(found.becomeHidden.count, 1);
    assert.deepEqual(found.becomeHidden.examples, [{ id: hidden!.id, name: hidden!.name }]);
    const move = found.moves.all.find(({ id }) => id === risen!.id)!;
    assert.equal(move.to, 1);
    assert.ok(move.from > 1);
    for (const { from, to } of found.moves.all) assert.ok(from !== to && Math.min(from, to) <= 100);
  });

  it("says what a server would refuse: most of a table gone, or the name of what it serves", async () => {
    const first = await load(original);
    assert.deepEqual(diff(first, await load(original)).refusals, []);
    const few = { ...original, "users.ndjson": original["users.ndjson"].slice(0, 99) };
    const [refusal, ...others] = diff(first, await load(few)).refusals;
    assert.match(refusal!, /^users\.ndjson: 99 visible rows, less than half of the 200 .*--allow-shrink/);
    assert.deepEqual(others, []);
    const half = { ...original, "users.ndjson": original["users.ndjson"].slice(0, 100) };
    const halved = await load(half);
    assert.deepEqual(diff(first, halved).refusals, []);
    const named = { ...halved, store: { ...halved.store, id: first.store.id } };
    assert.match(diff(first, named).refusals[0]!, /^manifest\.json: generation: .* with other contents$/);
    const [shown] = diff(halved, await load({ ...half, "users.ndjson": [] })).refusals;
    assert.match(shown!, /^users\.ndjson: 0 visible rows/);
  });
});
