/** Random rows, texts and requests for property tests, and a replica beside the model. */

import assert from "node:assert/strict";
import path from "node:path";
import fc from "fast-check";
import { openOrrery } from "../../src/mod.ts";
import { filled, temporaryFolder } from "../support/folders.ts";
import { writeTestKeys } from "../support/place.ts";
import { UNKNOWN_ID, writeSnapshot } from "../support/snapshot.ts";
import { askAndCompare, type Door, directDoor } from "./doors.ts";
import {
  MODEL_BASE,
  Model,
  type ModelSettings,
  type SnapshotRows,
  type TestKey,
  testKey,
  type WorldRow,
} from "./model.ts";

/** Pieces with a special folding, case, width, order or length. */
const PIECES: readonly string[] = [
  ..."abcABCzZ019 ._-%&+'\"\\/<>",
  ..."éÉèñÅåÄöüÇёЙйבش",
  ..."東京都中文漢字𠮷",
  ..."かがカガきぎー。、ｶｷﾞﾟｱ",
  ..."서울안녕가각\u1100\u1161\u11a8",
  ..."İIıißẞΣσςﬁﬀﬃＡｂ１％　①²½ǅŉﷺKÅ",
  ..."😀𝔸𝟙\u200d\ufe0f",
  ..."\u0301\u0300\u0327\u036f\u0370\u0345\u3099\u309a\u0307",
  ..."\u00a0\u2003\u2028\u1680\ufeff\u0085\u200b\u180e\t\n\u000b\u0000\u001f\u007f\ufffd\uffff",
  ...["가", "각"].map((syllable) => syllable.normalize("NFD")),
  ...["👍🏽", "👨‍👩‍👧", "🇯🇵", "i\u0307", "ss", "ΑΣ", "שּׁ", "ก็", "क्ष", "\r\n", "__proto__"],
  ...["\ud800", "\udc00", "\udbff\udfff"],
];

const SHORT_ALPHABETS = [
  "ab",
  "ab ",
  "aá b",
  "가나 ",
  "東京 ",
  "σς Σ",
  "iİı ",
  "カｶﾞガ",
  "😀👍 a",
  "a\u0301 \u0301",
];

/** Texts of these pieces. */
export const textIn = (pieces: Iterable<string>, maxLength = 8): fc.Arbitrary<string> =>
  fc.array(fc.constantFrom(...pieces), { maxLength, size: "max" }).map((parts) => parts.join(""));

/** One of some arbitraries, each as often as its weight says. */
export const weighted = <Made extends readonly unknown[]>(
  ...all: { readonly [At in keyof Made]: readonly [weight: number, arbitrary: fc.Arbitrary<Made[At]>] }
): fc.Arbitrary<Made[number]> => fc.oneof(...all.map(([weight, arbitrary]) => ({ weight, arbitrary })));

/** A display name, a world's name or its description. */
export const text = weighted(
  [4, textIn("ab ", 7)],
  [3, fc.constantFrom(...SHORT_ALPHABETS).chain((letters) => textIn(letters))],
  [4, textIn(PIECES)],
  [1, fc.array(fc.nat(0xffff), { maxLength: 5, size: "max" }).map((units) => String.fromCharCode(...units))],
  [1, fc.string({ unit: "binary", maxLength: 5 })],
);

/** How a query is made from existing texts; several kinds, so that matches are frequent. */
export const ask = fc.record({
  kind: fc.constantFrom("part", "part", "whole", "parts", "parts", "other", "long", "many"),
  picks: fc.array(fc.nat(), { minLength: 14, maxLength: 14 }),
  cuts: fc.array(fc.nat(12), { minLength: 28, maxLength: 28 }),
  glue: fc.constantFrom(" ", " ", "", "  ", "\t", "　", "\u2028"),
  text,
});

type Ask = typeof ask extends fc.Arbitrary<infer Made> ? Made : never;

export function queryOf({ kind, picks, cuts, glue, text: other }: Ask, texts: readonly string[]): string {
  const pick = (at: number): string => (texts.length === 0 ? other : texts[picks[at]! % texts.length]!);
  const part = (at: number): string => {
    const whole = pick(at);
    const from = cuts[at * 2]! % (whole.length + 1);
    return whole.slice(from, from + 1 + (cuts[at * 2 + 1]! % 3));
  };
  switch (kind) {
    case "part":
      return part(0);
    case "whole":
      return [pick(0), pick(0).toUpperCase(), pick(0).normalize("NFD"), ` ${pick(0)} `][cuts[0]! % 4]!;
    case "parts":
      return `${part(0)}${glue}${part(1)}${cuts[3]! % 2 === 0 ? "" : glue + part(2)}`;
    case "other":
      return other;
    case "long":
      // The cut falls into the last piece, often between the halves of a surrogate pair.
      return `${pick(0)}${glue}`.padEnd(250 + (cuts[0]! % 7), part(1) || "ab") + other + pick(2);
    case "many":
      return Array.from({ length: 14 }, (_, at) => part(at)).join(glue || " ");
  }
}

// ---------------------------------------------------------------- snapshots

const time = fc.oneof(
  fc.constantFrom("2024-01-01T00:00:00.000Z", "2024-01-01T01:00:00.0005+01:00", "2024-01-01T00:00Z"),
  fc.constantFrom("0000-01-01T00:00Z", "1969-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"),
  fc.integer({ min: 0, max: 5 }).map((ms) => `2024-01-01T00:00:00.00${ms}Z`),
);

/** Ids of few bits, so that neighbours and ties are frequent; unique in one table. */
const shortId = fc
  .tuple(fc.constantFrom(0, 1, 0x7fffffff, 0x80000000, 0xffffffff), fc.nat(3), fc.nat(0xffff), fc.boolean())
  .map(([first, third, last, upper]) => {
    const hex = `${first.toString(16).padStart(8, "0")}-0000-4000-800${third}-${last.toString(16).padStart(12, "0")}`;
    return upper ? hex.toUpperCase() : hex;
  });

/** Rows with these fields and different ids. */
const uniqueById = <Row extends object>(fields: { [Name in keyof Row]: fc.Arbitrary<Row[Name]> }) =>
  fc.uniqueArray(
    fc.tuple(shortId, fc.record(fields)).map(([id, row]) => ({ id, ...row })),
    { minLength: 3, maxLength: 24, size: "max", selector: ({ id }) => id.toLowerCase() },
  );

const count = fc.oneof(
  fc.nat(2),
  fc.nat(70_000),
  fc.constantFrom(65_535, 65_536, 2 ** 32, Number.MAX_SAFE_INTEGER - 1, Number.MAX_SAFE_INTEGER),
);

const counts = fc.record({
  totalVisits: count,
  uniqueVisitors: count,
  visitsLast7Days: count,
  visitsLast30Days: count,
});

const mostlyTrue = fc.nat(7).map((number) => number !== 0);

const snapshotOf = (text: fc.Arbitrary<string>): fc.Arbitrary<SnapshotRows> =>
  fc
    .record({
      users: uniqueById({ displayName: text, createdAt: time }),
      worlds: uniqueById({
        name: text,
        description: fc.option(text),
        owner: fc.nat(5),
        isPublic: mostlyTrue,
        status: mostlyTrue.map((isActive) => (isActive ? "ACTIVE" : "HIDDEN")),
        createdAt: time,
      }),
      counts: fc.array(counts, { maxLength: 24, size: "max" }),
      instances: uniqueById({
        world: fc.nat(5),
        isPublic: mostlyTrue,
        isActive: mostlyTrue,
        createdAt: time,
      }),
    })
    .map(({ users, worlds, counts, instances }) => ({
      users: users.map((user) => ({ ...user, userIconUrl: user.displayName })),
      worlds: worlds.map(({ owner, ...world }) => {
        const ownerId = users[owner]?.id ?? UNKNOWN_ID;
        return filled("worlds", { ...world, ownerId, updatedAt: world.createdAt }) as WorldRow;
      }),
      stats: worlds
        .slice(0, counts.length)
        .map(({ id }, at) => ({ ...counts[at]!, worldId: id.toUpperCase() })),
      instances: instances.map(({ world, ...instance }) => ({
        ...instance,
        worldId: worlds[world]?.id ?? UNKNOWN_ID,
      })),
    }));

/** Half of the snapshots draw all texts from a few letters, so that most queries have many hits. */
export const snapshot = fc.oneof(
  snapshotOf(text),
  fc.constantFrom(...SHORT_ALPHABETS).chain((letters) => snapshotOf(textIn(letters))),
);

export const TOKEN = "svcx_property";
const KEYS: TestKey[] = [
  testKey("cli", TOKEN, { kind: "cli", scopes: [] }),
  testKey("api", "svc_sk_all", { limit: 5 }),
  testKey("some", "svc_sk_some", { scopes: ["read:users"], expiresAt: "2001-09-09T01:46:45Z" }),
];
const SETTINGS: ModelSettings = {
  apiPrefix: "svc_sk_",
  cliPrefix: "svcx_",
  rateLimit: 7,
  rateWindow: 3,
  cors: true,
  generation: "g-1",
};
export const CLI = [["Authorization", `Bearer ${TOKEN}`]] as const;

export async function withRows(
  folder: string,
  rows: SnapshotRows,
  run: (door: Door, model: Model) => Promise<void>,
): Promise<void> {
  writeSnapshot(folder, rows, { generation: "g-1" });
  const { rateLimit, rateWindow } = SETTINGS;
  // The model answers `match=similar` as a server without it.
  const options = { snapshot: folder, keys, rateLimit, rateWindow, threads: false, similar: false };
  const orrery = await openOrrery(options);
  try {
    await run(directDoor(orrery.ask), new Model(rows, KEYS, SETTINGS));
  } finally {
    orrery.close();
  }
}

export const folder = temporaryFolder();
const keys = writeTestKeys(path.join(folder, "keys.json"), KEYS);

/** Options of a property that loads a snapshot per run: a time limit, so that shrinking a failure does not take minutes. */
export function loading(numRuns: number): fc.Parameters<unknown> {
  return { numRuns, interruptAfterTimeLimit: 60_000, markInterruptAsFailure: true };
}

/** Reads a list page by page; compares every page with the model, and the items of all pages. @returns their number */
export async function crawl(
  door: Door,
  model: Model,
  below: string,
  more: Record<string, string>,
  limit: number,
): Promise<number> {
  const ids: string[] = [];
  let total = 0;
  for (let offset = 0; offset === 0 || offset < total; offset += limit) {
    const query = new URLSearchParams({ ...more, limit: String(limit), offset: String(offset) });
    const target = `${MODEL_BASE}${below}?${query}`;
    const { status, body } = await askAndCompare(door, model, { target, headers: CLI });
    if (status !== 200) return 0;
    const page = JSON.parse(body) as { data: { id: string }[]; pagination: { total: number } };
    if (offset > 0) assert.equal(page.pagination.total, total, "the total changes between pages");
    total = page.pagination.total;
    ids.push(...page.data.map(({ id }) => id));
  }
  assert.deepEqual([ids.length, new Set(ids).size], [total, total], "items on all pages");
  return total;
}
