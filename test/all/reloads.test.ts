/** Reloads of a real process: overlapping loads, swaps under load, and what was read. */

import assert from "node:assert/strict";
import { renameSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import {
  bytesOf,
  instance,
  slowRows,
  snapshotFiles,
  user,
  withManifest,
  world,
  worldStats,
  writeFiles,
  writeSnapshot,
} from "../support/folders.ts";
import { keyRecord, place, replace, TOKEN, writeKeys } from "../support/place.ts";
import { errorOf, generationOf, get, keepAlive, serve, until, untilReply } from "../support/process.ts";

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

  test("swaps under load: no request fails, each sees one generation, a crawl one or a 412", async (t) => {
    const { folder, keys } = place(t);
    const USERS = 230;
    const generationFiles = (n: number): Map<string, Buffer> =>
      withManifest(
        snapshotFiles({
          "users.ndjson": Array.from({ length: USERS }, (_, at) => user(at, { displayName: `gen-${n}` })),
          "worlds.ndjson": Array.from({ length: USERS }, (_, at) => world(at, { name: `gen-${n}` })),
          "world-stats.ndjson": [worldStats(1)],
          "instances.ndjson": [instance(n)],
        }),
        `gen-${n}`,
      );
    const current = join(folder, "current");
    const turnTo = (n: number): void => {
      symlinkSync(writeFiles(join(folder, `snapshot-${n}`), generationFiles(n)), `${current}.new`);
      renameSync(`${current}.new`, current);
    };
    turnTo(1);
    const token = "svcx_crawler";
    writeKeys(keys, keyRecord(token));
    const server = await serve(current, keys, ["--watch", "0.1"]);
    const agent = keepAlive(8);
    t.after(() => agent.destroy());

    let busy = true;
    const seen = new Set<string>();
    const crawls = { whole: 0, changed: 0 };
    let replies = 0;
    async function crawl(): Promise<void> {
      let headers: Record<string, string> = {};
      const names: string[] = [];
      for (let offset = 0; offset < USERS; offset += 20) {
        const reply = await get(`${server.url}/worlds?limit=20&offset=${offset}`, { token, headers, agent });
        replies++;
        if (reply.status === 412) {
          assert.equal(errorOf(reply), "Snapshot has changed");
          assert.notEqual(reply.headers.etag, headers["If-Match"]);
          crawls.changed++;
          return;
        }
        assert.equal(reply.status, 200, reply.text);
        const page = JSON.parse(reply.text) as { data: { name: string }[]; pagination: { total: number } };
        assert.deepEqual([page.pagination.total, page.data.length], [USERS, Math.min(20, USERS - offset)]);
        names.push(...page.data.map(({ name }) => name), generationOf(reply));
        headers = { "If-Match": reply.headers.etag! };
      }
      assert.equal(new Set(names).size, 1, "one crawl, one generation");
      crawls.whole++;
    }
    async function search(): Promise<void> {
      const reply = await get(`${server.url}/users/search?q=gen&limit=50`, { token, agent });
      replies++;
      assert.equal(reply.status, 200, reply.text);
      const page = JSON.parse(reply.text) as { data: { displayName: string }[] };
      const names = new Set([...page.data.map(({ displayName }) => displayName), generationOf(reply)]);
      assert.equal(names.size, 1, "one request, one generation");
      seen.add(generationOf(reply));
    }
    const clients = Array.from({ length: 8 }, async (_, n) => {
      while (busy) await (n % 2 ? crawl() : search());
    });
    const swapped = (async () => {
      try {
        for (let n = 2; n <= 5; n++) {
          if (n % 3 === 0) {
            // File by file: an incomplete state is refused, since the manifest does not match.
            for (const [name, bytes] of generationFiles(n)) {
              replace(join(current, name), bytes);
              server.child.kill("SIGHUP");
            }
          } else {
            turnTo(n);
          }
          if (n % 2) server.child.kill("SIGHUP");
          const done = replies;
          await until(() => seen.has(`gen-${n}`) && replies > done + 50, `generation ${n}`);
        }
      } finally {
        busy = false;
      }
    })();
    await Promise.all([swapped, ...clients]);
    assert.deepEqual(
      [...seen].sort(),
      [1, 2, 3, 4, 5].map((n) => `gen-${n}`),
    );
    assert.ok(crawls.whole > 0 && crawls.changed > 0, JSON.stringify(crawls));
    assert.equal(server.logs("defect").length, 0);

    // Without concurrent clients: a crawl from before a reload ends with a 412 after it.
    const first = await get(`${server.url}/users/search?q=gen`, { token });
    turnTo(9);
    server.child.kill("SIGHUP");
    await untilReply(server, token, (r) => generationOf(r) === "gen-9", "generation 9");
    const later = await get(`${server.url}/users/search?q=gen&offset=20`, {
      token,
      headers: { "If-Match": first.headers.etag! },
    });
    assert.equal(later.status, 412);
    assert.equal(generationOf(later), "gen-9");
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
