/** Loading a snapshot: what is good, what is bad, how that is said, and what faults may do. */

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { ROW_FILES, type RowFile, type User, type World, type WorldStats } from "../src/model.ts";
import { type LoadOptions, loadSnapshot } from "../src/snapshot/load.ts";
import {
  type Files,
  GOOD_ROWS,
  id,
  instance,
  listed,
  manifestOf,
  type RawRow,
  snapshotFiles,
  user,
  withManifest,
  world,
  worldStats,
  writeFiles,
  writeSnapshot,
} from "./support/folders.ts";
import { lines, mustLoad, problemsOf, rowsOf } from "./support/loaded.ts";
import { within } from "./support/patience.ts";

const MIB = 1_048_576;
const CANARY = "canary-4711";

const root = mkdtempSync(join(tmpdir(), "orrery-snapshot-test-"));
after(() => rmSync(root, { recursive: true, force: true }));
let folders = 0;

function freshFolder(): string {
  return join(root, String(++folders));
}

/** Writes a snapshot (one good row a file unless given), loads it, and removes it. */
async function load(given: Files | ReadonlyMap<string, Buffer> = {}, options: LoadOptions = {}) {
  const files = given instanceof Map ? (given as ReadonlyMap<string, Buffer>) : snapshotFiles(given as Files);
  const folder = writeFiles(freshFolder(), files);
  try {
    return await loadSnapshot(folder, options);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The snapshot is refused with problems that begin like these, one each, in this order. */
async function assertProblems(given: Files, ...starts: string[]): Promise<readonly string[]> {
  const problems = problemsOf(await load(given));
  const matching = problems.filter((line, at) => line.startsWith(starts[at] ?? "\n"));
  assert.deepEqual(problems, starts.length === matching.length ? matching : starts);
  return problems;
}

// ---------------------------------------------------------------- good snapshots

test("a good snapshot is served as written, nothing else of a row is kept", async () => {
  const secret = { email: CANARY, dailyVisits: [CANARY], deleted: { by: CANARY } };
  const result = mustLoad(
    await load({
      "users.ndjson": [{ ...user(1), ...secret }],
      "worlds.ndjson": [{ ...secret, ...world(1) }],
      "world-stats.ndjson": [{ ...secret, ...worldStats(1) }],
      "instances.ndjson": [{ ...secret, ...instance(1) }],
    }),
  );
  const { store } = result;
  assert.equal(
    store.users.bytes.toString("utf8", 0, store.users.starts[1]! - 1),
    JSON.stringify({
      id: id("a", 1),
      displayName: "user 1",
      userIconUrl: "https://icons.example/1",
      createdAt: "2026-01-02T03:04:05.006Z",
    }),
  );
  const { status: _, ...servedWorld } = world(1);
  assert.deepEqual(rowsOf(store.worlds), [servedWorld]);
  assert.deepEqual(rowsOf(store.worldStats), [worldStats(1)]);
  assert.deepEqual(rowsOf(store.instances), [
    { id: id("c", 1), worldId: id("b", 1), createdAt: "2026-04-05T06:07:08.009Z" },
  ]);
  assert.equal(
    store.platformStats,
    '{"totalUsers":1,"totalPublicWorlds":1,"totalPublicInstances":1}',
    "platform statistics",
  );
  assert.match(store.id, /^[A-Za-z0-9._-]{1,64}$/);
  for (const block of [store.users, store.worlds, store.worldStats, store.instances]) {
    assert.doesNotMatch(block.bytes.toString("latin1"), /canary/);
  }
});

test("all four files may be empty, or hold nothing but blank lines and a BOM", async () => {
  const given: Files = {
    "users.ndjson": "",
    "worlds.ndjson": "\ufeff",
    "world-stats.ndjson": "\n\r\n \t \n",
    "instances.ndjson.gz": gzipSync(""),
  };
  const { store, reports } = mustLoad(await load(given));
  assert.deepEqual(
    reports.map(({ rows }) => rows),
    [0, 0, 0, 0],
  );
  assert.equal(
    store.platformStats,
    '{"totalUsers":0,"totalPublicWorlds":0,"totalPublicInstances":0}',
    "platform statistics",
  );
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
  assert.deepEqual(
    rowsOf<World>(store.worlds).map((row) => row.id),
    [id("b", 1), id("b", 5)],
  );
  assert.deepEqual(rowsOf<WorldStats>(store.worldStats)[1], {
    worldId: id("b", 5),
    totalVisits: 0,
    uniqueVisitors: 0,
    visitsLast7Days: 0,
    visitsLast30Days: 0,
  });
  assert.deepEqual(
    rowsOf<{ id: string }>(store.instances).map((row) => row.id),
    [id("c", 1)],
  );
  assert.doesNotMatch(store.worlds.bytes.toString("latin1"), /canary/);
  const hidden = reports.map((report) => [...report.hidden.values()].reduce((sum, n) => sum + n, 0));
  assert.deepEqual(hidden, [0, 3, 2, 4]);
  assert.equal(
    store.platformStats,
    '{"totalUsers":1,"totalPublicWorlds":2,"totalPublicInstances":1}',
    "platform statistics",
  );
});

test("a dangling reference is counted and named, and is no error", async () => {
  const { reports } = mustLoad(
    await load({
      "worlds.ndjson": [world(1), world(2, { ownerId: id("a", 77), isPublic: false })],
      "world-stats.ndjson": [worldStats(88)],
      "instances.ndjson": lines(
        "",
        ...Array.from({ length: 30 }, (_, n) => instance(n, { worldId: id("b", 99) })),
      ),
    }),
  );
  const dangling = reports.map((report) => report.dangling);
  assert.deepEqual(
    dangling.map(({ count }) => count),
    [0, 1, 1, 30],
  );
  assert.ok(dangling[1]!.examples[0]!.startsWith("worlds.ndjson:2: ownerId: "));
  assert.ok(dangling[1]!.examples[0]!.includes(id("a", 77)));
  assert.ok(dangling[2]!.examples[0]!.startsWith("world-stats.ndjson:1: worldId: "));
  assert.ok(dangling[3]!.examples[0]!.startsWith("instances.ndjson:2: worldId: "));
  assert.ok(dangling[3]!.examples.length < 30);
});

test("null and absent texts are empty, empty texts stay, upper-case ids become lower case", async () => {
  const { store } = mustLoad(
    await load({
      "users.ndjson": lines(
        user(1, { userIconUrl: null, displayName: "" }),
        { ...user(2), userIconUrl: undefined, id: id("a", 2).toUpperCase() },
        user(3, { id: "FFFFFFFF-ffff-FFFF-0000-ABCDEFabcdef" }),
      ),
      "worlds.ndjson": [world(1, { description: null, name: "", ownerId: id("a", 2).toUpperCase() })],
    }),
  );
  assert.deepEqual(
    rowsOf<User>(store.users).map((row) => [row.id, row.displayName, row.userIconUrl]),
    [
      [id("a", 1), "", ""],
      [id("a", 2), "user 2", ""],
      ["ffffffff-ffff-ffff-0000-abcdefabcdef", "user 3", "https://icons.example/3"],
    ],
  );
  const [row] = rowsOf<World>(store.worlds);
  assert.deepEqual([row!.name, row!.description, row!.ownerId], ["", "", id("a", 2)]);
});

test("lone surrogates become U+FFFD, everything else in a text survives", async () => {
  const awkward = '\u0000\u0001\u007f\u2028\u2029"\\/\b\f\n\r\t é か゛ 漢字 😀 𝒳 </script>';
  const { store } = mustLoad(
    await load({
      "users.ndjson": lines(
        user(1, { displayName: awkward }),
        JSON.stringify(user(2)).replace("user 2", "x\\ud83d"),
        JSON.stringify(user(3)).replace("user 3", "\\ude00x\\ud83d\\ude00"),
      ),
    }),
  );
  assert.deepEqual(
    rowsOf<User>(store.users).map((row) => row.displayName),
    [awkward, "x\ufffd", "\ufffdx😀"],
  );
});

test("the same id in two tables, and rows in any order, are fine", async () => {
  const same = id("d", 1);
  mustLoad(
    await load({
      "users.ndjson": [user(1, { id: same })],
      "worlds.ndjson": [world(1, { id: same, ownerId: same })],
      "world-stats.ndjson": [worldStats(1, { worldId: same })],
      "instances.ndjson": [instance(1, { id: same, worldId: same })],
    }),
  );
});

// ---------------------------------------------------------------- lines

describe("lines", () => {
  const two = [user(1), user(2)].map((row) => JSON.stringify(row));
  const good: [name: string, text: string, rows: number][] = [
    ["no newline at the end", `${two[0]}\n${two[1]}`, 2],
    ["CRLF", `${two[0]}\r\n${two[1]}\r\n`, 2],
    ["CRLF and no newline at the end", `${two[0]}\r\n${two[1]}`, 2],
    ["a BOM", `\ufeff${two[0]}\n${two[1]}\n`, 2],
    ["a BOM before a blank line", `\ufeff\r\n${two[0]}\n`, 1],
    ["blank lines everywhere", `\n \n${two[0]}\n\r\n\t\t\n${two[1]}\n\n\n`, 2],
    ["white space around a row", ` \t${two[0]}  \n\r${two[1]}\t`, 2],
  ];
  for (const [name, text, rows] of good) {
    test(`${name}: loads`, async () => {
      const { store, reports } = mustLoad(await load({ "users.ndjson": text }));
      assert.deepEqual([store.users.rows, reports[0]!.rows], [rows, rows]);
      const zipped = mustLoad(await load({ "users.ndjson.gz": gzipSync(text) }));
      assert.deepEqual([zipped.store.users.rows, zipped.reports[0]!.rows], [rows, rows]);
    });
  }

  test("line numbers count blank lines and lines that end in CRLF", async () => {
    await assertProblems(
      { "users.ndjson": `\ufeff\n\r\n${two[0]}\r\n\n{}x\n${two[1]}\n[]` },
      "users.ndjson:5: ",
      "users.ndjson:7: ",
    );
  });

  /** A user's row of exactly so many bytes; `fill` is what fills it. */
  function rowOfBytes(bytes: number, fill = "x"): string {
    const bare = Buffer.byteLength(JSON.stringify(user(1, { displayName: "" })));
    const fillBytes = Buffer.byteLength(fill);
    const text = fill.repeat(Math.floor((bytes - bare) / fillBytes)) + "y".repeat((bytes - bare) % fillBytes);
    const row = JSON.stringify(user(1, { displayName: text }));
    assert.equal(Buffer.byteLength(row), bytes);
    return row;
  }
  const framed: [name: string, frame: (row: string) => string, line: number][] = [
    ["alone", (row) => `${row}\n`, 1],
    ["without a newline at the end", (row) => row, 1],
    ["with CRLF", (row) => `${row}\r\n`, 1],
    ["behind a BOM", (row) => `\ufeff${row}\n`, 1],
    ["behind a BOM, with CRLF", (row) => `\ufeff${row}\r\n`, 1],
    ["behind a BOM, without a newline at the end", (row) => `\ufeff${row}`, 1],
    ["as the second line of three", (row) => `${two[1]}\n${row}\n${JSON.stringify(user(3))}\n`, 2],
    ["as the last line, without a newline", (row) => `${two[1]}\n\n${row}`, 3],
  ];
  for (const [name, frame, line] of framed) {
    test(`1 MiB ${name}: just fits; one byte more is too long`, async () => {
      for (const fill of ["x", "é", "漢", "😀"]) {
        mustLoad(await load({ "users.ndjson": frame(rowOfBytes(MIB, fill)) }));
        mustLoad(await load({ "users.ndjson.gz": gzipSync(frame(rowOfBytes(MIB, fill)), { level: 1 }) }));
        const long = frame(rowOfBytes(MIB + 1, fill));
        const [problem] = await assertProblems({ "users.ndjson": long }, `users.ndjson:${line}: `);
        assert.ok(problem!.length < 100, "a message about a long line is short");
      }
    });
  }

  test("a line of 5 MiB is one problem, and the lines behind it are read", async () => {
    const text = `${"z".repeat(5 * MIB)}\n${two[0]}\n{"id":1}\n`;
    const problems = problemsOf(await load({ "users.ndjson": text }));
    assert.match(problems[0]!, /^users\.ndjson:1: /);
    assert.ok(problems.slice(1).every((problem) => problem.startsWith("users.ndjson:3: ")));
    assert.ok(problems[1]!.startsWith("users.ndjson:3: id: "));
  });

  const notUtf8: [name: string, bytes: number[]][] = [
    ["a stray continuation byte", [0x80]],
    ["a character cut short", [0xe6, 0xbc]],
    ["an overlong form", [0xc0, 0xaf]],
    ["a surrogate", [0xed, 0xa0, 0x80]],
    ["above U+10FFFF", [0xf4, 0x90, 0x80, 0x80]],
    ["0xFF", [0xff]],
  ];
  for (const [name, bytes] of notUtf8) {
    test(`invalid UTF-8, ${name}: names the line and quotes nothing`, async () => {
      const broken = Buffer.concat([
        Buffer.from(`{"id":"${id("a", 2)}","displayName":"${CANARY}`),
        Buffer.from(bytes),
        Buffer.from(`","createdAt":"2026-01-01T00:00Z"}`),
      ]);
      const filler = Array.from({ length: 9000 }, (_, n) => JSON.stringify(user(n + 10)));
      const text = Buffer.concat([
        Buffer.from(`${two[0]}\n${filler.join("\n")}\n`),
        broken,
        Buffer.from(`\r\n${JSON.stringify(user(3))}\n`),
      ]);
      assert.ok(text.length > MIB, "the bad line is in a later block");
      const [problem] = await assertProblems({ "users.ndjson": text }, "users.ndjson:9002: ");
      assert.doesNotMatch(problem!, /canary/);
    });
  }

  test("invalid UTF-8 in the last bytes of a file, and UTF-16", async () => {
    await assertProblems({ "users.ndjson": Buffer.from(`${two[0]}\n\xe6`, "latin1") }, "users.ndjson:2: ");
    const wide = Buffer.from(`\ufeff${two[0]}`, "utf16le");
    await assertProblems({ "users.ndjson": wide }, "users.ndjson:1: ");
  });

  test("broken JSON names the line and quotes nothing of it", async () => {
    const broken = [
      `{"id":"${CANARY}`,
      `{"displayName":"${CANARY}",}`,
      `{'id':'${CANARY}'}`,
      `${JSON.stringify(user(1, { email: CANARY }))}${JSON.stringify(user(2))}`,
      `"${CANARY}"`,
      `["${CANARY}"]`,
      `null`,
      `4711`,
      `{"id":"${CANARY}\u0001"}`,
      `\ufeff ${CANARY}`,
    ];
    for (const file of ROW_FILES) {
      const starts = broken.map((_, at) => `${file}:${at + 1}: `);
      const problems = await assertProblems({ [file]: lines(...broken) }, ...starts);
      for (const problem of problems) assert.doesNotMatch(problem, /canary|4711|\{|\[/);
    }
  });

  test("at most 20 lines, then how many more", async () => {
    const bad = (count: number): string => lines(...Array.from({ length: count }, () => "nonsense"));
    assert.equal(problemsOf(await load({ "users.ndjson": bad(20) })).length, 20);
    const many = problemsOf(await load({ "users.ndjson": bad(15), "instances.ndjson": bad(10_000) }));
    assert.equal(many.length, 21);
    assert.match(many[14]!, /^users\.ndjson:15: /);
    assert.match(many[19]!, /^instances\.ndjson:5: /);
    assert.equal(many[20], "… and 9995 more");
    assert.equal(problemsOf(await load({ "users.ndjson": bad(21) }))[20], "… and 1 more");
  });
});

// ---------------------------------------------------------------- fields

const UUIDS_WRONG: unknown[] = [
  undefined,
  null,
  5,
  true,
  {},
  [],
  "",
  "aaaaaaaa000040008000000000000001",
  "{aaaaaaaa-0000-4000-8000-000000000001}",
  "aaaaaaaa-0000-4000-8000-00000000000g",
  "aaaaaaaa-0000-4000-8000-00000000001",
  " aaaaaaaa-0000-4000-8000-00000000001",
  "aaaaaaaa-0000-4000-8000-0000000000001",
  "aaaaaaaa-00004-000-8000-000000000001",
  "aaaaaaaa-0000-4000-8000-00000000000１",
  [id("a", 1)],
];
const TEXTS_WRONG: unknown[] = [undefined, null, 5, true, {}, [], ["text"], { text: "text" }];
const OPTIONAL_TEXTS_WRONG: unknown[] = [0, 5, false, true, {}, [], ["text"]];
const BOOLEANS_WRONG: unknown[] = [undefined, null, 0, 1, "", "true", "false", {}, [], [true]];
const COUNTS_WRONG: unknown[] = [
  undefined,
  null,
  -1,
  1.5,
  2 ** 53,
  1e21,
  "5",
  "",
  true,
  false,
  {},
  [],
  [5],
  -0.5,
];
const TIMES_WRONG: unknown[] = [undefined, null, 0, 1_767_225_600_000, true, {}, [], "", "now", "2026-01-01"];

const FIELDS: Readonly<Record<RowFile, Readonly<Record<string, unknown[]>>>> = {
  "users.ndjson": {
    id: UUIDS_WRONG,
    displayName: TEXTS_WRONG,
    userIconUrl: OPTIONAL_TEXTS_WRONG,
    createdAt: TIMES_WRONG,
  },
  "worlds.ndjson": {
    id: UUIDS_WRONG,
    name: TEXTS_WRONG,
    description: OPTIONAL_TEXTS_WRONG,
    ownerId: UUIDS_WRONG,
    isPublic: BOOLEANS_WRONG,
    status: TEXTS_WRONG,
    createdAt: TIMES_WRONG,
    updatedAt: TIMES_WRONG,
  },
  "world-stats.ndjson": {
    worldId: UUIDS_WRONG,
    totalVisits: COUNTS_WRONG,
    uniqueVisitors: COUNTS_WRONG,
    visitsLast7Days: COUNTS_WRONG,
    visitsLast30Days: COUNTS_WRONG,
  },
  "instances.ndjson": {
    id: UUIDS_WRONG,
    worldId: UUIDS_WRONG,
    isPublic: BOOLEANS_WRONG,
    isActive: BOOLEANS_WRONG,
    createdAt: TIMES_WRONG,
  },
};

/** A valid row whose every other value can be recognised in a message. */
function markedRow(file: RowFile): RawRow {
  const row: RawRow = { ...GOOD_ROWS[file], email: `${CANARY}@example.org`, dailyVisits: [314_159] };
  for (const [field, value] of Object.entries(row)) {
    if (typeof value !== "string" || /id$/i.test(field) || /At$/.test(field)) continue;
    row[field] = `${CANARY} ${field}`;
  }
  // None of the wrong ids above holds it.
  if ("ownerId" in row) row.ownerId = id("e", 1);
  return row;
}

describe("wrong types", () => {
  for (const file of ROW_FILES) {
    for (const [field, wrong] of Object.entries(FIELDS[file])) {
      test(`${file}: ${field}`, async () => {
        const row = markedRow(file);
        const rows = wrong.map((value) => ({ ...row, [field]: value }));
        const starts = rows.map((_, at) => `${file}:${at + 1}: ${field}: `);
        const problems = await assertProblems({ [file]: rows }, ...starts);
        const others = Object.entries(row).filter(([name]) => name !== field);
        for (const [at, problem] of problems.entries()) {
          const said = problem.slice(starts[at]!.length);
          assert.doesNotMatch(said, /canary|314159|example/);
          for (const [name, value] of others) {
            if (typeof value === "boolean") continue;
            assert.ok(!said.includes(String(value)), `${problem} quotes ${name}`);
          }
        }
      });
    }
  }

  test("hidden rows are validated too, and every problem of a row is told", async () => {
    await assertProblems(
      { "worlds.ndjson": [world(1, { isPublic: false, updatedAt: "soon", description: 5 })] },
      "worlds.ndjson:1: description: ",
      "worlds.ndjson:1: updatedAt: ",
    );
    await assertProblems(
      { "instances.ndjson": [instance(1, { isActive: false, isPublic: 0 })] },
      "instances.ndjson:1: isPublic: ",
    );
    await assertProblems(
      { "world-stats.ndjson": [worldStats(99, { totalVisits: -1 })] },
      "world-stats.ndjson:1: totalVisits: ",
    );
  });

  test("a row of nothing names every field that is needed", async () => {
    await assertProblems(
      { "users.ndjson": "{}\n", "world-stats.ndjson": "{}\n" },
      "users.ndjson:1: id: ",
      "users.ndjson:1: displayName: ",
      "users.ndjson:1: createdAt: ",
      "world-stats.ndjson:1: worldId: ",
      "world-stats.ndjson:1: totalVisits: ",
      "world-stats.ndjson:1: uniqueVisitors: ",
      "world-stats.ndjson:1: visitsLast7Days: ",
      "world-stats.ndjson:1: visitsLast30Days: ",
    );
  });

  test("fields that objects inherit are no fields of a row", async () => {
    const row = '{"__proto__":{"id":"x","displayName":"x","createdAt":"x"},"constructor":1}\n';
    await assertProblems(
      { "users.ndjson": row },
      "users.ndjson:1: id: is missing",
      "users.ndjson:1: displayName: is missing",
      "users.ndjson:1: createdAt: is missing",
    );
  });

  test("the wrong value is shown short, on one line, and cannot command a terminal", async () => {
    const nasty = `\u001b[2J\u009b2J\u007f\n\r\u2028\u2029\u0085${"x".repeat(5000)}`;
    const [problem] = await assertProblems(
      { "users.ndjson": [user(1, { id: nasty })] },
      'users.ndjson:1: id: must be a UUID, is "\\u001b[2J',
    );
    assert.ok(problem!.length < 200);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: none of them may be there
    assert.doesNotMatch(problem!, /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/);
  });
});

test("counts: whole JSON numbers from 0 to 2^53-1, however written", async () => {
  const written: [json: string, served: number | undefined][] = [
    ["0", 0],
    ["-0", 0],
    ["5.0", 5],
    ["1e3", 1000],
    ["9007199254740991", Number.MAX_SAFE_INTEGER],
    ["9007199254740992", undefined],
    ["9007199254740993", undefined],
    ["1e400", undefined],
    ["-1", undefined],
    ["-1e400", undefined],
    ["1.0000001", undefined],
    ["1e-3", undefined],
  ];
  for (const [json, served] of written) {
    const row = JSON.stringify(worldStats(1)).replace("1004", json);
    const result = await load({ "world-stats.ndjson": `${row}\n` });
    if (served === undefined) {
      assert.match(problemsOf(result).join("|"), /^world-stats\.ndjson:1: totalVisits: [^|]*$/, json);
    } else {
      const { store } = mustLoad(result);
      const text = store.worldStats.bytes.toString("latin1", 0, store.worldStats.starts[1]! - 1);
      assert.match(text, new RegExp(`"totalVisits":${served},`), json);
    }
  }
});

// ---------------------------------------------------------------- times

describe("times", () => {
  const good: [written: string, served: string][] = [
    ["2026-01-31T09:30:00.000Z", "2026-01-31T09:30:00.000Z"],
    ["2026-01-31T09:30Z", "2026-01-31T09:30:00.000Z"],
    ["2026-01-31T09:30:59Z", "2026-01-31T09:30:59.000Z"],
    ["2026-01-31T09:30:59.1Z", "2026-01-31T09:30:59.100Z"],
    ["2026-01-31T09:30:59.12Z", "2026-01-31T09:30:59.120Z"],
    ["2026-01-31T09:30:59.9999999999Z", "2026-01-31T09:30:59.999Z"],
    ["1969-12-31T23:59:59.9999Z", "1969-12-31T23:59:59.999Z"],
    ["1969-12-31T23:59:59.0001Z", "1969-12-31T23:59:59.000Z"],
    ["2026-01-31T09:30+09:00", "2026-01-31T00:30:00.000Z"],
    ["2026-01-31T23:30-09:45", "2026-02-01T09:15:00.000Z"],
    ["2026-01-01T00:00:00+23:59", "2025-12-31T00:01:00.000Z"],
    ["2026-12-31T23:59:59.999-23:59", "2027-01-01T23:58:59.999Z"],
    ["2026-01-31T09:30:00-00:00", "2026-01-31T09:30:00.000Z"],
    ["2024-02-29T00:00Z", "2024-02-29T00:00:00.000Z"],
    ["2000-02-29T12:00Z", "2000-02-29T12:00:00.000Z"],
    ["0000-02-29T00:00Z", "0000-02-29T00:00:00.000Z"],
    ["0000-01-01T00:00:00.000Z", "0000-01-01T00:00:00.000Z"],
    ["0000-01-01T00:00-00:01", "0000-01-01T00:01:00.000Z"],
    ["0099-03-01T00:00Z", "0099-03-01T00:00:00.000Z"],
    ["9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999Z"],
    ["9999-12-31T23:59:59.999+00:01", "9999-12-31T23:58:59.999Z"],
    ["2026-04-30T00:00:00Z", "2026-04-30T00:00:00.000Z"],
  ];
  const bad = [
    "2026-02-31T00:00:00Z",
    "2026-02-29T00:00:00Z",
    "1900-02-29T00:00:00Z",
    "2100-02-29T00:00:00Z",
    "2026-04-31T00:00:00Z",
    "2026-00-01T00:00:00Z",
    "2026-13-01T00:00:00Z",
    "2026-01-00T00:00:00Z",
    "2026-01-32T00:00:00Z",
    "2026-01-01T24:00:00Z",
    "2026-01-01T23:60:00Z",
    "2016-12-31T23:59:60Z",
    "2026-01-01T00:00:00+24:00",
    "2026-01-01T00:00:00+00:60",
    "2026-01-01T00:00:00-24:00",
    "0000-01-01T00:00:00+00:01",
    "9999-12-31T23:59:59-00:01",
    "2026-01-01T00:00:00z",
    "2026-01-01t00:00:00Z",
    "2026-01-01 00:00:00Z",
    "2026-01-01T00:00:00",
    "2026-01-01T00Z",
    "2026-01-01",
    "2026-01-01T00:00:00.Z",
    "2026-01-01T00:00.5Z",
    "2026-01-01T00:00:00,5Z",
    "2026-01-01T00:00:00+0900",
    "2026-01-01T00:00:00+09",
    "2026-01-01T00:00:00Z ",
    " 2026-01-01T00:00:00Z",
    "2026-01-01T00:00:00Z\n",
    "2026-1-01T00:00:00Z",
    "20260101T000000Z",
    "+002026-01-01T00:00:00Z",
    "-000001-01-01T00:00:00Z",
    "12026-01-01T00:00:00Z",
    "2026-W01-1T00:00:00Z",
    "２０２６-01-01T00:00:00Z",
    "1767225600000",
  ];

  test("good ones are served as UTC milliseconds, cut, not rounded", async () => {
    const { store } = mustLoad(
      await load({
        "users.ndjson": good.map(([createdAt], n) => user(n, { createdAt })),
        "worlds.ndjson": good.map(([updatedAt], n) => world(n, { updatedAt })),
      }),
    );
    const byId = new Map(rowsOf<User>(store.users).map((row) => [row.id, row.createdAt]));
    assert.deepEqual(
      good.map(([written], n) => [written, byId.get(id("a", n))]),
      good,
    );
    const worlds = new Map(rowsOf<World>(store.worlds).map((row) => [row.id, row.updatedAt]));
    assert.deepEqual(
      good.map(([written], n) => [written, worlds.get(id("b", n))]),
      good,
    );
  });

  test("bad ones are refused, each with its value", async () => {
    for (let from = 0; from < bad.length; from += 20) {
      const some = bad.slice(from, from + 20);
      const problems = await assertProblems(
        { "instances.ndjson": some.map((createdAt, n) => instance(n, { createdAt })) },
        ...some.map((_, n) => `instances.ndjson:${n + 1}: createdAt: `),
      );
      for (const [at, problem] of problems.entries()) assert.ok(problem.includes(JSON.stringify(some[at])));
    }
  });

  test("order is by the served value: what differs below a millisecond is a tie", async () => {
    const { store } = mustLoad(
      await load({
        "users.ndjson": [
          user(3, { createdAt: "2026-01-01T00:00:00.0019Z" }),
          user(2, { createdAt: "2026-01-01T00:00:00.0011Z" }),
          user(9, { createdAt: "2026-01-01T01:00:00.002+01:00" }),
          user(1, { createdAt: "2026-01-01T00:00:00.001Z" }),
        ],
      }),
    );
    assert.deepEqual(
      rowsOf<User>(store.users).map((row) => row.id),
      [9, 1, 2, 3].map((n) => id("a", n)),
    );
  });
});

// ---------------------------------------------------------------- duplicates

describe("duplicates", () => {
  const cases: [name: string, file: RowFile, field: string, rows: RawRow[]][] = [
    ["users", "users.ndjson", "id", [user(1), user(2), user(1, { displayName: CANARY })]],
    [
      "users that differ in case alone",
      "users.ndjson",
      "id",
      [user(1), user(2), user(1, { id: id("a", 1).toUpperCase() })],
    ],
    ["worlds", "worlds.ndjson", "id", [world(1), world(2), world(1)]],
    ["a hidden world first", "worlds.ndjson", "id", [world(1, { isPublic: false }), world(2), world(1)]],
    ["a hidden world last", "worlds.ndjson", "id", [world(1), world(2), world(1, { status: "HIDDEN" })]],
    [
      "two hidden worlds",
      "worlds.ndjson",
      "id",
      [
        world(1, { isPublic: false }),
        world(2),
        world(1, { isPublic: false, id: id("b", 1).toUpperCase(), description: CANARY }),
      ],
    ],
    ["statistics", "world-stats.ndjson", "worldId", [worldStats(1), worldStats(2), worldStats(1)]],
    [
      "statistics of a world that is not there",
      "world-stats.ndjson",
      "worldId",
      [worldStats(7), worldStats(8), worldStats(7, { worldId: id("b", 7).toUpperCase() })],
    ],
    ["instances", "instances.ndjson", "id", [instance(1), instance(2), instance(1)]],
    [
      "hidden instances",
      "instances.ndjson",
      "id",
      [instance(1, { isActive: false }), instance(2), instance(1, { worldId: id("b", 99) })],
    ],
  ];
  for (const [name, file, field, rows] of cases) {
    test(name, async () => {
      const [problem] = await assertProblems({ [file]: rows }, `${file}:3: ${field}: `);
      assert.ok(problem!.includes(String(rows[0]![field])), "names the id");
      assert.doesNotMatch(problem!, /canary/);
    });
  }

  test("far apart, among many", async () => {
    const rows = Array.from({ length: 5000 }, (_, n) => user(n));
    await assertProblems(
      { "users.ndjson": [...rows, user(4321), user(0)] },
      "users.ndjson:5001: id: ",
      "users.ndjson:5002: id: ",
    );
  });
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

  test("all four missing are four problems", async () => {
    await assertProblems(
      Object.fromEntries(ROW_FILES.map((name) => [name, null])),
      ...ROW_FILES.map((name) => `${name}: `),
    );
  });

  test("a folder that is missing, and one that is a file", async () => {
    const missing = freshFolder();
    assert.deepEqual(problemsOf(await loadSnapshot(missing)), [
      `${missing}: directory does not exist (ENOENT)`,
    ]);
    writeFileSync(missing, "");
    assert.deepEqual(problemsOf(await loadSnapshot(missing)), [`${missing}: is not a directory`]);
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

  /** The same gzip member grown to `bytes` by a file name in its header. */
  function grow(member: Buffer, bytes: number): Buffer {
    const head = Buffer.from(member.subarray(0, 10));
    head[3] = 8;
    const name = Buffer.alloc(bytes - member.length, "n");
    name[name.length - 1] = 0;
    return Buffer.concat([head, name, member.subarray(10)]);
  }

  test("a second member that begins where a read of the file ends", async () => {
    const { store } = mustLoad(
      await load({ "users.ndjson.gz": Buffer.concat([grow(zipped, MIB), gzipSync(lines(user(3)))]) }),
    );
    assert.equal(store.users.rows, 3);
  });

  const damaged: [name: string, bytes: Buffer][] = [
    ["an empty file", Buffer.alloc(0)],
    ["no gzip at all", Buffer.from(text)],
    ["half a header", zipped.subarray(0, 6)],
    ["a header alone", zipped.subarray(0, 10)],
    ["cut in its data", zipped.subarray(0, zipped.length >> 1)],
    ["cut before its check sum", zipped.subarray(0, -8)],
    ["cut in its check sum", zipped.subarray(0, -1)],
    ["a wrong check sum", Buffer.concat([zipped.subarray(0, -8), Buffer.alloc(4), zipped.subarray(-4)])],
    ["a wrong length", Buffer.concat([zipped.subarray(0, -4), Buffer.alloc(4)])],
    ["text behind it", Buffer.concat([zipped, Buffer.from(text)])],
    ["zeros behind it", Buffer.concat([zipped, Buffer.alloc(9)])],
    ["one byte behind it", Buffer.concat([zipped, Buffer.from([0x1f])])],
    ["half a member behind it", Buffer.concat([zipped, gzipSync(lines(user(3))).subarray(0, -9)])],
    ["zeros where a read of the file ends", Buffer.concat([grow(zipped, MIB), Buffer.alloc(9)])],
    ["text where a read of the file ends", Buffer.concat([grow(zipped, MIB), Buffer.from(text)])],
    ["3 MiB of zeros behind it", Buffer.concat([zipped, Buffer.alloc(3 * MIB)])],
  ];
  for (const [name, bytes] of damaged) {
    test(`gzip: ${name}`, async () => {
      const [problem] = await within(
        assertProblems({ "users.ndjson.gz": bytes }, "users.ndjson.gz: "),
        "the refusal",
        10_000,
      );
      assert.doesNotMatch(problem!, /canary|displayName/);
    });
  }

  test("a gzip bomb stops at the bound, and quickly", async () => {
    const bomb = gzipSync(Buffer.alloc(64 * MIB, "\n"));
    const deep = Buffer.concat(Array.from({ length: 100 }, () => bomb));
    const before = process.cpuUsage();
    const problems = problemsOf(await load({ "users.ndjson.gz": deep }, { maxBytes: 2 * MIB }));
    assert.deepEqual(problems.length, 1);
    assert.match(problems[0]!, /^users\.ndjson\.gz: /);
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

  test("a truncated file is a problem of its last line", async () => {
    await assertProblems({ "users.ndjson": text.slice(0, -20) }, "users.ndjson:2: ");
  });

  test("other files in the folder do not matter", async () => {
    mustLoad(await load({ "users.ndjson.bak": "nonsense", ".hidden": "x", "MANIFEST.JSON": "{}" }));
  });
});

// ---------------------------------------------------------------- manifest

describe("manifest", () => {
  const files = snapshotFiles({ "users.ndjson": `\ufeff\n${lines(user(1), user(2))}\r\n` });
  type Draft = ReturnType<typeof manifestOf>;

  async function loadWith(change: (draft: Draft) => unknown, stored = files) {
    const draft = manifestOf(stored, "g-1");
    const changed = change(draft) ?? draft;
    const text = Buffer.isBuffer(changed) || typeof changed === "string" ? changed : JSON.stringify(changed);
    return load(new Map(stored).set("manifest.json", Buffer.from(text)));
  }

  test("a right one names the generation", async () => {
    for (const generation of ["g-1", "A", "2026-01-01T00.00.00Z", "_", "x".repeat(64), ".."]) {
      if (!/^[A-Za-z0-9._-]+$/.test(generation)) continue;
      const { store } = mustLoad(await loadWith((draft) => ({ ...draft, generation })));
      assert.equal(store.id, generation);
    }
  });

  test("a BOM, more fields, an upper-case hash and another order are fine", async () => {
    const { store } = mustLoad(
      await loadWith((draft) => {
        const entries = Object.entries(draft.files as Record<string, { sha256: string }>).reverse();
        const loud = entries.map(([name, entry]) => [
          name,
          { ...entry, sha256: entry.sha256.toUpperCase(), more: 1 },
        ]);
        return `\ufeff${JSON.stringify({ ...draft, files: Object.fromEntries(loud), more: [1] }, null, 2)}\n`;
      }),
    );
    assert.equal(store.id, "g-1");
  });

  test("gzipped files are listed as stored", async () => {
    const text = files.get("users.ndjson")!;
    const zipped = gzipSync(text);
    const stored = new Map(files).set("users.ndjson.gz", zipped);
    stored.delete("users.ndjson");
    const right = manifestOf(stored, "g-1");
    right.files["users.ndjson.gz"] = { ...listed(zipped), rows: 2 };
    assert.equal(mustLoad(await loadWith(() => right, stored)).store.id, "g-1");
    // The name, size and hash of what is inside are not those of what is stored.
    right.files["users.ndjson.gz"] = listed(text);
    const inside = problemsOf(await loadWith(() => right, stored));
    assert.match(
      inside.join("|"),
      /^manifest\.json: files: users\.ndjson\.gz: bytes: [^|]*\|.*sha256: [^|]*$/,
    );
    delete right.files["users.ndjson.gz"];
    right.files["users.ndjson"] = { ...listed(zipped), rows: 2 };
    assert.equal(problemsOf(await loadWith(() => right, stored)).length, 2);
  });

  const names = ROW_FILES as readonly string[];
  function entryOf(draft: Draft, name: string): Record<string, unknown> {
    return draft.files[name] as Record<string, unknown>;
  }
  const bad: [name: string, change: (draft: Draft) => unknown][] = [
    ["not JSON", () => `{"format":"${CANARY}`],
    ["empty", () => ""],
    ["an array", () => "[]"],
    ["null", () => "null"],
    ["not UTF-8", (draft) => Buffer.from(JSON.stringify({ ...draft, more: "\xff" }), "latin1")],
    ["larger than it could be", (draft) => JSON.stringify(draft) + " ".repeat(MIB)],
    ["no format", (draft) => ({ ...draft, format: undefined })],
    ["an unknown format", (draft) => ({ ...draft, format: "orrery-snapshot/2" })],
    ["a format of another type", (draft) => ({ ...draft, format: ["orrery-snapshot/1"] })],
    ["no generation", (draft) => ({ ...draft, generation: undefined })],
    ["an empty generation", (draft) => ({ ...draft, generation: "" })],
    ["a generation of 65", (draft) => ({ ...draft, generation: "x".repeat(65) })],
    ["a generation with a quote", (draft) => ({ ...draft, generation: 'a"b' })],
    ["a generation with a space", (draft) => ({ ...draft, generation: "a b" })],
    ["a generation with a slash", (draft) => ({ ...draft, generation: "../x" })],
    ["a generation with a newline", (draft) => ({ ...draft, generation: "g\n" })],
    ["a generation of letters that are not ASCII", (draft) => ({ ...draft, generation: "gé" })],
    ["a generation that is a number", (draft) => ({ ...draft, generation: 7 })],
    ["a time that is none", (draft) => ({ ...draft, createdAt: "2026-02-31T00:00:00Z" })],
    ["no files", (draft) => ({ ...draft, files: undefined })],
    ["files in an array", (draft) => ({ ...draft, files: Object.keys(draft.files) })],
    ["files that are null", (draft) => ({ ...draft, files: null })],
    ["no file at all", (draft) => ({ ...draft, files: {} })],
    ...names.map((name): [string, (draft: Draft) => unknown] => [
      `${name} not listed`,
      (draft) => void delete draft.files[name],
    ]),
    ...names.map((name): [string, (draft: Draft) => unknown] => [
      `${name} listed as gzipped`,
      (draft) => {
        draft.files[`${name}.gz`] = draft.files[name];
        delete draft.files[name];
      },
    ]),
    [
      "a gzipped file listed too",
      (draft) => {
        draft.files["users.ndjson.gz"] = listed(Buffer.alloc(0));
      },
    ],
    [
      "itself listed",
      (draft) => {
        draft.files["manifest.json"] = listed(Buffer.alloc(0));
      },
    ],
    [
      "a name with ../",
      (draft) => {
        draft.files["../users.ndjson"] = draft.files["users.ndjson"];
      },
    ],
    [
      "an absolute name",
      (draft) => {
        draft.files["/etc/passwd"] = listed(Buffer.alloc(0));
      },
    ],
    [
      "a name with ./",
      (draft) => {
        draft.files["./users.ndjson"] = draft.files["users.ndjson"];
      },
    ],
    [
      "an unknown name",
      (draft) => {
        draft.files["extra.ndjson"] = listed(Buffer.alloc(0));
      },
    ],
    [
      "a name that ends in .gz twice",
      (draft) => {
        draft.files["users.ndjson.gz.gz"] = listed(Buffer.alloc(0));
      },
    ],
    [
      "a name that objects have",
      (draft) =>
        JSON.stringify(draft).replace(
          '"files":{',
          '"files":{"__proto__":{"rows":0,"bytes":0,"sha256":"00"},',
        ),
    ],
    [
      "an entry that is null",
      (draft) => {
        draft.files["worlds.ndjson"] = null;
      },
    ],
    [
      "an entry that is a number",
      (draft) => {
        draft.files["worlds.ndjson"] = 1;
      },
    ],
    [
      "one row more",
      (draft) => {
        entryOf(draft, "users.ndjson").rows = 3;
      },
    ],
    [
      "rows counted with blank lines",
      (draft) => {
        entryOf(draft, "users.ndjson").rows = 4;
      },
    ],
    ["no rows", (draft) => void delete entryOf(draft, "users.ndjson").rows],
    [
      "rows as text",
      (draft) => {
        entryOf(draft, "users.ndjson").rows = "2";
      },
    ],
    [
      "rows below zero",
      (draft) => {
        entryOf(draft, "users.ndjson").rows = -2;
      },
    ],
    ["one byte less", (draft) => void (entryOf(draft, "instances.ndjson").bytes as number)--],
    ["no bytes", (draft) => void delete entryOf(draft, "instances.ndjson").bytes],
    [
      "bytes that are not whole",
      (draft) => {
        entryOf(draft, "instances.ndjson").bytes = 0.5;
      },
    ],
    [
      "another hash",
      (draft) => {
        entryOf(draft, "worlds.ndjson").sha256 = "0".repeat(64);
      },
    ],
    [
      "a hash too short",
      (draft) => {
        entryOf(draft, "worlds.ndjson").sha256 = "0".repeat(63);
      },
    ],
    [
      "a hash that is no text",
      (draft) => {
        entryOf(draft, "worlds.ndjson").sha256 = 0;
      },
    ],
    ["no hash", (draft) => void delete entryOf(draft, "worlds.ndjson").sha256],
    [
      "two files mixed up",
      (draft) => {
        const { "users.ndjson": users, "worlds.ndjson": worlds } = draft.files;
        draft.files["users.ndjson"] = worlds;
        draft.files["worlds.ndjson"] = users;
      },
    ],
  ];
  for (const [name, change] of bad) {
    test(`bad: ${name}`, async () => {
      const problems = problemsOf(await loadWith(change));
      for (const problem of problems) {
        assert.match(problem, /^manifest\.json: /);
        assert.doesNotMatch(problem, /canary|user 1/);
      }
    });
  }

  test("problems of rows and of the manifest's own form are both told", async () => {
    const problems = problemsOf(
      await load({ "users.ndjson": null, "manifest.json": JSON.stringify({ format: "x" }) }),
    );
    assert.ok(problems.some((problem) => problem.startsWith("users.ndjson: ")));
    assert.ok(problems.some((problem) => problem.startsWith("manifest.json: format: ")));
  });

  test("a changed row of the same length is noticed by the hash alone", async () => {
    const stored = new Map(files);
    const manifest = Buffer.from(JSON.stringify(manifestOf(files, "g-1")));
    const users = files.get("users.ndjson")!.toString().replace("user 1", "user 7");
    stored.set("users.ndjson", Buffer.from(users)).set("manifest.json", manifest);
    assert.match(
      problemsOf(await load(stored)).join("|"),
      /^manifest\.json: files: users\.ndjson: sha256: [^|]*$/,
    );
  });
});

// ---------------------------------------------------------------- generations without a manifest

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
      { "worlds.ndjson": [world(1), world(2, { isPublic: false })] },
      { "world-stats.ndjson": [worldStats(1, { totalVisits: 1005 })] },
      { "instances.ndjson": [] },
      { "instances.ndjson": "\n" },
      { "world-stats.ndjson": "\n", "instances.ndjson": [] },
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

  test("the same name in a manifest with other contents can be told apart", async () => {
    const one = mustLoad(await load(withManifest(snapshotFiles(), "g")));
    const again = mustLoad(await load(withManifest(snapshotFiles(), "g")));
    const other = mustLoad(await load(withManifest(snapshotFiles({ "users.ndjson": [user(2)] }), "g")));
    assert.deepEqual([one.store.id, again.store.id, other.store.id], ["g", "g", "g"]);
    assert.equal(one.store.contents, again.store.contents);
    assert.notEqual(one.store.contents, other.store.contents);
  });
});
