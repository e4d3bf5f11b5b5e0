/**
 * A snapshot by URL: servers in processes of their own, kills and full disks; nginx; faults of a host, each of which ends
 * in a whole snapshot, or in none and a line with the reason.
 */

import assert from "node:assert/strict";
import { existsSync, readdirSync, renameSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it, type TestContext } from "node:test";
import { copiesFolderOf } from "../../src/sources/url/copies.ts";
import type { Timing } from "../../src/upstream/retry.ts";
import { snapshotFiles, temporaryFolder, user, withManifest, writeFiles } from "../support/folders.ts";
import { need, unavailable } from "../support/need.ts";
import { keyRecord, TOKEN, writeKeys } from "../support/place.ts";
import { freePort } from "../support/ports.ts";
import { generationOf, get, run, type Served, serve, start, until, untilReply } from "../support/process.ts";
import { startNginx } from "../support/proxies.ts";
import { smallDisk } from "../support/small-disk.ts";
import {
  FIRST,
  follow,
  freshen,
  generationIn,
  type Host,
  leftOvers,
  QUICK,
  SECOND,
  startHost,
} from "../support/source-server.ts";

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
      /^http:\S+: cannot be reached: connection refused \(ECONNREFUSED\) \(there is no earlier copy\)\n$/,
    );
    const wrong = await run([...args, "--snapshot", url.slice(0, -1)]);
    assert.deepEqual([wrong.status, wrong.stdout], [2, ""]);
    assert.match(wrong.stderr, /^orrery: --snapshot: a URL must end with a slash[^\n]*\n$/);
    const secret = await run([...args, "--snapshot", url, "--snapshot-token-file", join(folder, "none")]);
    assert.equal(secret.status, 1);
    assert.match(secret.stderr, /^--snapshot-token-file: \/[^\n]+none: cannot be read: no such file/m);
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
    assert.ok(leftOvers(cache).length > 0);
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

describe("nginx as the source", { skip: need("nginx") }, () => {
  /** Publishes as the documents say. @param files new files to write first */
  function publish(folder: string, name: string, files: ReadonlyMap<string, Buffer>): void {
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
});

describe("a snapshot by URL from a faulty host", () => {
  let host: Host;
  before(async () => {
    host = await startHost(FIRST);
  });
  after(() => host.close());
  const fresh = (t: TestContext): string => freshen(host, t);

  it("that is cut off anywhere is taken up there, and is whole or not there", async (t) => {
    const cache = fresh(t);
    const users = FIRST.get("users.ndjson")!;
    for (let cut = 0; cut < users.length; cut += 13) {
      let cuts = 0;
      host.asked.length = 0;
      host.fault = (request, response) => {
        if (!request.url!.endsWith("users.ndjson") || cuts++ > 0) return false;
        response.writeHead(200, { "content-length": users.length }).write(users.subarray(0, cut), () => {
          response.destroy();
        });
        return true;
      };
      const source = follow(host.url, join(cache, String(cut)));
      assert.equal(await generationIn(await source.ask()), "first");
      const [, range] = host.asked
        .filter(({ name }) => name === "users.ndjson")
        .map(({ headers }) => headers.range);
      assert.ok(range === undefined || range === `bytes=${cut}-`, `${range} of ${cut}`);
    }
    const place = copiesFolderOf(join(cache, "0"), host.url);
    assert.equal(statSync(place).mode & 0o077, 0, "it is its owner's alone");
    assert.deepEqual(leftOvers(cache), []);
  });

  it("whose last file fails is not asked again for the others", async (t) => {
    const cache = fresh(t);
    host.fault = (request, response) => {
      if (!request.url!.endsWith("instances.ndjson")) return false;
      response.writeHead(404).end();
      return true;
    };
    await assert.rejects(follow(host.url, cache).ask(), /answered 404/);
    host.fault = undefined;
    host.asked.length = 0;
    const source = follow(host.url, cache);
    assert.equal(await generationIn(await source.ask()), "first");
    assert.deepEqual(
      host.asked.map(({ name }) => name),
      ["manifest.json", "instances.ndjson"],
    );
    assert.deepEqual(readdirSync(copiesFolderOf(cache, host.url)).sort(), ["current", "current.versions"]);
  });

  it("with a file or manifest that will not do changes nothing and is told in a line", async (t) => {
    const users = FIRST.get("users.ndjson")!;
    const manifest = JSON.parse(FIRST.get("manifest.json")!.toString()) as { files: Record<string, object> };
    const manifestOf = (bytes: Buffer): Map<string, Buffer> => new Map(SECOND).set("manifest.json", bytes);
    const manifestWith = (files: object): Map<string, Buffer> =>
      manifestOf(Buffer.from(JSON.stringify({ ...manifest, generation: "x", files })));
    const instances = SECOND.get("instances.ndjson")!;
    const changed = (bytes: Buffer): Map<string, Buffer> => new Map(SECOND).set("instances.ndjson", bytes);
    const another = Buffer.alloc(instances.length, "x");
    const huge = { rows: 1, bytes: 1e15, sha256: "0".repeat(64) };
    const cases: [what: string, files: Map<string, Buffer>, says: RegExp][] = [
      ["longer", changed(Buffer.concat([instances, instances])), /has \d+ bytes, the manifest says \d+/],
      ["shorter", changed(instances.subarray(1)), /has \d+ bytes, the manifest says \d+/],
      ["another", changed(another), /sha256 is [0-9a-f]{64}, the manifest says/],
      ["missing", new Map([...SECOND].filter(([name]) => name !== "instances.ndjson")), /answered 404/],
      [
        "no manifest",
        new Map([["users.ndjson", users]]),
        /manifest\.json: the server answered 404; a snapshot by URL needs a manifest\.json/,
      ],
      ["no JSON", manifestOf(Buffer.from("{")), /manifest\.json: not valid JSON/],
      ["2 MiB", manifestOf(Buffer.alloc(2_097_152, " ")), /is larger than 1 MiB/],
      ["a path", manifestWith({ ...manifest.files, "../users.ndjson": {} }), /is not a file of a snapshot/],
      [
        "a petabyte",
        manifestWith({ ...manifest.files, "users.ndjson": huge }),
        /bytes together, more than --max-snapshot-bytes/,
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

  it("whose files never end is given up at the first byte too many", async (t) => {
    const cache = fresh(t);
    let sent = 0;
    host.fault = (request, response) => {
      if (!request.url!.endsWith("users.ndjson")) return false;
      const chunk = Buffer.alloc(65_536, "x");
      response.writeHead(200);
      const more = (): void => {
        while (!response.destroyed && sent < 1e9) {
          sent += chunk.length;
          if (!response.write(chunk)) return void response.once("drain", more);
        }
      };
      more();
      return true;
    };
    await assert.rejects(follow(host.url, cache).ask(), /has more than the \d+ bytes that the manifest says/);
    assert.ok(sent < 64e6, `${sent} bytes were sent`);
  });

  it("that answers 304 though nothing is here, or an error, is not taken for a snapshot", async (t) => {
    for (const status of [304, 204, 206, 400, 401, 403, 500, 503]) {
      const cache = fresh(t);
      host.fault = (_request, response) => {
        response.writeHead(status).end();
        return true;
      };
      await assert.rejects(follow(host.url, cache).ask(), new RegExp(`the server answered ${status}`));
      assert.equal(host.asked.length, status >= 500 ? 4 : 1, `${status}`);
    }
  });

  it("is asked for again after as long as its host says, within bounds", async (t) => {
    const cache = fresh(t);
    let refusals = 0;
    const refuse = (status: number, retryAfter: string, times: number): void => {
      refusals = 0;
      host.fault = (_request, response) => {
        if (refusals++ >= times) return false;
        response.writeHead(status, { "retry-after": retryAfter }).end();
        return true;
      };
    };
    refuse(503, "1", 1);
    const began = performance.now();
    const source = follow(host.url, cache);
    const folder = await source.ask();
    assert.ok(performance.now() - began >= 1000);

    // Too long to wait: there is a copy, and the next looks send no request until the retry is due.
    refuse(429, "3600", 99);
    assert.equal(await source.ask("watch"), folder);
    assert.equal(await source.ask("watch"), folder);
    assert.equal(refusals, 1);
    assert.equal(source.of("source-failed")[0]!.retryMs, QUICK.mostRetryAfterMs);
    // But a reload by signal does.
    await source.ask("reload");
    assert.equal(refusals, 2);
    refuse(503, new Date(Date.now() + 3_600_000).toUTCString(), 99);
    await assert.rejects(follow(host.url, join(cache, "other")).ask(), /answered 503/);
    assert.equal(refusals, 1);
  });

  it("whose manifest changes during the download is what the new manifest says", async (t) => {
    const cache = fresh(t);
    host.fault = (request) => {
      if (request.url!.endsWith("worlds.ndjson")) host.files = SECOND;
      return false;
    };
    assert.equal(await generationIn(await follow(host.url, cache).ask()), "second");

    // On every request, so that the files never match: attempts are bounded, and the copy stays.
    let turn = 0;
    host.fault = (request, response) => {
      if (request.url!.endsWith("manifest.json")) {
        const files = withManifest(snapshotFiles({ "users.ndjson": [user(++turn)] }), `g${turn}`);
        response.writeHead(200).end(files.get("manifest.json"));
        return true;
      }
      return false;
    };
    const source = follow(host.url, cache);
    assert.equal(await generationIn(await source.ask()), "second");
    assert.ok(turn > 1 && turn < 10, `${turn} manifests`);
  });

  it("is given up when the head, a body or the manifest takes too long, and goes on where it was", async (t) => {
    const cache = fresh(t);
    const hanging = new Set<NodeJS.Timeout>();
    t.after(() => hanging.forEach(clearInterval));
    /** Ten bytes a second. */
    const dribble =
      (name: string): NonNullable<Host["fault"]> =>
      (request, response) => {
        if (!request.url!.endsWith(name) || request.headers.range !== undefined) return false;
        const bytes = FIRST.get(name)!;
        response.writeHead(200, { "content-length": bytes.length });
        let at = 0;
        hanging.add(
          setInterval(() => {
            if (at < 40) response.write(bytes.subarray(at, ++at));
          }, 100).unref(),
        );
        return true;
      };
    host.fault = dribble("users.ndjson");
    const timing = { ...QUICK, progressMs: 500, leastBytes: 1000 };
    await follow(host.url, join(cache, "a"), { timing }).ask();
    const ranges = host.asked.map(({ headers }) => headers.range).filter((range) => range !== undefined);
    assert.equal(ranges.length, 1);
    assert.match(ranges[0]!, /^bytes=[1-9]\d*-$/);

    host.fault = dribble("manifest.json");
    const isGivenUp = (own: Timing, says: RegExp): Promise<void> =>
      assert.rejects(follow(host.url, join(cache, "b"), { timing: own }).ask(), says);
    await isGivenUp(timing, /less than 1000 bytes in 0\.5 s/);
    await isGivenUp({ ...QUICK, manifestMs: 300 }, /not here within 0\.3 s/);
    host.fault = () => true;
    await isGivenUp({ ...QUICK, headMs: 200 }, /no answer within 0\.2 s/);
  });
});
