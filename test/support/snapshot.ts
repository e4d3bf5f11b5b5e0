/** Snapshots for tests: writing rows to a folder, and rows that are hard to serve well. */

import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import type { InstanceRow, SnapshotRows, StatsRow, UserRow, WorldRow } from "../conformance/model.ts";
import { withManifest, writeFiles } from "./folders.ts";

export interface WriteOptions {
  gzip?: boolean;
  /** Byte order mark, CRLF, blank lines, no newline at the end. */
  untidy?: boolean;
  /** Write a manifest that names this generation; not with `gzip`. */
  generation?: string;
}

function linesOf(rows: readonly object[], untidy: boolean): string {
  const lines = rows.map((row) => JSON.stringify(row));
  if (!untidy) return lines.map((line) => `${line}\n`).join("");
  return `\ufeff${lines.join("\r\n \t\r\n")}`;
}

export function writeSnapshot(
  folder: string,
  rows: SnapshotRows,
  { gzip = false, untidy = false, generation }: WriteOptions = {},
): void {
  const tables = {
    "users.ndjson": rows.users,
    "worlds.ndjson": rows.worlds,
    "world-stats.ndjson": rows.stats,
    "instances.ndjson": rows.instances,
  };
  const files = Object.entries(tables).map(([name, tableRows]): [string, Buffer] => {
    const text = Buffer.from(linesOf(tableRows, untidy));
    return gzip ? [`${name}.gz`, gzipSync(text)] : [name, text];
  });
  writeFiles(folder, generation === undefined ? new Map(files) : withManifest(new Map(files), generation));
}

/** Must not appear in any answer: it occurs in undeclared fields. */
export const CANARY = "CANARY";
/** Must not appear in any answer: it occurs in hidden rows. */
export const HIDDEN = "HIDDENROW";

/** An id that looks random but is always the same. */
export function madeId(kind: string, number: number): string {
  const hex = createHash("md5").update(`${kind} ${number}`).digest("hex");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** Texts that searches and encoders get wrong. */
export const NASTY_TEXTS: readonly string[] = [
  ...["", " ", "a", "A", "aa", "aB c", "ab  c", "  leading", "trailing  ", "\tTabbed\tname\n"],
  ...["東京", "東京タワー", "京", "か", "が", "か\u3099", "ガ", "ｶﾞｷﾞ", "서울", "서울".normalize("NFD")],
  ...["안녕 하세요", "中文名字", "😀", "😀😀 twice", "👨‍👩‍👧‍👦 family", "👍🏽", "🇯🇵", "𠮷野家"],
  ...["Ａｆｕｌｌ　ｗｉｄｔｈ", "ＣＡＦÉ", "Cafe\u0301"],
  ...["café noir", "cafe", "straße", "STRASSE", "\u1e9e", "İstanbul", "ISTANBUL", "ıstanbul", "ΟΔΟΣ"],
  ...["οδος", "οδοσ", "Σ", "100% pure", "%", "%25", "C++", "c+ +", "\"quoted\" 'single'"],
  ...["back\\slash/solidus", "NUL\u0000inside", "\u0000", "lone \ud800 high", "low \udc00 lone"],
  ...["ﬁne ligature ﬀ", "①②③ x²", "\u00a0nbsp\u00a0", "a\u2028b\u2029c\u0085d", "\ufeffmark"],
  ...["e\u0301\u0302\u0303", "\u0301", "<script>alert(1)</script>", "__proto__"],
  ...["constructor & toString", "Å K", "ǅ ﷺ", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢", "x".repeat(300), `${"y".repeat(255)}😀z`],
  "one two three four five six seven eight nine ten eleven twelve",
];

/** One moment in many notations; all are served alike. */
const SAME_MOMENT = [
  "2024-02-29T12:00:00.000Z",
  "2024-02-29T12:00Z",
  "2024-02-29T13:00:00.0009+01:00",
  "2024-02-28T12:01:00-23:59",
  "2024-03-01T11:59:00.00000000001+23:59",
];

const OTHER_MOMENTS = [
  ...["0000-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z", "1969-12-31T23:59:59.999Z"],
  ...["1970-01-01T00:00:00.000Z", "2024-02-29T12:00:00.001Z", "2024-02-29T11:59:59.999Z"],
  "2000-02-29T23:59:59-00:01",
];

function moment(number: number): string {
  if (number % 3 === 0) return OTHER_MOMENTS[(number / 3) % OTHER_MOMENTS.length]!;
  return SAME_MOMENT[number % SAME_MOMENT.length]!;
}

/** Ids at the edges: neighbours that differ in one bit, words with and without their top bit. */
const EDGE_IDS = [
  ...["00000000-0000-0000-0000-000000000000", "00000000-0000-0000-0000-000000000001"],
  ...["00000000-0000-0000-8000-000000000000", "7fffffff-ffff-ffff-ffff-ffffffffffff"],
  ...["80000000-0000-0000-0000-000000000000", "80000000-0000-0000-0000-00007fffffff"],
  ...["80000000-0000-0000-0000-000080000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"],
];

/** The id of a row: some at the edges, some in upper or mixed case, which must not affect lists. */
function idOf(kind: string, number: number): string {
  const id = EDGE_IDS[number] ?? madeId(kind, number);
  if (number % 4 === 1) return id.toUpperCase();
  return number % 4 === 2 ? `${id.slice(0, 18).toUpperCase()}${id.slice(18)}` : id;
}

function otherCase(id: string): string {
  return id === id.toLowerCase() ? id.toUpperCase() : id.toLowerCase();
}

const undeclared = (what: string) => ({
  email: `${CANARY}@${what}.example`,
  dailyVisits: [{ day: CANARY, visits: 1 }],
  nested: { deep: [CANARY] },
  [`${CANARY}Field`]: true,
});

const HIDDEN_WAYS: readonly Pick<WorldRow, "isPublic" | "status">[] = [
  { isPublic: false, status: "ACTIVE" },
  { isPublic: true, status: "ARCHIVED" },
  { isPublic: true, status: "active" },
  { isPublic: true, status: "ACTIVE " },
  { isPublic: true, status: "" },
  { isPublic: false, status: "DRAFT" },
];

/** Absent from every snapshot. */
export const UNKNOWN_ID = "deadbeef-dead-4ead-8ead-deadbeefdead";

/** The fixture: 70 users, 40 worlds, 30 instances, hardly one of them plain. */
export function nastyRows(): SnapshotRows {
  const users: UserRow[] = NASTY_TEXTS.map((displayName, number) => {
    const icons = [
      {},
      { userIconUrl: null },
      { userIconUrl: "" },
      { userIconUrl: `https://i.example/${number}?"é"` },
    ];
    return {
      ...undeclared("user"),
      id: idOf("user", number),
      displayName,
      ...icons[number % icons.length],
      createdAt: moment(number),
    };
  });

  const worlds: WorldRow[] = [];
  for (let number = 0; number < 40; number++) {
    const isHidden = number % 3 === 2;
    const text = NASTY_TEXTS[(number * 7 + 2) % NASTY_TEXTS.length]!;
    const other = NASTY_TEXTS[(number * 11 + 5) % NASTY_TEXTS.length]!;
    const descriptions = [
      { description: other },
      {},
      { description: null },
      { description: `${text} ${other}` },
    ];
    worlds.push({
      ...undeclared("world"),
      id: idOf("world", number),
      name: isHidden ? `${HIDDEN} ${text}` : text,
      ...(isHidden ? { description: HIDDEN } : descriptions[number % descriptions.length]),
      // A few owners own much, some own nothing, some do not exist.
      ownerId: number % 10 === 9 ? UNKNOWN_ID : otherCase(users[number % 7]!.id),
      ...(isHidden
        ? HIDDEN_WAYS[((number - 2) / 3) % HIDDEN_WAYS.length]!
        : { isPublic: true, status: "ACTIVE" }),
      createdAt: moment(number),
      updatedAt: moment(number + 1),
    });
  }

  const stats: StatsRow[] = [];
  for (const [number, { id }] of worlds.entries()) {
    if (number % 4 === 3) continue;
    stats.push({
      ...undeclared("stats"),
      worldId: otherCase(id),
      totalVisits: number === 0 ? Number.MAX_SAFE_INTEGER : [7, 7, 65_536, 0, 7][number % 5]!,
      uniqueVisitors: [3, 3, 5][number % 3]!,
      visitsLast7Days: number === 4 ? Number.MAX_SAFE_INTEGER : number % 2,
      visitsLast30Days: [1, 65_535, 4_294_967_296][number % 3]!,
    });
  }
  stats.push({
    worldId: UNKNOWN_ID,
    totalVisits: 1,
    uniqueVisitors: 1,
    visitsLast7Days: 1,
    visitsLast30Days: 1,
  });

  const instances: InstanceRow[] = [];
  for (let number = 0; number < 30; number++) {
    const world = number % 10 === 9 ? UNKNOWN_ID : worlds[number < 18 ? (number % 3) * 3 : number]!.id;
    instances.push({
      ...undeclared("instance"),
      id: idOf("instance", number),
      worldId: otherCase(world),
      isPublic: number % 8 !== 5,
      isActive: number % 8 !== 6,
      createdAt: moment(number),
    });
  }
  // The order of rows must not matter.
  return { users, worlds: worlds.reverse(), stats, instances: instances.reverse() };
}

/** Plain rows, more than one page of everything: one owner owns all, one world holds all. */
export function bulkRows(count: number): SnapshotRows {
  const numbers = Array.from({ length: count }, (_, number) => number);
  const createdAt = (number: number) => `2025-01-01T00:00:${String(number % 7).padStart(2, "0")}Z`;
  const owner = madeId("bulk user", 0);
  const home = madeId("bulk world", 0);
  return {
    users: numbers.map((number) => ({
      id: madeId("bulk user", number),
      displayName: `User ${number}`,
      userIconUrl: `https://i.example/${number}.png`,
      createdAt: createdAt(number),
    })),
    worlds: numbers.map((number) => ({
      id: madeId("bulk world", number),
      name: `World ${number}`,
      description: number % 2 === 0 ? "even" : "odd",
      ownerId: owner,
      isPublic: true,
      status: "ACTIVE",
      createdAt: createdAt(number),
      updatedAt: createdAt(number),
    })),
    stats: numbers.map((number) => ({
      worldId: madeId("bulk world", number),
      totalVisits: number % 5,
      uniqueVisitors: number % 3,
      visitsLast7Days: number % 2,
      visitsLast30Days: number % 4,
    })),
    instances: numbers.map((number) => ({
      id: madeId("bulk instance", number),
      worldId: home,
      isPublic: true,
      isActive: true,
      createdAt: createdAt(number),
    })),
  };
}
