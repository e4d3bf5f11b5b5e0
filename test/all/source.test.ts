/** A snapshot by URL: servers in processes of their own, a broken file, kills, full disks, and manifests that will not do. */

import assert from "node:assert/strict";
import { existsSync, statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it, type TestContext } from "node:test";
import { copiesFolderOf } from "../../src/sources/url/copies.ts";
import { snapshotFiles, temporaryFolder, user, withManifest } from "../support/folders.ts";
import { unavailable } from "../support/need.ts";
import { keyRecord, TOKEN, writeKeys } from "../support/place.ts";
import { freePort } from "../support/ports.ts";
import { generationOf, get, run, type Served, serve, start, until, untilReply } from "../support/process.ts";
import {
  FIRST,
  follow,
  freshen,
  generationIn,
  type Host,
  leftOvers,
  SECOND,
  startHost,
} from "../support/source-server.ts";
import { smallDisk } from "./support/small-disk.ts";

function snapshot(generation: string, users = 1): Map<string, Buffer> {
  const rows = Array.from({ length: users }, (_, n) => user(n + 1, { displayName: `${generation} ${n}` }));
  return withManifest(snapshotFiles({ "users.ndjson": rows }), generation);
}

function makePlace(t: TestContext) {
  const folder = temporaryFolder(t);
  const keys = writeKeys(join(folder, "keys.json"), keyRecord(TOKEN));
  return { folder, keys, cache: join(folder, "cache") };
}

function untilServed(server: Served, generation: string): Promise<unknown> {
  return untilReply(server, TOKEN, (reply) => generationOf(reply) === generation, generation);
}

async function hostFor(t: TestContext, files: ReadonlyMap<string, Buffer>): Promise<Host> {
  const started = await startHost(files);
  t.after(() => started.close());
  return started;
}

describe("a server whose snapshot comes by URL", () => {
  it("starts, follows its source, asks it at once on SIGHUP, and starts from the copy without it", async (t) => {
    const { cache, keys } = makePlace(t);
    const source = await hostFor(t, snapshot("first"));
    const settings = ["--cache", cache, "--watch", "0.1"];
    const server = await serve(source.url, keys, settings);
    assert.equal(server.generation, "first");
    source.files = snapshot("second");
    await untilServed(server, "second");
    // A broken file changes nothing.
    source.files = new Map(snapshot("third")).set("users.ndjson", Buffer.from("{}"));
    const failed = await server.logged("source-failed");
    assert.match(String(failed.problem), /users\.ndjson: has 2 bytes, the manifest says \d+/);
    assert.equal(failed.copy, "second");
    assert.equal(generationOf(await get(`${server.url}/stats`, { token: TOKEN })), "second");
    source.files = snapshot("third");
    await untilServed(server, "third");
    await server.logged("source-recovered");
    await server.stop();

    await source.close();
    const alone = await serve(source.url, keys, ["--cache", cache, "--watch", "0"]);
    assert.equal(alone.generation, "third");
    const told = await alone.logged("source-failed");
    assert.match(String(told.problem), /manifest\.json: connection refused/);
    assert.ok(Number(told.ageSeconds) >= 0);
    source.files = snapshot("fourth");
    await source.open();
    alone.child.kill("SIGHUP");
    await untilServed(alone, "fourth");
    await alone.stop();
  });

  it("does not start without source and copy: status 1 and one line; nor with a URL that will not do: 2", async (t) => {
    const { cache, keys, folder } = makePlace(t);
    const url = `http://127.0.0.1:${await freePort()}/`;
    const args = ["serve", "--keys", keys, "--cache", cache, "--port", "0", "--log-level", "silent"];
    const ended = await run([...args, "--snapshot", url]);
    assert.equal(ended.status, 1);
    assert.match(
      ended.stderr,
      /^http:\S+: connection refused \(ECONNREFUSED\) \(there is no earlier copy\)\n$/,
    );
    const wrong = await run([...args, "--snapshot", url.slice(0, -1)]);
    assert.deepEqual([wrong.status, wrong.stdout], [2, ""]);
    assert.match(wrong.stderr, /^orrery: --snapshot: a URL must end with a slash[^\n]*\n$/);
    for (const command of [["check"], ["build", "--out", join(folder, "out")]]) {
      const { status, stderr } = await run([...command, url]);
      assert.deepEqual([status, stderr.includes("DIR: is a URL; only serve takes one")], [2, true]);
    }
  });

  it("has its copies in the user's cache folder", async (t) => {
    const { folder, keys } = makePlace(t);
    const source = await hostFor(t, snapshot("first"));
    const server = await serve(source.url, keys, [], { XDG_CACHE_HOME: join(folder, "xdg") });
    await server.stop();
    const copies = copiesFolderOf(join(folder, "xdg/orrery"), source.url);
    assert.equal(statSync(copies).mode & 0o077, 0, "it is its owner's alone");
    assert.ok(existsSync(join(copies, "current/manifest.json")));
  });

  it("that is killed in the middle of a download leaves nothing behind for long, and no harm", async (t) => {
    const { cache, keys } = makePlace(t);
    const files = snapshot("first", 3000);
    const source = await hostFor(t, files);
    const users = files.get("users.ndjson")!;
    source.fault = (request, response) => {
      if (!request.url!.endsWith("users.ndjson")) return false;
      response.writeHead(200, { "content-length": users.length }).write(users.subarray(0, users.length / 2));
      return true;
    };
    const settings = ["--keys", keys, "--port", "0", "--cache", cache];
    for (let turn = 0; turn < 3; turn++) {
      const program = start(["serve", "--snapshot", source.url, ...settings]);
      const before = source.asked.length;
      await until(
        () => source.asked.slice(before).some(({ name }) => name === "users.ndjson"),
        "the download",
      );
      await program.kill();
    }
    const left = leftOvers(cache);
    assert.ok(left.length > 0);
    // As if two minutes had passed.
    for (const folder of left) utimesSync(folder, 1, 1);
    source.fault = undefined;
    const server = await serve(source.url, keys, ["--cache", cache]);
    assert.equal(server.generation, "first");
    assert.deepEqual(leftOvers(cache), []);
    await server.stop();
  });

  it("shares its cache folder with others that start and change at the same time", async (t) => {
    const { cache, keys } = makePlace(t);
    const source = await hostFor(t, snapshot("g0", 500));
    const settings = ["--cache", cache, "--watch", "0.05"];
    const servers = await Promise.all([1, 2, 3].map(() => serve(source.url, keys, settings)));
    for (let turn = 1; turn <= 4; turn++) {
      source.files = snapshot(`g${turn}`, 500 + turn);
      // Some changes come before the previous one has reached every server.
      if (turn !== 2) await Promise.all(servers.map((server) => untilServed(server, `g${turn}`)));
    }
    await Promise.all(servers.map((server) => untilServed(server, "g4")));
    for (const server of servers) {
      for (const event of ["snapshot-refused", "defect"]) assert.deepEqual(server.logs(event), []);
      await server.stop();
    }
    assert.deepEqual(leftOvers(cache), []);
  });

  it("goes on while the disk of its cache is full, and afterwards", async (t) => {
    // First, before any hook that removes folders: hooks run in the order of their registration.
    const cache = smallDisk(t, "1m");
    if (cache === undefined) return t.skip(unavailable("no file system can be mounted here"));
    const { keys } = makePlace(t);
    const source = await hostFor(t, snapshot("first", 500));
    const server = await serve(source.url, keys, ["--cache", cache, "--watch", "0.1"]);
    source.files = snapshot("large", 10_000);
    const failed = await server.logged("source-failed");
    assert.match(String(failed.problem), /no space left on device \(ENOSPC\)$/);
    assert.equal(failed.copy, "first");
    assert.equal(generationOf(await get(`${server.url}/stats`, { token: TOKEN })), "first");
    source.files = snapshot("second", 400);
    await untilServed(server, "second");
    assert.deepEqual(leftOvers(cache), []);
    await server.stop();
  });
});

describe("a snapshot by URL from a faulty host", () => {
  let host: Host;
  before(async () => {
    host = await startHost(FIRST);
  });
  after(() => host.close());
  const fresh = (t: TestContext): string => freshen(host, t);

  it("with a manifest that will not do changes nothing and is told in a line", async (t) => {
    const manifest = JSON.parse(FIRST.get("manifest.json")!.toString()) as { files: Record<string, object> };
    const manifestWith = (files: object): Map<string, Buffer> =>
      new Map(SECOND).set(
        "manifest.json",
        Buffer.from(JSON.stringify({ ...manifest, generation: "x", files })),
      );
    const huge = { rows: 1, bytes: 1e15, sha256: "0".repeat(64) };
    const cases: [what: string, files: Map<string, Buffer>, says: RegExp][] = [
      [
        "a missing table",
        manifestWith({ "users.ndjson": manifest.files["users.ndjson"]! }),
        /files: must be users/,
      ],
      ["a path", manifestWith({ ...manifest.files, "../users.ndjson": {} }), /is not a file of a snapshot/],
      [
        "a petabyte",
        manifestWith({ ...manifest.files, "users.ndjson": huge }),
        /bytes together, more than the 16 GiB that a snapshot may have/,
      ],
    ];
    for (const [what, files, says] of cases) {
      const cache = fresh(t);
      host.files = files;
      await assert.rejects(follow(host.url, cache).ask(), (error: Error) => {
        assert.match(error.message, says, what);
        assert.match(error.message, /^http:\S+: [^\n]+ \(there is no earlier copy\)$/);
        return error.name === "SourceError";
      });
      host.files = FIRST;
      const source = follow(host.url, cache);
      const folder = await source.ask();
      host.files = files;
      assert.equal(await source.ask("watch"), folder, what);
      assert.equal(await generationIn(folder), "first");
      assert.match(source.of("source-failed")[0]!.problem, says);
      assert.deepEqual(leftOvers(cache), []);
      host.files = SECOND;
      assert.equal(await generationIn(await source.ask("reload")), "second", what);
      assert.equal(source.of("source-recovered").length, 1);
    }
  });
});
