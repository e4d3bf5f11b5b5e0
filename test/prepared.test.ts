/** Prepared snapshots: every array and every reply is the same after a write and a read. */

import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import fc from "fast-check";
import { openOrrery } from "../src/mod.ts";
import { indexStore } from "../src/search/search.ts";
import { buildPrepared } from "../src/server/load/build-prepared.ts";
import { PREPARED } from "../src/snapshot/files.ts";
import { loadSnapshot } from "../src/snapshot/load.ts";
import { LAYOUT, PREPARED_VERSION } from "../src/snapshot/prepared/layout.ts";
import { writePrepared } from "../src/snapshot/prepared/write.ts";
import { PlaceError } from "../src/util/user-error.ts";
import { loading, snapshot } from "./conformance/property.ts";
import { id, temporaryFolder, user, world, worldStats, writeSnapshot } from "./support/folders.ts";
import { repliesTo } from "./support/library.ts";
import { mustLoad } from "./support/loaded.ts";
import { part } from "./support/long.ts";
import { everythingIn, partsOf, prepare } from "./support/prepared.ts";
import { writeSnapshot as writeRows } from "./support/snapshot.ts";

const GOLDEN = new URL("golden/", import.meta.url);

/** The whole replies to some requests. */
async function repliesOf(folder: string, targets: readonly string[]): Promise<unknown[]> {
  const keys = [{ id: "me", kind: "cli" as const, token: "svcx_secret" }];
  const orrery = await openOrrery({ snapshot: folder, keys, threads: false, watch: 0 });
  return repliesTo(orrery, targets, "svcx_secret").finally(orrery.close);
}

const LISTS = ["/stats", "/worlds", "/worlds/popular?period=week", "/instances", "/worlds/search?q=a"];

describe("a prepared snapshot", () => {
  test("of any rows is read as it was written, and answers as they do", async (t) => {
    const root = temporaryFolder(t);
    const [rows, prepared, again] = [join(root, "rows"), join(root, "prepared"), join(root, "again")];
    await fc.assert(
      fc.asyncProperty(snapshot, fc.boolean(), async (some, named) => {
        rmSync(rows, { recursive: true, force: true });
        mkdirSync(rows);
        writeRows(rows, some, ...(named ? [{ generation: "g-1" }] : []));
        const before = await prepare(rows, prepared);
        const after = mustLoad(await loadSnapshot(prepared));
        assert.deepEqual(everythingIn(after), everythingIn(before));
        const reports = before.reports.map((report, at) => ({ ...report, ...after.reports[at] }));
        assert.deepEqual(reports, before.reports);
        assert.deepEqual(after.hiddenWorlds, before.hiddenWorlds);
        await prepare(prepared, again);
        assert.deepEqual(readFileSync(join(again, PREPARED)), readFileSync(join(prepared, PREPARED)));
        const queries = some.users.slice(0, 3).map(({ displayName: q }) => new URLSearchParams({ q }));
        const searches = queries.map((query) => `/users/search?${query}`);
        const ofWorlds = some.worlds.slice(0, 3).map(({ id }) => `/worlds/${id}/instances`);
        const targets = [...LISTS, ...searches, ...ofWorlds];
        assert.deepEqual(await repliesOf(prepared, targets), await repliesOf(rows, targets));
      }),
      loading(part(12)),
    );
  });

  test("is the same when rows are built by threads, and tells nothing of hidden rows but ids of worlds", async (t) => {
    const root = temporaryFolder(t);
    const rows = writeSnapshot(join(root, "rows"), {
      "users.ndjson": [user(1, { email: "canary-1" }), user(2, { displayName: "Zoë" })],
      "worlds.ndjson": [world(1), world(2, { isPublic: false, name: "canary-2", description: "canary-3" })],
      "world-stats.ndjson": [worldStats(1), worldStats(2, { totalVisits: 471_147_114_711 })],
    });
    const built = await buildPrepared(rows, join(root, "threads"));
    assert.ok(built.ok);
    await prepare(rows, join(root, "here"));
    const file = readFileSync(join(root, "threads", PREPARED));
    assert.equal(built.bytes, file.length);
    assert.deepEqual(file, readFileSync(join(root, "here", PREPARED)));
    assert.deepEqual(readdirSync(join(root, "threads")), [PREPARED]);
    assert.doesNotMatch(file.toString("latin1"), /canary|471147114711/);
    for (const from of [0, 1]) assert.doesNotMatch(file.subarray(from).toString("utf16le"), /canary/);
  });
});

describe("building", () => {
  test("replaces the old file, removes what killed builds left, and keeps a manifest true", async (t) => {
    const root = temporaryFolder(t);
    const [rows, to] = [writeSnapshot(join(root, "rows")), join(root, "to")];
    mkdirSync(to);
    for (const name of [`${PREPARED}.0123456789abcdef`, "manifest.json.0123456789abcdef", "mine"]) {
      writeFileSync(join(to, `${name}.tmp`), "half");
    }
    await prepare(rows, to);
    assert.deepEqual(readdirSync(to), [PREPARED, "manifest.json", "mine.tmp"].sort());
    const first = mustLoad(await loadSnapshot(to)).store.id;
    writeSnapshot(rows, { "users.ndjson": [user(1), user(2)] });
    await prepare(rows, to);
    const second = mustLoad(await loadSnapshot(to)).store;
    assert.equal(second.users.rows, 2);
    assert.notEqual(second.id, first);
    assert.deepEqual(readdirSync(to), [PREPARED, "manifest.json", "mine.tmp"].sort());
  });

  test("into a folder of rows, or of rows that cannot be served, changes nothing", async (t) => {
    const root = temporaryFolder(t);
    const rows = writeSnapshot(join(root, "rows"));
    const before = readdirSync(rows);
    const refused = await buildPrepared(rows, rows);
    assert.ok(!refused.ok);
    assert.deepEqual(refused.problems, [
      `${rows}: holds instances.ndjson; a folder holds rows or a prepared snapshot (${PREPARED})`,
    ]);
    assert.deepEqual(readdirSync(rows), before);
    const bad = writeSnapshot(join(root, "bad"), { "users.ndjson": "{}\n" });
    const failed = await buildPrepared(bad, join(root, "to"));
    assert.ok(!failed.ok);
    assert.match(failed.problems[0]!, /^users\.ndjson:1: /);
    assert.deepEqual(readdirSync(root).sort(), ["bad", "rows"]);
  });

  test("that another build overtakes says so, and the other's file stays", async (t) => {
    const root = temporaryFolder(t);
    const rows = writeSnapshot(join(root, "rows"));
    const loaded = mustLoad(await loadSnapshot(rows));
    const index = indexStore(loaded.store);
    const to = join(root, "to");
    const first = writePrepared(to, loaded, index, {
      manifest: false,
      async ready() {
        await writePrepared(to, loaded, index, { manifest: false });
      },
    });
    await assert.rejects(first, PlaceError);
    assert.deepEqual(readdirSync(to), [PREPARED]);
    mustLoad(await loadSnapshot(to));
  });
});

test("the format has the version that its layout had when it was made: a golden file is read, and answers as its rows", async (t) => {
  const hint =
    "the layout or what an array means has changed: raise PREPARED_VERSION, and run test/tools/golden.ts";
  const root = temporaryFolder(t);
  const golden = new URL(`prepared-${PREPARED_VERSION}/`, GOLDEN).pathname;
  const { file, head } = partsOf(golden);
  assert.equal(file.readUInt32LE(16), PREPARED_VERSION);
  const types = [
    ...head.arrays.map(([path, type]) => `${path} ${type}\n`),
    ...Object.entries(head.values).map(([path, value]) => `${path} ${typeof value}\n`),
  ];
  const layout = Array.from(LAYOUT, ([path, type]) => `${path} ${type}\n`);
  assert.deepEqual(types.sort(), layout.toSorted(), hint);
  assert.equal(layout.join(""), readFileSync(join(golden, "layout.txt"), "utf8"), hint);
  const result = await loadSnapshot(golden);
  assert.ok(result.ok, hint);
  const rows = new URL("rows/", GOLDEN).pathname;
  const now = mustLoad(await loadSnapshot(rows));
  assert.deepEqual(everythingIn(result), everythingIn(now), hint);
  // The same input gives the same bytes.
  await prepare(rows, join(root, "now"));
  assert.ok(partsOf(join(root, "now")).file.equals(file), hint);
  const searches = ["/users/search?q=user", "/worlds/search?q=caf%C3%A9"];
  const targets = [...LISTS, ...searches, `/users/${id("a", 1)}/worlds`];
  assert.deepEqual(await repliesOf(golden, targets), await repliesOf(rows, targets));
});
