/** A snapshot by URL: downloads and reuse, an unreachable host, redirects, and the hosts that get the token. */

import assert from "node:assert/strict";
import { mkdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { createServer } from "node:net";
import { join } from "node:path";
import { after, describe, it, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { gunzipSync, gzipSync } from "node:zlib";
import { loadSnapshot } from "../src/snapshot/load.ts";
import { problemWithAddress } from "../src/sources/feature.ts";
import { copiesFolderOf } from "../src/sources/url/copies.ts";
import { readWhole, request } from "../src/upstream/request.ts";
import { SourceError } from "../src/util/source-error.ts";
import { withManifest } from "./support/folders.ts";
import { freePort, listen } from "./support/ports.ts";
import {
  etagOf,
  FIRST,
  follow,
  freshen,
  generationIn,
  type Host,
  leftOvers,
  QUICK,
  SECOND,
  startHost,
} from "./support/source-server.ts";

const host = await startHost(FIRST);
const other = await startHost(FIRST);

after(() => Promise.all([host.close(), other.close()]));

const statusesOf = ({ asked }: Host): number[] => asked.map(({ status }) => status());
const namesOf = ({ asked }: Host): string[] => asked.map(({ name }) => name);

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
    // nginx makes the tag from the size and the second of the change; both are equal here.
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
      assert.deepEqual(statusesOf(host), [status]);
    }
  });

  it("changes in the files that changed; the others are the same files, times included", async (t) => {
    const source = follow(host.url, fresh(t));
    const old = await source.ask();
    const look = (folder: string, name: string): unknown => {
      const { dev, ino, size, mtimeNs } = statSync(join(folder, name), { bigint: true });
      return { dev, ino, size, mtimeNs };
    };
    const names = ["users.ndjson", "worlds.ndjson", "world-stats.ndjson"];
    const before = names.map((name) => look(old, name));
    host.files = SECOND;
    host.asked.length = 0;
    const next = await source.ask("watch");
    assert.equal(await generationIn(next), "second");
    assert.deepEqual(namesOf(host), ["manifest.json", "instances.ndjson"]);
    const after = names.map((name) => look(next, name));
    assert.deepEqual(after, before);
    assert.equal(await generationIn(old), "first", "the one before is still there for who reads it");
    const [, downloaded] = source.of("source-downloaded");
    assert.deepEqual([downloaded!.files, downloaded!.reused], [1, 3]);
  });

  it("without an end that comes too soon is noticed, too", async (t) => {
    const cache = fresh(t);
    const users = FIRST.get("users.ndjson")!;
    host.fault = (request, response) => {
      if (!request.url!.endsWith("users.ndjson") || request.headers.range !== undefined) return false;
      // A chunked reply: only the manifest shows that bytes are missing.
      response.writeHead(200).end(users.subarray(0, 20));
      return true;
    };
    assert.equal(await generationIn(await follow(host.url, cache).ask()), "first");
  });

  it("is asked for over kept connections", async (t) => {
    const cache = fresh(t);
    const source = follow(host.url, cache);
    await source.ask();
    const before = host.connections();
    for (let look = 0; look < 5; look++) {
      // A connection is free again a moment after its answer.
      await sleep(10);
      await source.ask();
    }
    await sleep(10);
    assert.equal(host.connections(), before, "connections for looks at an unchanged manifest");
  });

  it("is taken as it is stored, whatever the host does to compressed files", async (t) => {
    const packed = gzipSync(FIRST.get("users.ndjson")!);
    const others = [...FIRST].filter(([name]) => name !== "users.ndjson" && name !== "manifest.json");
    const hosts: Readonly<Record<string, (takesGzip: boolean, response: ServerResponse) => unknown>> = {
      // A store that marks its file as encoded, and decodes it for who does not take gzip, without a length.
      marks: (takesGzip, response) =>
        takesGzip
          ? response
              .setHeader("content-encoding", "gzip")
              .setHeader("content-length", packed.length)
              .end(packed)
          : response.end(gunzipSync(packed)),
      // A web server that compresses all that it sends to who takes gzip.
      "compresses again": (takesGzip, response) =>
        takesGzip
          ? response.setHeader("content-encoding", "gzip").end(gzipSync(packed))
          : response.end(packed),
    };
    t.after(() => {
      host.files = FIRST;
    });
    for (const [what, answer] of Object.entries(hosts)) {
      const cache = fresh(t);
      host.files = withManifest(new Map([...others, ["users.ndjson.gz", packed]]), "packed");
      host.fault = ({ url, headers }, response) => {
        if (!url!.endsWith(".gz")) return false;
        answer(headers["accept-encoding"] === "gzip", response);
        return true;
      };
      const source = follow(host.url, cache);
      const folder = await source.ask();
      assert.equal(await generationIn(folder), "packed", what);
      assert.deepEqual(readFileSync(join(folder, "users.ndjson.gz")), packed, what);
      assert.deepEqual(source.of("source-failed"), []);
    }
  });

  it("is served from the copy while its host is gone, however old; without one that is told", async (t) => {
    const cache = fresh(t);
    await follow(host.url, cache).ask();
    await host.close();
    try {
      const source = follow(host.url, cache);
      assert.equal(await generationIn(await source.ask()), "first");
      const { problem, copy, ageSeconds } = source.of("source-failed")[0]!;
      assert.match(
        problem,
        /^http:\S+manifest\.json: cannot be reached: connection refused \(ECONNREFUSED\)$/,
      );
      assert.equal(copy, "first");
      assert.ok(ageSeconds >= 0 && ageSeconds < 600);
      const without = follow(host.url, join(cache, "empty"));
      await assert.rejects(without.ask(), /cannot be reached: .*\(there is no earlier copy\)$/);
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
      const files = namesOf(host).filter((name) => name !== "manifest.json");
      assert.equal(files.length, downloads, what);
      assert.equal(await source.repair(folder, new AbortController().signal), undefined, what);
    }
  });

  it("is not published where its place is taken by something else", async (t) => {
    const cache = fresh(t);
    const place = copiesFolderOf(cache, host.url);
    mkdirSync(join(place, "current/mine"), { recursive: true });
    const occupied = /current: is a folder that this command did not make/;
    await assert.rejects(follow(host.url, cache).ask(), occupied);
  });
});

const CANARY = "canary-4711";

describe("requests to a source", () => {
  function fresh(t: TestContext): { cache: string; tokenFile: string } {
    freshen(other, t);
    const cache = freshen(host, t);
    const tokenFile = join(cache, "token");
    writeFileSync(tokenFile, `${CANARY}\n`);
    return { cache, tokenFile };
  }

  /** Redirects every request to the same name at another place. */
  const redirectTo =
    (place: string): NonNullable<Host["fault"]> =>
    (request, response) => {
      response.writeHead(308, { location: place + request.url!.split("/").at(-1)! }).end("moved");
      return true;
    };
  const tokensOf = ({ asked }: Host) => [...new Set(asked.map(({ headers }) => headers.authorization))];

  it("carry the token to its own origin alone, also after redirects", async (t) => {
    const { cache, tokenFile } = fresh(t);
    await follow(host.url, join(cache, "a"), { tokenFile }).ask();
    assert.deepEqual(tokensOf(host), [`Bearer ${CANARY}`]);

    host.asked.length = 0;
    host.fault = (request, response) =>
      !request.url!.startsWith("/snapshot/moved") && redirectTo("/snapshot/moved-")(request, response);
    host.files = new Map(Array.from(FIRST, ([name, bytes]) => [`moved-${name}`, bytes]));
    await follow(host.url, join(cache, "same"), { tokenFile }).ask();
    assert.equal(host.asked.length, 10);
    assert.deepEqual(tokensOf(host), [`Bearer ${CANARY}`]);

    host.files = FIRST;
    host.fault = redirectTo(other.url);
    other.asked.length = 0;
    await follow(host.url, join(cache, "other"), { tokenFile }).ask();
    assert.equal(other.asked.length, 5);
    assert.deepEqual(tokensOf(other), [undefined]);
    // No token either when the other host redirects back.
    host.asked.length = 0;
    host.fault = (request, response) =>
      !request.url!.includes("?") && redirectTo(other.url)(request, response);
    other.fault = (_request, response) => {
      response.writeHead(302, { location: `${host.url}manifest.json?back` }).end();
      return true;
    };
    host.files = new Map(FIRST).set("manifest.json?back", FIRST.get("manifest.json")!);
    await assert.rejects(follow(host.url, join(cache, "back"), { tokenFile }).ask());
    const back = host.asked.filter(({ name }) => name.endsWith("?back"));
    assert.ok(back.length > 0);
    for (const { headers } of back) assert.equal(headers.authorization, undefined);
  });

  it("follow no loop, and lead nowhere but to the web", async (t) => {
    const { cache, tokenFile } = fresh(t);
    const cases: [location: string | undefined, says: RegExp][] = [
      ["/snapshot/manifest.json", /more than 5 redirects/],
      ["file:///etc/passwd", /a redirect leads to a file: URL/],
      ["http://", /a redirect leads nowhere/],
      [undefined, /a redirect leads nowhere/],
      ["http://user:secret@127.0.0.1/", /holds a password/],
    ];
    for (const [location, says] of cases) {
      host.asked.length = 0;
      host.fault = (_request, response) => {
        response.writeHead(302, location === undefined ? {} : { location }).end();
        return true;
      };
      await assert.rejects(follow(host.url, cache, { tokenFile }).ask(), (error: Error) => {
        assert.match(error.message, says);
        assert.doesNotMatch(error.message, /secret|canary/);
        return true;
      });
      assert.ok(host.asked.length <= 6, `${host.asked.length} requests`);
    }
  });

  it("that find no TLS where the URL has it say so in words", async (t) => {
    const { cache } = fresh(t);
    const source = follow(host.url.replace("http:", "https:"), cache);
    await assert.rejects(
      source.ask(),
      /cannot be reached: TLS: [a-z ]+ \((ERR_SSL_[A-Z_]+|EPROTO)\) \(there is no earlier copy\)$/,
    );
  });

  it("are sent again when the server closed a kept connection meanwhile, once", async (t) => {
    // Answers the first request of each connection, and hangs up at the second.
    let connections = 0;
    const server = createServer((socket) => {
      connections++;
      socket.on("error", () => {});
      socket.once("data", () => {
        socket.write(connections > 2 ? "" : "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
        socket.once("data", () => socket.destroy());
        if (connections > 2) socket.destroy();
      });
    });
    t.after(() => server.close());
    const url = new URL(`http://127.0.0.1:${await listen(server)}/`);
    const { signal } = new AbortController();
    const ask = () =>
      request({ url, token: undefined, headers: {}, timing: QUICK, signal }, (answer) =>
        readWhole(answer, 10, new SourceError("too large")),
      );
    for (let number = 1; number <= 2; number++) {
      assert.equal((await ask()).toString(), "{}");
      assert.equal(connections, number);
      await sleep(10);
    }
    await assert.rejects(ask(), /cannot be reached: (connection reset|socket hang up)/);
    assert.equal(connections, 3);
  });

  it("say in words what is no answer", async (t) => {
    const answers: [answer: string, says: RegExp][] = [
      ["hello\r\n\r\n", /cannot be reached: the answer is not HTTP: .* \(HPE_\w+\) \(there/],
      [`HTTP/1.1 200 OK\r\nx: ${"y".repeat(20_000)}\r\n\r\n`, /the answer is not HTTP: Header overflow/],
      ["HTTP/1.1 101 So\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", /it ended without an answer/],
      ["HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", /the connection broke: aborted \(ECONNRESET\)/],
    ];
    for (const [answer, says] of answers) {
      const server = createServer((socket) =>
        socket.once("data", () => socket.end(answer)).on("error", () => {}),
      );
      const url = `http://127.0.0.1:${await listen(server)}/snapshot/`;
      await assert.rejects(follow(url, fresh(t).cache).ask(), says);
      server.close();
    }
  });

  it("never tell the token, whatever goes wrong; the file may change", async (t) => {
    const { cache, tokenFile } = fresh(t);
    const told: string[] = [];
    const ask = async (address: string, place: string): Promise<void> => {
      const source = follow(address, join(cache, place), { tokenFile });
      await source.ask().catch((error: Error) => told.push(error.message, error.stack ?? ""));
      told.push(JSON.stringify(source.observed));
    };
    for (const content of [`${CANARY} two`, `${CANARY}\nmore`, `${CANARY}\u0000`, "", CANARY.repeat(2000)]) {
      writeFileSync(tokenFile, content);
      await ask(host.url, "wrong");
      assert.match(
        told.at(-3)!,
        /token: (must hold one token, of visible ASCII characters|is larger than 16384 bytes)/,
      );
    }
    assert.equal(host.asked.length, 0);
    rmSync(tokenFile);
    await ask(host.url, "none");
    assert.match(told.at(-3)!, /token: cannot be read: no such file or directory \(ENOENT\)/);

    writeFileSync(tokenFile, ` ${CANARY}-new\n\n`);
    host.fault = (_request, response) => {
      response.writeHead(403).end(CANARY);
      return true;
    };
    await ask(host.url, "refused");
    assert.deepEqual(tokensOf(host), [`Bearer ${CANARY}-new`]);
    await ask(`http://127.0.0.1:${await freePort()}/`, "dead");
    host.fault = undefined;
    await ask(host.url, "right");
    assert.doesNotMatch(told.join("\n"), /canary/);
  });

  it("that send more than they may are ended, and nothing else is", async (t) => {
    const { cache } = fresh(t);
    const source = follow(host.url, cache);
    const folder = await source.ask();
    const bodies: [name: string, body: Buffer, says: RegExp][] = [
      [
        "instances.ndjson",
        Buffer.concat([SECOND.get("instances.ndjson")!, Buffer.from("x")]),
        /has more than the \d+ bytes/,
      ],
      ["manifest.json", Buffer.alloc(1_048_577, " "), /is larger than 1 MiB/],
    ];
    host.files = SECOND;
    for (const [name, body, says] of bodies) {
      host.fault = (request, response) => {
        if (!request.url!.endsWith(name)) return false;
        // In chunks, so that no length is announced.
        response.writeHead(200).end(body);
        return true;
      };
      assert.equal(await source.ask("reload"), folder, name);
      assert.match(source.problem()!, says);
      // An error that nobody handles would come now, and fail the test.
      await sleep(50);
    }
    host.fault = undefined;
    assert.equal(await generationIn(await source.ask("reload")), "second");
  });

  it("end at once when nobody is interested any more", async (t) => {
    const { cache } = fresh(t);
    const source = follow(host.url, cache);
    const leaving = new AbortController();
    host.fault = () => {
      leaving.abort(new Error("closing"));
      return true;
    };
    await assert.rejects(source.refresh("start", leaving.signal), /closing/);
    assert.deepEqual(source.observed, []);
  });
});

it("addresses of a wrong form are refused with a reason, which quotes nothing", () => {
  const cases: [address: string, says: RegExp | undefined][] = [
    ["http://host/", undefined],
    ["HTTPS://host:8443/a/b%20c/", undefined],
    ["http://host", /must end with a slash/],
    ["http://host/a", /must end with a slash/],
    ["http://host/a/manifest.json", /must end with a slash/],
    ["http://host/?a/", /neither a query nor a fragment/],
    ["http://host/#/", /neither a query nor a fragment/],
    ["http://me:secret@host/", /no user name or password; --token takes a token/],
    ["http://me@host/", /no user name or password/],
    ["http://", /is not a valid URL/],
    ["ftp://host/", /must begin with http:\/\/ or https:\/\//],
  ];
  for (const [address, says] of cases) {
    const problem = problemWithAddress(address, "--token");
    if (says === undefined) assert.equal(problem, undefined, address);
    else assert.match(problem ?? "", says, address);
    assert.doesNotMatch(problem ?? "", /secret/);
  }
});
