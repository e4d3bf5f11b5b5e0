/** A place for `--state` where nothing can be written is told at the start, not in the log for as long as the server runs. */

import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { readCountsFile } from "../src/cli/counts-file.ts";
import { CommandError, type Environment, readOptions } from "../src/cli/options.ts";
import { temporaryFolder } from "./support/folders.ts";

function place(args: readonly string[], environment: Environment = {}): Promise<string | undefined> {
  return readCountsFile(readOptions("serve", ["--snapshot", "s", "--keys", "k", ...args], environment, []));
}

describe("the place of --state", () => {
  it("is refused where its folder is missing or is none, with the name of the setting", async (t) => {
    const folder = temporaryFolder(t);
    const missing = join(folder, "nothere", "state");
    const why = "no such file or directory (ENOENT)";
    await assert.rejects(
      place(["--state", missing]),
      new CommandError(`--state: ${missing} cannot be written: ${why}`),
    );
    await assert.rejects(
      place([], { ORRERY_STATE: missing }),
      new CommandError(`ORRERY_STATE: ${missing} cannot be written: ${why}`),
    );
    writeFileSync(join(folder, "file"), "");
    await assert.rejects(place(["--state", join(folder, "file", "state")]), /not a directory \(ENOTDIR\)$/);
    // With what it is called while it is written, the name is too long for any folder.
    await assert.rejects(
      place(["--state", join(folder, "x".repeat(250))]),
      /name too long \(ENAMETOOLONG\)$/,
    );
    assert.deepEqual(readdirSync(folder), ["file"]);
  });

  it("is refused where the folder is somebody else's", {
    skip: process.getuid?.() === 0 && !existsSync("/proc/self") && "the superuser may write everywhere",
  }, async (t) => {
    let folder = "/proc/self";
    if (process.getuid?.() !== 0) {
      folder = join(temporaryFolder(t), "closed");
      mkdirSync(folder);
      chmodSync(folder, 0o500);
    }
    await assert.rejects(place(["--state", join(folder, "state")]), /cannot be written: /);
  });

  it("is taken where the file is still to come, is there, or a link leads to it; nothing is left or changed", async (t) => {
    const folder = temporaryFolder(t);
    const file = join(folder, "state");
    assert.equal(await place([]), undefined);
    assert.equal(await place(["--state", file]), file);
    assert.deepEqual(readdirSync(folder), []);
    mkdirSync(join(folder, "behind"));
    writeFileSync(join(folder, "behind", "state"), "what was counted");
    symlinkSync(join("behind", "state"), file);
    assert.equal(await place(["--state", file]), file);
    assert.deepEqual(readdirSync(folder), ["behind", "state"]);
    assert.deepEqual(readdirSync(join(folder, "behind")), ["state"]);
  });
});
