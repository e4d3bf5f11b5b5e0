/** Rows that a program gives to the library in place of a folder. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type GivenRows, type OpenOptions, type Orrery, openOrrery, SnapshotError } from "../src/mod.ts";
import { temporaryFolder } from "./support/folders.ts";
import { repliesTo } from "./support/library.ts";
import { bulkRows, nastyRows, writeSnapshot } from "./support/snapshot.ts";

const keys = [{ id: "t", kind: "cli", token: "svcx_t" }] as const;
const asGiven = ({ users, worlds, stats, instances }: ReturnType<typeof bulkRows>) =>
  ({ users, worlds, worldStats: stats, instances }) as unknown as Required<GivenRows>;

const open = (rows: GivenRows, more: Partial<OpenOptions> = {}): Promise<Orrery> =>
  openOrrery({ rows, keys, threads: false, similar: false, ...more });

const LISTS = [
  "/worlds?limit=50",
  "/worlds/popular",
  "/users/search?q=a",
  "/worlds/search?q=e",
  "/instances",
];

async function replies(orrery: Orrery): Promise<string[]> {
  const all = await repliesTo(orrery, ["/stats", ...LISTS], "svcx_t");
  return all.map(({ status, body }) => `${status} ${body}`);
}

const problemsOf = (rows: unknown): Promise<readonly string[]> =>
  open(rows as GivenRows).then(
    () => assert.fail("was opened"),
    (error: unknown) => {
      assert.ok(error instanceof SnapshotError, String(error));
      return error.problems;
    },
  );

const USER = {
  id: "00000000-0000-4000-8000-000000000001",
  displayName: "Ada",
  createdAt: "2026-01-01T00:00:00.000Z",
};

for (const [name, rows] of Object.entries({ nasty: nastyRows(), bulk: bulkRows(2500) })) {
  test(`${name} rows are answered as those of a folder, from arrays and from generators`, async (t) => {
    const folder = temporaryFolder(t);
    writeSnapshot(folder, rows);
    const ofFolder = await openOrrery({ snapshot: folder, keys, threads: false, similar: false, watch: 0 });
    t.after(ofFolder.close);
    const expected = await replies(ofFolder);
    const given = asGiven(rows);
    const once = function* (list: unknown): Generator<never> {
      yield* list as never[];
    };
    const later = async function* (list: unknown): AsyncGenerator<never> {
      yield* list as never[];
    };
    const { users, worlds, instances } = given;
    const iterated = { ...given, users: once(users), worlds: later(worlds), instances: once(instances) };
    const names = new Set<string>();
    for (const form of [given, iterated]) {
      // Rows are read here in any form; a thread may index many of them.
      const orrery = await open(form, { threads: name === "bulk" && form === iterated });
      t.after(orrery.close);
      assert.deepEqual(await replies(orrery), expected);
      names.add(orrery.generation());
      assert.equal((await orrery.reload()).snapshot, "unchanged");
    }
    assert.equal(names.size, 1, "the same rows have the same name");
  });
}

test("problems name the table, the index and the field, and say nothing of other fields", async () => {
  const wrong = [{ ...USER, id: "x", email: "secret@example.org" }, 5, { ...USER, displayName: null }];
  const users = [USER, ...wrong, USER];
  assert.deepEqual(await problemsOf({ users }), [
    'users[1]: id: must be a UUID, is "x"',
    "users[2]: must be an object, is 5",
    "users[3]: displayName: must be a string, is null",
    `users[4]: id: is a duplicate of users[0]: ${USER.id}`,
  ]);
  assert.deepEqual(await problemsOf({ worldStats: [{ worldId: USER.id, totalVisits: 5n }] }), [
    "worldStats[0]: totalVisits: must be a whole number from 0 to 9007199254740991, is the BigInt 5n",
    ...["uniqueVisitors", "visitsLast7Days", "visitsLast30Days"].map(
      (field) => `worldStats[0]: ${field}: is missing`,
    ),
  ]);
  const many = Array.from({ length: 25 }, () => ({}));
  assert.equal((await problemsOf({ instances: many })).at(-1), "… and 105 more");
  const broken = (function* () {
    yield USER;
    throw new Error("the database is away");
  })();
  assert.deepEqual(await problemsOf({ users: broken }), ["users: cannot be read: the database is away"]);
});

test("dates are times, rows are not changed, absent tables are empty", async (t) => {
  const createdAt = new Date("2026-01-01T00:00:00Z");
  const row = Object.freeze({ ...USER, createdAt, email: "secret@example.org" });
  const orrery = await open({ users: [row] });
  t.after(orrery.close);
  const [stats, worlds, , found] = await replies(orrery);
  assert.equal(stats, '200 {"data":{"totalUsers":1,"totalPublicWorlds":0,"totalPublicInstances":0}}');
  assert.match(worlds!, /"total":0/);
  assert.match(found!, /"createdAt":"2026-01-01T00:00:00.000Z"/);
  assert.doesNotMatch(found!, /secret/);
  assert.deepEqual(await problemsOf({ users: [{ ...USER, createdAt: new Date("x") }] }), [
    "users[0]: createdAt: must be a real time like 2026-01-31T09:30:00.000Z, is an invalid Date",
  ]);
});

test("setRows replaces them as a reload does", async (t) => {
  const orrery = await open(asGiven(bulkRows(120)));
  t.after(orrery.close);
  const before = await replies(orrery);
  const first = orrery.generation();
  const refused = await orrery.setRows({ users: [{ ...USER, displayName: 5 as never }] });
  assert.deepEqual(
    [refused.snapshot, refused.problems],
    ["refused", ["users[0]: displayName: must be a string, is 5"]],
  );
  const shrunk = await orrery.setRows({ users: [USER] });
  assert.equal(shrunk.snapshot, "refused");
  assert.match(shrunk.problems[0]!, /less than half/);
  assert.deepEqual([orrery.generation(), await replies(orrery)], [first, before]);
  assert.equal((await orrery.reload()).snapshot, "unchanged");
  const loaded = await orrery.setRows(asGiven(bulkRows(121)));
  assert.deepEqual([loaded.snapshot, loaded.generation], ["loaded", orrery.generation()]);
  assert.notEqual(orrery.generation(), first);
  assert.equal((await orrery.setRows(asGiven(bulkRows(121)))).snapshot, "unchanged");
  const both = await Promise.all([122, 123].map((count) => orrery.setRows(asGiven(bulkRows(count)))));
  for (const { snapshot } of both) assert.equal(snapshot, "loaded");
  assert.match((await replies(orrery))[0]!, /"totalUsers":123/);
  const yielding = await open(asGiven(bulkRows(120)), { allowShrink: true });
  t.after(yielding.close);
  assert.equal((await yielding.setRows({ users: [USER] })).snapshot, "loaded");
});

test("what is no set of tables is refused", async (t) => {
  const both = { snapshot: "data/sample", rows: {}, keys };
  await assert.rejects(
    openOrrery(both),
    /^TypeError: openOrrery: takes the option "snapshot" or "rows", not both$/,
  );
  for (const [rows, says] of [
    [5, /option "rows" must be an object with tables, is 5$/],
    [Promise.resolve({}), /must be an object with tables, is a promise: await it$/],
    [new Map(), /must be an object with tables, is an iterable$/],
    [{ user: [] }, /option "rows": .*user/],
    [{ users: "abc" }, /users must be an iterable of rows, is "abc"$/],
    [{ users: {} }, /users must be an iterable of rows, is an object$/],
  ] as const) {
    await assert.rejects(open(rows as never), { name: "TypeError", message: says });
  }
  const ofFolder = await openOrrery({ snapshot: "data/sample", keys, threads: false, watch: 0 });
  t.after(ofFolder.close);
  await assert.rejects(ofFolder.setRows({}), /^TypeError: setRows: /);
  const orrery = await open({});
  t.after(orrery.close);
  await assert.rejects(orrery.setRows({ worldsStats: [] } as never), { name: "TypeError" });
});
