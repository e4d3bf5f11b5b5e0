/** Files that are named to the program and that never answer, or never end; and disks that fill up. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { temporaryFolder, user, writeSnapshot } from "../support/folders.ts";
import { PATIENCE_MS } from "../support/patience.ts";
import { keyRecord, place, TOKEN, writeKeys } from "../support/place.ts";
import { assertFailed, get, run, serve } from "../support/process.ts";
import { fill, smallDisk } from "../support/small-disk.ts";

/** Makes each open of a pipe wait for a writer that never comes: a thread that hangs, as on a file system that is away. */
const BLOCKING = `import files from "node:fs/promises";
import { constants } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
const { open } = files;
files.open = (path, flags, mode) =>
  open(path, typeof flags === "number" ? flags & ~constants.O_NONBLOCK : flags, mode);
syncBuiltinESMExports();
`;
const HANGING = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(BLOCKING)}` };

/** Puts a pipe into the place of a file. */
function putPipe(file: string): void {
  execFileSync("mkfifo", [`${file}.pipe`]);
  renameSync(`${file}.pipe`, file);
}

describe("a given file that does not answer", { concurrency: 2 }, () => {
  test("is refused; other reloads go on, and a stop ends the server", async (t) => {
    const { snapshot, keys } = place(t);
    const server = await serve(snapshot, keys, ["--admin", "127.0.0.1:0", "--watch", "0"], HANGING);
    putPipe(keys);
    const { problem } = await server.logged("keys-refused");
    assert.match(String(problem), /keys\.json: is on a file system that does not answer within 1\.5 s$/);
    for (let again = 0; again < 2; again++) {
      const reply = await fetch(new URL("reload", server.admin()), {
        method: "POST",
        headers: { "X-Orrery-Admin": "1" },
        signal: AbortSignal.timeout(PATIENCE_MS),
      });
      assert.match(await reply.text(), /does not answer/);
    }
    assert.match((await server.askAdmin("status")).text, /does not answer within/);
    writeSnapshot(snapshot, { "users.ndjson": [user(1), user(2)] });
    server.child.kill("SIGHUP");
    await server.logged("snapshot-loaded", 2);
    assert.equal((await get(`${server.url}/stats`, { token: TOKEN })).status, 200);
    assert.equal(server.logs("keys-refused").length, 1, "told once");
    const began = performance.now();
    server.child.kill("SIGTERM");
    assert.deepEqual(await server.ended, { status: null, signal: "SIGKILL" });
    assert.ok(performance.now() - began < 10_000);
    assert.equal(server.logs("stopped").length, 1, server.stderr());
  });

  test("ends a command with one line", async (t) => {
    const keys = join(temporaryFolder(t), "keys.json");
    putPipe(keys);
    const began = performance.now();
    const { stderr, signal } = await run(["keys", "list", "--keys", keys], HANGING);
    assert.match(
      stderr,
      /^orrery: [^\n]*keys\.json: is on a file system that does not answer within 1\.5 s\n$/,
    );
    assert.equal(signal, "SIGKILL");
    assert.ok(performance.now() - began < 10_000);
  });
});

test("keys in a pipe are refused at once, and read again when they are a file", async (t) => {
  const { snapshot, keys } = place(t);
  const server = await serve(snapshot, keys);
  putPipe(keys);
  assert.match(String((await server.logged("keys-refused")).problem), /keys\.json: is not a regular file$/);
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

/** Each look at a file takes 200 ms: those at a snapshot take longer together than one call may. */
const SLOW = `import files from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { setTimeout } from "node:timers/promises";
const { stat } = files;
files.stat = async (...args) => (await setTimeout(200), stat(...args));
syncBuiltinESMExports();
`;

test("a file system that is slow, but answers each call, serves a snapshot", async (t) => {
  const { snapshot, keys } = place(t);
  const server = await serve(snapshot, keys, [], {
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(SLOW)}`,
  });
  assert.equal((await get(`${server.url}/stats`, { token: TOKEN })).status, 200);
  await server.stop();
});
