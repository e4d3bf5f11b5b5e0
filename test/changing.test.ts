/** A snapshot changes at random, as by exporters, copies and accidents: each reload of it equals a fresh start. */

import assert from "node:assert/strict";
import { mkdirSync, readFileSync, renameSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { ROUTES } from "../src/api/routes.ts";
import { type Observation, type Orrery, openOrrery, SnapshotError } from "../src/mod.ts";
import { ROW_FILES, type RowFile } from "../src/model/model.ts";
import { indexStore, partsMade } from "../src/search/search.ts";
import type { Serving } from "../src/server/load/loader.ts";
import { type Loaded, loadSnapshot, type Refused } from "../src/snapshot/load.ts";
import { indexReusing } from "../src/snapshot/reuse.ts";
import { isSame } from "../src/store/bytes.ts";
import { createRandom, type Random } from "../src/util/random.ts";
import {
  id,
  instance,
  manifestOf,
  type RawRow,
  temporaryFolder,
  user,
  world,
  worldStats,
} from "./support/folders.ts";
import { repliesTo } from "./support/library.ts";
import { IS_LONG } from "./support/long.ts";

const WORDS = [
  ...["moon", "moonbeam", "beam", "Bär", "東京", "カフェ"],
  ...["a", "ab", "abc", "naïve", "x y", "😀", '"', "\\"],
];

/** Range of the numbers in ids: few, so that removed rows come back, and rows refer to removed rows. */
const NUMBERS = 24;
const ALL_NUMBERS = Array.from({ length: NUMBERS }, (_, n) => n);

const MAKE: Readonly<Record<RowFile, (n: number, random: Random) => RawRow>> = {
  "users.ndjson": (n, random) => user(n, { displayName: words(random), createdAt: time(random) }),
  "worlds.ndjson": (n, random) =>
    world(n, {
      name: words(random),
      description: random.chance(0.2) ? null : words(random),
      ownerId: id("a", random.below(NUMBERS)),
      isPublic: random.chance(0.8),
      status: random.chance(0.8) ? "ACTIVE" : "DRAFT",
      createdAt: time(random),
    }),
  "world-stats.ndjson": (n, random) =>
    worldStats(n, {
      totalVisits: random.below(6),
      uniqueVisitors: random.below(3),
      visitsLast7Days: random.below(3),
      visitsLast30Days: random.below(3),
    }),
  "instances.ndjson": (n, random) =>
    instance(n, {
      worldId: id("b", random.below(NUMBERS)),
      isPublic: random.chance(0.8),
      isActive: random.chance(0.8),
      createdAt: time(random),
    }),
};

function pick<Value>(random: Random, values: readonly Value[]): Value {
  return values[random.below(values.length)]!;
}

function words(random: Random): string {
  const some = Array.from({ length: 1 + random.below(4) }, () => pick(random, WORDS));
  return some.join(random.chance(0.5) ? " " : "");
}

function time(random: Random): string {
  return `2026-01-0${1 + random.below(3)}T00:00:00.00${random.below(3)}Z`;
}

const idName = (table: RowFile): string => (table === "world-stats.ndjson" ? "worldId" : "id");

/** A file of rows. */
interface Table {
  readonly table: RowFile;
  rows: RawRow[];
  ending: "" | ".gz";
  /** Precedes each line. */
  blank: string;
}

type Change = (state: Table, at: number, random: Random) => void;

/** Changes of a file, each of which is also written anew; `at` is the place of a row. */
const CHANGES: Readonly<Record<string, Change>> = {
  "write again": () => {},
  "pack or unpack": (state) => {
    state.ending = state.ending === "" ? ".gz" : "";
  },
  add({ table, rows }, at, random) {
    const made = MAKE[table](random.below(NUMBERS), random);
    const name = idName(table);
    if (rows.every((row) => row[name] !== made[name])) rows.splice(at, 0, made);
  },
  remove({ rows }, at) {
    if (rows.length > 2) rows.splice(at, 1);
  },
  replace({ table, rows }, at, random) {
    const name = idName(table);
    rows[at] = { ...MAKE[table](0, random), [name]: rows[at]![name] };
  },
  "hide or show"({ rows }, at) {
    const row = rows[at]!;
    if ("isPublic" in row) rows[at] = { ...row, isPublic: !row.isPublic };
  },
  "a field that is not served"({ rows }, at, random) {
    rows[at] = { ...rows[at], email: words(random) };
  },
  "a field that is served"({ table, rows }, at, random) {
    const made = MAKE[table](random.below(NUMBERS), random);
    const names = Object.keys(made).filter((field) => field !== idName(table));
    const name = pick(random, names);
    rows[at] = { ...rows[at], [name]: made[name] };
  },
  "another order": ({ rows }) => void rows.reverse(),
  "blank lines": (state) => {
    state.blank = state.blank === "" ? " \r\n" : "";
  },
};

/** Names of changes, so often as they are to be drawn. */
const DRAWN: readonly string[] = [...Object.keys(CHANGES), "write again", "add", "hide or show"];

/** Writes a snapshot. @returns a function that changes some files at random, and names the changes for a message */
function writeChanging(folder: string, random: Random): () => string[] {
  mkdirSync(folder, { recursive: true });
  const tables = ROW_FILES.map((table): Table => {
    const numbers = ALL_NUMBERS.filter(() => random.chance(0.6));
    return { table, rows: numbers.map((n) => MAKE[table](n, random)), ending: "", blank: "" };
  });
  /** Written files without the broken ones. */
  const stored = new Map<string, Buffer>();
  let manifest: "none" | "right" | "wrong" = "none";
  let written = 0;
  let mend = (): void => {};

  function write({ table, rows, ending, blank }: Table): void {
    const text = Buffer.from(rows.map((row) => `${blank}${JSON.stringify(row)}\n`).join(""));
    const bytes = ending === "" ? text : gzipSync(text);
    for (const old of [table, `${table}.gz`]) {
      stored.delete(old);
      if (old !== table + ending) rmSync(join(folder, old), { force: true });
    }
    stored.set(table + ending, bytes);
    const path = join(folder, table + ending);
    // Written to a temporary file and renamed, or in place.
    const file = random.chance(0.5) ? `${path}.new` : path;
    writeFileSync(file, bytes);
    utimesSync(file, 1, ++written);
    if (file !== path) renameSync(file, path);
  }

  /** Breaks a file; the next change mends it. */
  function breakFile(state: Table): string {
    const path = join(folder, state.table + state.ending);
    const bytes = readFileSync(path);
    const ways = {
      "a bad row": () => writeFileSync(path, Buffer.concat([bytes, Buffer.from("{}\n")])),
      truncated: () => writeFileSync(path, bytes.subarray(0, -9)),
      missing: () => rmSync(path),
      twice: () => writeFileSync(join(folder, state.table + (state.ending === "" ? ".gz" : "")), ""),
    };
    const [how, breakIt] = pick(random, Object.entries(ways));
    breakIt();
    mend = () => write(state);
    return `${how}: ${state.table}`;
  }

  function writeManifest(): void {
    const path = join(folder, "manifest.json");
    if (manifest === "none") {
      rmSync(path, { force: true });
      return;
    }
    const made = manifestOf(stored, `g-${++written}`);
    if (manifest === "wrong") {
      const what = pick(random, ["rows", "bytes", "sha256"]);
      const listed = pick(random, Object.values(made.files)) as Record<string, unknown>;
      listed[what] = what === "sha256" ? "0".repeat(64) : 4711;
      manifest = "right";
    }
    writeFileSync(path, JSON.stringify(made));
  }

  for (const table of tables) write(table);
  return () => {
    mend();
    mend = () => {};
    const done: string[] = [];
    for (let times = random.chance(0.7) ? 1 : 1 + random.below(3); times > 0; times--) {
      const state = pick(random, tables);
      const what = pick(random, DRAWN);
      done.push(`${what} ${state.table}`);
      CHANGES[what]!(state, random.below(state.rows.length), random);
      write(state);
    }
    if (random.chance(0.15)) {
      manifest = pick(random, ["none", "right", "right", "wrong"] as const);
      done.push(`manifest ${manifest}`);
    }
    if (random.chance(0.12)) done.push(breakFile(pick(random, tables)));
    writeManifest();
    return done;
  };
}

const TOKEN = "svcx_changing";

function open(snapshot: string, threads: boolean, observe = (_: Observation) => {}): Promise<Orrery> {
  const keys = [{ id: "me", kind: "cli", token: TOKEN }] as const;
  return openOrrery({ snapshot, keys, threads, watch: 0, observe });
}

/** Letters of the ids of each resource. */
const KINDS: Readonly<Record<string, string>> = { users: "a", worlds: "b", instances: "c" };

/** Requests of every operation, for ids that exist, existed, or might exist. */
function targetsOf(random: Random): string[] {
  const texts = [...WORDS, "o", "oo", "moonbeams", "moon b", "nothing", "東", "1"];
  const queries = Array.from({ length: 8 }, () => encodeURIComponent(pick(random, texts)));
  const targets = ROUTES.flatMap(({ path }) => {
    const kind = KINDS[path.split("/")[1]!]!;
    if (path.includes(":id")) return ALL_NUMBERS.map((n) => `${path.replace(":id", id(kind, n))}?limit=50`);
    if (path.endsWith("/search"))
      return queries.flatMap((q) => [`${path}?q=${q}&limit=50`, `${path}?q=${q}&limit=2&offset=1`]);
    return ["all", "week", "month"].map((period) => `${path}?period=${period}&limit=50`);
  });
  const ofWorlds = ALL_NUMBERS.map((n) => `/instances?worldId=${id("b", n)}&limit=50`);
  return [...targets, ...ofWorlds, "/worlds?limit=3&offset=4"];
}

async function answersOf(orrery: Orrery, targets: readonly string[]): Promise<unknown[]> {
  const replies = await repliesTo(orrery, targets, TOKEN);
  return replies.map(({ status, headers, body }, at) => [targets[at], status, headers.etag, body]);
}

/** The parts of a load that must not depend on how it was done. */
function resultOf({ store, reports, kept, bytes, fingerprint }: Loaded, index: unknown): unknown {
  return { store, reports, kept, bytes, fingerprint, index };
}

/** What the rounds of a test must cover. */
const MUST_SEE = [
  ...["refused", "unchanged", "index of users kept", "index of worlds kept", "worlds in another order"],
  ...ROW_FILES.flatMap((table) => [`${table} kept`, `${table} read`]),
];

/** Changes a snapshot repeatedly, and reloads it. @param threads whether threads do the loads */
async function changeAndCompare(where: string, seed: number, rounds: number, threads: boolean) {
  const random = createRandom(seed, "changes");
  const change = writeChanging(where, random);
  const seen = new Set<string>();
  let last: Observation | undefined;
  const orrery = await open(where, threads, (observation) => {
    if (observation.kind.startsWith("snapshot-")) last = observation;
  });
  let before: Serving | undefined;

  /** Loads directly, and compares every array. */
  async function compareLoads(): Promise<Loaded | Refused> {
    const whole = await loadSnapshot(where);
    const partly = await loadSnapshot(where, before ? { previous: before } : {});
    if (!whole.ok || !partly.ok) {
      assert.deepEqual(partly, whole);
      return whole;
    }
    const index = indexReusing(partly, before?.index);
    const made = partsMade(index, before?.index);
    assert.deepEqual(resultOf(partly, index), resultOf(whole, indexStore(whole.store)));
    if (before && partly.store.contents !== before.store.contents) {
      if (!made.users) seen.add("index of users kept");
      if (!made.worlds) seen.add("index of worlds kept");
      if (!isSame(partly.store.popular.all, before.store.popular.all)) seen.add("worlds in another order");
      for (const file of ROW_FILES) seen.add(`${file} ${partly.reused.has(file) ? "kept" : "read"}`);
    }
    before = { store: partly.store, kept: partly.kept, index };
    return whole;
  }

  /** Loads and reloads what was changed, and compares all answers with those of a fresh start. */
  async function compare(): Promise<void> {
    const loaded = await compareLoads();
    await orrery.reload();
    if (!loaded.ok) {
      seen.add("refused");
      assert.ok(last?.kind === "snapshot-refused");
      assert.deepEqual(last.problems, loaded.problems);
      return await assert.rejects(open(where, false), SnapshotError);
    }
    if (last?.kind === "snapshot-unchanged") seen.add("unchanged");
    const fresh = await open(where, false);
    const targets = targetsOf(random);
    assert.equal(orrery.generation(), fresh.generation());
    assert.deepEqual(await answersOf(orrery, targets), await answersOf(fresh, targets));
    fresh.close();
  }

  await compareLoads();
  for (let round = 0; round < rounds; round++) {
    const done = change();
    try {
      await compare();
    } catch (error) {
      (error as Error).message =
        `seed ${seed}, round ${round}, ${done.join(", ")}: ${(error as Error).message}`;
      throw error;
    }
  }
  orrery.close();
  for (const what of MUST_SEE) assert.ok(seen.has(what), `never seen: ${what}`);
}

describe("after any change a reload is as good as a start, whatever was kept", () => {
  const [seed, rounds] = IS_LONG ? [1, 60] : [5, 30];
  test(`seed ${seed}`, (t) => changeAndCompare(temporaryFolder(t), seed, rounds, false));

  if (IS_LONG) test("in threads", (t) => changeAndCompare(temporaryFolder(t), 8, 30, true));
});
