/** A snapshot by URL: downloads and reuse, an unreachable host, redirects, and the hosts that get the token. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { after, describe, it, type TestContext } from "node:test";
import { setTimeout } from "node:timers/promises";
import { gunzipSync, gzipSync } from "node:zlib";
import { openOrrery } from "../src/mod.ts";
import { loadSnapshot } from "../src/snapshot/load.ts";
import { problemWithAddress } from "../src/sources/feature.ts";
import { openClient } from "../src/sources/url/client.ts";
import { copiesFolderOf } from "../src/sources/url/copies.ts";
import { withManifest } from "./support/folders.ts";
import { freePort } from "./support/ports.ts";
import { until } from "./support/process.ts";
import {
  answering,
  etagOf,
  FIRST,
  follow,
  freshen,
  generationIn,
  type Host,
  leftOvers,
  SECOND,
  sendOld,
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

  it("is taken as it is stored, from a store that marks compressed files as encoded", async (t) => {
    const packed = gzipSync(FIRST.get("users.ndjson")!);
    const others = [...FIRST].filter(([name]) => name !== "users.ndjson" && name !== "manifest.json");
    const cache = fresh(t);
    host.files = withManifest(new Map([...others, ["users.ndjson.gz", packed]]), "packed");
    host.fault = ({ url, headers }, response) => {
      if (!url!.endsWith(".gz")) return false;
      // It decodes the file for who does not take gzip.
      if (headers["accept-encoding"] === "gzip") response.setHeader("content-encoding", "gzip").end(packed);
      else response.end(gunzipSync(packed));
      return true;
    };
    const source = follow(host.url, cache);
    const folder = await source.ask();
    assert.equal(await generationIn(folder), "packed");
    assert.deepEqual(readFileSync(join(folder, "users.ndjson.gz")), packed);
    assert.deepEqual(source.of("source-failed"), []);
  });

  it("is served from the copy while its host is gone, however old; without one that is told", async (t) => {
    const cache = fresh(t);
    await follow(host.url, cache).ask();
    await host.close();
    try {
      const source = follow(host.url, cache);
      assert.equal(await generationIn(await source.ask()), "first");
      const { problem, copy, ageSeconds } = source.of("source-failed")[0]!;
      assert.match(problem, /^http:\S+manifest\.json: connection refused \(ECONNREFUSED\)$/);
      assert.equal(copy, "first");
      assert.ok(ageSeconds >= 0 && ageSeconds < 600);
      const without = follow(host.url, join(cache, "empty"));
      await assert.rejects(without.ask(), /connection refused .*\(there is no earlier copy\)$/);
    } finally {
      await host.open();
    }
  });

  it("that is published during the first download ends the start, and leaves nothing in the way of the next one", async (t) => {
    const source = follow(host.url, fresh(t));
    host.fault = (request, response) => {
      if (!request.url!.endsWith("instances.ndjson")) return false;
      host.files = SECOND;
      host.fault = undefined;
      response.writeHead(200).end("another version");
      return true;
    };
    await assert.rejects(source.ask("start"), /instances\.ndjson: .*\(there is no earlier copy\)$/);
    assert.equal(await generationIn(await source.ask("start")), "second");
  });

  it("whose copy is damaged is downloaded whole, once the load has found it", async (t) => {
    const cache = fresh(t);
    const place = copiesFolderOf(cache, host.url);
    const users = join(place, "current/users.ndjson");
    const damages: [what: string, damage: () => void, isFound: boolean][] = [
      ["cut off", () => truncateSync(users, 5), true],
      ["edited", () => writeFileSync(users, readFileSync(users).fill("x", 3, 9)), true],
      ["removed", () => rmSync(users), true],
      ["manifest", () => writeFileSync(join(place, "current/manifest.json"), "{}"), false],
      ["record", () => writeFileSync(join(place, "current/copy.json"), "["), false],
    ];
    for (const [what, damage, isFound] of damages) {
      const source = follow(host.url, cache);
      const before = await source.ask();
      damage();
      host.asked.length = 0;
      let folder = await source.ask();
      // Only a damaged manifest or record is found without reading all files.
      assert.equal(folder === before, isFound, what);
      if (isFound) {
        assert.equal((await loadSnapshot(folder)).ok, false, what);
        assert.equal(await source.removeDamagedCopy(folder), true, what);
        folder = await source.ask();
      }
      assert.equal(await generationIn(folder), "first", what);
      assert.equal(namesOf(host).filter((name) => name !== "manifest.json").length, 4, what);
      assert.equal(await source.removeDamagedCopy(folder), false, what);
    }
  });

  it("is not removed for the damage of the one before, which another process has replaced", async (t) => {
    const cache = fresh(t);
    const place = copiesFolderOf(cache, host.url);
    const source = follow(host.url, cache);
    const folder = await source.ask();
    const damaged = join(folder, "instances.ndjson");
    rmSync(damaged);
    // Its reader waits until somebody writes.
    execFileSync("mkfifo", [damaged]);
    const removed = source.removeDamagedCopy(folder);
    host.files = SECOND;
    const next = await follow(host.url, cache).ask();
    writeFileSync(damaged, "other rows");
    assert.equal(await removed, true, "the folder is no longer that of a good copy");
    assert.equal(realpathSync(join(place, "current")), realpathSync(next));
  });

  it("that another process removes at once is told, and brought again", async (t) => {
    const cache = fresh(t);
    const link = join(copiesFolderOf(cache, host.url), "current");
    const source = follow(host.url, cache, { observe: () => rmSync(link) });
    await assert.rejects(source.ask(), { name: "SourceError", message: /another process has removed the/ });
    assert.equal(await generationIn(await follow(host.url, cache).ask()), "first");
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
    other.fault = answering(302, { location: `${host.url}manifest.json?back` });
    host.files = new Map(FIRST).set("manifest.json?back", FIRST.get("manifest.json")!);
    await assert.rejects(follow(host.url, join(cache, "back"), { tokenFile }).ask());
    const back = host.asked.filter(({ name }) => name.endsWith("?back"));
    assert.ok(back.length > 0);
    for (const { headers } of back) assert.equal(headers.authorization, undefined);
  });

  it("follow no loop, and lead nowhere but to the web", async (t) => {
    const { cache, tokenFile } = fresh(t);
    const cases: [location: string, says: RegExp][] = [
      ["file:///etc/passwd", /manifest\.json: a redirect leads to no http: or https: URL/],
      ["http://", /manifest\.json: a redirect leads to no http: or https: URL/],
      ["http://user:secret@127.0.0.1:1/", /manifest\.json: a redirect holds a password/],
      [`http://${CANARY}.invalid/`, /the host name does not resolve|EAI_AGAIN/],
    ];
    for (const [location, says] of cases) {
      host.asked.length = 0;
      host.fault = answering(302, { location });
      await assert.rejects(follow(host.url, cache, { tokenFile }).ask("reload"), (error: Error) => {
        assert.match(error.message, says);
        assert.doesNotMatch(error.message, /secret|canary/);
        return true;
      });
      assert.ok(host.asked.length <= 6, `${host.asked.length} requests`);
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
    host.fault = answering(403, {}, CANARY);
    await ask(host.url, "refused");
    assert.deepEqual(tokensOf(host), [`Bearer ${CANARY}-new`]);
    await ask(`http://127.0.0.1:${await freePort()}/`, "dead");
    host.fault = undefined;
    await ask(host.url, "right");
    assert.doesNotMatch(told.join("\n"), /canary/);
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

function sendForEver(response: ServerResponse): void {
  const chunk = Buffer.alloc(65_536, " ");
  while (!response.destroyed) if (!response.write(chunk)) break;
  if (!response.destroyed) response.once("drain", () => sendForEver(response));
}

/** Writes an answer without the help of node:http. */
const raw = (response: ServerResponse, text: string): unknown => response.socket!.end(text);

/** A lie of a host, how it is told about a manifest or a file, and what is said about it. */
type Lie = readonly [
  what: string,
  lie: (response: ServerResponse, bytes: Buffer, name: string) => unknown,
  saysOfFile: RegExp,
  saysOfManifest?: RegExp,
];

const NO_PROGRESS = /snapshot\/: no progress for 0\.3 s$/;
const CLOSED = /: aborted \(ECONNRESET\)$/;

const LIES: readonly Lie[] = [
  [
    "one byte too long, announced",
    (response, bytes) => response.end(Buffer.concat([bytes, Buffer.from("x")])),
    /: has \d+ bytes, the manifest says \d+$/,
    /not valid JSON/,
  ],
  [
    "one byte too long, in chunks",
    (response, bytes) => response.writeHead(200).end(Buffer.concat([bytes, Buffer.from("x")])),
    /: has more than the \d+ bytes that the manifest says$/,
    /not valid JSON/,
  ],
  [
    "too short, in chunks",
    (response, bytes) => response.writeHead(200).end(bytes.subarray(1)),
    /: ended after \d+ of \d+ bytes$/,
    /not valid JSON/,
  ],
  [
    "another",
    (response, bytes) => response.end(Buffer.alloc(bytes.length, "x")),
    /: sha256 is [0-9a-f]{64}, the manifest says [0-9a-f]{64}$/,
    /not valid JSON/,
  ],
  [
    "endless",
    (response) => sendForEver(response),
    /: has more than the \d+ bytes/,
    /: is larger than 1 MiB$/,
  ],
  [
    "one byte above 1 MiB",
    (response) => response.writeHead(200).end(Buffer.alloc(1_048_577, " ")),
    /: has more than the \d+ bytes/,
    /: is larger than 1 MiB$/,
  ],
  ["silent", () => {}, NO_PROGRESS],
  ["stalled", (response, bytes) => response.write(bytes.subarray(0, 9)), NO_PROGRESS],
  [
    "a trickle",
    (response) => {
      const trickle = setInterval(() => response.write(" "), 20);
      response.on("close", () => clearInterval(trickle));
    },
    NO_PROGRESS,
  ],
  ["reset", (response) => response.socket!.resetAndDestroy(), /: connection reset by peer \(ECONNRESET\)$/],
  ["reset in the body", (response) => response.write("x", () => response.socket!.resetAndDestroy()), CLOSED],
  [
    "cut off",
    (response, { length }) =>
      response.writeHead(200, { "content-length": length }).write("x", () => response.destroy()),
    CLOSED,
  ],
  [
    "garbage as gzip",
    (response, { length }) => response.setHeader("content-encoding", "gzip").end(Buffer.alloc(length, "x")),
    /: sha256 is .*; the server sends it with Content-Encoding: gzip$/,
    /not valid JSON/,
  ],
  [
    "a circle",
    (response, _, name) => response.writeHead(302, { location: `/snapshot/${name}` }).end(),
    /: more than 5 redirects$/,
  ],
  [
    "101",
    (response) => raw(response, "HTTP/1.1 101 So\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"),
    /: the connection ended without an answer$/,
  ],
  ["206", (response, bytes) => response.writeHead(206).end(bytes), /: the server answered 206$/],
  [
    "403",
    (response) => response.writeHead(403).end(),
    /: the server answered 403 \(see --snapshot-token-file\)$/,
  ],
  [
    "404",
    (response) => response.writeHead(404).end(),
    /: the server answered 404$/,
    /: the server answered 404; a snapshot by URL needs a manifest\.json$/,
  ],
  ["500", (response) => response.writeHead(500).end("x".repeat(3e6)), /: the server answered 500$/],
  [
    "no HTTP",
    (response) => raw(response, "hello\r\n\r\n"),
    /: the answer is no HTTP: Expected HTTP\/.* \(HPE_INVALID_CONSTANT\)$/,
  ],
  [
    "a broken chunk",
    (response) => raw(response, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}"),
    CLOSED,
  ],
];

describe("a host that lies", () => {
  for (const name of ["manifest.json", "instances.ndjson"]) {
    it(`about ${name} is refused and reported once; the next look takes what it then says`, async (t) => {
      const cache = freshen(host, t);
      const patient = follow(host.url, cache);
      const impatient = follow(host.url, cache, { progressMs: 300 });
      let folder = await patient.ask();
      let next = SECOND;
      for (const [what, lie, saysOfFile, saysOfManifest = saysOfFile] of LIES) {
        const source = saysOfFile === NO_PROGRESS ? impatient : patient;
        host.files = next;
        host.fault = (request, response) => {
          if (!request.url!.endsWith(name)) return false;
          lie(response, next.get(name)!, name);
          return true;
        };
        source.observed.length = 0;
        assert.equal(await source.ask("reload"), folder, what);
        assert.match(source.problem() ?? "", name === "manifest.json" ? saysOfManifest : saysOfFile, what);
        assert.equal(await source.ask("watch"), folder, what);
        assert.deepEqual(
          source.observed.map(({ kind }) => kind),
          ["source-failed"],
          what,
        );
        assert.deepEqual(leftOvers(cache), [], what);
        host.fault = undefined;
        folder = await source.ask("reload");
        assert.equal(await generationIn(folder), next === SECOND ? "second" : "first", what);
        assert.equal(source.problem(), undefined);
        assert.equal(source.of("source-recovered").length, 1);
        next = next === SECOND ? FIRST : SECOND;
      }
      // An error that nobody handles would have failed the test by now.
      await until(async () => (await host.openConnections()) === 0, "the end of all connections");
    });
  }

  it("asks nothing more once it was ended, and no socket's error is left to nobody", async () => {
    const ending = new AbortController();
    const client = await openClient(new URL(host.url), undefined, 10_000, ending.signal);
    const asked = host.asked.length;
    ending.abort(new Error("ended"));
    await assert.rejects(client.get(new URL("manifest.json", host.url), {}), /^Error: ended$/);
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(host.asked.length, asked);
    client.close();
  });

  it("closes the connection after each answer, announced or not, is read to the end, however slowly", async (t) => {
    const cache = freshen(host, t);
    const large = Buffer.alloc(2e6, "x");
    const answered = new Set<unknown>();
    const closings: ((response: ServerResponse, bytes: Buffer) => void)[] = [
      (response, bytes) => sendOld(response, bytes, true),
      (response, bytes) => sendOld(response, bytes, false),
      (response, bytes) => {
        // As if it had closed a kept connection a moment before the request.
        if (answered.has(response.socket)) response.socket!.destroy();
        else response.writeHead(200, { "content-length": bytes.length }).end(bytes);
        answered.add(response.socket);
      },
    ];
    for (const [n, close] of closings.entries()) {
      host.files = new Map(FIRST).set("large", large);
      host.fault = (request, response) => {
        close(response, host.files.get(request.url!.slice("/snapshot/".length))!);
        return true;
      };
      const folder = await follow(host.url, join(cache, `${n}`)).ask();
      assert.equal(await generationIn(folder), "first");
      const client = await openClient(new URL(host.url), undefined, 10_000, new AbortController().signal);
      const { chunks } = await client.get(new URL("large", host.url), {});
      let received = 0;
      for await (const chunk of chunks) {
        received += chunk.length;
        await setTimeout(10);
      }
      client.close();
      assert.equal(received, large.length);
    }
  });

  it("says 304 about nothing, or has no such file, leaves no copy", async (t) => {
    const cache = freshen(host, t);
    for (const status of [304, 404]) {
      host.fault = answering(status);
      const says = new RegExp(`: the server answered ${status}.*\\(there is no earlier copy\\)$`);
      await assert.rejects(follow(host.url, cache).ask(), says);
      assert.deepEqual(readdirSync(cache), []);
    }
  });

  it("is asked at the next look after a pause that grows, and by a reload at once", async (t) => {
    const cache = freshen(host, t);
    const source = follow(host.url, cache, { firstPauseMs: 60_000 });
    await source.ask();
    host.fault = answering(503);
    await source.ask("watch");
    assert.equal(source.of("source-failed")[0]!.retryMs, 60_000);
    host.asked.length = 0;
    await source.ask("watch");
    assert.deepEqual(namesOf(host), []);
    host.fault = undefined;
    await source.ask("reload");
    assert.deepEqual(namesOf(host), ["manifest.json"]);
    assert.equal(source.problem(), undefined);
  });
});

it("a reload tells that the source cannot be used, though its copy is served", async (t) => {
  const orrery = await openOrrery({
    keys: [],
    snapshot: host.url,
    cache: freshen(host, t),
    watch: 0,
    threads: false,
  });
  t.after(() => orrery.close());
  host.fault = answering(503);
  const { snapshot, generation, problems } = await orrery.reload();
  assert.deepEqual([snapshot, generation], ["unchanged", "first"]);
  assert.match(problems.join(), /manifest\.json: the server answered 503$/);
  host.fault = undefined;
  assert.deepEqual((await orrery.reload()).problems, []);
});

it("addresses of a wrong form are refused with a reason, which quotes nothing", () => {
  const cases: [address: string, says: RegExp | undefined][] = [
    ["http://host/", undefined],
    ["HTTPS://host:8443/a/b%20c/", undefined],
    ["http://host", /must end with a slash/],
    ["http://host/a/manifest.json", /must end with a slash/],
    ["http://host/?a/", /neither a query nor a fragment/],
    ["http://me:secret@host/", /no user name or password; --token takes a token/],
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
