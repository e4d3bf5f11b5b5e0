/** Making folders. */

import assert from "node:assert/strict";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { claimFolder, makeFolder } from "../src/files/folders.ts";
import { temporaryFolder } from "./support/folders.ts";

const codeIs = (code: string) => (error: NodeJS.ErrnoException) => error.code === code;

describe("a folder", () => {
  it("is made with those above it", async (t) => {
    const folder = temporaryFolder(t);
    assert.equal(await makeFolder(join(folder, "a/b/c")), join(folder, "a"));
    assert.equal(await makeFolder(join(folder, "a/b/c/")), undefined);
    assert.equal(await makeFolder(join(folder, "a/b/d")), join(folder, "a/b/d"));
    const many = Array.from({ length: 8 }, () => makeFolder(join(folder, "x/y/z")));
    await Promise.all(many);
    assert.ok(existsSync(join(folder, "x/y/z")));
  });

  it("is refused where it cannot be", { timeout: 60_000 }, async (t) => {
    const folder = temporaryFolder(t);
    writeFileSync(join(folder, "file"), "");
    await assert.rejects(makeFolder(join(folder, "file")), codeIs("EEXIST"));
    await assert.rejects(makeFolder(join(folder, "file/a/b")), codeIs("ENOTDIR"));
    if (existsSync("/proc/self")) await assert.rejects(makeFolder("/proc/none/a"), codeIs("ENOENT"));
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
    assert.deepEqual(
      ["c/d/e", "c/d/file"].map((name) => existsSync(join(folder, name))),
      [false, true],
    );
  });
});
