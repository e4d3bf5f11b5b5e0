/** The scanner of rows: each row that it accepts gets the same result as from the parser. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ROW_FILES, type RowFile, tableOf } from "../src/model/model.ts";
import { Problems } from "../src/snapshot/problems.ts";
import { stageParsed } from "../src/snapshot/row-files.ts";
import { RowChecker } from "../src/snapshot/rows.ts";
import { ScannedRows } from "../src/snapshot/scanned.ts";
import { createStage, type Stage } from "../src/snapshot/stage.ts";
import { filled } from "./support/folders.ts";
import { part, untilCovered } from "./support/long.ts";

const USER = "5e1b7398-5577-4f46-9bc7-73a71b71a791";
const WORLD = "c75d58fc-31d3-4614-adfb-ac77738fc49f";
const OTHER = "796ce68a-137c-49cf-a250-ef9251ca6acc";
const TIME = "2026-06-27T11:08:48.567Z";

/** A good row of each file, with fields in the order of an ordinary export. */
const GOOD: Readonly<Record<RowFile, Record<string, unknown>>> = {
  "users.ndjson": { id: USER, displayName: "Ann", userIconUrl: "https://x.example/a.png", createdAt: TIME },
  "worlds.ndjson": filled("worlds", {
    id: WORLD,
    name: "Hall",
    description: "A hall.",
    ownerId: USER,
    isPublic: true,
    status: "ACTIVE",
    createdAt: TIME,
    updatedAt: TIME,
  }),
  "world-stats.ndjson": {
    worldId: WORLD,
    totalVisits: 12,
    uniqueVisitors: 3,
    visitsLast30Days: 2,
    visitsLast7Days: 1,
  },
  "instances.ndjson": { id: OTHER, worldId: WORLD, isPublic: true, isActive: true, createdAt: TIME },
};

/** A stage with the good rows of all earlier files. */
function stageBefore(file: RowFile): Stage {
  const stage = createStage();
  for (const earlier of ROW_FILES.slice(0, ROW_FILES.indexOf(file))) {
    const table = tableOf(earlier);
    stageParsed(table, stage[table], new RowChecker(earlier, new Problems()))(GOOD[earlier]);
    stage[table].pack();
  }
  return stage;
}

/** The whole result of staging, for comparison. */
function stateOf(stage: Stage, file: RowFile): unknown {
  const { hidden, dangling, ids, lines, visible, numbers, texts, parents, references } = stage[tableOf(file)];
  return {
    hidden: Object.entries(hidden),
    dangling,
    ids: [...ids.words.subarray(0, ids.length * 4)],
    numbers: Array.from(numbers, ([name, { values, length }]) => [name, ...values.subarray(0, length)]),
    columns: [lines, visible, parents, references].map(({ values, length }) => values.slice(0, length)),
    texts: Array.from({ length: file === "world-stats.ndjson" ? 0 : visible.length }, (_, at) => {
      const bytes = Buffer.alloc(texts.lengthAt(at));
      texts.copyTo(at, bytes, 0);
      return bytes.toString();
    }),
  };
}

/** Stages a line both ways and compares. @returns whether the scanner accepted it */
function compareBoth(file: RowFile, line: string): boolean {
  const problems = new Problems();
  const scanned = stageBefore(file);
  const bytes = Buffer.from(`before\n${line}\nbehind\n`);
  const from = "before\n".length;
  const table = tableOf(file);
  const to = new ScannedRows(table, scanned[table], new RowChecker(file, problems)).stage(bytes, from, 1);
  if (to < 0) {
    assert.deepEqual(stateOf(scanned, file), stateOf(stageBefore(file), file), "nothing may be staged");
    return false;
  }
  assert.equal(to, bytes.length - "behind\n".length);
  const parsed = stageBefore(file);
  const check = new RowChecker(file, problems);
  const row = check.parse(line, 1);
  assert.ok(row, line);
  stageParsed(table, parsed[table], check)(row);
  assert.deepEqual(problems.lines(), [], line);
  assert.deepEqual(stateOf(scanned, file), stateOf(parsed, file), line);
  return true;
}

const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 12 }),
  fc.string({
    unit: fc.constantFrom('"', "\\", "/", "\n", "\u0001", "é", "猫", "😀", "\u2028", "\ud800", "a"),
    maxLength: 6,
  }),
  fc.constantFrom("", "ACTIVE", "DRAFT", "2026-06-27T11:08:48Z"),
  fc.constantFrom(USER, WORLD, OTHER, OTHER.toUpperCase(), TIME),
);
const value: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 4, arbitrary: text },
  fc.constantFrom(true, false, null, undefined),
  fc.constantFrom(0, 1, -1, 1.5, 1e21, 999_999_999_999_999, 2 ** 53 - 1, 2 ** 53),
  fc.array(fc.constantFrom<unknown>(1, "a", null, [], {}), { maxLength: 3 }),
  fc.constant({ id: USER }),
);

/** A row similar to a good one: fields changed, added, in another order. */
const nearlyGood = fc.constantFrom(...ROW_FILES).chain((file) =>
  fc
    .record({
      changes: fc.dictionary(fc.constantFrom(...Object.keys(GOOD[file])), value, { maxKeys: 2 }),
      extra: fc.dictionary(fc.oneof(fc.constantFrom("email", "status", "id"), text), value, { maxKeys: 2 }),
      extraFirst: fc.boolean(),
      shuffle: fc.boolean(),
    })
    .map(({ changes, extra, extraFirst, shuffle }) => {
      const row = extraFirst
        ? { ...extra, ...GOOD[file], ...changes }
        : { ...GOOD[file], ...changes, ...extra };
      const entries = Object.entries(row);
      return { file, row: Object.fromEntries(shuffle ? entries.reverse() : entries) };
    }),
);

const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** JSON styles of exporters. */
const WRITERS: readonly ((row: unknown) => string)[] = [
  (row) => JSON.stringify(row),
  (row) => JSON.stringify(row, null, " ").replace(/\n +/g, " ").replace("{ ", "{").replace(/\s}$/, "}"),
  (row) => JSON.stringify(row).replace(/[\u007f-\uffff]/g, escaped),
  (row) => JSON.stringify(row).replaceAll("/", "\\/"),
  (row) => `${JSON.stringify(row)}\r`,
];

test("rows of every shape and writing are staged as the parser stages them", async () => {
  let taken = 0;
  let left = 0;
  const round = () =>
    fc.assert(
      fc.property(nearlyGood, fc.constantFrom(...WRITERS), ({ file, row }, write) => {
        if (compareBoth(file, write(row).toWellFormed())) taken++;
        else left++;
      }),
      { numRuns: part(3000) },
    );
  await untilCovered(
    round,
    () => taken > part(600) && left > part(600),
    () => `${taken} taken, ${left} left to the parser`,
  );
});

test("a line with any byte changed, added or gone is valid JSON when it is taken", async () => {
  let taken = 0;
  const byte = fc.oneof(
    fc.constantFrom(...'{}[]",:\\ 09-.eE\n\rtfn'),
    fc.integer({ min: 0, max: 127 }).map((code) => String.fromCharCode(code)),
  );
  const round = () =>
    fc.assert(
      fc.property(nearlyGood, fc.nat(), fc.nat(2), byte, ({ file, row }, place, gone, put) => {
        const line = JSON.stringify(row).toWellFormed();
        const at = place % line.length;
        const changed = `${line.slice(0, at)}${put}${line.slice(at + gone)}`;
        if (!changed.includes("\n") && compareBoth(file, changed)) taken++;
      }),
      { numRuns: part(3000) },
    );
  await untilCovered(
    round,
    () => taken > part(20),
    () => `${taken} taken`,
  );
});

test("good rows are taken as they are, with spaces, escapes, other orders and more fields", () => {
  const { id, createdAt } = GOOD["users.ndjson"];
  const lines = [
    JSON.stringify(GOOD["users.ndjson"]),
    `{"id": "${id}", "displayName": "A \\"b\\" \\\\ \\n", "userIconUrl": null, "createdAt": "${createdAt}"}`,
    `{"createdAt":"${createdAt}","email":"a@b","tags":["x",1,null],"displayName":"猫😀","id":"${id}","n":0}`,
  ];
  for (const line of lines) assert.ok(compareBoth("users.ndjson", line), line);
  for (const file of ROW_FILES) assert.ok(compareBoth(file, JSON.stringify(GOOD[file])), file);
});
