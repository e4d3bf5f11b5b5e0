/** Reloads of a real process: overlapping loads, swaps under load, and what was read. */

import assert from "node:assert/strict";
import { renameSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { bytesOf, instance, slowRows, user, writeSnapshot } from "../support/folders.ts";
import { keyRecord, place, TOKEN, writeKeys } from "../support/place.ts";
import { errorOf, generationOf, get, serve, until } from "../support/process.ts";

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

  test("a crawl from before a reload ends with a 412 after it, of the new generation", async (t) => {
    const { snapshot, keys } = place(t);
    const server = await serve(snapshot, keys, ["--watch", "0"]);
    const first = await get(`${server.url}/users/search?q=user`, { token: TOKEN });
    writeSnapshot(snapshot, { "users.ndjson": [user(1), user(2)] });
    server.child.kill("SIGHUP");
    const { generation } = await server.logged("snapshot-loaded", 2);
    const headers = { "If-Match": first.headers.etag! };
    const later = await get(`${server.url}/users/search?q=user&offset=20`, { token: TOKEN, headers });
    assert.deepEqual([later.status, errorOf(later)], [412, "Snapshot has changed"]);
    assert.equal(generationOf(later), generation);
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
});

test("the log says which tables were read and which were kept, at the watch and at SIGHUP", async (t) => {
  const { snapshot, keys } = place(t);
  const server = await serve(snapshot, keys, ["--watch", "0.2"]);
  const [first] = server.logs("snapshot-loaded");
  assert.deepEqual([first!.read, first!.kept], [["users", "worlds", "world-stats", "instances"], []]);
  const file = join(snapshot, "instances.ndjson");
  writeFileSync(`${file}.new`, bytesOf([instance(1), instance(2)]));
  renameSync(`${file}.new`, file);
  const second = await server.logged("snapshot-loaded", 2);
  assert.deepEqual([second.read, second.kept], [["instances"], ["users", "worlds", "world-stats"]]);
  server.child.kill("SIGHUP");
  const third = await server.logged("snapshot-unchanged");
  assert.deepEqual([third.read, third.kept], [[], ["users", "worlds", "world-stats", "instances"]]);
  await server.stop();
});
