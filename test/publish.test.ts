/** Publishing versions of a folder by a symbolic link. */

import assert from "node:assert/strict";
import {
  existsSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { currentVersion, publishVersion, unpublishVersion, versionsOf } from "../src/files/publish.ts";
import { temporaryFolder } from "./support/folders.ts";
import { until } from "./support/process.ts";
import { turnLink } from "./support/published.ts";

/** Publishes a version that holds one file. */
async function publish(dir: string, text: string, options?: Parameters<typeof publishVersion>[2]) {
  const fill = async (folder: string): Promise<true> => {
    await writeFile(join(folder, "file"), text);
    return true;
  };
  return (await publishVersion(dir, fill, options))!.folder;
}

/** The names of the versions, in order. */
const versionNames = (dir: string): string[] => readdirSync(versionsOf(dir)).sort();

/** A place for a published folder in a folder of the test. */
const placeIn = (test: TestContext): string => join(temporaryFolder(test), "snapshot");

const textAt = (dir: string): string => readFileSync(join(dir, "file"), "utf8");

/** The texts of the versions, in order. */
const textsIn = (dir: string): string[] =>
  versionNames(dir).map((name) => textAt(join(versionsOf(dir), name)));

/** Leaves a version that a process began some time ago and no longer renews. */
function leavePartial(dir: string, number: number, ageSeconds: number): void {
  const folder = join(versionsOf(dir), `20260101T000000000Z-0000000${number}.partial`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "file"), "half");
  const time = Date.now() / 1000 - ageSeconds;
  utimesSync(folder, time, time);
}

describe("publishing", () => {
  it("removes the link to one version, and not to a later one", async (test) => {
    const dir = placeIn(test);
    const first = await publish(dir, "first");
    const second = await publish(dir, "second");
    await unpublishVersion(dir, first);
    assert.equal(await currentVersion(dir), second);
    await unpublishVersion(dir, second);
    assert.equal(await currentVersion(dir), undefined);
  });

  it("makes a link beside a folder of versions and keeps the version before", async (test) => {
    const dir = join(temporaryFolder(test), "new/snapshot");
    assert.equal(await currentVersion(dir).catch(() => "no folder"), undefined);
    const made: string[] = [];
    for (const text of ["1", "2", "3"]) {
      made.push(await publish(`${dir}/`, text));
      assert.equal(textAt(dir), text);
      assert.ok(lstatSync(dir).isSymbolicLink());
      assert.ok(!readlinkSync(dir).startsWith("/"), "can be moved with its parent");
      assert.equal(await currentVersion(dir), made.at(-1));
    }
    const kept = versionNames(dir).map((name) => join(versionsOf(dir), name));
    assert.deepEqual([kept, textsIn(dir)], [made.slice(1), ["2", "3"]]);
  });

  it("publishes nothing and leaves nothing when the work fails", async (test) => {
    const dir = placeIn(test);
    const fail = () =>
      publishVersion(dir, async (folder) => {
        await writeFile(join(folder, "file"), "half");
        throw new Error("broken");
      });
    await assert.rejects(fail, /^Error: broken$/);
    assert.ok(!existsSync(versionsOf(dir)) && !existsSync(dir));
    await publish(dir, "1");
    await assert.rejects(fail, /^Error: broken$/);
    assert.equal(textAt(dir), "1");
    assert.equal(versionNames(dir).length, 1);
  });

  it("replaces an empty folder, and nothing else that it did not make", async (test) => {
    const parent = temporaryFolder(test);
    const dir = join(parent, "snapshot");
    mkdirSync(dir);
    await publish(dir, "1");
    assert.equal(textAt(dir), "1");

    const held = join(parent, "held");
    mkdirSync(held);
    writeFileSync(join(held, "mine"), "");
    writeFileSync(join(parent, "file"), "");
    symlinkSync("held", join(parent, "foreign"));
    for (const [name, why] of [
      ["held", /is a folder that this command did not make/],
      ["file", /is a file/],
      ["foreign", /is a symbolic link that this command did not make: it leads to held$/],
    ] as const) {
      const before = readdirSync(parent);
      await assert.rejects(publish(join(parent, name), "2"), { name: "OccupiedError", message: why });
      assert.deepEqual(readdirSync(parent), before);
    }
    assert.deepEqual(readdirSync(held), ["mine"]);
  });

  it("removes what killed processes left, and nothing of one that lives or that is foreign", async (test) => {
    const dir = placeIn(test);
    leavePartial(dir, 1, 10);
    leavePartial(dir, 2, 1000);
    const versions = versionsOf(dir);
    mkdirSync(join(versions, "mine"));
    symlinkSync("nowhere", join(versions, "next"));
    const others = ["20260101T000000000Z-00000001.partial", "mine"];
    await publishVersion(dir, async (folder) => {
      const here = basename(folder);
      assert.deepEqual(readdirSync(versions).sort(), [others[0], here, "mine", "next"].sort());
      // It shows that it lives: another publication does not remove it.
      utimesSync(folder, 0, 0);
      await until(() => statSync(folder).mtimeMs > 0, "a sign of life");
      await publish(dir, "other");
      assert.ok(existsSync(folder));
      return true;
    });
    assert.equal(versionNames(dir).length, 2 + others.length);
  });

  it("waits for the last steps of another process, and takes them from a dead one", async (test) => {
    const dir = placeIn(test);
    await publish(dir, "1");
    const lock = join(versionsOf(dir), "publish.lock");
    writeFileSync(lock, "");
    const second = publish(dir, "2");
    await sleep(100);
    assert.equal(textAt(dir), "1");
    lutimesSync(lock, 0, 0);
    await second;
    assert.equal(textAt(dir), "2");
    assert.ok(!existsSync(lock));
  });

  it("keeps as many earlier versions as it is told to", async (test) => {
    const dir = placeIn(test);
    for (const text of ["1", "2", "3", "4", "5"]) await publish(dir, text, { keep: 3 });
    assert.deepEqual(textsIn(dir), ["2", "3", "4", "5"]);
    // Published again by hand: it was the last one that was served, so it stays.
    const oldest = versionNames(dir)[0]!;
    turnLink(dir, join("snapshot.versions", oldest));
    await publish(dir, "6", { keep: 2 });
    assert.deepEqual(textsIn(dir), ["2", "5", "6"]);
    await publish(dir, "7", { keep: 0 });
    assert.deepEqual(textsIn(dir), ["7"]);
  });

  it("drops earlier versions with the data that are published again", async (test) => {
    const dir = placeIn(test);
    for (const text of ["1", "2", "3", "2", "3", "1"])
      await publish(dir, text, { keep: 3, isSame: async (folder) => textAt(folder) === text });
    assert.deepEqual([textsIn(dir), textAt(dir)], [["2", "3", "1"], "1"]);
  });

  it("by many at once leaves a whole version, the last one's, and at most another", async (test) => {
    const dir = placeIn(test);
    for (let round = 0; round < 5; round++) {
      await Promise.all(Array.from({ length: 8 }, (_, at) => publish(dir, `${round} ${at}`)));
      assert.match(textAt(dir), new RegExp(`^${round} \\d$`));
    }
    await publish(dir, "last");
    assert.equal(versionNames(dir).length, 2);
  });
});
