/** Files that are named to the program and that are pipes, devices or folders; and disks that fill up. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder, user, writeSnapshot } from "../support/folders.ts";
import { keyRecord, place, TOKEN, writeKeys } from "../support/place.ts";
import { assertFailed, get, run, serve } from "../support/process.ts";
import { fill, smallDisk } from "./support/small-disk.ts";

/** Puts a pipe into the place of a file. */
function putPipe(file: string): void {
  execFileSync("mkfifo", [`${file}.pipe`]);
  renameSync(`${file}.pipe`, file);
}

/** Puts something that is no regular file into the place of a file. */
const NO_FILES: Readonly<Record<string, (file: string) => void>> = {
  "a named pipe": putPipe,
  "/dev/zero": (file) => {
    rmSync(file);
    symlinkSync("/dev/zero", file);
  },
  "a folder": (file) => {
    rmSync(file);
    mkdirSync(file);
  },
};

for (const [what, put] of Object.entries(NO_FILES)) {
  test(`${what} in place of the keys is refused; other reloads go on, and a stop is one`, async (t) => {
    const { snapshot, keys } = place(t);
    const server = await serve(snapshot, keys, ["--admin", "127.0.0.1:0", "--watch", "0"]);
    put(keys);
    const line = /keys\.json: is not a regular file$/;
    assert.match(String((await server.logged("keys-refused")).problem), line);
    const { problems } = JSON.parse((await server.askAdmin("status")).text);
    assert.match(problems[0].message, line);
    writeSnapshot(snapshot, { "users.ndjson": [user(1), user(2)] });
    server.child.kill("SIGHUP");
    await server.logged("snapshot-loaded", 2);
    assert.equal((await get(`${server.url}/stats`, { token: TOKEN })).status, 200);
    assert.equal(server.logs("keys-refused").length, 1, "logged once");
    await server.stop();

    const listed = await run(["keys", "list", "--keys", keys]);
    assertFailed(listed, /^orrery: \S+keys\.json: is not a regular file\n$/);
  });
}

test("keys in a pipe are read again when they are a file", async (t) => {
  const { snapshot, keys } = place(t);
  const server = await serve(snapshot, keys);
  putPipe(keys);
  await server.logged("keys-refused");
  writeKeys(keys, keyRecord(TOKEN), keyRecord("svc_sk_second"));
  await server.logged("keys-loaded", 2);
  await server.stop();
});

test("a full disk leaves no folder of build and generate", async (t) => {
  const disk = smallDisk(t, "512k");
  if (disk === undefined) return t.skip("no file system may be mounted here");
  const full = /no space left on device \(ENOSPC\)/;
  const out = join(disk, "some", "folder");
  assertFailed(await run(["generate", "--out", out, "--users", "20000"]), full);
  assert.deepEqual(readdirSync(disk), []);
  const rows = writeSnapshot(join(temporaryFolder(t), "rows"));
  fill(disk, 4096);
  assertFailed(await run(["build", rows, "--out", out]), full);
  assert.deepEqual(readdirSync(disk), ["ballast"]);
});
