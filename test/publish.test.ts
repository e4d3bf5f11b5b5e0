/** Publishing versions of a folder by a symbolic link. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import files, { writeFile } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { currentVersion, keepEarlier, publishVersion, versionsOf } from "../src/files/publish.ts";
import { temporaryFolder } from "./support/folders.ts";
import { replace } from "./support/place.ts";

/** Publishes a version that holds one file. */
async function publish(dir: string, text: string, options?: Parameters<typeof publishVersion>[2]) {
  const fill = async (folder: string): Promise<string> => {
    await writeFile(join(folder, "file"), text);
    return folder;
  };
  return (await publishVersion(dir, fill, options))!;
}

/** The names of the versions, in order. */
const versionNames = (dir: string): string[] => readdirSync(versionsOf(dir)).sort();

/** A place for a published folder in a folder of the test. */
const placeIn = (test: TestContext): string => join(temporaryFolder(test), "snapshot");

const textAt = (dir: string): string => readFileSync(join(dir, "file"), "utf8");

/** Leaves a version of a killed process: its owner file names a process that has ended. */
async function leaveDead(dir: string, name: string): Promise<void> {
  const child = spawn(process.execPath, ["-e", ""]);
  await once(child, "exit");
  const [, mark] = await new Promise<readonly [string, string]>((resolve) => {
    void publishVersion(dir, async (folder) => {
      resolve([folder, readFileSync(`${folder}.owner`, "utf8")]);
      return undefined;
    });
  });
  const versions = versionsOf(dir);
  mkdirSync(join(versions, name), { recursive: true });
  writeFileSync(join(versions, name, "file"), "half");
  writeFileSync(join(versions, `${name}.owner`), JSON.stringify({ ...JSON.parse(mark), pid: child.pid }));
  symlinkSync("nowhere", join(versions, `${name}.link`));
}

const KILLED = "20260101T000000000Z-0123abcd";

describe("publishing", () => {
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
    assert.deepEqual(kept, made.slice(1));
    assert.equal(textAt(made[1]!), "2");
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

  it("removes what a killed process left, and nothing of one that lives or that is foreign", async (test) => {
    const dir = placeIn(test);
    await leaveDead(dir, KILLED);
    const versions = versionsOf(dir);
    mkdirSync(join(versions, "mine"));
    // An owner on another machine counts as alive as long as it renews its file.
    for (const [name, ageSeconds] of [
      ["20260101T000000000Z-00000001", 10],
      ["20260101T000000000Z-00000002", 1000],
    ] as const) {
      mkdirSync(join(versions, name));
      writeFileSync(join(versions, `${name}.owner`), '{"space":"elsewhere","pid":1,"begin":""}');
      const time = Date.now() / 1000 - ageSeconds;
      utimesSync(join(versions, `${name}.owner`), time, time);
    }
    const made = await publishVersion(dir, async (folder) => {
      assert.deepEqual(
        readdirSync(versions).filter((name) => !folder.endsWith(name.replace(".owner", ""))),
        ["20260101T000000000Z-00000001", "20260101T000000000Z-00000001.owner", "mine"],
      );
      // Another publication in the same process does not remove it as stale.
      await publish(dir, "other");
      assert.ok(existsSync(folder));
      return folder;
    });
    assert.equal(realpathSync(dir), realpathSync(made!));
  });

  it("keeps what the link leads to, though its process was killed right after the switch", async (test) => {
    const dir = placeIn(test);
    await publish(dir, "1");
    await leaveDead(dir, KILLED);
    const link = readlinkSync(dir);
    symlinkSync(`snapshot.versions/${KILLED}`, `${dir}.link`);
    renameSync(`${dir}.link`, dir);
    await publishVersion(dir, async (_folder, current) => assert.equal(textAt(current!), "half"));
    assert.equal(textAt(dir), "half");
    assert.deepEqual(versionNames(dir), [KILLED, link.split("/")[1]].sort());
  });

  it("keeps as many earlier versions as it is told to", async (test) => {
    const dir = placeIn(test);
    const texts = (): string[] => versionNames(dir).map((name) => textAt(join(versionsOf(dir), name)));
    for (const text of ["1", "2", "3", "4", "5"]) await publish(dir, text, { keep: 3 });
    assert.deepEqual(texts(), ["2", "3", "4", "5"]);
    for (const text of ["5 live", "5 live again"]) await publish(dir, text, { keep: 3, replaces: true });
    assert.deepEqual([texts(), textAt(dir)], [["2", "3", "4", "5 live again"], "5 live again"]);
    await publish(dir, "6", { keep: 0 });
    assert.deepEqual(texts(), ["6"]);
  });

  it("drops earlier versions with the data that are published again", async (test) => {
    const dir = placeIn(test);
    const texts = (): string[] => versionNames(dir).map((name) => textAt(join(versionsOf(dir), name)));
    for (const text of ["1", "2", "3", "2", "3", "1"])
      await publish(dir, text, { keep: 3, isSame: async (folder) => textAt(folder) === text });
    assert.deepEqual([texts(), textAt(dir)], [["2", "3", "1"], "1"]);
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

describe("an earlier version", () => {
  const NAMES = ["file", "more"];

  it("of a plain folder is links to its files, three at most, none with the data that are published again", async (test) => {
    const dir = placeIn(test);
    mkdirSync(dir);
    const texts = (): string[] => versionNames(dir).map((name) => textAt(join(versionsOf(dir), name)));
    const put = async (text: string): Promise<void> => {
      await keepEarlier(dir, NAMES, async (folder) => textAt(folder) === text);
      for (const name of text === "2" ? NAMES : ["file"]) replace(join(dir, name), text);
      if (text !== "2") rmSync(join(dir, "more"), { force: true });
    };
    for (const text of ["1", "2", "3"]) await put(text);
    assert.deepEqual(texts(), ["1", "2"]);
    assert.deepEqual(
      versionNames(dir).map((name) => readdirSync(join(versionsOf(dir), name))),
      [["file"], NAMES],
    );
    for (const text of ["4", "5"]) await put(text);
    assert.deepEqual(texts(), ["2", "3", "4"]);
    await put("3");
    assert.deepEqual(texts(), ["2", "4", "5"]);
    await put("3");
    assert.deepEqual(texts(), ["2", "4", "5"], "equal data are no version");
  });

  it("leaves no folder where none can be kept", async (test) => {
    const dir = placeIn(test);
    mkdirSync(dir);
    replace(join(dir, "file"), "1");
    const full = Object.assign(new Error("full"), { code: "ENOSPC" });
    const refusing = test.mock.method(files, "link", () => Promise.reject(full));
    syncBuiltinESMExports();
    await assert.rejects(keepEarlier(dir, NAMES), full);
    refusing.mock.restore();
    syncBuiltinESMExports();
    assert.ok(!existsSync(versionsOf(dir)));
  });
});
