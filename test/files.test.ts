/** Locks and folders: no change is lost, whatever happened to the previous owner. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import files, { readFile, writeFile } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { basename, dirname, join } from "node:path";
import { describe, it, mock, type TestContext } from "node:test";
import { claimFolder, makeFolder } from "../src/files/folders.ts";
import { withLock } from "../src/files/ownership.ts";
import { importFailure } from "../src/util/optional-package.ts";
import { temporaryFolder } from "./support/folders.ts";
import { assertInTime, deferred } from "./support/patience.ts";
import { until } from "./support/process.ts";

const MINUTE_MS = 60_000;

function counter(t: TestContext): { folder: string; file: string; lock: string } {
  const folder = temporaryFolder(t);
  const file = join(folder, "count");
  writeFileSync(file, "0");
  return { folder, file, lock: `${file}.lock` };
}

function date(path: string, agoMs: number): void {
  const time = new Date(Date.now() - agoMs);
  lutimesSync(path, time, time);
}

async function count(file: string): Promise<void> {
  const before = Number(await readFile(file, "utf8"));
  await new Promise((resolve) => setTimeout(resolve, 2));
  await writeFile(file, String(before + 1));
}

/** Counts to a number under the lock, which must leave nothing behind. */
async function countTo(file: string, times: number): Promise<void> {
  await Promise.all(Array.from({ length: times }, () => withLock(file, () => count(file))));
  assert.equal(readFileSync(file, "utf8"), String(times));
  assert.deepEqual(readdirSync(dirname(file)), [basename(file)]);
}

describe("a lock", { concurrency: true }, () => {
  const left: readonly [what: string, leave: (lock: string) => void][] = [
    ["a folder", (lock) => mkdirSync(lock)],
    ["a file, as earlier versions made it", (lock) => writeFileSync(lock, "4711")],
    ["an empty file", (lock) => writeFileSync(lock, "")],
    ["a link that leads nowhere", (lock) => symlinkSync("nowhere", lock)],
  ];
  for (const [what, leave] of left) {
    it(`that a dead holder left is taken from it, ${what}`, async (t) => {
      const { file, lock } = counter(t);
      leave(lock);
      date(lock, MINUTE_MS);
      // Processes see the stale lock together; only one may remove it, and none may remove the next lock.
      await countTo(file, 20);
    });
  }

  it("can be taken after a process died while it removed a lock", async (t) => {
    const { file, lock } = counter(t);
    for (const path of [lock, `${lock}.breaking`]) {
      mkdirSync(path);
      date(path, MINUTE_MS);
    }
    await countTo(file, 5);
    // As if killed between removing the lock and removing its guard.
    mkdirSync(`${lock}.breaking`);
    writeFileSync(file, "0");
    await countTo(file, 1);
  });

  it("of a process that is gone is taken at once, of one in another container when it is no longer renewed", async (t) => {
    const { folder, file, lock } = counter(t);
    let mark = "";
    await withLock(file, async () => {
      mark = readFileSync(lock, "utf8");
    });
    const gone = spawn(process.execPath, ["-e", ""]);
    await once(gone, "exit");
    const told: string[] = [];
    const tell = (text: string): unknown => told.push(text);
    const take = (changes: object): Promise<void> => {
      writeFileSync(lock, JSON.stringify({ ...JSON.parse(mark), ...changes }));
      date(lock, 3000);
      return withLock(file, () => count(file), tell);
    };
    const began = performance.now();
    await take({ pid: gone.pid });
    assertInTime(began, 1000, "the lock of a process that is gone");
    assert.deepEqual(told, []);
    const later = performance.now();
    await take({ space: "elsewhere", pid: gone.pid });
    assert.ok(performance.now() - later > 1500);
    assert.equal(told.length, 1);
    assert.equal(readFileSync(file, "utf8"), "2");
    assert.deepEqual(readdirSync(folder), ["count"]);
  });

  it("of a living holder is renewed, waited for, and the wait is told once", async (t) => {
    const { file, lock } = counter(t);
    const order: string[] = [];
    const told: string[] = [];
    const released = deferred();
    const holding = withLock(file, async () => {
      await released.promise;
      order.push("holder");
    });
    await until(() => existsSync(lock), "the lock");
    const taken = statSync(lock).mtimeMs;
    const tell = (text: string): unknown => told.push(text);
    const waiting = withLock(file, async () => void order.push("waiter"), tell);
    await until(() => statSync(lock).mtimeMs > taken, "a sign of life");
    await until(() => told.length > 0, "a word to the user");
    assert.deepEqual(order, []);
    released.resolve();
    await Promise.all([holding, waiting]);
    assert.deepEqual(order, ["holder", "waiter"]);
    assert.equal(told.length, 1);
    assert.match(told[0]!, /^orrery: another command is changing [^\n]*count; waiting [^\n]*\n$/);
  });

  it("that was lost midway is noticed, and the work begun anew when it is free again", async (t) => {
    const { file, lock } = counter(t);
    let runs = 0;
    await withLock(file, async (assertHeld) => {
      runs++;
      if (runs === 1) {
        await assertHeld();
        // Another process took this one for dead.
        rmSync(lock);
        mkdirSync(lock);
        setTimeout(() => {
          assert.equal(runs, 1, "it is somebody else's turn");
          rmdirSync(lock);
        }, 100);
      }
      await assertHeld();
      await count(file);
    });
    assert.equal(runs, 2);
    assert.equal(readFileSync(file, "utf8"), "1");
    assert.ok(!existsSync(lock));
  });
});

it("a lock of a dead holder is not removed by one who saw it late, when it is another's already", async (t) => {
  const { file, lock } = counter(t);
  mkdirSync(lock);
  date(lock, MINUTE_MS);
  const [bothSaw, taken] = [deferred(), deferred()];
  let breaking = 0;
  let looked = false;
  const make = files.mkdir as (path: string) => Promise<undefined>;
  const delayed = mock.method(files, "mkdir", async (path: string) => {
    // Both see the stale lock; the second tries to remove it after the first has removed and taken it.
    const turn = path.endsWith(".breaking") ? ++breaking : 0;
    if (turn === 2) bothSaw.resolve();
    if (turn === 1) await bothSaw.promise;
    if (turn === 2) await taken.promise;
    await make(path);
    if (turn === 2) looked = true;
  });
  syncBuiltinESMExports();
  t.after(() => {
    delayed.mock.restore();
    syncBuiltinESMExports();
  });
  let runs = 0;
  const work = async (assertHeld: () => Promise<void>): Promise<void> => {
    runs++;
    taken.resolve();
    await until(() => looked && !existsSync(`${lock}.breaking`), "the second to be done with it");
    await assertHeld();
    await count(file);
  };
  await Promise.all([withLock(file, work), withLock(file, work)]);
  assert.equal(runs, 2, "nobody had to begin anew");
  assert.equal(readFileSync(file, "utf8"), "2");
});

describe("a folder", () => {
  it("is made with those above it", async (t) => {
    const folder = temporaryFolder(t);
    assert.equal(await makeFolder(join(folder, "a/b/c")), join(folder, "a"));
    assert.equal(await makeFolder(join(folder, "a/b/c/")), undefined);
    assert.equal(await makeFolder(join(folder, "a/b/d")), join(folder, "a/b/d"));
    await Promise.all(Array.from({ length: 8 }, () => makeFolder(join(folder, "x/y/z"))));
    assert.ok(existsSync(join(folder, "x/y/z")));
  });

  it("is refused where it cannot be", { timeout: 60_000 }, async (t) => {
    const folder = temporaryFolder(t);
    writeFileSync(join(folder, "file"), "");
    await assert.rejects(makeFolder(join(folder, "file")), { code: "EEXIST" });
    await assert.rejects(makeFolder(join(folder, "file/a/b")), { code: "ENOTDIR" });
    if (existsSync("/proc/self")) await assert.rejects(makeFolder("/proc/none/a"), { code: "ENOENT" });
  });

  it("that was claimed in vain is removed again, but not what is in it", async (t) => {
    const folder = temporaryFolder(t);
    await (await claimFolder(join(folder, "a/b")))();
    assert.equal(existsSync(join(folder, "a")), false);
    mkdirSync(join(folder, "c"));
    await (await claimFolder(join(folder, "c")))();
    assert.ok(existsSync(join(folder, "c")));
    const unclaim = await claimFolder(join(folder, "c/d/e"));
    writeFileSync(join(folder, "c/d/file"), "");
    await unclaim();
    assert.deepEqual(readdirSync(join(folder, "c/d")), ["file"]);
  });
});

it("an optional package that cannot be imported is to be installed; other failures stay what they are", () => {
  const why = (names: readonly string[], code: string): string => {
    const error = Object.assign(new Error(`${code}: the cause`), { code });
    return (importFailure(names, error, (what) => new Error(what)) as Error).message;
  };
  const line = "npm install a (with --global where orrery was)";
  assert.equal(why(["a"], "ERR_MODULE_NOT_FOUND"), `needs a package that is not installed: ${line}`);
  assert.equal(why(["a"], "EACCES"), `needs a package that is not installed (EACCES: the cause): ${line}`);
  assert.match(why(["a", "@b/c"], "MODULE_NOT_FOUND"), /^needs packages that are .*: npm install a @b\/c \(/);
  assert.equal(why(["a"], "ERR_DLOPEN_FAILED"), "ERR_DLOPEN_FAILED: the cause");
});
