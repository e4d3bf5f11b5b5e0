/** Properties that hold for every input, against the brute-force model and naive versions. */

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import fc from "fast-check";
import { judgeConditions } from "../src/conditions.ts";
import { readParameters } from "../src/derive/parameters.ts";
import { countRequest, createCounters, slotOf } from "../src/gate/limit.ts";
import { openOrrery } from "../src/mod.ts";
import { fold, readTerm } from "../src/search/fold.ts";
import { ArrivingIds, compareWords, createIdMap, findId, findWords } from "../src/store/ids.ts";
import { groupRows, NO_GROUP, rowsOf } from "../src/store/lists.ts";
import { countUp, newestFirst, sortByKey, sortHighestFirst } from "../src/store/order.ts";
import { formatTime, parseTime } from "../src/time.ts";
import { formatUuid, parseUuid } from "../src/uuid.ts";
import { askAndCompare, type Door, directDoor, type Step } from "./support/doors.ts";
import {
  isModelUuid,
  keysFileText,
  MODEL_BASE,
  MODEL_OPERATIONS,
  Model,
  ModelLimit,
  type ModelSettings,
  modelConditions,
  modelFold,
  modelParameters,
  modelTerm,
  modelTime,
  modelTimeText,
  type SnapshotRows,
  type TestKey,
} from "./support/model.ts";
import {
  madeId,
  nastyRows,
  removeFolder,
  temporaryFolder,
  UNKNOWN_ID,
  writeSnapshot,
} from "./support/snapshot.ts";

// ---------------------------------------------------------------- texts

/** Pieces whose folding, case, width, order or length is special. */
const PIECES: readonly string[] = [
  ..."abcABCzZ019 ._-%&+'\"\\/<>",
  ..."éÉèñÅåÄöüÇ",
  ..."東京都中文漢字",
  ..."かがカガきぎー。、",
  ..."ｶｷﾞﾟｱ",
  ..."서울안녕가각",
  "가".normalize("NFD"),
  "각".normalize("NFD"),
  "\u1100",
  "\u1161",
  "\u11a8",
  "😀",
  "👍🏽",
  "👨‍👩‍👧",
  "🇯🇵",
  "\u200d",
  "\ufe0f",
  "𠮷",
  "𝔸",
  "𝟙",
  "\u0301",
  "\u0300",
  "\u0327",
  "\u036f",
  "\u0370",
  "\u0345",
  "\u3099",
  "\u309a",
  "\u0307",
  "İ",
  "I",
  "ı",
  "i",
  "i\u0307",
  "ß",
  "ẞ",
  "ss",
  "Σ",
  "σ",
  "ς",
  "ΑΣ",
  "ﬁ",
  "ﬀ",
  "ﬃ",
  "Ａ",
  "ｂ",
  "１",
  "％",
  "　",
  "①",
  "²",
  "½",
  "ǅ",
  "ŉ",
  "ﷺ",
  "K",
  "Å",
  "ё",
  "Й",
  "й",
  "ב",
  "שּׁ",
  "ش",
  "ก็",
  "क्ष",
  "\u00a0",
  "\u2003",
  "\u2028",
  "\u1680",
  "\ufeff",
  "\u0085",
  "\u200b",
  "\u180e",
  "\t",
  "\n",
  "\r\n",
  "\u000b",
  "\u0000",
  "\u001f",
  "\u007f",
  "\ufffd",
  "\uffff",
  "\ud800",
  "\udc00",
  "\udbff\udfff",
  "__proto__",
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

function textOf(pieces: fc.Arbitrary<string>, maxLength: number): fc.Arbitrary<string> {
  return fc.array(pieces, { maxLength, size: "max" }).map((parts) => parts.join(""));
}

const textIn = (letters: string) => textOf(fc.constantFrom(...letters), 8);
const shortAlphabetText = fc.constantFrom(...SHORT_ALPHABETS).chain(textIn);

/** A display name, a world's name or its description. */
const text: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: textOf(fc.constantFrom(..."ab", " "), 7) },
  { weight: 3, arbitrary: shortAlphabetText },
  { weight: 4, arbitrary: textOf(fc.constantFrom(...PIECES), 8) },
  {
    weight: 1,
    arbitrary: textOf(
      fc.nat(0xffff).map((unit) => String.fromCharCode(unit)),
      5,
    ),
  },
  { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 5 }) },
);

/** How a query is made from texts that are there; several kinds so that matches are frequent. */
interface Ask {
  kind: "part" | "whole" | "parts" | "other" | "long" | "many";
  picks: number[];
  cuts: number[];
  glue: string;
  text: string;
}

const ask: fc.Arbitrary<Ask> = fc.record({
  kind: fc.constantFrom("part", "part", "whole", "parts", "parts", "other", "long", "many"),
  picks: fc.array(fc.nat(), { minLength: 14, maxLength: 14 }),
  cuts: fc.array(fc.nat(12), { minLength: 28, maxLength: 28 }),
  glue: fc.constantFrom(" ", " ", "", "  ", "\t", "　", "\u2028"),
  text,
});

function queryOf({ kind, picks, cuts, glue, text: other }: Ask, texts: readonly string[]): string {
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
      // The cut falls somewhere into the last piece, often between the halves of a pair.
      return `${pick(0)}${glue}`.padEnd(250 + (cuts[0]! % 7), part(1) || "ab") + other + pick(2);
    case "many":
      return Array.from({ length: 14 }, (_, at) => part(at)).join(glue || " ");
  }
}

const target = (below: string, parameters: Record<string, string>): string =>
  `${MODEL_BASE}${below}?${new URLSearchParams(parameters).toString()}`;

// ---------------------------------------------------------------- snapshots

const time = fc.oneof(
  fc.constantFrom("2024-01-01T00:00:00.000Z", "2024-01-01T01:00:00.0005+01:00", "2024-01-01T00:00Z"),
  fc.constantFrom("0000-01-01T00:00Z", "1969-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"),
  fc.integer({ min: 0, max: 5 }).map((ms) => `2024-01-01T00:00:00.00${ms}Z`),
);

/** Ids of few bits, so that neighbours and ties are frequent; unique within one table. */
const shortId = fc
  .tuple(fc.constantFrom(0, 1, 0x7fffffff, 0x80000000, 0xffffffff), fc.nat(3), fc.nat(0xffff), fc.boolean())
  .map(([first, third, last, upper]) => {
    const hex = `${first.toString(16).padStart(8, "0")}-0000-4000-800${third}-${last.toString(16).padStart(12, "0")}`;
    return upper ? hex.toUpperCase() : hex;
  });

const uniqueBy = (field: string) => ({
  minLength: 3,
  maxLength: 24,
  size: "max" as const,
  selector: (row: Record<string, unknown>) => String(row[field]).toLowerCase(),
});

const count = fc.oneof(
  fc.nat(2),
  fc.nat(70_000),
  fc.constantFrom(65_535, 65_536, 2 ** 32, Number.MAX_SAFE_INTEGER - 1, Number.MAX_SAFE_INTEGER),
);

interface Raw {
  users: { id: string; displayName: string; createdAt: string }[];
  worlds: {
    id: string;
    name: string;
    description: string | null;
    owner: number;
    isPublic: boolean;
    status: string;
    createdAt: string;
  }[];
  counts: number[][];
  instances: { id: string; world: number; isPublic: boolean; isActive: boolean; createdAt: string }[];
}

const mostly = (value: boolean) => fc.nat(7).map((number) => (number === 0 ? !value : value));

const snapshotOf = (text: fc.Arbitrary<string>): fc.Arbitrary<SnapshotRows> =>
  fc
    .record({
      users: fc.uniqueArray(fc.record({ id: shortId, displayName: text, createdAt: time }), uniqueBy("id")),
      worlds: fc.uniqueArray(
        fc.record({
          id: shortId,
          name: text,
          description: fc.option(text),
          owner: fc.nat(5),
          isPublic: mostly(true),
          status: fc.nat(7).map((number) => (number === 0 ? "HIDDEN" : "ACTIVE")),
          createdAt: time,
        }),
        uniqueBy("id"),
      ),
      counts: fc.array(fc.array(count, { minLength: 4, maxLength: 4 }), { maxLength: 24, size: "max" }),
      instances: fc.uniqueArray(
        fc.record({
          id: shortId,
          world: fc.nat(5),
          isPublic: mostly(true),
          isActive: mostly(true),
          createdAt: time,
        }),
        uniqueBy("id"),
      ),
    })
    .map(rowsOfRaw);

/** Half of the snapshots draw all their texts from a few letters, so that most queries match much. */
const snapshot = fc.oneof(
  snapshotOf(text),
  fc.constantFrom(...SHORT_ALPHABETS).chain((letters) => snapshotOf(textIn(letters))),
);

function rowsOfRaw({ users, worlds, counts, instances }: Raw): SnapshotRows {
  return {
    users: users.map((user) => ({ ...user, userIconUrl: user.displayName })),
    worlds: worlds.map(({ owner, ...world }) => ({
      ...world,
      ownerId: users[owner]?.id ?? UNKNOWN_ID,
      updatedAt: world.createdAt,
    })),
    stats: worlds.slice(0, counts.length).map(({ id }, at) => ({
      worldId: id.toUpperCase(),
      totalVisits: counts[at]![0]!,
      uniqueVisitors: counts[at]![1]!,
      visitsLast7Days: counts[at]![2]!,
      visitsLast30Days: counts[at]![3]!,
    })),
    instances: instances.map(({ world, ...instance }) => ({
      ...instance,
      worldId: worlds[world]?.id ?? UNKNOWN_ID,
    })),
  };
}

const TOKEN = "svcx_property";
const KEYS: TestKey[] = [
  { id: "cli", kind: "cli", token: TOKEN, scopes: [], limit: null, active: true, expiresAt: null },
  {
    id: "api",
    kind: "api",
    token: "svc_sk_all",
    scopes: ["read:worlds", "read:users", "read:instances"],
    limit: 5,
    active: true,
    expiresAt: null,
  },
  {
    id: "some",
    kind: "api",
    token: "svc_sk_some",
    scopes: ["read:users"],
    limit: null,
    active: true,
    expiresAt: "2001-09-09T01:46:45Z",
  },
];
const SETTINGS: ModelSettings = {
  apiPrefix: "svc_sk_",
  cliPrefix: "svcx_",
  rateLimit: 7,
  rateWindow: 3,
  cors: true,
  generation: "g-1",
};
const CLI = [["Authorization", `Bearer ${TOKEN}`]] as const;

/** Loads rows into a replica and a model, and closes both. */
async function withRows(
  folder: string,
  rows: SnapshotRows,
  run: (door: Door, model: Model) => Promise<void>,
): Promise<void> {
  await writeSnapshot(folder, rows, { generation: "g-1" });
  const orrery = await openOrrery({
    snapshot: folder,
    keys: path.join(folder, "keys.json"),
    rateLimit: SETTINGS.rateLimit,
    rateWindow: SETTINGS.rateWindow,
    threads: false,
  });
  try {
    await run(directDoor(orrery.ask), new Model(rows, KEYS, SETTINGS));
  } finally {
    orrery.close();
  }
}

let folder: string;

before(async () => {
  folder = await temporaryFolder();
  await writeFile(path.join(folder, "keys.json"), keysFileText(KEYS));
});

after(() => removeFolder(folder));

/** Runs of a property that loads a snapshot each: a failure must not be shrunk for minutes. */
function loading(numRuns: number): fc.Parameters<unknown> {
  return { numRuns, interruptAfterTimeLimit: 60_000, markInterruptAsFailure: true };
}

/** Reads a list page by page; every page is compared with the model. */
async function crawl(door: Door, model: Model, below: string, more: Record<string, string>, limit: number) {
  const ids: string[] = [];
  let total: number | undefined;
  for (let offset = 0; offset === 0 || offset < total!; offset += limit) {
    const step = {
      target: target(below, { ...more, limit: String(limit), offset: String(offset) }),
      headers: CLI,
    };
    const { status, body } = await askAndCompare(door, model, step);
    if (status !== 200) return { status, ids, total: 0 };
    const page = JSON.parse(body) as { data: { id: string }[]; pagination: { total: number } };
    total ??= page.pagination.total;
    assert.equal(page.pagination.total, total, "the total changes between pages");
    ids.push(...page.data.map(({ id }) => id));
  }
  return { status: 200, ids, total: total! };
}

// ---------------------------------------------------------------- searches and lists

describe("searches", () => {
  test("find what the model finds, in its order, on every page", async () => {
    let found = 0;
    let asked = 0;
    await fc.assert(
      fc.asyncProperty(
        snapshot,
        fc.array(ask, { minLength: 6, maxLength: 16, size: "max" }),
        fc.integer({ min: 2, max: 12 }),
        async (rows, asks, limit) => {
          await withRows(folder, rows, async (door, model) => {
            const texts = [
              ...rows.users.map(({ displayName }) => displayName),
              ...rows.worlds.flatMap(({ name, description }) => [name, description ?? ""]),
            ];
            for (const each of asks) {
              const q = queryOf(each, texts);
              for (const below of ["/users/search", "/worlds/search"]) {
                const { ids, total } = await crawl(door, model, below, { q }, limit);
                assert.equal(ids.length, total, "items on all pages");
                assert.equal(new Set(ids).size, total, "different items on all pages");
                asked++;
                if (total > 1) found++;
              }
            }
          });
        },
      ),
      loading(35),
    );
    // Queries that find nothing prove little.
    assert.ok(asked > 500 && found > asked / 10, `only ${found} of ${asked} queries found two or more`);
  });

  test("work over thousands of rows", async () => {
    const size = 2500;
    const seed = 20_240_229;
    const texts = fc.sample(text, { seed, numRuns: size * 3 });
    const rows: SnapshotRows = {
      users: Array.from({ length: size }, (_, at) => ({
        id: madeId("user", at),
        displayName: texts[at]!,
        createdAt: `2024-01-01T00:00:${String(at % 60).padStart(2, "0")}Z`,
      })),
      worlds: Array.from({ length: size }, (_, at) => ({
        id: madeId("world", at),
        name: texts[size + at]!,
        description: texts[2 * size + at]!,
        ownerId: madeId("user", at % 10),
        isPublic: true,
        status: "ACTIVE",
        createdAt: `2024-01-01T00:00:${String(at % 60).padStart(2, "0")}Z`,
        updatedAt: "2024-01-01T00:00Z",
      })),
      stats: Array.from({ length: size / 2 }, (_, at) => ({
        worldId: madeId("world", at * 2),
        totalVisits: at % 17,
        uniqueVisitors: at % 3,
        visitsLast7Days: at % 5,
        visitsLast30Days: at % 7,
      })),
      instances: [],
    };
    const asks = fc.sample(ask, { seed: seed + 1, numRuns: 250 });
    await withRows(folder, rows, async (door, model) => {
      let many = 0;
      let few = 0;
      for (const [at, each] of asks.entries()) {
        const q = queryOf(each, texts);
        for (const below of ["/users/search", "/worlds/search"]) {
          const step = {
            target: target(below, { q, limit: "50", offset: String((at % 3) * 7) }),
            headers: CLI,
          };
          const { body, status } = await askAndCompare(door, model, step);
          if (status !== 200) continue;
          const { total } = JSON.parse(body).pagination;
          if (total > size / 16) many++;
          else if (total > 1) few++;
        }
      }
      assert.ok(many > 50 && few > 50, `${many} queries find many, ${few} find few`);
      const { ids, total } = await crawl(door, model, "/users/search", { q: "b" }, 50);
      assert.ok(total > 500);
      assert.equal(new Set(ids).size, total);
    });
  });

  test("fold and cut queries as the model does", () => {
    fc.assert(
      fc.property(text, text, (a, b) => {
        assert.equal(fold(a.toWellFormed()), modelFold(a.toWellFormed()));
        assert.equal(readTerm(a.toWellFormed()), modelTerm(a.toWellFormed()));
        for (const length of [254, 255, 256, 257]) {
          const long = `${b}`.toWellFormed().padEnd(length, "x").slice(0, length) + a;
          const query = long.toWellFormed();
          assert.equal(readTerm(query), modelTerm(query));
          assert.equal(readTerm(`${query}😀`), modelTerm(`${query}😀`));
          assert.ok(readTerm(query).isWellFormed());
        }
      }),
      { numRuns: 1500 },
    );
  });

  test("find a text by the text itself, first in its class", async () => {
    let found = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(text, { minLength: 1, maxLength: 12 }), fc.nat(), async (texts, pick) => {
        const rows: SnapshotRows = {
          users: texts.map((displayName, at) => ({
            id: madeId("user", at),
            displayName,
            createdAt: "2024-01-01T00:00Z",
          })),
          worlds: [],
          stats: [],
          instances: [],
        };
        const q = texts[pick % texts.length]!.toWellFormed();
        await withRows(folder, rows, async (door, model) => {
          const { ids, status } = await crawl(door, model, "/users/search", { q }, 50);
          if (modelTerm(q) === "") {
            assert.equal(status, 400);
            return;
          }
          assert.ok(ids.includes(madeId("user", pick % texts.length)));
          found++;
        });
      }),
      loading(25),
    );
    assert.ok(found > 10, `only ${found} texts held anything to search for`);
  });
});

test("pages of lists neither overlap nor skip", async () => {
  let longest = 0;
  await fc.assert(
    fc.asyncProperty(snapshot, fc.integer({ min: 1, max: 7 }), async (rows, limit) => {
      await withRows(folder, rows, async (door, model) => {
        const world = rows.worlds[0]?.id ?? UNKNOWN_ID;
        const user = rows.users[0]?.id ?? UNKNOWN_ID;
        const lists: [string, Record<string, string>][] = [
          ["/worlds", {}],
          ["/worlds/popular", {}],
          ["/worlds/popular", { period: "week" }],
          ["/worlds/popular", { period: "month" }],
          ["/instances", {}],
          ["/instances", { worldId: world }],
          [`/worlds/${world}/instances`, {}],
          [`/users/${user}/worlds`, {}],
        ];
        for (const [below, more] of lists) {
          const { ids, total } = await crawl(door, model, below, more, limit);
          assert.equal(ids.length, total);
          assert.equal(new Set(ids).size, total);
          longest = Math.max(longest, total);
        }
        for (const { id } of rows.worlds) {
          await askAndCompare(door, model, { target: `${MODEL_BASE}/worlds/${id}/stats`, headers: CLI });
        }
        await askAndCompare(door, model, { target: `${MODEL_BASE}/stats`, headers: CLI });
      });
    }),
    loading(25),
  );
  assert.ok(longest > 10, `the longest list has ${longest} items`);
});

// ---------------------------------------------------------------- whole requests

describe("any request", () => {
  const rows = nastyRows();
  const idOf = (list: readonly { id: string }[]) => fc.constantFrom(...list.map(({ id }) => id));
  const anyId = fc.oneof(
    { weight: 4, arbitrary: idOf(rows.worlds) },
    { weight: 4, arbitrary: idOf(rows.users) },
    { weight: 4, arbitrary: idOf(rows.instances) },
    { weight: 1, arbitrary: fc.constantFrom(UNKNOWN_ID, "x", "search", "popular", "", "stats") },
    { weight: 1, arbitrary: fc.string({ maxLength: 4 }) },
  );
  const number = fc.oneof(
    fc.integer({ min: -3, max: 80 }).map(String),
    fc.bigInt({ min: 0n, max: 2n ** 70n }).map(String),
    fc.constantFrom("", "0", "00", "1e1", "0x10", " 5", "5 ", "+5", "1.0", "٣", "５", "NaN"),
  );
  const parameter = fc.oneof(
    fc.tuple(fc.constantFrom("limit", "offset"), number),
    fc.tuple(fc.constant("period"), fc.constantFrom("all", "week", "month", "Week", "year", "")),
    fc.tuple(fc.constant("q"), fc.oneof(text, fc.constantFrom("a", "e", "x", "東"))),
    fc.tuple(fc.constant("worldId"), anyId),
    fc.tuple(fc.constant("match"), fc.constantFrom("similar", "exact", "Similar", "")),
    fc.tuple(fc.constantFrom("sort", "Limit", "__proto__", ""), text),
  );
  const query = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.array(parameter, { maxLength: 4 }).map((pairs) => `?${new URLSearchParams(pairs)}`),
    },
    { weight: 1, arbitrary: fc.constant("") },
    // A second question mark at once would be taken off by one reading of the rules and not by another.
    { weight: 2, arbitrary: fc.string({ unit: "binary", maxLength: 12 }).map((any) => `?x${any}`) },
    {
      weight: 2,
      arbitrary: fc
        .array(fc.constantFrom("limit", "q", "=", "&", "%", "+", "5", "a", ";", "%6", "offset=1"), {
          maxLength: 9,
        })
        .map((parts) => `?${parts.join("")}`),
    },
  );
  const fixed = MODEL_OPERATIONS.map(({ path: some }) => some).filter((some) => !some.includes(":id"));
  const operationPath = fc
    // Fixed paths twice as often, since most ids are of another table.
    .tuple(fc.constantFrom(...MODEL_OPERATIONS.map(({ path: some }) => some), ...fixed, ...fixed), anyId)
    .map(([pattern, id]) => pattern.replace(":id", () => id));
  const anyPath = fc.oneof(
    { weight: 30, arbitrary: operationPath },
    { weight: 1, arbitrary: operationPath.map((some) => `${some}/`) },
    { weight: 1, arbitrary: fc.string({ maxLength: 8 }).map((some) => `/${some}`) },
    { weight: 1, arbitrary: fc.tuple(operationPath, operationPath).map(([a, b]) => a + b) },
  );
  const authorization = fc.oneof(
    { weight: 4, arbitrary: fc.constant(`Bearer ${TOKEN}`) },
    { weight: 5, arbitrary: fc.constant("Bearer svc_sk_all") },
    { weight: 2, arbitrary: fc.constant("bearer   svc_sk_some") },
    {
      weight: 1,
      arbitrary: fc.constantFrom("", "Bearer", "Bearer ", "Basic x", "Bearer svc_sk_", "svcx_property"),
    },
    {
      weight: 1,
      arbitrary: fc
        .array(fc.constantFrom("Bearer", "bearer", " ", "\t", "svc_sk_", "svcx_", "property", "all", "x"), {
          maxLength: 6,
        })
        .map((parts) => parts.join("")),
    },
  );
  const tagList = fc
    .array(fc.constantFrom('"g-1"', 'W/"g-1"', '"other"', 'W/"other"', '"g-1,"', '""', '"g-2", "g-1"'), {
      minLength: 1,
      maxLength: 3,
    })
    .map((parts) => parts.join(", "));
  const condition = fc.oneof({ weight: 4, arbitrary: tagList }, { weight: 1, arbitrary: fc.constant("*") });
  const seldom = <T>(some: fc.Arbitrary<T>) =>
    fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: some });
  const step: fc.Arbitrary<Step> = fc
    .record({
      method: fc.constantFrom(
        ...Array.from({ length: 14 }, () => "GET"),
        "HEAD",
        "HEAD",
        "OPTIONS",
        "POST",
        "DELETE",
      ),
      base: fc.constantFrom(
        ...Array.from({ length: 30 }, () => MODEL_BASE),
        `http://any${MODEL_BASE}`,
        "/api/public/v2",
        `/${MODEL_BASE}`,
      ),
      below: anyPath,
      query,
      authorization: fc.option(authorization, { freq: 9 }),
      ifMatch: seldom(condition),
      ifNoneMatch: seldom(condition),
      // The key that expires does so within this range.
      now: fc.integer({ min: 1_000_000_000_000, max: 1_000_000_009_000 }),
    })
    .map((made) => {
      const given = [
        ["authorization", made.authorization],
        ["if-match", made.ifMatch],
        ["if-none-match", made.ifNoneMatch],
      ] as const;
      return {
        method: made.method,
        target: `${made.base}${made.below}${made.query}`,
        headers: given.flatMap(([name, value]) => (value === null ? [] : [[name, value] as const])),
        now: made.now,
      };
    });

  test("is answered as the model answers it", async () => {
    const statuses = new Map<number, number>();
    await writeSnapshot(folder, rows, { generation: "g-1" });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 80, size: "max" }), async (steps) => {
        await withRows(folder, rows, async (door, model) => {
          for (const each of steps) {
            const { status } = await askAndCompare(door, model, each);
            statuses.set(status, (statuses.get(status) ?? 0) + 1);
          }
        });
      }),
      loading(32),
    );
    for (const status of [200, 204, 304, 400, 401, 403, 404, 405, 412, 429]) {
      assert.ok((statuses.get(status) ?? 0) > 5, `only ${statuses.get(status)} answers were ${status}`);
    }
  });

  test("has its parameters read as the model reads them", () => {
    fc.assert(
      fc.property(query, (made) => {
        const behind = made.slice(1);
        assert.deepEqual(
          readParameters(behind, ["limit", "offset", "q", "period", "worldId", "match"]),
          modelParameters(behind),
        );
      }),
      { numRuns: 3000 },
    );
  });

  test("has its conditions judged as the model judges them", () => {
    const tags = fc
      .array(fc.constantFrom('"g"', 'W/"g"', '"h"', 'W/"h"', '"g,g"', '"W/g"', '""', '"*"', '"é"'), {
        maxLength: 5,
      })
      .chain((list) => fc.constantFrom(",", ", ", " , ", ",,", ", ,\t").map((glue) => list.join(glue)));
    const header = fc.option(
      fc.oneof({ weight: 5, arbitrary: tags }, { weight: 1, arbitrary: fc.constant("*") }),
      {
        nil: undefined,
      },
    );
    fc.assert(
      fc.property(header, header, (ifMatch, ifNoneMatch) => {
        assert.equal(
          judgeConditions(ifMatch, ifNoneMatch, '"g"'),
          modelConditions(ifMatch, ifNoneMatch, "g"),
        );
      }),
      { numRuns: 3000 },
    );
  });
});

// ---------------------------------------------------------------- parts

test("the rate limit lets pass and tells what the model does, whatever the clock does", () => {
  let refused = 0;
  const request = fc.record({
    key: fc.nat(4),
    limit: fc.integer({ min: 1, max: 4 }),
    step: fc.oneof(
      fc.integer({ min: -30_000, max: 30_000 }),
      fc.constantFrom(0, 0, 0, 1, -1, 999, 1000, 60_000),
    ),
  });
  fc.assert(
    fc.property(
      fc.constantFrom(1, 2, 7, 60, 3600),
      fc.constantFrom(0, 1_700_000_000_000, 1_699_999_999_999, 3_600_000 * 480_000),
      fc.boolean(),
      fc.array(request, { minLength: 1, maxLength: 60, size: "max" }),
      (window, start, keyLimits, requests) => {
        const counters = createCounters(window);
        const model = new ModelLimit(window);
        let now = start;
        for (const { key, limit, step } of requests) {
          now = Math.max(0, now + step);
          // A key keeps its limit, or has it changed at every request.
          const applied = keyLimits ? key + 1 : limit;
          const quota = countRequest(counters, slotOf(counters, `key ${key}`), applied, now);
          assert.deepEqual(quota, model.count(`key ${key}`, applied, now));
          if (!quota.passed) refused++;
        }
      },
    ),
    { numRuns: 800 },
  );
  assert.ok(refused > 1000, `only ${refused} requests were refused`);
});

test("counters of many keys stay apart", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(300), { minLength: 100, maxLength: 600, size: "max" }), (keys) => {
      const counters = createCounters(10);
      const model = new ModelLimit(10);
      for (const key of keys) {
        const quota = countRequest(counters, slotOf(counters, String(key)), 2, 5000);
        assert.deepEqual(quota, model.count(String(key), 2, 5000));
      }
    }),
    { numRuns: 60 },
  );
});

describe("times", () => {
  const two = (max: number) => fc.nat(max).map((value) => String(value).padStart(2, "0"));
  const fraction = fc
    .array(fc.constantFrom(..."0123456789"), { maxLength: 12 })
    .map((digits) => `.${digits.join("")}`);
  const seconds = fc.oneof(
    fc.constant(""),
    two(61).map((value) => `:${value}`),
    fc.tuple(two(61), fraction).map(([value, rest]) => `:${value}${rest}`),
  );
  const zone = fc.oneof(
    { weight: 3, arbitrary: fc.constant("Z") },
    {
      weight: 3,
      arbitrary: fc.tuple(fc.constantFrom("+", "-"), two(24), two(60)).map(([s, h, m]) => `${s}${h}:${m}`),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom("", "z", "+0100", "+01", " Z", "Z ", "−01:00", "+1:00", "-00:00", "UTC"),
    },
  );
  const year = fc.oneof(
    fc.constantFrom(
      "0000",
      "0001",
      "0004",
      "0100",
      "0400",
      "1600",
      "1900",
      "1969",
      "1970",
      "2000",
      "2024",
      "9999",
    ),
    fc.nat(9999).map((value) => String(value).padStart(4, "0")),
  );
  const likely = fc
    .tuple(
      year,
      two(13),
      fc.oneof(two(32), fc.constantFrom("28", "29", "30", "31")),
      two(24),
      two(60),
      seconds,
      zone,
    )
    .map(([y, month, day, hour, minute, rest, z]) => `${y}-${month}-${day}T${hour}:${minute}${rest}${z}`);
  const damaged = fc
    .tuple(likely, fc.nat(35), fc.constantFrom("", "x", " ", "0", "-", ":", "\n", "٣", "T", "+"), fc.nat(1))
    .map(([whole, at, put, drop]) => whole.slice(0, at) + put + whole.slice(at + drop));

  test("are read as the naive reader reads them", () => {
    let good = 0;
    fc.assert(
      fc.property(fc.oneof({ weight: 4, arbitrary: likely }, { weight: 1, arbitrary: damaged }), (some) => {
        const at = parseTime(some);
        assert.equal(at, modelTime(some), some);
        if (!Number.isNaN(at)) good++;
      }),
      { numRuns: 20_000 },
    );
    assert.ok(good > 5000, `only ${good} times are real`);
  });

  test("come back from their text", () => {
    const first = Date.UTC(2000, 0, 1) - 730_485 * 86_400_000;
    const milliseconds = fc.oneof(
      fc.integer({ min: first, max: 253_402_300_799_999 }),
      fc.constantFrom(first, -1, 0, 1, 253_402_300_799_999),
    );
    fc.assert(
      fc.property(milliseconds, (at) => {
        const written = formatTime(at);
        assert.equal(written, modelTimeText(at));
        assert.match(written, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
        assert.equal(parseTime(written), at);
      }),
      { numRuns: 5000 },
    );
    assert.equal(formatTime(first), "0000-01-01T00:00:00.000Z");
    assert.ok(Number.isNaN(parseTime("0000-01-01T00:00:00+00:01")));
    assert.ok(Number.isNaN(parseTime("9999-12-31T23:59:59-00:01")));
  });
});

describe("ids", () => {
  const word = fc.oneof(
    fc.integer({ min: 0, max: 0xffff_ffff }),
    fc.constantFrom(0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff),
  );
  const words = fc.tuple(word, word, word, word);
  const uuid = words.map((four) => formatUuid(Uint32Array.from(four), 0));

  test("come back from their text in any case", () => {
    fc.assert(
      fc.property(words, fc.nat(0xffff_ffff), (four, upper) => {
        const lower = formatUuid(Uint32Array.from([9, ...four]), 1);
        assert.ok(isModelUuid(lower) && lower === lower.toLowerCase());
        assert.equal(
          lower.replaceAll("-", ""),
          four.map((value) => value.toString(16).padStart(8, "0")).join(""),
          "digits in order",
        );
        const mixed = Array.from(lower, (c, at) => ((upper >>> (at % 32)) & 1 ? c.toUpperCase() : c)).join(
          "",
        );
        const read = new Uint32Array(6);
        assert.ok(parseUuid(mixed, read, 1));
        assert.deepEqual([...read], [0, ...four, 0]);
      }),
      { numRuns: 3000 },
    );
  });

  test("are told from everything else", () => {
    const put = fc.constantFrom(
      "",
      "g",
      "G",
      "-",
      " ",
      "x",
      "/",
      ":",
      "@",
      "`",
      "０",
      "é",
      "\u0130",
      "\0",
      "0",
      "aa",
    );
    const almost = fc
      .tuple(uuid, fc.nat(36), put, fc.nat(2))
      .map(([id, at, insert, drop]) => id.slice(0, at) + insert + id.slice(at + drop));
    let good = 0;
    let bad = 0;
    fc.assert(
      fc.property(fc.oneof(almost, fc.string({ maxLength: 40 })), (some) => {
        const isId = parseUuid(some, new Uint32Array(4), 0);
        assert.equal(isId, isModelUuid(some), JSON.stringify(some));
        if (isId) good++;
        else bad++;
      }),
      { numRuns: 5000 },
    );
    assert.ok(good > 30 && bad > 1000, `${good} good, ${bad} bad`);
  });

  test("are found in the map where the naive map has them", () => {
    // Few bits: many ids that differ in one word only.
    const bits = fc.constantFrom(0, 1, 2, 0x10000, 0x8000_0000);
    const near = fc.tuple(bits, bits, bits, fc.nat(40));
    const list = fc.oneof(
      fc.array(near, { maxLength: 300 }),
      fc.array(words, { maxLength: 100 }),
      // More than the map of arriving ids holds before it grows, twice.
      fc.nat(9).map((seed) => Array.from({ length: 2300 }, (_, at) => [seed, at % 3, 7, at] as const)),
    );
    fc.assert(
      fc.property(list, fc.array(near, { maxLength: 30 }), (given, probes) => {
        const naive = new Map<string, number>();
        const arriving = new ArrivingIds();
        for (const four of given) {
          const known = naive.get(String(four));
          assert.equal(arriving.add(Uint32Array.from([5, ...four]), 1), known ?? -1);
          if (known === undefined) naive.set(String(four), naive.size);
        }
        assert.equal(arriving.length, naive.size);
        const packed = Uint32Array.from([...naive.keys()].flatMap((key) => key.split(",").map(Number)));
        assert.deepEqual(arriving.words.slice(0, packed.length), packed);
        const map = createIdMap(packed);
        for (const four of [...given, ...probes]) {
          const row = naive.get(String(four)) ?? -1;
          const probe = Uint32Array.from(four);
          assert.equal(arriving.find(probe, 0), row);
          assert.equal(findWords(map, probe, 0), row);
          assert.equal(findId(map, formatUuid(probe, 0).toUpperCase()), row);
        }
        assert.equal(findId(map, "no id"), -1);
      }),
      { numRuns: 120 },
    );
  });
});

describe("orders", () => {
  const key = fc.oneof(
    fc.nat(3),
    fc.nat(200_000),
    fc.constantFrom(0, 65_535, 65_536, 2 ** 32 - 1, 2 ** 32, 2 ** 48, 2 ** 48 - 1, 2 ** 53 - 1, 2 ** 53 - 2),
    fc.maxSafeNat(),
  );
  const keys = fc.array(key, { maxLength: 60 });

  test("by key are stable and the naive ones", () => {
    fc.assert(
      fc.property(keys, fc.boolean(), (values, reversed) => {
        const start = values.map((_, row) => row);
        if (reversed) start.reverse();
        const typed = Float64Array.from(values);
        const up = Uint32Array.from(start);
        sortByKey(up, typed);
        assert.deepEqual(
          [...up],
          start.toSorted((a, b) => values[a]! - values[b]!),
        );
        const down = Uint32Array.from(start);
        sortHighestFirst(down, typed);
        assert.deepEqual(
          [...down],
          start.toSorted((a, b) => values[b]! - values[a]!),
        );
        assert.deepEqual(
          [...countUp(values.length)],
          values.map((_, row) => row),
        );
      }),
      { numRuns: 400 },
    );
  });

  test("of some rows leave the others alone", () => {
    fc.assert(
      fc.property(keys, (values) => {
        const some = values.map((_, row) => row).filter((row) => row % 3 !== 1);
        const order = Uint32Array.from(some);
        sortByKey(order, Float64Array.from(values));
        assert.deepEqual(
          [...order],
          some.toSorted((a, b) => values[a]! - values[b]!),
        );
      }),
      { numRuns: 200 },
    );
  });

  test("of lists are newest first, then by id", () => {
    const row = fc.record({
      time: fc.oneof(
        fc.constantFrom(-62_167_219_200_000, -1, 0, 1, 253_402_300_799_999),
        fc.integer({ min: -62_167_219_200_000, max: 253_402_300_799_999 }),
      ),
      id: fc.tuple(
        fc.constantFrom(0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff),
        fc.constantFrom(0, 0x8000_0000),
        fc.nat(2),
        fc.nat(0xffff_ffff),
      ),
    });
    fc.assert(
      fc.property(fc.array(row, { maxLength: 60 }), (rows) => {
        const times = Float64Array.from(rows, ({ time: at }) => at);
        const ids = Uint32Array.from(rows.flatMap(({ id }) => id));
        const texts = rows.map((_, at) => formatUuid(ids, at * 4));
        const naive = rows
          .map((_, at) => at)
          .sort(
            (a, b) =>
              rows[b]!.time - rows[a]!.time || (texts[a]! < texts[b]! ? -1 : texts[a]! > texts[b]! ? 1 : 0),
          );
        const compareIds = (a: number, b: number): number => compareWords(ids, a * 4, b * 4);
        assert.deepEqual([...newestFirst(times, rows.length, compareIds)], naive);
      }),
      { numRuns: 300 },
    );
  });

  test("of groups are the naive ones", () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.nat(6), fc.constant(NO_GROUP)), { maxLength: 50 }), (groupOf) => {
        const lists = groupRows(Uint32Array.from(groupOf), 7);
        for (let group = 0; group < 7; group++) {
          const naive = groupOf.flatMap((given, row) => (given === group ? [row] : []));
          assert.deepEqual([...rowsOf(lists, group)], naive);
        }
      }),
      { numRuns: 200 },
    );
  });
});
