/** Rows of a snapshot: lines, fields, counts and times, and the messages for faults in them. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { ROW_FILES, type RowFile, tableOf } from "../src/model/model.ts";
import { type Field, type FieldType, ROWS } from "../src/model/schema.ts";
import { Problems } from "../src/snapshot/problems.ts";
import { createArriving, RowChecker } from "../src/snapshot/rows.ts";
import { GOOD_ROWS, id, instance, type RawRow, user, world, worldStats } from "./support/folders.ts";
import { assertProblems, CANARY, lines, load, MIB, mustLoad, problemsOf } from "./support/loaded.ts";
import { IS_LONG } from "./support/long.ts";

test("a count that may be unknown is null where it is null or absent", () => {
  const more = { meaning: "", refersTo: undefined, shows: undefined };
  const field = { name: "capacity", type: "count", served: true, absent: null, ...more } as const;
  const problems = new Problems();
  const check = new RowChecker("worlds.ndjson", problems);
  const row = createArriving([field]);
  const served = [null, undefined, 7, "x"].map((given) => check.read(field, given, row, 0));
  assert.deepEqual(served, [null, null, 7, undefined]);
  assert.match(problems.lines().join(), /^worlds\.ndjson:0: capacity: must be a whole number/);
});

describe("lines", () => {
  const two = [user(1), user(2)].map((row) => JSON.stringify(row));
  const good: [name: string, text: string, rows: number][] = [
    ["no newline at the end", `${two[0]}\n${two[1]}`, 2],
    ["CRLF", `${two[0]}\r\n${two[1]}\r\n`, 2],
    ["a BOM before a blank line", `\ufeff\r\n${two[0]}\n`, 1],
    ["blank lines everywhere", `\n \n${two[0]}\n\r\n\t\t\n${two[1]}\n\n\n`, 2],
    ["white space around a row", ` \t${two[0]}  \n\r${two[1]}\t`, 2],
  ];
  for (const [name, text, rows] of good) {
    test(`${name}: loads`, async () => {
      for (const files of [{ "users.ndjson": text }, { "users.ndjson.gz": gzipSync(text) }]) {
        const { store, reports } = mustLoad(await load(files));
        assert.deepEqual([store.users.rows, reports[0]!.rows], [rows, rows]);
      }
    });
  }

  test("line numbers count blank lines and lines that end in CRLF", async () => {
    await assertProblems(
      { "users.ndjson": `\ufeff\n\r\n${two[0]}\r\n\n{}x\n${two[1]}\n[]` },
      "users.ndjson:5: ",
      "users.ndjson:7: ",
    );
  });

  /** A user's row of exactly `bytes` bytes, filled with `fill`. */
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
    ["as the second line of three", (row) => `${two[1]}\n${row}\n${JSON.stringify(user(3))}\n`, 2],
    ["as the last line, without a newline", (row) => `${two[1]}\n\n${row}`, 3],
  ];
  const fills = ["x", "é", "漢", "😀"];
  for (const [at, [name, frame, line]] of framed.entries()) {
    test(`1 MiB ${name}: just fits; one byte more is too long`, async () => {
      for (const fill of IS_LONG ? fills : [fills[at % fills.length]!]) {
        mustLoad(await load({ "users.ndjson": frame(rowOfBytes(MIB, fill)) }));
        mustLoad(await load({ "users.ndjson.gz": gzipSync(frame(rowOfBytes(MIB, fill)), { level: 1 }) }));
        const long = frame(rowOfBytes(MIB + 1, fill));
        const [problem] = await assertProblems({ "users.ndjson": long }, `users.ndjson:${line}: `);
        assert.ok(problem!.length < 100, "a message about a long line is short");
      }
    });
  }

  test("a line of 5 MiB is one problem, and the lines after it are read", async () => {
    const text = `${"z".repeat(5 * MIB)}\n${two[0]}\n{"id":1}\n`;
    const third = ["id", "displayName", "createdAt"].map((field) => `users.ndjson:3: ${field}: `);
    await assertProblems({ "users.ndjson": text }, "users.ndjson:1: ", ...third);
  });

  const notUtf8: [name: string, bytes: number[]][] = [
    ["a stray continuation byte", [0x80]],
    ["an overlong form", [0xc0, 0xaf]],
    ["a surrogate", [0xed, 0xa0, 0x80]],
  ];
  for (const [name, bytes] of notUtf8) {
    test(`invalid UTF-8, ${name}: names the line and quotes nothing`, async () => {
      const filler = Array.from({ length: 9000 }, (_, n) => user(n + 10));
      const text = Buffer.concat([
        Buffer.from(lines(user(1), ...filler)),
        Buffer.from(`{"id":"${id("a", 2)}","displayName":"${CANARY}`),
        Buffer.from(bytes),
        Buffer.from(`","createdAt":"2026-01-01T00:00Z"}\r\n${JSON.stringify(user(3))}\n`),
      ]);
      assert.ok(text.length > MIB, "the bad line is in a later block");
      const [problem] = await assertProblems({ "users.ndjson": text }, "users.ndjson:9002: ");
      assert.doesNotMatch(problem!, /canary/);
    });
  }

  test("invalid UTF-8 in the last bytes of a file", async () => {
    await assertProblems({ "users.ndjson": Buffer.from(`${two[0]}\n\xe6`, "latin1") }, "users.ndjson:2: ");
  });

  const array = JSON.stringify([user(1), user(2)]);
  const pretty = [user(1), user(2)].map((row) => JSON.stringify(row, null, 2)).join("\n");
  const kinds: [name: string, bytes: Buffer, says: string][] = [
    ["UTF-16", Buffer.from(`\ufeff${two.join("\n")}\n`, "utf16le"), "is UTF-16; "],
    ["UTF-16 without a mark", Buffer.from(two.join("\n"), "utf16le"), "is UTF-16; "],
    ["an array with a row a line", Buffer.from(`\ufeff \n[\n${two.join(",\n")}\n]\n`), "is a JSON array; "],
    ["an array larger than a line may be", Buffer.from(`[${`${two[0]},`.repeat(9000)}`), "is a JSON array; "],
    ["JSON over several lines", Buffer.from(pretty), "is JSON over several lines; "],
    ["rows broken at commas", Buffer.from(array.slice(1, -1).replaceAll(",", ",\n")), "is JSON over"],
  ];
  for (const [name, bytes, says] of kinds) {
    test(`a file of another kind, ${name}: one line says so`, async () => {
      await assertProblems({ "users.ndjson": bytes }, `users.ndjson: ${says}`);
      await assertProblems({ "users.ndjson.gz": gzipSync(bytes) }, `users.ndjson.gz: ${says}`);
    });
  }

  test("compression, archives, databases, tables: one line says what a file is or must be", async () => {
    const rows = Buffer.from(two.join("\n"));
    const zipped = gzipSync(rows);
    const begin = (text: string): Buffer =>
      Buffer.concat([Buffer.from(text, "latin1"), Buffer.alloc(600, 1)]);
    const starts = [
      "\x28\xb5\x2f\xfd",
      "PK\x03\x04",
      "SQLite format 3\0",
      "PGDMP",
      `${"a".repeat(257)}ustar`,
    ];
    const csv = Buffer.from("id,displayName,createdAt\n1,a,b\n");
    const asked = "must be one JSON object a line";
    const noText = `is no text; ${asked}, or these compressed by gzip, in a file whose name ends with .gz`;
    const cases: readonly [name: string, bytes: Buffer, says: string][] = [
      ["users.ndjson", zipped, noText],
      ["users.ndjson.gz", gzipSync(zipped), noText],
      ["users.ndjson.gz", rows, "is not compressed by gzip; its name must not end with .gz"],
      ["users.ndjson", csv, `is a table with separators (CSV); ${asked}`],
      ["users.ndjson", Buffer.from("-- PostgreSQL database dump\n"), `is SQL; ${asked}`],
    ];
    const binary = starts.map((start) => ["users.ndjson", begin(start), noText] as const);
    for (const [name, bytes, says] of [...cases, ...binary]) {
      const plain = name.endsWith(".gz") ? { "users.ndjson": null } : {};
      const [problem] = await assertProblems({ ...plain, [name]: bytes }, `${name}: `);
      assert.equal(problem, `${name}: ${says}`);
    }
  });

  test("rows that each end with a comma are bad rows", async () => {
    const wrong = [1, 2].map((line) => `users.ndjson:${line}: not valid JSON at column `);
    await assertProblems({ "users.ndjson": `${two.join(",\n")},\n` }, ...wrong);
  });

  test("broken JSON names the line and quotes nothing of it", async () => {
    const broken = [
      ...[`{"id":"${CANARY}`, `{"displayName":"${CANARY}",}`, `{'id':'${CANARY}'}`],
      `${JSON.stringify(user(1, { email: CANARY }))}${two[1]}`,
      ...[`"${CANARY}"`, `["${CANARY}"]`, `null`, `4711`, `{"id":"${CANARY}\u0001"}`, `\ufeff ${CANARY}`],
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

const UUIDS_WRONG: unknown[] = [
  ...[undefined, null, 5, "", [id("a", 1)], `{${id("a", 1)}}`, id("a", 1).replaceAll("-", "")],
  ...["aaaaaaaa-0000-4000-8000-00000000000g", "aaaaaaaa-0000-4000-8000-00000000001"],
  ...["aaaaaaaa-00004-000-8000-000000000001", "aaaaaaaa-0000-4000-8000-00000000000１"],
];
const TEXTS_WRONG: unknown[] = [undefined, null, 0, 5, false, true, {}, [], ["text"], { text: "text" }];
const BOOLEANS_WRONG: unknown[] = [undefined, null, 0, 1, "", "true", "false", {}, [], [true]];
const COUNTS_WRONG: unknown[] = [undefined, null, -1, 1.5, 2 ** 53, 1e21, "5", true, {}, [], [5]];
/** property-store.test.ts compares any text with the model; the conformance suite, how good ones are served and ordered. */
const TIMES_WRONG: unknown[] = [
  ...[undefined, null, 0, 1_767_225_600_000, true, {}, [], "", "now", "2026-01-01", "1767225600000"],
  ...["2026-02-31T00:00:00Z", "1900-02-29T00:00:00Z", "2026-01-01T24:00:00Z", "2016-12-31T23:59:60Z"],
  ...["2026-01-01T00:00:00+24:00", "2026-01-01T00:00:00", "２０２６-01-01T00:00:00Z"],
];

/** Values that a field of a type must not have. */
const WRONG: Readonly<Record<FieldType, readonly unknown[]>> = {
  id: UUIDS_WRONG,
  text: TEXTS_WRONG,
  boolean: BOOLEANS_WRONG,
  count: COUNTS_WRONG,
  time: TIMES_WRONG,
};

/** A valid row with values that can be recognised in a message. */
function markedRow(file: RowFile): RawRow {
  const row: RawRow = { ...GOOD_ROWS[file], email: `${CANARY}@example.org`, dailyVisits: [314_159] };
  for (const [field, value] of Object.entries(row)) {
    if (typeof value !== "string" || /id$/i.test(field) || /At$/.test(field)) continue;
    row[field] = `${CANARY} ${field}`;
  }
  // None of the wrong ids above contains this one.
  if ("ownerId" in row) row.ownerId = id("e", 1);
  return row;
}

describe("wrong values", () => {
  for (const file of ROW_FILES) {
    for (const [field, { type, absent }] of Object.entries<Field>(ROWS[tableOf(file)])) {
      const wrong = WRONG[type].filter((value) => absent === undefined || (value ?? undefined) !== undefined);
      test(`${file}: ${field}`, async () => {
        const row = markedRow(file);
        const rows = wrong.map((value) => ({ ...row, [field]: value }));
        const starts = rows.map((_, at) => `${file}:${at + 1}: ${field}: `);
        const problems = await assertProblems({ [file]: rows }, ...starts);
        const others = Object.entries(row).filter(([name]) => name !== field);
        for (const [at, problem] of problems.entries()) {
          const said = problem.slice(starts[at]!.length);
          if (typeof wrong[at] === "string") assert.ok(said.includes(JSON.stringify(wrong[at])), said);
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
      {
        "worlds.ndjson": [world(1, { isPublic: false, updatedAt: "soon", description: 5 })],
        "world-stats.ndjson": [worldStats(99, { totalVisits: -1 })],
        "instances.ndjson": [instance(1, { isActive: false, isPublic: 0 })],
      },
      "worlds.ndjson:1: description: ",
      "worlds.ndjson:1: updatedAt: ",
      "world-stats.ndjson:1: totalVisits: ",
      "instances.ndjson:1: isPublic: ",
    );
  });

  test("fields that objects inherit are no fields of a row", async () => {
    const row = '{"__proto__":{"id":"x","displayName":"x","createdAt":"x"},"constructor":1}\n';
    const missing = ["id", "displayName", "createdAt"].map((name) => `users.ndjson:1: ${name}: is missing`);
    await assertProblems({ "users.ndjson": row }, ...missing);
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
  const bad = ["9007199254740992", "9007199254740993", "1e400", "-1", "-1e400", "1.0000001", "1e-3"];
  const written: [json: string, served?: number][] = [
    ["0", 0],
    ["-0", 0],
    ["5.0", 5],
    ["1e3", 1000],
    ["9007199254740991", Number.MAX_SAFE_INTEGER],
    ...bad.map((json): [string] => [json]),
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
