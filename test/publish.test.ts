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
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { currentVersion, OccupiedError, publishVersion, versionsOf } from "../src/sources/publish.ts";
import { temporaryFolder } from "./support/folders.ts";

/** Publishes a version of one file. */
async function publish(dir: string, text: string): Promise<string> {
  const done = await publishVersion(dir, async (folder) => {
    await writeFile(join(folder, "file"), text);
    return folder;
  });
  return done!;
}

const textAt = (dir: string): string => readFileSync(join(dir, "file"), "utf8");

/** A version that its process was killed over: a process has ended whose mark is there. */
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
    assert.deepEqual(
      readdirSync(versionsOf(dir)).map((name) => join(versionsOf(dir), name)),
      made.slice(1),
    );
    assert.equal(textAt(made[1]!), "2");
  });

  it("tells what is published now, publishes nothing for undefined, and leaves nothing then", async (test) => {
    const dir = join(temporaryFolder(test), "snapshot");
    await publishVersion(dir, async (_folder, current) => assert.equal(current, undefined));
    assert.ok(!existsSync(versionsOf(dir)) && !existsSync(dir));
    const first = await publish(dir, "1");
    const seen: unknown[] = [];
    await publishVersion(dir, async (folder, current) => {
      await writeFile(join(folder, "file"), "2");
      seen.push(current);
      return undefined;
    });
    assert.deepEqual(seen, [first]);
    assert.deepEqual(readdirSync(versionsOf(dir)), [readlinkSync(dir).split("/").at(-1)]);
  });

  it("publishes nothing and leaves nothing when the work fails", async (test) => {
    const dir = join(temporaryFolder(test), "snapshot");
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
    assert.equal(readdirSync(versionsOf(dir)).length, 1);
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
      await assert.rejects(publish(join(parent, name), "2"), (error: Error) => {
        assert.ok(error instanceof OccupiedError);
        assert.match(error.message, why);
        return true;
      });
      assert.deepEqual(readdirSync(parent), before);
    }
    assert.deepEqual(readdirSync(held), ["mine"]);
  });

  it("removes what a killed process left, and nothing of one that lives or that is foreign", async (test) => {
    const dir = join(temporaryFolder(test), "snapshot");
    await leaveDead(dir, KILLED);
    const versions = versionsOf(dir);
    mkdirSync(join(versions, "mine"));
    // Of another machine: as long as it is renewed.
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
      // Another one in the same process does not take it for a left-over.
      await publish(dir, "other");
      assert.ok(existsSync(folder));
      return folder;
    });
    assert.equal(realpathSync(dir), realpathSync(made!));
  });

  it("keeps what the link leads to, though its process was killed right behind the switch", async (test) => {
    const dir = join(temporaryFolder(test), "snapshot");
    await publish(dir, "1");
    await leaveDead(dir, KILLED);
    const link = readlinkSync(dir);
    symlinkSync(`snapshot.versions/${KILLED}`, `${dir}.link`);
    renameSync(`${dir}.link`, dir);
    await publishVersion(dir, async (_folder, current) => assert.equal(textAt(current!), "half"));
    assert.equal(textAt(dir), "half");
    assert.deepEqual(readdirSync(versionsOf(dir)).sort(), [KILLED, link.split("/")[1]].sort());
  });

  it("by many at once leaves a whole version, the last one's, and at most another", async (test) => {
    const dir = join(temporaryFolder(test), "snapshot");
    for (let round = 0; round < 5; round++) {
      await Promise.all(Array.from({ length: 8 }, (_, at) => publish(dir, `${round} ${at}`)));
      assert.match(textAt(dir), new RegExp(`^${round} \\d$`));
    }
    await publish(dir, "last");
    assert.equal(readdirSync(versionsOf(dir)).length, 2);
  });
});
