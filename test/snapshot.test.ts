/** Loading a snapshot: the served fields of a good one, its files, and the effects of faults. */

import assert from "node:assert/strict";
import { mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { ROW_FILES, type RowFile, type WorldStats } from "../src/model/model.ts";
import { loadSnapshot } from "../src/snapshot/load.ts";
import { refusalsOf } from "../src/snapshot/refusals.ts";
import type { Block } from "../src/store/table.ts";
import {
  type Files,
  id,
  instance,
  type RawRow,
  snapshotFiles,
  user,
  world,
  worldStats,
  writeFiles,
  writeSnapshot,
} from "./support/folders.ts";
import {
  assertProblems,
  CANARY,
  freshFolder,
  lines,
  load,
  MIB,
  mustLoad,
  problemsOf,
  rowsOf,
} from "./support/loaded.ts";
import { within } from "./support/patience.ts";

// ---------------------------------------------------------------- good snapshots

const countsOf = (users: number, worlds: number, instances: number): string =>
  JSON.stringify({ totalUsers: users, totalPublicWorlds: worlds, totalPublicInstances: instances });

test("of a good snapshot nothing but the served fields is kept", async () => {
  const secret = { email: CANARY, dailyVisits: [CANARY], deleted: { by: CANARY } };
  const { store } = mustLoad(
    await load({
      "users.ndjson": [{ ...user(1), ...secret }],
      "worlds.ndjson": [{ ...secret, ...world(1) }],
      "world-stats.ndjson": [{ ...secret, ...worldStats(1) }],
      "instances.ndjson": [{ ...secret, ...instance(1) }],
    }),
  );
  const { status: _, ...servedWorld } = world(1);
  const { isPublic: __, isActive: ___, ...servedInstance } = instance(1);
  assert.deepEqual(rowsOf(store.users), [user(1)]);
  assert.deepEqual(rowsOf(store.worlds), [servedWorld]);
  assert.deepEqual(rowsOf(store.worldStats), [worldStats(1)]);
  assert.deepEqual(rowsOf(store.instances), [servedInstance]);
  assert.equal(store.platformStats, countsOf(1, 1, 1));
  for (const block of [store.users, store.worlds, store.worldStats, store.instances]) {
    assert.doesNotMatch(block.bytes.toString("latin1"), /canary/);
  }
});

test("all four files may be empty, or hold nothing but blank lines and a BOM", async () => {
  const blank = { "worlds.ndjson": "\ufeff", "world-stats.ndjson": "\n\r\n \t \n" };
  const given = { ...blank, "users.ndjson": "", "instances.ndjson.gz": gzipSync("") };
  const { store, reports } = mustLoad(await load(given));
  for (const { rows } of reports) assert.equal(rows, 0);
  assert.equal(store.platformStats, countsOf(0, 0, 0));
});

test("hidden rows are dropped and counted by reason; a world without statistics has zeros", async () => {
  const { store, reports } = mustLoad(
    await load({
      "worlds.ndjson": [
        world(1),
        world(2, { isPublic: false, name: CANARY }),
        world(3, { status: "active", name: CANARY }),
        world(4, { status: "", name: CANARY }),
        world(5),
      ],
      "world-stats.ndjson": [worldStats(1), worldStats(2), worldStats(9)],
      "instances.ndjson": [
        instance(1),
        instance(2, { isPublic: false }),
        instance(3, { isActive: false }),
        instance(4, { worldId: id("b", 3) }),
        instance(5, { worldId: id("b", 99) }),
      ],
    }),
  );
  const idsOf = (block: Block): string[] => rowsOf<{ id: string }>(block).map((row) => row.id);
  assert.deepEqual(idsOf(store.worlds), [id("b", 1), id("b", 5)]);
  assert.deepEqual(idsOf(store.instances), [id("c", 1)]);
  const { worldId, ...zeros } = rowsOf<WorldStats>(store.worldStats)[1]!;
  assert.deepEqual([worldId, ...Object.values(zeros)], [id("b", 5), 0, 0, 0, 0]);
  assert.doesNotMatch(store.worlds.bytes.toString("latin1"), /canary/);
  const hidden = reports.map((report) => Object.values(report.hidden).reduce((sum, n) => sum + n, 0));
  assert.deepEqual(hidden, [0, 3, 2, 4]);
  assert.equal(store.platformStats, countsOf(1, 2, 1));
});

test("a dangling reference is counted and named, and is no error", async () => {
  const lost = Array.from({ length: 30 }, (_, n) => instance(n, { worldId: id("b", 99) }));
  const { reports } = mustLoad(
    await load({
      "worlds.ndjson": [world(1), world(2, { ownerId: id("a", 77), isPublic: false })],
      "world-stats.ndjson": [worldStats(88)],
      "instances.ndjson": lines("", ...lost),
    }),
  );
  const told = reports.map(({ dangling: { count, examples } }) => `${count} ${examples[0] ?? ""}`);
  assert.equal(told[0], "0 ");
  assert.match(told[1]!, new RegExp(`^1 worlds\\.ndjson:2: ownerId: .*${id("a", 77)}`));
  assert.match(told[2]!, /^1 world-stats\.ndjson:1: worldId: /);
  assert.match(told[3]!, /^30 instances\.ndjson:2: worldId: /);
  assert.ok(reports[3]!.dangling.examples.length < 30);
});

// ---------------------------------------------------------------- lines

describe("duplicates", () => {
  const upper = (kind: string, n: number): string => id(kind, n).toUpperCase();
  const hidden = world(1, { isPublic: false });
  const lost = worldStats(7, { worldId: upper("b", 7) });
  const cases: [name: string, file: RowFile, first: RawRow, between: RawRow, last: RawRow][] = [
    ["users", "users.ndjson", user(1), user(2), user(1, { displayName: CANARY })],
    ["users in another case", "users.ndjson", user(1), user(2), user(1, { id: upper("a", 1) })],
    ["a hidden world first", "worlds.ndjson", hidden, world(2), world(1)],
    ["two hidden worlds", "worlds.ndjson", hidden, world(2), { ...hidden, id: upper("b", 1), name: CANARY }],
    ["statistics of a lost world", "world-stats.ndjson", worldStats(7), worldStats(8), lost],
    ["hidden instances", "instances.ndjson", instance(1, { isActive: false }), instance(2), instance(1)],
  ];
  for (const [name, file, first, between, last] of cases) {
    test(name, async () => {
      const field = file === "world-stats.ndjson" ? "worldId" : "id";
      const [problem] = await assertProblems({ [file]: [first, between, last] }, `${file}:3: ${field}: `);
      assert.ok(problem!.includes(String(first[field])), "names the id");
      assert.doesNotMatch(problem!, /canary/);
    });
  }
});

// ---------------------------------------------------------------- files

describe("files", () => {
  const text = lines(user(1, { displayName: CANARY }), user(2));
  const zipped = gzipSync(text);

  for (const name of ROW_FILES) {
    test(`${name}: missing, there twice, no file at all`, async () => {
      await assertProblems({ [name]: null }, `${name}: `);
      await assertProblems({ [name]: "", [`${name}.gz`]: gzipSync("") }, `${name}: `);
      for (const stored of [name, `${name}.gz`]) {
        const folder = writeSnapshot(freshFolder(), { [name]: null });
        mkdirSync(join(folder, stored));
        const problems = problemsOf(await loadSnapshot(folder));
        assert.equal(problems.length, 1);
        assert.ok(problems[0]!.startsWith(`${stored}: `), problems[0]);
      }
    });
  }

  test("a folder that is missing, and one that is a file", async () => {
    const path = freshFolder();
    const problems = problemsOf(await loadSnapshot(path));
    assert.deepEqual(problems, [`${path}: directory does not exist (ENOENT)`]);
    writeFileSync(path, "");
    assert.deepEqual(problemsOf(await loadSnapshot(path)), [`${path}: is not a directory`]);
  });

  test("files may be gzipped, in one member or many, one of them empty", async () => {
    const members = Buffer.concat([
      gzipSync(text.slice(0, 30)),
      gzipSync(""),
      gzipSync(text.slice(30, 31)),
      gzipSync(text.slice(31)),
    ]);
    for (const bytes of [zipped, members]) {
      const { store, reports } = mustLoad(await load({ "users.ndjson.gz": bytes }));
      assert.equal(store.users.rows, 2);
      assert.equal(reports[0]!.file, "users.ndjson.gz");
      assert.equal(reports[0]!.bytes, bytes.length);
    }
  });

  const damaged: [name: string, bytes: Buffer][] = [
    ["an empty file", Buffer.alloc(0)],
    ["cut in its data", zipped.subarray(0, zipped.length >> 1)],
    ["cut before its check sum", zipped.subarray(0, -8)],
    ["a wrong check sum", Buffer.concat([zipped.subarray(0, -8), Buffer.alloc(4), zipped.subarray(-4)])],
    ["text behind it", Buffer.concat([zipped, Buffer.from(text)])],
    ["zeros behind it", Buffer.concat([zipped, Buffer.alloc(9)])],
    ["half a member behind it", Buffer.concat([zipped, gzipSync(lines(user(3))).subarray(0, -9)])],
    ["3 MiB of zeros behind it", Buffer.concat([zipped, Buffer.alloc(3 * MIB)])],
  ];
  for (const [name, bytes] of damaged) {
    test(`gzip: ${name}`, async () => {
      const refusal = assertProblems({ "users.ndjson.gz": bytes }, "users.ndjson.gz: ");
      const [problem] = await within(refusal, "the refusal", 10_000);
      assert.doesNotMatch(problem!, /canary|displayName/);
    });
  }

  test("a gzip bomb stops at the bound, and quickly", async () => {
    const bomb = gzipSync(Buffer.alloc(64 * MIB, "\n"));
    const deep = Buffer.concat(Array.from({ length: 100 }, () => bomb));
    const before = process.cpuUsage();
    const problems = problemsOf(await load({ "users.ndjson.gz": deep }, { maxBytes: 2 * MIB }));
    assert.match(problems.join("|"), /^users\.ndjson\.gz: [^|]*$/);
    const { user, system } = process.cpuUsage(before);
    assert.ok(user + system < 2_000_000, "6.4 GiB were not unpacked");
  });

  test("the bound counts the uncompressed bytes of all files together, to the byte", async () => {
    const files = snapshotFiles();
    const bytes = [...files.values()].reduce((sum, { length }) => sum + length, 0);
    const gzipped = new Map(Array.from(files, ([name, stored]) => [`${name}.gz`, gzipSync(stored)]));
    for (const given of [files, gzipped]) {
      mustLoad(await load(given, { maxBytes: bytes }));
      const problems = problemsOf(await load(given, { maxBytes: bytes - 1 }));
      assert.match(problems.join("|"), /^instances\.ndjson(\.gz)?: [^|]*$/);
    }
  });
});

// ---------------------------------------------------------------- manifest

describe("a generation without a manifest", () => {
  test("comes from the contents alone: not from folder, dates or order of writing", async () => {
    const first = mustLoad(await load());
    const folder = freshFolder();
    writeFiles(folder, new Map([...snapshotFiles()].reverse()));
    for (const name of ROW_FILES) utimesSync(join(folder, name), 1, 1);
    writeFileSync(join(folder, "notes.txt"), "more");
    const second = mustLoad(await loadSnapshot(folder));
    assert.equal(second.store.id, first.store.id);
    assert.equal(second.store.contents, first.store.contents);
  });

  test("changes with every change of a stored file, one that is not served included", async () => {
    const variants: Files[] = [
      {},
      { "users.ndjson": [user(1, { displayName: "other" })] },
      { "users.ndjson": [user(1, { email: "not served" })] },
      { "users.ndjson": `${JSON.stringify(user(1))}` },
      { "world-stats.ndjson": [worldStats(1, { totalVisits: 1005 })] },
      { "instances.ndjson": "\n" },
      { "world-stats.ndjson": [], "instances.ndjson": "\n" },
    ];
    const ids = new Set<string>();
    for (const variant of variants) {
      const { id: name } = mustLoad(await load(variant)).store;
      assert.match(name, /^[A-Za-z0-9._-]{1,64}$/);
      ids.add(name);
    }
    assert.equal(ids.size, variants.length);
  });
});

test("a reload is refused if most of a table is gone, or for the name of what is served", async () => {
  const storeOf = async (count: number) => {
    const users = Array.from({ length: count }, (_, n) => user(n + 1));
    return mustLoad(await load({ "users.ndjson": users, "worlds.ndjson": [], "instances.ndjson": [] })).store;
  };
  const [all, half, few, none] = await Promise.all([200, 100, 99, 0].map(storeOf));
  assert.deepEqual(refusalsOf(all!, half!, false), []);
  const [refusal, ...others] = refusalsOf(all!, few!, false);
  assert.match(refusal!, /^users\.ndjson: 99 visible rows, less than half of the 200 .*--allow-shrink/);
  assert.deepEqual(others, []);
  assert.deepEqual(refusalsOf(all!, few!, true), []);
  assert.match(refusalsOf(half!, none!, false)[0]!, /^users\.ndjson: 0 visible rows/);
  // A table of fewer than 100 rows may shrink freely.
  assert.deepEqual(refusalsOf(few!, none!, false), []);
  const [named] = refusalsOf(all!, { ...half!, id: all!.id }, false);
  assert.match(named!, /^manifest\.json: generation: .* with other contents$/);
});
