/** Servers with a snapshot by URL, in processes of their own: nginx, a host with faults, kills, and full disks. */

import assert from "node:assert/strict";
import {
  existsSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { gzipSync } from "node:zlib";
import { copiesFolderOf } from "../../src/sources/url/copies.ts";
import { snapshotFiles, temporaryFolder, user, withManifest, writeFiles } from "../support/folders.ts";
import { need, unavailable } from "../support/need.ts";
import { keyRecord, TOKEN, writeKeys } from "../support/place.ts";
import { freePort } from "../support/ports.ts";
import { generationOf, get, run, type Served, serve, start, until, untilReply } from "../support/process.ts";
import { startNginx } from "../support/proxies.ts";
import { smallDisk } from "../support/small-disk.ts";
import { type Host, leftOvers, startHost } from "../support/source-server.ts";

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

async function host(t: TestContext, files: ReadonlyMap<string, Buffer>): Promise<Host> {
  const started = await startHost(files);
  t.after(() => started.close());
  return started;
}

describe("a server whose snapshot comes by URL", () => {
  it("starts, follows its source, asks it at once on SIGHUP, and starts from the copy without it", async (t) => {
    const { cache, keys } = makePlace(t);
    const source = await host(t, snapshot("first"));
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
    assert.match(String(told.problem), /cannot be reached: connection refused/);
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
      /^http:\S+: cannot be reached: connection refused \(ECONNREFUSED\) \(no whole copy in \S+\)\n$/,
    );
    const wrong = await run([...args, "--snapshot", url.slice(0, -1)]);
    assert.deepEqual([wrong.status, wrong.stdout], [2, ""]);
    assert.match(wrong.stderr, /^orrery: --snapshot: a URL must end with a slash[^\n]*\n$/);
    const secret = await run([...args, "--snapshot", url, "--snapshot-token-file", join(folder, "none")]);
    assert.equal(secret.status, 1);
    assert.match(secret.stderr, /^--snapshot-token-file: \/[^\n]+none: cannot be read: no such file/m);
    const diff = await run(["diff", "data/sample", url]);
    assert.deepEqual([diff.status, diff.stderr.includes("TO: is a URL; only serve and check")], [2, true]);
  });

  it("has its copies in the user's cache folder", async (t) => {
    const { folder, keys } = makePlace(t);
    const source = await host(t, snapshot("first"));
    for (const [home, cache] of [
      [join(folder, "xdg"), "xdg/orrery"],
      ["", ".cache/orrery"],
    ] as const) {
      const server = await serve(source.url, keys, [], { XDG_CACHE_HOME: home, HOME: folder });
      assert.equal(server.generation, "first");
      await server.stop();
      const copies = copiesFolderOf(join(folder, cache), source.url);
      assert.ok(existsSync(join(copies, "current/manifest.json")), cache);
    }
  });

  it("is checked by its URL", async (t) => {
    const { cache } = makePlace(t);
    const source = await host(t, snapshot("first"));
    const args = ["check", source.url, "--cache", cache];
    assert.match((await run(args)).stdout, /^generation first\n/);
    truncateSync(join(copiesFolderOf(cache, source.url), "current/users.ndjson"), 3);
    assert.match((await run(args)).stdout, /^generation first\n/);
    source.files = new Map([["manifest.json", Buffer.from("{}")]]);
    const bad = await run(args);
    assert.deepEqual([bad.status, bad.stdout], [1, ""]);
    assert.match(bad.stderr, /^orrery: http:\S+manifest\.json: format: must be [^\n]+\n$/);
  });

  it("repairs its copy at a start, whatever was damaged", async (t) => {
    const { cache, keys } = makePlace(t);
    const source = await host(t, snapshot("first"));
    await (await serve(source.url, keys, ["--cache", cache])).stop();
    const users = join(copiesFolderOf(cache, source.url), "current/users.ndjson");
    const bytes = readFileSync(users);
    const changed = Buffer.from(bytes).fill("X", 30, 31);
    for (const damage of [
      () => truncateSync(users, 10),
      () => writeFileSync(users, changed),
      () => writeFileSync(join(users, "../manifest.json"), bytes),
    ]) {
      damage();
      const server = await serve(source.url, keys, ["--cache", cache]);
      assert.equal(server.generation, "first");
      assert.deepEqual(readFileSync(users), bytes);
      await server.stop();
    }
    writeFileSync(users, changed);
    await source.close();
    const args = ["serve", "--snapshot", source.url, "--keys", keys, "--port", "0", "--cache", cache];
    const ended = await run([...args, "--log-level", "silent"]);
    assert.equal(ended.status, 1);
    assert.match(ended.stderr, /^http:\S+: cannot be reached: /);
  });

  it("that is killed in the middle of a download leaves nothing behind for long, and no harm", async (t) => {
    const { cache, keys } = makePlace(t);
    const files = snapshot("first", 3000);
    const source = await host(t, files);
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
    assert.ok(leftOvers(cache).length > 0);
    source.fault = undefined;
    const server = await serve(source.url, keys, ["--cache", cache]);
    assert.equal(server.generation, "first");
    assert.deepEqual(leftOvers(cache), []);
    await server.stop();
  });

  it("shares its cache folder with others that start and change at the same time", async (t) => {
    const { cache, keys } = makePlace(t);
    const source = await host(t, snapshot("g0", 500));
    const settings = ["--cache", cache, "--watch", "0.05"];
    const servers = await Promise.all([1, 2, 3].map(() => serve(source.url, keys, settings)));
    for (let turn = 1; turn <= 4; turn++) {
      source.files = snapshot(`g${turn}`, 500 + turn);
      // Some changes come before the previous one has reached every server.
      if (turn !== 2) await Promise.all(servers.map((server) => untilServed(server, `g${turn}`)));
    }
    await Promise.all(servers.map((server) => untilServed(server, "g4")));
    for (const server of servers) {
      for (const event of ["snapshot-refused", "defect", "source-damaged"])
        assert.deepEqual(server.logs(event), []);
      await server.stop();
    }
    assert.deepEqual(leftOvers(cache), []);
  });

  it("goes on while the disk of its cache is full, and afterwards", async (t) => {
    // First, before any hook that removes folders: hooks run in the order of their registration.
    const cache = smallDisk(t, "1m");
    if (cache === undefined) return t.skip(unavailable("no file system can be mounted here"));
    const { keys } = makePlace(t);
    const source = await host(t, snapshot("first", 500));
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

    // A start without a copy prints one line.
    const other = await host(t, snapshot("large", 10_000));
    const args = ["serve", "--snapshot", other.url, "--keys", keys, "--port", "0", "--cache", cache];
    const ended = await run([...args, "--log-level", "silent"]);
    assert.equal(ended.status, 1);
    assert.match(ended.stderr, /^[^\n]*no space left on device \(ENOSPC\) \(no whole copy in \S+\)\n$/);
  });
});

describe("nginx as the source", { skip: need("nginx") }, () => {
  /** Publishes as the documents say. @param files new files to write first */
  function publish(folder: string, name: string, files: ReadonlyMap<string, Buffer> = new Map()): void {
    const web = join(folder, "web");
    writeFiles(join(web, name), files);
    symlinkSync(name, join(web, "next"));
    renameSync(join(web, "next"), join(web, "current"));
  }

  it("is asked for what changed alone", async (t) => {
    const { folder, cache, keys } = makePlace(t);
    publish(folder, "v1", snapshot("first", 200));
    const { url, asked } = await startNginx(t, folder);
    const server = await serve(url, keys, ["--cache", cache, "--watch", "0.1"]);
    assert.equal(server.generation, "first");
    await until(() => asked().some((line) => line.startsWith("304 /current/manifest.json 0")), "a 304");
    assert.equal(asked().filter((line) => line.startsWith("200 ") && line.includes(".ndjson")).length, 4);
    publish(folder, "v2", snapshot("second", 300));
    await untilServed(server, "second");
    const users = snapshot("second", 300).get("users.ndjson")!;
    const [, , , , ...more] = asked().filter((line) => line.includes(".ndjson"));
    assert.equal(more.length, 1, more.join("\n"));
    assert.ok(more[0]!.startsWith(`200 /current/users.ndjson ${users.length} `), more[0]);
    assert.equal(server.logs("snapshot-refused").length, 0);
    await server.stop();
  });

  it("serves files that are compressed, and a prepared one", async (t) => {
    const { folder, cache, keys } = makePlace(t);
    const plain = snapshot("packed", 200);
    plain.delete("manifest.json");
    const packed = new Map(Array.from(plain, ([name, bytes]) => [`${name}.gz`, gzipSync(bytes)]));
    const manifest = JSON.parse(withManifest(packed, "packed").get("manifest.json")!.toString());
    for (const [name, bytes] of plain) {
      manifest.files[`${name}.gz`].rows = bytes.toString().split("\n").length - 1;
    }
    publish(folder, "v1", new Map(packed).set("manifest.json", Buffer.from(JSON.stringify(manifest))));
    const { url } = await startNginx(t, folder);
    const server = await serve(url, keys, ["--cache", cache, "--watch", "0.1"]);
    assert.equal(server.generation, "packed");

    const rows = writeFiles(join(folder, "rows"), snapshot("prepared", 300));
    const built = await run(["build", rows, "--out", join(folder, "web/v2"), "--manifest"]);
    assert.equal(built.status, 0, built.stderr);
    publish(folder, "v2");
    await untilServed(server, "prepared");
    const [, downloaded] = server.logs("source-downloaded");
    const { size } = statSync(join(folder, "web/v2/generation.orrery"));
    assert.deepEqual([downloaded!.files, downloaded!.bytes], [1, size]);
    await server.stop();
  });
});
