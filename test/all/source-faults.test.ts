/** A snapshot by URL from a faulty host: each fault ends in a whole snapshot, or in none and a line with the reason. */

import assert from "node:assert/strict";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, describe, it, type TestContext } from "node:test";
import { copiesFolderOf } from "../../src/sources/url/copies.ts";
import type { Timing } from "../../src/upstream/retry.ts";
import { snapshotFiles, user, withManifest } from "../support/folders.ts";
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

const host = await startHost(FIRST);
after(() => host.close());

describe("a snapshot by URL", () => {
  const fresh = (t: TestContext): string => freshen(host, t);

  it("keeps no file that no copy has", async (t) => {
    const cache = fresh(t);
    const source = follow(host.url, cache);
    for (let n = 0; n < 5; n++) {
      host.files = withManifest(snapshotFiles({ "users.ndjson": [user(n)] }), `g${n}`);
      await source.ask("watch");
    }
    const place = copiesFolderOf(cache, host.url);
    assert.deepEqual(readdirSync(place).sort(), ["current", "current.versions"]);
    assert.equal(readdirSync(join(place, "current.versions")).length, 2);
    assert.equal(statSync(place).mode & 0o077, 0);
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
    assert.deepEqual(leftOvers(cache), []);
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
    const listed = manifest.files["users.ndjson"]!;
    const huge = { rows: 1, bytes: 1e15, sha256: "0".repeat(64) };
    const cases: [what: string, files: Map<string, Buffer>, says: RegExp][] = [
      ["longer", changed(Buffer.concat([instances, instances])), /has \d+ bytes, the manifest says \d+/],
      ["shorter", changed(instances.subarray(1)), /has \d+ bytes, the manifest says \d+/],
      ["another", changed(another), /sha256 is [0-9a-f]{64}, the manifest says/],
      ["missing", new Map([...SECOND].filter(([name]) => name !== "instances.ndjson")), /answered 404/],
      ["no manifest", new Map([["users.ndjson", users]]), /manifest\.json: the server answered 404/],
      ["no JSON", manifestOf(Buffer.from("{")), /manifest\.json: not valid JSON/],
      ["2 MiB", manifestOf(Buffer.alloc(2_097_152, " ")), /is larger than 1 MiB/],
      ["a path", manifestWith({ ...manifest.files, "../users.ndjson": {} }), /is not a file of a snapshot/],
      ["three files", manifestWith({ "users.ndjson": listed }), /worlds\.ndjson is missing/],
      [
        "twice",
        manifestWith({ ...manifest.files, "users.ndjson.gz": listed }),
        /users\.ndjson is listed in several forms/,
      ],
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
        assert.match(error.message, /^http:\S+: [^\n]+ \(no whole copy in \S+\)$/);
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
