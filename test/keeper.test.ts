/** Keeping keys and snapshot current: the order of steps, and retries after a failure. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { cpSync, utimesSync, writeFileSync } from "node:fs";
import files from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { KeyRing } from "../src/auth/keys.ts";
import { createCounters } from "../src/auth/limit.ts";
import { keepKeys } from "../src/auth/watched-keys.ts";
import { generateSnapshot } from "../src/generate/generate.ts";
import type { Observation } from "../src/observe/events.ts";
import { indexUsers } from "../src/search/search.ts";
import { SnapshotKeeper } from "../src/server/load/keeper.ts";
import { indexLoaded, type Loader, loadHere } from "../src/server/load/loader.ts";
import type { SnapshotOptions } from "../src/server/load/snapshot-loads.ts";
import { fingerprintOf } from "../src/snapshot/files.ts";
import { temporaryFolder } from "./support/folders.ts";
import { SEARCH_BOUNDS } from "./support/loaded.ts";
import { deferred, PATIENCE_MS } from "./support/patience.ts";
import { keyRecord } from "./support/place.ts";
import { until } from "./support/process.ts";
import { turnLink } from "./support/published.ts";

const folder = temporaryFolder();
const snapshot = join(folder, "snapshot");
const other = join(folder, "other");
const sizes = { users: 20, worlds: 10, instances: 3, gzip: false };
await generateSnapshot({ ...sizes, out: snapshot, seed: 1 });
await generateSnapshot({ ...sizes, out: other, seed: 2 });

/** Runs due callbacks, and the ones that they cause. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
}

function watched(where: string, load: Loader, seen: Observation[]): SnapshotOptions {
  const observe = (one: Observation) => seen.push(one);
  return { folder: where, load, allowShrink: true, searchBounds: SEARCH_BOUNDS, observe };
}

const DIED = { ok: false, problems: ["out of memory"], fingerprint: undefined, died: true } as const;

const UNREAD = { ok: false, problems: ["users.ndjson: cannot be read"], fingerprint: undefined } as const;

describe("a load that fails although its files may be good", () => {
  for (const [what, failure] of Object.entries({
    "that died": DIED,
    "of a file that cannot be read": UNREAD,
  }))
    it(`${what}: is tried again after growing pauses, and at once when the files change`, async (t) => {
      const where = join(folder, what);
      cpSync(snapshot, where, { recursive: true });
      let loads = 0;
      let isFailing = false;
      const seen: Observation[] = [];
      const load: Loader = (...call) => {
        loads++;
        return isFailing ? Promise.resolve(failure) : loadHere(...call);
      };
      const keeper = await SnapshotKeeper.open(watched(where, load, seen), () => {});
      t.after(() => keeper.close());
      const pauses = (): (number | undefined)[] =>
        seen.flatMap((one) => (one.kind === "snapshot-refused" ? (one.retryMs ?? []) : []));

      t.mock.timers.enable({ apis: ["setTimeout"] });
      const tick = async (ms: number): Promise<void> => {
        for (let passed = 0; passed < ms; passed += 500) {
          t.mock.timers.tick(500);
          await settle();
        }
      };
      const untilTicked = async (isSo: () => boolean, most = 200): Promise<void> => {
        const began = performance.now();
        for (let round = 0; !isSo(); round++) {
          if (round < most) await tick(500);
          else assert.ok(performance.now() - began < PATIENCE_MS, "it never came");
          // Looks and loads use the real file system, which the mock clock does not drive.
          await fingerprintOf(snapshot);
          await settle();
        }
      };
      keeper.watch(1000);
      isFailing = true;
      cpSync(other, where, { recursive: true });
      await untilTicked(() => loads === 2);
      // Looks at unchanged files cause no load.
      await tick(4000);
      assert.equal(loads, 2);
      await untilTicked(() => loads === 3);
      await untilTicked(() => loads === 4);
      assert.deepEqual(pauses(), [5000, 10_000, 20_000]);
      // New files end the pause of twenty seconds early.
      await tick(3000);
      assert.equal(loads, 4);
      utimesSync(join(where, "users.ndjson"), new Date(), new Date(2_000_000_000_000));
      isFailing = false;
      await untilTicked(() => seen.at(-1)?.kind === "snapshot-loaded", 30);
      assert.equal(loads, 5);
      // The postponed retry does not load again.
      await tick(60_000);
      assert.equal(loads, 5);
    });
});

it("close ends a running load; reloads that wait settle, and nothing is loaded any more", async () => {
  let [loads, aborted] = [0, 0];
  const load: Loader = async (where, options) => {
    if (loads++ === 0) return loadHere(where, options);
    await once(options.signal!, "abort");
    aborted++;
    return DIED;
  };
  const seen: Observation[] = [];
  const keeper = await SnapshotKeeper.open(watched(snapshot, load, seen), () => {});
  const reloads = [keeper.reload(), keeper.reload()];
  await until(() => loads === 2, "the second load");
  keeper.close();
  keeper.close();
  await Promise.all([...reloads, keeper.reload()]);
  assert.deepEqual([loads, aborted], [2, 1]);
  assert.ok(!seen.some(({ kind }) => kind === "snapshot-refused"));
});

it("a snapshot that changes while it is read is a warning where it will be looked at again, and an error where it will not", async () => {
  const { died: _, ...refused } = DIED;
  for (const isWatched of [true, false]) {
    let loads = 0;
    const load: Loader = (...call) =>
      loads++ === 0 ? loadHere(...call) : Promise.resolve({ ...refused, changed: true });
    const seen: Observation[] = [];
    const keeper = await SnapshotKeeper.open(watched(snapshot, load, seen), () => {});
    if (isWatched) keeper.watch(60_000);
    await keeper.reload();
    keeper.close();
    const report = await until(() => seen.find(({ kind }) => kind === "snapshot-refused"), "the report");
    assert.equal("changing" in report, isWatched);
  }
});

it("a refusal has a line of its end when the served files are back", async (t) => {
  const broken = join(folder, "broken");
  cpSync(other, broken, { recursive: true });
  writeFileSync(join(broken, "users.ndjson"), "{}\n");
  const dir = join(folder, "turned");
  turnLink(dir, snapshot);
  const seen: Observation[] = [];
  const keeper = await SnapshotKeeper.open(watched(dir, loadHere, seen), () => {});
  t.after(() => keeper.close());
  keeper.watch(10);
  // A load refuses the first; the second is no folder, so no load begins.
  for (const place of [broken, join(broken, "users.ndjson")]) {
    seen.length = 0;
    turnLink(dir, place);
    await until(() => seen.some(({ kind }) => kind === "snapshot-refused"), "the refusal");
    turnLink(dir, snapshot);
    await until(() => seen.some(({ kind }) => kind === "snapshot-unchanged"), "the end of the refusal");
    // Further checks say nothing.
    await sleep(100);
    assert.equal(seen.map(({ kind }) => kind).join(), "snapshot-refused,snapshot-unchanged");
  }
  assert.equal((await keeper.reload()).result, "unchanged");
});

describe("indexing", () => {
  it("refuses more than an index can hold until the files change", async () => {
    const refused = await indexLoaded("DIR", { fingerprint: "seen" }, () => {
      indexUsers(2 ** 25 + 1, () => "");
      throw new Error("it was indexed");
    });
    assert.ok("problems" in refused);
    const problem = "DIR: cannot be indexed for search: more than 33554432 names of users";
    assert.deepEqual([refused.problems, refused.fingerprint], [[problem], "seen"]);
  });

  it("refuses what there is no memory for now, to be tried again", async () => {
    const refused = await indexLoaded("DIR", { fingerprint: "seen" }, () => {
      throw new RangeError("Array buffer allocation failed");
    });
    assert.ok("problems" in refused && refused.died && refused.fingerprint === undefined);
  });
});

describe("keys", () => {
  const textOf = (...ids: string[]): string =>
    JSON.stringify({ keys: ids.map((id) => keyRecord(`svcx_${id}`, { id })) });

  const FAKE = "keys.json";

  /** Stands in for the file system with a keys file in memory; a test can delay each read. */
  function fakeFiles(t: TestContext) {
    const fake = { text: textOf("a"), version: 0, reads: [] as (() => Promise<string>)[], count: 0 };
    const real = { ...files };
    // Immediate, so that the order of reads does not depend on the machine.
    const ofFake = async () => ({ ino: BigInt(fake.version), size: 0n, isFile: () => true });
    // Servers of other tests in this process may look at files of their own meanwhile.
    const stat = (path: string, options?: object) => (path === FAKE ? ofFake() : real.stat(path, options));
    const open = async (path: string, ...more: (string | number)[]) => {
      if (path !== FAKE) return real.open(path, ...more);
      fake.count++;
      let rest = Buffer.from(await (fake.reads.shift()?.() ?? fake.text));
      const read = async (into: Buffer, at: number) => {
        const bytesRead = rest.copy(into, at);
        rest = rest.subarray(bytesRead);
        return { bytesRead };
      };
      return { stat: ofFake, read, close: async () => {} };
    };
    const mocked = [t.mock.method(files, "open", open), t.mock.method(files, "stat", stat)];
    syncBuiltinESMExports();
    t.after(() => {
      for (const { mock } of mocked) mock.restore();
      syncBuiltinESMExports();
    });
    return fake;
  }

  /** Keeps the keys of a fake file until the test is over. */
  async function keep(t: TestContext, take: (ring: KeyRing) => unknown = () => {}) {
    const fake = fakeFiles(t);
    const kinds: string[] = [];
    const keeper = await keepKeys(
      FAKE,
      createCounters(60),
      ({ kind }) => kinds.push(kind),
      (ring) => void take(ring),
    );
    t.after(keeper.stop);
    return { fake, keeper, kinds };
  }

  it("are read one reading after the other: a slow older one has not the last word", async (t) => {
    const taken: string[][] = [];
    const { fake, keeper } = await keep(t, (ring) => taken.push(Array.from(ring.bySlot, (key) => key!.id)));
    const reading = deferred<string>();
    fake.reads.push(() => reading.promise);
    const slow = keeper.reload();
    await until(() => fake.count === 2, "the slow reading");
    fake.text = textOf("a", "b");
    const later = keeper.reload();
    await settle();
    assert.equal(fake.count, 2);
    reading.resolve(textOf("a"));
    await Promise.all([slow, later]);
    assert.deepEqual(taken.at(-1), ["a", "b"]);
  });

  it("with a fault are read again when the file changes, and not before", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const { fake, kinds } = await keep(t);
    const look = async (): Promise<string> => {
      t.mock.timers.tick(500);
      await settle();
      return `${fake.count} ${kinds.at(-1)}`;
    };
    fake.text = "no keys";
    fake.version = 1;
    for (let time = 0; time < 3; time++) assert.equal(await look(), "2 keys-refused");
    fake.text = textOf("a", "b");
    fake.version = 2;
    assert.equal(await look(), "3 keys-loaded");
  });

  it("that could not be read, for whatever reason, are read at the next check", async (t) => {
    const taken: number[] = [];
    let isBroken = false;
    const { fake, kinds } = await keep(t, (ring) => {
      if (isBroken) throw new Error("cannot be taken");
      taken.push(ring.size);
    });
    const noDescriptor = (): Promise<string> =>
      Promise.reject(Object.assign(new Error("EMFILE"), { code: "EMFILE", syscall: "open" }));
    fake.reads.push(noDescriptor, noDescriptor);
    fake.text = textOf("a", "b");
    fake.version = 1;
    await until(() => taken.at(-1) === 2, "the new key");
    assert.deepEqual(kinds, ["keys-loaded", "keys-refused", "keys-loaded"]);
    isBroken = true;
    fake.text = textOf("a", "b", "c");
    fake.version = 2;
    await until(() => kinds.at(-1) === "defect", "the defect");
    isBroken = false;
    await until(() => taken.at(-1) === 3, "the third key");
  });
});
