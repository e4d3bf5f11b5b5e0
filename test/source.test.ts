/** A snapshot by URL: what is downloaded, what is kept, and what becomes of it without its host. */

import assert from "node:assert/strict";
import { mkdirSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, it, type TestContext } from "node:test";
import { loadSnapshot } from "../src/snapshot/load.ts";
import { copiesFolderOf } from "../src/sources/url/copies.ts";
import {
  etagOf,
  FIRST,
  follow,
  freshen,
  generationIn,
  leftOvers,
  SECOND,
  startHost,
} from "./support/source-server.ts";

const host = await startHost(FIRST);
after(() => host.close());

describe("a snapshot by URL", () => {
  const fresh = (t: TestContext): string => freshen(host, t);

  it("is downloaded once, and then asked for by its entity tag", async (t) => {
    const cache = fresh(t);
    const source = follow(host.url, cache);
    assert.equal(await generationIn(await source.ask()), "first");
    assert.equal(host.asked.length, 5);
    assert.equal(host.asked[0]!.headers["if-none-match"], undefined);
    for (const { headers } of host.asked) assert.equal(headers["accept-encoding"], "identity");
    const [downloaded] = source.of("source-downloaded");
    assert.deepEqual([downloaded!.files, downloaded!.reused, downloaded!.generation], [4, 0, "first"]);

    await source.ask("watch");
    await follow(host.url, cache).ask();
    assert.equal(host.asked.length, 7);
    for (const { headers, status } of host.asked.slice(5)) {
      assert.deepEqual([headers["if-none-match"], status()], [etagOf(FIRST.get("manifest.json")!), 304]);
    }
    assert.deepEqual(leftOvers(cache), []);
  });

  it("is asked for whole while its entity tag may be that of the next version as well", async (t) => {
    // As nginx does: a tag of the size and the second of the change, both equal here.
    const cache = fresh(t);
    const changed = new Date();
    let date = changed;
    host.fault = (request, response) => {
      if (!request.url!.endsWith("manifest.json")) return false;
      response.setHeader("last-modified", changed.toUTCString());
      response.setHeader("date", date.toUTCString());
      response.setHeader("etag", '"same"');
      if (request.headers["if-none-match"] === '"same"') response.writeHead(304).end();
      else response.writeHead(200).end(host.files.get("manifest.json"));
      return true;
    };
    const source = follow(host.url, cache);
    assert.equal(await generationIn(await source.ask()), "first");
    host.files = SECOND;
    assert.equal(await generationIn(await source.ask("watch")), "second");
    date = new Date(changed.getTime() + 3000);
    for (const status of [200, 304]) {
      host.asked.length = 0;
      assert.equal(await generationIn(await source.ask("watch")), "second");
      assert.deepEqual(
        host.asked.map((request) => request.status()),
        [status],
      );
    }
  });

  it("changes in the files that changed; the others are the same files, times included", async (t) => {
    const source = follow(host.url, fresh(t));
    const old = await source.ask();
    const look = (folder: string, name: string): unknown => {
      const { dev, ino, size, mtimeNs, ctimeNs } = statSync(join(folder, name), { bigint: true });
      return { dev, ino, size, mtimeNs, ctimeNs };
    };
    const names = ["users.ndjson", "worlds.ndjson", "world-stats.ndjson"];
    const before = names.map((name) => look(old, name));
    host.files = SECOND;
    host.asked.length = 0;
    const next = await source.ask("watch");
    assert.equal(await generationIn(next), "second");
    assert.deepEqual(
      host.asked.map(({ name }) => name),
      ["manifest.json", "instances.ndjson"],
    );
    assert.deepEqual(
      names.map((name) => look(next, name)),
      before,
    );
    assert.equal(await generationIn(old), "first", "the one before is still there for who reads it");
    const [, downloaded] = source.of("source-downloaded");
    assert.deepEqual([downloaded!.files, downloaded!.reused], [1, 3]);
  });

  it("without an end that comes too soon is noticed, too", async (t) => {
    const cache = fresh(t);
    const users = FIRST.get("users.ndjson")!;
    host.fault = (request, response) => {
      if (!request.url!.endsWith("users.ndjson") || request.headers.range !== undefined) return false;
      // Chunked: only the manifest says that more is missing.
      response.writeHead(200).end(users.subarray(0, 20));
      return true;
    };
    assert.equal(await generationIn(await follow(host.url, cache).ask()), "first");
  });

  it("is served from the copy while its host is gone, however old; without one that is told", async (t) => {
    const cache = fresh(t);
    await follow(host.url, cache).ask();
    await host.close();
    try {
      const source = follow(host.url, cache);
      assert.equal(await generationIn(await source.ask()), "first");
      const [failed] = source.of("source-failed");
      assert.match(
        failed!.problem,
        /^http:\S+manifest\.json: cannot be reached: connection refused \(ECONNREFUSED\)$/,
      );
      assert.equal(failed!.copy, "first");
      assert.ok(failed!.ageSeconds >= 0 && failed!.ageSeconds < 600);
      await assert.rejects(
        follow(host.url, join(cache, "empty")).ask(),
        /cannot be reached: .*\(no whole copy in/,
      );
    } finally {
      await host.open();
    }
  });

  it("whose copy is damaged is downloaded again, as far as it is", async (t) => {
    const cache = fresh(t);
    const place = copiesFolderOf(cache, host.url);
    const users = join(place, "current/users.ndjson");
    const damages: [what: string, damage: (folder: string) => void, downloads: number][] = [
      ["cut off", () => truncateSync(users, 5), 1],
      ["edited", () => writeFileSync(users, readFileSync(users).fill("x", 3, 9)), 1],
      ["manifest", () => writeFileSync(join(place, "current/manifest.json"), "{}"), 0],
      ["record", () => writeFileSync(join(place, "current/copy.json"), "["), 0],
    ];
    for (const [what, damage, downloads] of damages) {
      await follow(host.url, cache).ask();
      damage(place);
      host.asked.length = 0;
      const source = follow(host.url, cache);
      let folder = await source.ask();
      if (!(await loadSnapshot(folder)).ok)
        folder = (await source.repair(folder, new AbortController().signal))!;
      assert.equal(await generationIn(folder), "first", what);
      const files = host.asked.filter(({ name }) => name !== "manifest.json");
      assert.equal(files.length, downloads, what);
      assert.equal(await source.repair(folder, new AbortController().signal), undefined, what);
    }
  });

  it("is not published where its place is taken by something else", async (t) => {
    const cache = fresh(t);
    const place = copiesFolderOf(cache, host.url);
    mkdirSync(join(place, "current/mine"), { recursive: true });
    await assert.rejects(
      follow(host.url, cache).ask(),
      /current: is a folder that this command did not make/,
    );
  });
});
