/** The time of the data: taken from a manifest without a load, but only if nothing else in it is new. */

import assert from "node:assert/strict";
import {
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { generateSnapshot } from "../src/generate/generate.ts";
import type { Observation } from "../src/observe/events.ts";
import { SnapshotKeeper } from "../src/server/load/keeper.ts";
import { type Loader, loadHere } from "../src/server/load/loader.ts";
import { loadSnapshot } from "../src/snapshot/load.ts";
import { temporaryFolder } from "./support/folders.ts";
import { mustLoad, problemsOf, SEARCH_BOUNDS } from "./support/loaded.ts";
import { replace } from "./support/place.ts";
import { prepare } from "./support/prepared.ts";
import { until } from "./support/process.ts";
import { changeManifest, manifestIn, turnLink } from "./support/published.ts";

const WATCH_MS = 10;

async function makeRows(folder: string, seed: number, users = 20): Promise<string> {
  await generateSnapshot({ out: folder, users, worlds: 10, instances: 3, seed, gzip: false });
  return folder;
}

/** Follows a folder: counts loads, and keeps the last confirmed time and all observations. */
async function follow(t: TestContext, folder: string) {
  const seen: Observation[] = [];
  const state = { loads: 0, createdAt: undefined as string | undefined, confirmed: 0, seen };
  const load: Loader = (...call) => {
    state.loads++;
    return loadHere(...call);
  };
  const events = {
    ...{ began() {}, ended() {} },
    confirmed(_ageMs: number, createdAt?: string) {
      state.confirmed++;
      state.createdAt = createdAt;
    },
  };
  const observe = (observation: Observation): void => void seen.push(observation);
  const options = { folder, load, allowShrink: false, searchBounds: SEARCH_BOUNDS, observe, events };
  const keeper = await SnapshotKeeper.open(options, () => {});
  t.after(() => keeper.close());
  keeper.watch(WATCH_MS);
  const looks = async (count: number): Promise<void> => {
    const from = state.confirmed;
    await until(() => state.confirmed >= from + count, "looks that find what is served");
  };
  return { keeper, state, looks };
}

describe("createdAt alone", () => {
  for (const form of ["rows", "prepared"] as const) {
    it(`is taken without a load, of ${form}`, async (t) => {
      const root = temporaryFolder(t);
      const rows = await makeRows(join(root, "rows"), 1);
      if (form === "prepared") await prepare(rows, join(root, "prepared"), true);
      const folder = join(root, form);
      const { state, looks, keeper } = await follow(t, folder);
      const told = manifestIn(folder).createdAt;
      assert.equal(state.createdAt, told);
      for (const createdAt of ["2026-11-23T12:00:00Z", "2026-11-23T12:00:01+01:00", undefined]) {
        changeManifest(folder, { createdAt });
        await until(() => state.createdAt === (createdAt ?? (form === "rows" ? undefined : told)), "it");
      }
      await looks(3);
      assert.equal(state.loads, 1);
      assert.equal(state.seen.map(({ kind }) => kind).join(), "snapshot-loaded");
      changeManifest(folder, { createdAt: "2026-11-23T13:00:00Z", generation: "other" });
      await until(() => keeper.served.generation!.store.id === "other", "a name that is new");
      assert.equal(state.createdAt, "2026-11-23T13:00:00Z");
    });
  }

  it("is taken from a version that has the same files by other links, which are not read again", async (t) => {
    const root = temporaryFolder(t);
    const first = await makeRows(join(root, "1"), 1);
    const dir = join(root, "current");
    const make = (version: string): string => {
      const folder = join(root, version);
      mkdirSync(folder);
      for (const name of readdirSync(first)) linkSync(join(first, name), join(folder, name));
      return folder;
    };
    utimesSync(join(first, "users.ndjson"), 1e9, 1e9);
    turnLink(dir, "1");
    const { state, keeper, looks } = await follow(t, dir);
    changeManifest(make("2"), { createdAt: "2026-11-23T12:00:00Z" });
    turnLink(dir, "2");
    await until(() => state.createdAt === "2026-11-23T12:00:00Z", "the second version");
    await looks(2);
    assert.equal(state.loads, 1);
    // Only instances are new. The other files are neither read nor hashed: this test damages their bytes.
    const third = make("3");
    const other = await makeRows(join(root, "other"), 2);
    const instances = "instances.ndjson";
    replace(join(third, instances), readFileSync(join(other, instances)));
    const files = { ...manifestIn(third).files, [instances]: manifestIn(other).files[instances] };
    changeManifest(third, { generation: "third", files });
    const users = join(third, "users.ndjson");
    const damaged = readFileSync(users);
    damaged[0]! ^= 1;
    writeFileSync(users, damaged);
    utimesSync(users, 1e9, 1e9);
    turnLink(dir, "3");
    await until(() => keeper.served.generation!.store.id === "third", "the third version");
    const loaded = state.seen.at(-1);
    assert.ok(loaded?.kind === "snapshot-loaded");
    assert.deepEqual(loaded.kept, ["users", "worlds", "world-stats"]);
  });

  it("is warned of when it is more than five minutes ahead, at the first load too", async (t) => {
    const folder = await makeRows(join(temporaryFolder(t), "rows"), 1);
    const at = (aheadMs: number): string => new Date(Date.now() + aheadMs).toISOString();
    changeManifest(folder, { createdAt: at(3_600_000) });
    const { state } = await follow(t, folder);
    for (const createdAt of [at(200_000), at(86_400_000)]) {
      changeManifest(folder, { createdAt });
      await until(() => state.createdAt === createdAt, "it");
    }
    const ahead = state.seen.flatMap((one) => (one.kind === "data-ahead" ? [one.seconds] : []));
    const hours = ahead.map((seconds) => Math.ceil(seconds / 3600));
    assert.deepEqual(hours, [1, 24]);
  });

  it("is not taken where a file is another one, or none", async (t) => {
    const root = temporaryFolder(t);
    const folder = await makeRows(join(root, "rows"), 1);
    const { state, keeper } = await follow(t, folder);
    const instances = join(folder, "instances.ndjson");
    const text = readFileSync(instances, "utf8");
    const id = keeper.served.generation!.store.id;
    const refused = (): number => state.seen.filter(({ kind }) => kind === "snapshot-refused").length;
    const createdAt = "2026-11-23T12:00:00Z";
    replace(instances, `${text}\n`);
    changeManifest(folder, { createdAt });
    await until(() => refused() === 1, "a file that is not what is listed");
    rmSync(instances);
    changeManifest(folder, { createdAt });
    await until(() => refused() === 2, "a file that is missing");
    assert.notEqual(state.createdAt, createdAt);
    replace(instances, text);
    await until(() => state.createdAt === createdAt, "what was there before");
    assert.equal(keeper.served.generation!.store.id, id);
  });
});

describe("a snapshot that is published anew while it is read", () => {
  for (const manifest of [true, false]) {
    it(`is ${manifest ? "taken: its manifest lists what was read" : "read once more without a manifest"}`, async (t) => {
      const root = temporaryFolder(t);
      const dir = join(root, "dir");
      for (const seed of [1, 2]) {
        await makeRows(join(root, String(seed)), seed);
        if (!manifest) rmSync(join(root, String(seed), "manifest.json"));
      }
      symlinkSync("1", dir);
      const { store } = mustLoad(await loadSnapshot(dir));
      const switchOnce = (): void => {
        if (readlinkSync(dir) === "1") turnLink(dir, "2");
      };
      const loaded = await loadSnapshot(dir, { onProgress: switchOnce });
      assert.equal(readlinkSync(dir), "2");
      if (manifest) assert.ok(loaded.ok && loaded.store.id === store.id);
      else {
        assert.ok(!loaded.ok && loaded.changed);
        assert.deepEqual(problemsOf(loaded), [`${dir}: changed while it was being read`]);
      }
    });
  }
});

it("what has shrunk is taken once by a reload that allows it", async (t) => {
  const root = temporaryFolder(t);
  const large = await makeRows(join(root, "l"), 1, 200);
  const small = await makeRows(join(root, "s"), 2, 50);
  const dir = join(root, "dir");
  turnLink(dir, large);
  const { keeper, state } = await follow(t, dir);
  const users = (): number => keeper.served.generation!.store.users.rows;
  turnLink(dir, small);
  await keeper.reload();
  assert.ok(users() > 150);
  await keeper.reload(true);
  assert.ok(users() <= 50);
  turnLink(dir, large);
  await until(() => users() > 150, "the large one again");
  turnLink(dir, small);
  await keeper.reload();
  assert.ok(users() > 150, "only once");
  assert.match(JSON.stringify(state.seen.at(-1)), /use --allow-shrink/);
});
