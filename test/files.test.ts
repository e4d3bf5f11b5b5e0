/** Locks and folders: no change is lost, whatever happened to the previous owner. */

import assert from "node:assert/strict";
import {
  existsSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { claimFolder } from "../src/files/folders.ts";
import { withLock } from "../src/files/lock.ts";
import { temporaryFolder } from "./support/folders.ts";
import { deferred } from "./support/patience.ts";
import { until } from "./support/process.ts";

function counter(t: TestContext): { file: string; lock: string } {
  const file = join(temporaryFolder(t), "count");
  writeFileSync(file, "0");
  return { file, lock: `${file}.lock` };
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
    ["a file", (lock) => writeFileSync(lock, "4711")],
    ["an empty file", (lock) => writeFileSync(lock, "")],
    ["a link that leads nowhere", (lock) => symlinkSync("nowhere", lock)],
  ];
  for (const [what, leave] of left) {
    it(`that a dead holder left is taken from it, ${what}`, async (t) => {
      const { file, lock } = counter(t);
      leave(lock);
      date(lock, 60_000);
      // Processes see the stale lock together; only one may remove it, and none may remove the next lock.
      await countTo(file, 20);
    });
  }

  it("of a dead holder counts until it is ten seconds old", async (t) => {
    const { file, lock } = counter(t);
    writeFileSync(lock, "");
    date(lock, 8500);
    const began = performance.now();
    await countTo(file, 1);
    assert.ok(performance.now() - began > 1000);
  });

  it("of a living holder is renewed, and waited for", async (t) => {
    const { file, lock } = counter(t);
    const order: string[] = [];
    const released = deferred();
    const holding = withLock(file, async () => {
      await released.promise;
      order.push("holder");
    });
    await until(() => existsSync(lock), "the lock");
    const taken = statSync(lock).mtimeMs;
    const waiting = withLock(file, async () => void order.push("waiter"));
    await until(() => statSync(lock).mtimeMs > taken, "a sign of life");
    assert.deepEqual(order, []);
    released.resolve();
    await Promise.all([holding, waiting]);
    assert.deepEqual(order, ["holder", "waiter"]);
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
        writeFileSync(lock, "of another");
        setTimeout(() => {
          assert.equal(runs, 1, "it is somebody else's turn");
          rmSync(lock);
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

describe("a folder", () => {
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
