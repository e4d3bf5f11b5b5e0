/** Changes a snapshot at random, as exporters, copies and accidents do; after each round compares a reload with a fresh start. */

import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { type Observation, type Orrery, openOrrery, SnapshotError } from "../../src/mod.ts";
import { ROW_FILES, type RowFile } from "../../src/model/model.ts";
import { indexStore, partsMade } from "../../src/search/search.ts";
import type { Serving } from "../../src/server/load/loader.ts";
import { type Loaded, loadSnapshot, type Refused } from "../../src/snapshot/load.ts";
import { indexReusing } from "../../src/snapshot/reuse.ts";
import { isSame } from "../../src/store/bytes.ts";
import { createRandom, type Random } from "../../src/util/random.ts";
import { id, instance, manifestOf, type RawRow, user, world, worldStats } from "./folders.ts";

const WORDS = [
  ...["moon", "moonbeam", "beam", "Bär", "東京", "カフェ"],
  ...["a", "ab", "abc", "naïve", "x y", "😀", '"', "\\"],
];

/** Range of the numbers in ids: few, so that removed rows come back, and rows refer to removed rows. */
const NUMBERS = 24;

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
  return Array.from({ length: 1 + random.below(4) }, () => pick(random, WORDS)).join(
    random.chance(0.5) ? " " : "",
  );
}

function time(random: Random): string {
  return `2026-01-0${1 + random.below(3)}T00:00:00.00${random.below(3)}Z`;
}

interface State {
  rows: RawRow[];
  ending: "" | ".gz";
  /** Precedes each line. */
  blank: string;
}

class ChangingSnapshot {
  readonly folder: string;
  readonly random: Random;
  readonly #states = new Map<RowFile, State>();
  /** Written files without the broken ones. */
  readonly #stored = new Map<string, Buffer>();
  #manifest: "none" | "right" | "wrong" = "none";
  #generation = 0;
  #written = 0;
  #mend: (() => void) | undefined;

  constructor(folder: string, seed: number) {
    this.folder = folder;
    this.random = createRandom(seed, "changing");
    mkdirSync(folder, { recursive: true });
    for (const table of ROW_FILES) {
      const numbers = Array.from({ length: NUMBERS }, (_, n) => n).filter(() => this.random.chance(0.6));
      const rows = numbers.map((n) => MAKE[table](n, this.random));
      this.#states.set(table, { rows, ending: "", blank: "" });
      this.#write(table);
    }
  }

  queries(): string[] {
    const texts = [...WORDS, "o", "oo", "moonbeams", "moon b", "nothing", "東", "1"];
    return Array.from({ length: 8 }, () => pick(this.random, texts));
  }

  /** Changes some files at random. @returns the changes, for a message */
  change(): string[] {
    const { random } = this;
    this.#mend?.();
    this.#mend = undefined;
    const done: string[] = [];
    for (let times = random.chance(0.7) ? 1 : 1 + random.below(3); times > 0; times--) {
      const table = pick(random, ROW_FILES);
      const what = pick(random, CHANGES);
      done.push(`${what} ${table}`);
      this.#change(what, table);
    }
    if (random.chance(0.15)) {
      this.#manifest = pick(random, ["none", "right", "right", "wrong"] as const);
      done.push(`manifest ${this.#manifest}`);
    }
    if (random.chance(0.12)) done.push(this.#break(pick(random, ROW_FILES)));
    this.#writeManifest();
    return done;
  }

  #change(what: (typeof CHANGES)[number], table: RowFile): void {
    const { random } = this;
    const state = this.#states.get(table)!;
    const { rows } = state;
    const at = random.below(rows.length);
    const row = rows[at];
    switch (what) {
      case "touch":
        utimesSync(join(this.folder, table + state.ending), 1, ++this.#written);
        return;
      case "write again":
        break;
      case "pack or unpack":
        rmSync(join(this.folder, table + state.ending));
        this.#stored.delete(table + state.ending);
        state.ending = state.ending === "" ? ".gz" : "";
        break;
      case "add": {
        const n = random.below(NUMBERS);
        const made = MAKE[table](n, random);
        const ids = new Set(rows.map(idOf));
        if (!ids.has(idOf(made))) rows.splice(random.below(rows.length + 1), 0, made);
        break;
      }
      case "remove":
        if (rows.length > 2) rows.splice(at, 1);
        break;
      case "replace":
        if (row) rows[at] = { ...MAKE[table](0, random), [idName(table)]: idOf(row) };
        break;
      case "hide or show":
        if (row && "isPublic" in row) rows[at] = { ...row, isPublic: !row.isPublic };
        if (row && "status" in row && random.chance(0.5)) {
          rows[at] = { ...row, status: row.status === "ACTIVE" ? "DRAFT" : "ACTIVE" };
        }
        break;
      case "a field that is not served":
        if (row) rows[at] = { ...row, email: words(random) };
        break;
      case "a field that is served":
        if (row && "description" in row) rows[at] = { ...row, description: words(random) };
        else if (row && "userIconUrl" in row) rows[at] = { ...row, userIconUrl: words(random) };
        else if (row && "totalVisits" in row) {
          const field = pick(random, ["totalVisits", "uniqueVisitors", "visitsLast7Days"] as const);
          rows[at] = { ...row, [field]: random.below(9) };
        }
        break;
      case "another order":
        rows.reverse();
        break;
      case "blank lines":
        state.blank = state.blank === "" ? " \r\n" : "";
        break;
    }
    this.#write(table);
  }

  /** Breaks a file; the next change mends it. */
  #break(table: RowFile): string {
    const path = join(this.folder, table + this.#states.get(table)!.ending);
    const how = pick(this.random, ["a bad row", "truncated", "missing", "twice"] as const);
    this.#mend = () => this.#write(table);
    if (how === "missing") rmSync(path);
    else if (how === "truncated") writeFileSync(path, readFileSync(path).subarray(0, -9));
    else if (how === "a bad row")
      writeFileSync(path, Buffer.concat([readFileSync(path), Buffer.from("{}\n")]));
    else {
      const other = table + (path.endsWith(".gz") ? "" : ".gz");
      writeFileSync(join(this.folder, other), "");
      this.#mend = () => rmSync(join(this.folder, other));
    }
    return `${how}: ${table}`;
  }

  #write(table: RowFile): void {
    const { rows, ending, blank } = this.#states.get(table)!;
    const text = Buffer.from(rows.map((row) => `${blank}${JSON.stringify(row)}\n`).join(""));
    const bytes = ending === "" ? text : gzipSync(text);
    const path = join(this.folder, table + ending);
    this.#stored.set(table + ending, bytes);
    // Written to a temporary file and renamed, or in place.
    const written = this.random.chance(0.5) ? `${path}.new` : path;
    writeFileSync(written, bytes);
    utimesSync(written, 1, ++this.#written);
    if (written !== path) renameSync(written, path);
  }

  #writeManifest(): void {
    const path = join(this.folder, "manifest.json");
    if (this.#manifest === "none") {
      if (existsSync(path)) rmSync(path);
      return;
    }
    const manifest = manifestOf(this.#stored, `g-${++this.#generation}`);
    const fileOf = (table: RowFile) =>
      manifest.files[table + this.#states.get(table)!.ending] as Record<string, unknown>;
    for (const table of ROW_FILES) fileOf(table).rows = this.#states.get(table)!.rows.length;
    if (this.#manifest === "wrong") {
      const what = pick(this.random, ["rows", "bytes", "sha256"] as const);
      fileOf(pick(this.random, ROW_FILES))[what] = what === "sha256" ? "0".repeat(64) : 4711;
      this.#manifest = "right";
    }
    writeFileSync(path, JSON.stringify(manifest));
  }
}

const CHANGES = [
  ...["touch", "write again", "pack or unpack", "add", "add", "remove", "replace", "hide or show"],
  ...["hide or show", "a field that is not served", "a field that is served", "another order"],
  "blank lines",
] as const;

function idName(table: RowFile): string {
  return table === "world-stats.ndjson" ? "worldId" : "id";
}

function idOf(row: RawRow): unknown {
  return "totalVisits" in row ? row.worldId : row.id;
}

const BASE = "/api/public/v1";
const TOKEN = "svcx_changing";

/** What happened in the rounds and how often, so that a caller can check that they covered enough. */
type Seen = Map<string, number>;

function open(snapshot: string, threads: boolean, observe: (seen: Observation) => void): Promise<Orrery> {
  const keys = [{ id: "me", kind: "cli", token: TOKEN }] as const;
  return openOrrery({ snapshot, keys, threads, watch: 0, observe });
}

/** Every kind of request, for ids that exist, existed, or might exist. */
function targetsOf(queries: readonly string[]): string[] {
  const targets = ["/stats", "/worlds?limit=50", "/instances?limit=50", "/worlds?limit=3&offset=4"];
  for (const period of ["all", "week", "month"]) targets.push(`/worlds/popular?period=${period}&limit=50`);
  for (const query of queries) {
    const q = encodeURIComponent(query);
    targets.push(`/users/search?q=${q}&limit=50`, `/worlds/search?q=${q}&limit=50`);
    targets.push(`/worlds/search?q=${q}&limit=2&offset=1`);
  }
  for (let n = 0; n < NUMBERS; n++) {
    targets.push(`/users/${id("a", n)}`, `/users/${id("a", n)}/worlds?limit=50`, `/worlds/${id("b", n)}`);
    targets.push(`/worlds/${id("b", n)}/stats`, `/worlds/${id("b", n)}/instances?limit=50`);
    targets.push(`/instances/${id("c", n)}`, `/instances?worldId=${id("b", n)}&limit=50`);
  }
  return targets.map((target) => BASE + target);
}

async function answersOf({ ask }: Orrery, targets: readonly string[]): Promise<unknown[]> {
  const answers: unknown[] = [];
  for (const target of targets) {
    const { status, headers, body } = await ask({ target, authorization: `Bearer ${TOKEN}` });
    answers.push({ target, status, etag: headers.etag, body: body.toString() });
  }
  return answers;
}

/** The parts of a load that must not depend on how it was done. */
function resultOf({ store, reports, kept, bytes, fingerprint }: Loaded, index: unknown): unknown {
  return { store, reports, kept, bytes, fingerprint, index };
}

/**
 * Changes a snapshot repeatedly, and reloads it.
 *
 * @param threads whether threads do the loads
 */
export async function changeAndCompare(
  folder: string,
  seed: number,
  rounds: number,
  threads: boolean,
): Promise<Seen> {
  const snapshot = new ChangingSnapshot(join(folder, String(seed)), seed);
  const where = snapshot.folder;
  const seen: Seen = new Map();
  const count = (what: string): void => void seen.set(what, (seen.get(what) ?? 0) + 1);
  let last: Observation | undefined;
  const orrery = await open(where, threads, (observation) => {
    if (observation.kind.startsWith("snapshot-")) last = observation;
  });
  let previous: Serving | undefined;

  /** Loads directly, and compares every array. */
  async function compareLoads(): Promise<Loaded | Refused> {
    const whole = await loadSnapshot(where);
    const partly = await loadSnapshot(where, previous ? { previous } : {});
    if (!whole.ok || !partly.ok) {
      assert.deepEqual(partly, whole);
      return whole;
    }
    const index = indexReusing(partly, previous?.index);
    const made = partsMade(index, previous?.index);
    assert.deepEqual(resultOf(partly, index), resultOf(whole, indexStore(whole.store)));
    if (previous && partly.store.contents !== previous.store.contents) {
      if (!made.users) count("index of users kept");
      if (!made.worlds) count("index of worlds kept");
      if (!isSame(partly.store.popular.all, previous.store.popular.all)) count("worlds in another order");
      for (const file of ROW_FILES) count(`${file} ${partly.reused.has(file) ? "kept" : "read"}`);
    }
    previous = { store: partly.store, kept: partly.kept, index };
    return whole;
  }

  await compareLoads();
  for (let round = 0; round < rounds; round++) {
    const done = snapshot.change();
    try {
      const loaded = await compareLoads();
      await orrery.reload();
      if (!loaded.ok) {
        count("refused");
        assert.ok(last?.kind === "snapshot-refused");
        assert.deepEqual(last.problems, loaded.problems);
        await assert.rejects(
          open(where, false, () => {}),
          SnapshotError,
        );
        continue;
      }
      if (last?.kind === "snapshot-unchanged") count("unchanged");
      const fresh = await open(where, false, () => {});
      const targets = targetsOf(snapshot.queries());
      assert.equal(orrery.generation(), fresh.generation());
      assert.deepEqual(await answersOf(orrery, targets), await answersOf(fresh, targets));
      fresh.close();
    } catch (error) {
      (error as Error).message =
        `seed ${seed}, round ${round}, ${done.join(", ")}: ${(error as Error).message}`;
      throw error;
    }
  }
  orrery.close();
  return seen;
}

const ALL_SEEN = [
  "refused",
  "unchanged",
  "index of users kept",
  "index of worlds kept",
  "worlds in another order",
  ...ROW_FILES.flatMap((table) => [`${table} kept`, `${table} read`]),
];

export function assertTried(seen: Seen): void {
  for (const what of ALL_SEEN) assert.ok(seen.has(what), `never seen: ${what}`);
}
