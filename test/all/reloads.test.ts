/** Reloads of a real process: when they begin, overlapping loads, and a stop meanwhile. */

import assert from "node:assert/strict";
import { mkdirSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { describe, test } from "node:test";
import { slowRows, user, writeSnapshot } from "../support/folders.ts";
import { keyRecord, place, TOKEN, writeKeys } from "../support/place.ts";
import { generationOf, get, serve, served, start, until } from "../support/process.ts";
import { COMMAND } from "../support/program.ts";

describe("reloads of processes", { concurrency: 4 }, () => {
  test("--watch 0 never looks, SIGHUP loads; many SIGHUPs during a load are one more load", async (t) => {
    const { snapshot, keys } = place(t);
    const server = await serve(snapshot, keys, ["--watch", "0"]);
    writeSnapshot(snapshot, { "users.ndjson": [user(1), user(2)] });
    // The keys file is still watched; by its second look a watch of the snapshot would have looked, too.
    for (const loads of [2, 3, 4]) {
      writeKeys(keys, keyRecord(TOKEN), ...(loads % 2 ? [] : [keyRecord("svc_sk_other0")]));
      await server.logged("keys-loaded", loads);
    }
    assert.equal(generationOf(await get(`${server.url}/stats`, { token: TOKEN })), server.generation);
    assert.equal(server.logs("snapshot-loaded").length, 1);
    server.child.kill("SIGHUP");
    const second = await server.logged("snapshot-loaded", 2);
    assert.equal(generationOf(await get(`${server.url}/stats`, { token: TOKEN })), second.generation);

    // A slow load, and signals in its first part: a signal after it would begin a load of its own.
    const loads = (): number => server.logs().filter(({ event }) => event.startsWith("snapshot-")).length;
    unlinkSync(join(snapshot, "users.ndjson"));
    writeFileSync(join(snapshot, "users.ndjson.gz"), slowRows(3));
    const before = loads();
    for (let sent = 0; sent < 12; sent++) {
      server.child.kill("SIGHUP");
      await new Promise((resolve) => setTimeout(resolve, 15));
    }
    assert.equal(loads(), before, "the load is not over yet");
    await until(() => loads() === before + 2, "the one load more");
    server.child.kill("SIGHUP");
    await until(() => loads() > before + 2, "a load after them all");
    assert.equal(loads(), before + 3);
    await server.stop();
  });

  test("a running load does not keep the process", async (t) => {
    const { snapshot, keys } = place(t);
    const server = await serve(snapshot, keys, ["--watch", "0"]);
    unlinkSync(join(snapshot, "users.ndjson"));
    // Minutes of loading.
    writeFileSync(join(snapshot, "users.ndjson.gz"), slowRows(250));
    server.child.kill("SIGHUP");
    await server.logged("keys-unchanged");
    assert.equal((await get(`${server.url}/stats`, { token: TOKEN })).status, 200);
    await server.stop();
    assert.equal(server.logs("snapshot-loaded").length, 1);
  });

  test("reloads and similar search go on when the folder of the start is deleted, and made anew", async (t) => {
    const { folder, snapshot, keys } = place(t);
    const cwd = join(folder, "release");
    mkdirSync(cwd);
    const args = ["--snapshot", relative(cwd, snapshot), "--keys", relative(cwd, keys), "--similar", "on"];
    const server = await served(
      start(["serve", ...args, "--port", "0", "--watch", "0.1"], {}, COMMAND, { cwd }),
    );
    await server.logged("similar-ready");
    rmSync(cwd, { recursive: true });
    for (const count of [2, 3]) {
      writeSnapshot(snapshot, { "users.ndjson": [user(1), user(2), user(3)].slice(0, count) });
      await server.logged("snapshot-loaded", count);
      await server.logged("similar-ready", count);
      // A folder of that name is another one.
      if (count === 2) mkdirSync(cwd);
    }
    writeKeys(keys, keyRecord(TOKEN), keyRecord("svc_sk_other0"));
    await server.logged("keys-loaded", 2);
    await server.stop();
    assert.doesNotMatch(server.stderr(), /uv_cwd|refused|died/);
  });
});
