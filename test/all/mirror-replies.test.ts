/**
 * Mirroring another server: the requests, the result, servers that misbehave, and servers whose data change meanwhile:
 * a mirror publishes one whole generation, or nothing.
 */

import assert from "node:assert/strict";
import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { after, afterEach, before, describe, it } from "node:test";
import { generateSnapshot } from "../../src/generate/generate.ts";
import { type Mirrored, type MirrorOptions, openMirror } from "../../src/sources/mirror/mirror.ts";
import { contents, id, readRows, temporaryFolder, world } from "../support/folders.ts";
import {
  API_TOKEN,
  CLI_TOKEN,
  type Passing,
  QUICK,
  startUpstream,
  tokenFile,
  type Upstream,
} from "../support/upstream.ts";

function withoutEtag({ headers }: Passing): void {
  delete headers.etag;
}

const BASE = "/api/public/v1";
/** Snapshots without a common row: after a change from one to the other, no row that the first listed exists. */
const SEEDS = { first: 5, second: 6 };
type Name = keyof typeof SEEDS;

const folder = temporaryFolder();
const snapshot = join(folder, "served");
let requestsOfWhole: number;
const wholes: Partial<Record<Name, Record<string, string>>> = {};
let upstream: Upstream;
type Mirror = Awaited<ReturnType<typeof openMirror>>;
const opened: Mirror[] = [];

before(async () => {
  const sizes = { users: 80, worlds: 76, instances: 60, gzip: false };
  for (const [name, seed] of Object.entries(SEEDS))
    await generateSnapshot({ ...sizes, out: join(folder, name), seed });
  cpSync(join(folder, "first"), snapshot, { recursive: true });
  upstream = await startUpstream(snapshot);
  for (const name of ["second", "first"] as const) {
    await serve(name);
    const { out, renew, close } = await open({ after });
    ({ requests: requestsOfWhole } = await renew());
    await close();
    wholes[name] = contents(out);
  }
  assert.notDeepEqual(wholes.first, wholes.second);
  upstream.asked.length = 0;
});
afterEach(async () => {
  upstream.change = undefined;
  upstream.fault = undefined;
  for (const mirror of opened.splice(0)) await mirror.close();
  await serve("first");
  upstream.asked.length = 0;
});
after(() => upstream.close());

async function serve(name: Name): Promise<void> {
  cpSync(join(folder, name), snapshot, { recursive: true });
  await upstream.reload();
}

/** Makes the server change to other rows before certain requests, numbered from 1. */
function serveAt(changes: Readonly<Record<number, Name>>): void {
  let requests = 0;
  upstream.fault = async () => {
    const name = changes[++requests];
    if (name !== undefined) await serve(name);
    return false;
  };
}

async function open(
  t: { after(done: () => void): void },
  more: Partial<MirrorOptions> = {},
): Promise<Mirror & { out: string }> {
  const place = temporaryFolder(t);
  const options = {
    from: upstream.url + BASE,
    tokenFile: tokenFile(place, CLI_TOKEN),
    out: join(place, "out"),
    users: [],
    maxSnapshotBytes: 1e9,
    timing: QUICK,
    signal: new AbortController().signal,
    tell: () => {},
    ...more,
  };
  const mirror = await openMirror(options);
  opened.push(mirror);
  return { ...mirror, out: options.out };
}

const notFound = (reply: Passing, kind: string): unknown =>
  Object.assign(reply, { status: 404, body: `{"error":"${kind} not found"}` });

describe("a mirror", () => {
  it("holds what is public, the owners, and whom the searches find", async (t) => {
    const mirror = await open(t, { users: ["an"] });
    const found = await mirror.renew();
    const visible = readRows(snapshot, "worlds").filter(
      (row) => row.isPublic === true && row.status === "ACTIVE",
    );
    const worlds = readRows(mirror.out, "worlds");
    assert.deepEqual(new Set(worlds.map((row) => row.id)), new Set(visible.map((row) => row.id)));
    assert.ok(worlds.length > 50, `${worlds.length} worlds`);
    assert.equal(readRows(mirror.out, "world-stats").length, worlds.length);
    const users = new Set(readRows(mirror.out, "users").map((row) => row.id));
    const known = new Set(readRows(snapshot, "users").map((row) => row.id));
    for (const { ownerId } of worlds) assert.ok(users.has(ownerId) || !known.has(ownerId), String(ownerId));
    const found2 = readRows(snapshot, "users").filter((row) =>
      String(row.displayName).toLowerCase().includes("an"),
    );
    assert.ok(found2.length > 3);
    for (const row of found2) assert.ok(users.has(row.id), String(row.displayName));
    assert.deepEqual([found.isNew, found.requests], [true, upstream.asked.length]);
    // One request for each owner that no search found, and for the statistics of each world.
    const askedFor = (pattern: RegExp): unknown[] =>
      upstream.asked.flatMap(({ target }) => pattern.exec(target)?.[1] ?? []).sort();
    const brought = new Set(found2.map((row) => row.id));
    const owners = new Set(worlds.map((row) => row.ownerId).filter((owner) => !brought.has(owner)));
    assert.ok(owners.size > 20, `${owners.size} owners`);
    assert.deepEqual(askedFor(/\/users\/([^/?]+)$/), [...owners].sort());
    assert.deepEqual(askedFor(/\/worlds\/([^/?]+)\/stats$/), worlds.map((row) => row.id).sort());
    assert.ok(upstream.asked.every(({ status }) => status === 200 || status === 404));
  });

  it("asks one question when nothing has changed, and publishes nothing", async (t) => {
    const mirror = await open(t);
    const first = await mirror.renew();
    upstream.asked.length = 0;
    const second = await mirror.renew();
    const { generation } = first;
    assert.deepEqual({ ...second }, { generation, isNew: false, requests: 1, collected: undefined });
    assert.equal(upstream.asked.map(({ status }) => status).join(), "304");
  });

  it("says the same whether it was interrupted or not, and asks nothing twice", async (t) => {
    const whole = await open(t);
    const { requests } = await whole.renew();
    upstream.asked.length = 0;
    const out = join(temporaryFolder(t), "out");
    let rounds = 0;
    for (let found: Mirrored | undefined; found === undefined; ) {
      const stop = new AbortController();
      const mirror = await open(t, { out, signal: stop.signal });
      let left = 9 + ++rounds;
      upstream.change = () => {
        if (--left === 0) setImmediate(() => stop.abort(new Error("stopped")));
      };
      found = await mirror.renew().catch(() => undefined);
      await mirror.close();
    }
    assert.ok(rounds > 4);
    // Requests in progress at the stop are repeated.
    const { length } = upstream.asked;
    assert.ok(length <= requests + 8 * (rounds - 1), `${length} of ${requests}`);
    assert.deepEqual(contents(out), contents(whole.out));
  });

  it("does not begin where something else lies, or where no folder can be made", async (t) => {
    const out = join(temporaryFolder(t), "out");
    writeFileSync(out, "mine");
    await assert.rejects(open(t, { out }), { name: "OccupiedError" });
    await assert.rejects(open(t, { out: "/proc/nothing/out" }), { code: "ENOENT" });
    assert.equal(upstream.asked.length, 0);
  });

  it("writes the token nowhere and sends it with no query", async (t) => {
    const place = temporaryFolder(t);
    const mirror = await open(t, {
      out: join(place, "out"),
      tokenFile: tokenFile(temporaryFolder(t), API_TOKEN),
    });
    await mirror.renew();
    let files = 0;
    for (const entry of readdirSync(place, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      files++;
      assert.doesNotMatch(readFileSync(join(entry.parentPath, entry.name), "utf8"), /canary/);
    }
    assert.ok(files >= 6, `${files} files`);
    assert.ok(upstream.asked.every(({ target }) => !target.includes("canary")));
  });
});

it("a server without a name for its generations is watched by totals and doubled rows", async (t) => {
  for (const what of ["total", "doubled"]) {
    const mirror = await open(t);
    let times = 0;
    upstream.change = (reply) => {
      withoutEtag(reply);
      if (!/^\/api\/public\/v1\/worlds\?limit=50&offset=50/.test(reply.target) || times++ > 1) return;
      const body = JSON.parse(reply.body) as { data: { id: string }[]; pagination: { total: number } };
      if (what === "total") body.pagination.total++;
      else body.data[1]!.id = body.data[0]!.id;
      reply.body = JSON.stringify(body);
    };
    const found = await mirror.renew();
    assert.equal(found.collected!.generation, undefined);
    assert.equal(times, 3, what);
    assert.ok(upstream.asked.every(({ headers }) => headers["if-match"] === undefined));
  }
});

describe("a server that is not what it should be", () => {
  type Reply = (response: ServerResponse) => unknown;
  const send =
    (status: number, body: string, headers: Record<string, string> = {}): Reply =>
    (response) =>
      response.writeHead(status, headers).end(body);
  /** A page of these rows with the given pagination. */
  const list = (data: object[], total: unknown, limit = 50): Reply =>
    send(200, JSON.stringify({ data, pagination: { total, limit, offset: 0 } }));
  const { status: _, ...row } = world(1);
  const many = Array.from({ length: 50 }, (_0, at) => ({ ...row, id: id("c", at) }));
  const ofText = (text: string): Reply => send(400, JSON.stringify({ error: text }));
  const elsewhere = { location: "http://elsewhere.example/x?y" };
  const cases: readonly [name: string, reply: Reply, problem: RegExp][] = [
    ["HTML", send(200, "<!DOCTYPE html><p>Hello", { "content-type": "text/html" }), /not JSON of this API$/],
    [
      "a redirect",
      send(302, "", elsewhere),
      /redirects to http:\/\/elsewhere\.example; a token is not sent there/,
    ],
    ["401", send(401, '{"error":"Invalid API key"}'), /answered 401: Invalid API key \(see --token-file\)/],
    ["500 for ever", send(500, '{"error":"Internal server error"}'), /answered 500: Internal server error/],
    ["503 that asks for an hour", send(503, "", { "retry-after": "3600" }), /answered 503/],
    ["a list that is none", send(200, '{"data":{}}'), /it is not a list/],
    ["a total that is none", list([], -1), /total must be a whole number from 0/],
    ["a total beyond belief", list(many, 9e15), /there are 9000000000000000 rows/],
    ["more rows than a page has", list([row, row], 2, 1), /there are 2 rows in a page of 1/],
    ["a page without its rows", list([], 7), /a page has 0 rows in place of 7: begun again 5 times/],
    ["a row without a name", list([{ ...row, name: undefined }], 1), /name must be a string/],
    ["the token in an error", ofText(`what is ${CLI_TOKEN}`), /answered 400: what is …$/],
    ["a long error", ofText("x".repeat(500)), /answered 400: x{200}…$/],
    ["terminal codes in an error", ofText("\u001b[2J\nred"), /answered 400: \[2J red$/],
    [
      "a reply cut off",
      (response) => response.writeHead(200, { "content-length": "100" }).write("{", () => response.destroy()),
      /the connection broke/,
    ],
  ];
  for (const [name, reply, problem] of cases) {
    it(`is told in clear words: ${name}`, async (t) => {
      const mirror = await open(t);
      upstream.change = withoutEtag;
      upstream.fault = (request, response) => {
        if (!request.url!.startsWith(`${BASE}/worlds?`)) return false;
        reply(response);
        return true;
      };
      await assert.rejects(mirror.renew(), (error: Error) => {
        assert.equal(error.name, "SourceError", error.stack);
        assert.match(error.message, problem);
        assert.doesNotMatch(error.message, /canary/);
        return true;
      });
      assert.equal(existsSync(mirror.out), false);
    });
  }

  it("may send a page without end, for as long as one is waited for", async (t) => {
    const mirror = await open(t, { timing: { ...QUICK, manifestMs: 300 } });
    upstream.fault = (_request, response) => {
      response.writeHead(200);
      const timer = setInterval(() => response.write(" ".repeat(9999)), 5);
      response.once("close", () => clearInterval(timer));
      return true;
    };
    await assert.rejects(mirror.renew(), /no whole reply within 0\.3 s/);
  });

  it("may fail now and then", async (t) => {
    const whole = await open(t);
    await whole.renew();
    const mirror = await open(t);
    let asked = 0;
    const failed = new Set<string>();
    upstream.fault = ({ url = "" }, response) => {
      if (++asked % 3 !== 0 || failed.has(url)) return false;
      failed.add(url);
      if (asked % 2 === 0) response.destroy();
      else response.writeHead(503, { "retry-after": "0" }).end();
      return true;
    };
    await mirror.renew();
    assert.deepEqual(contents(mirror.out), contents(whole.out));
  });
});

it("a limit is kept to, and no request is refused", async (t) => {
  const limited = await startUpstream(snapshot, { rateLimit: 30, rateWindow: 1 });
  try {
    const mirror = await open(t, {
      from: limited.url + BASE,
      tokenFile: tokenFile(temporaryFolder(t), API_TOKEN),
    });
    const found = await mirror.renew();
    assert.ok(found.requests > 60, `${found.requests} requests`);
    assert.ok(limited.asked.every(({ status }) => status !== 429));
  } finally {
    await limited.close();
  }
});

function assertWhole(out: string, name: Name): void {
  assert.deepEqual(contents(out), wholes[name]);
}

async function mirrorOnce(t: { after(done: () => void): void }): Promise<Mirrored & { out: string }> {
  const { out, renew, close } = await open(t);
  const found = await renew();
  await close();
  return { ...found, out };
}

describe("a mirror of a server that changes", () => {
  it("is of one generation whenever the change comes, also where only 404s follow", async (t) => {
    const step = Math.ceil(requestsOfWhole / 12);
    let confirmed = 0;
    for (let at = 2; at <= requestsOfWhole; at += step) {
      await serve("first");
      serveAt({ [at]: "second" });
      upstream.asked.length = 0;
      const { out, collected } = await mirrorOnce(t);
      assertWhole(out, "second");
      assert.equal(collected!.gone, 0);
      if (upstream.asked.some(({ status, target }) => status === 404 && target.endsWith("/stats")))
        confirmed++;
    }
    assert.ok(confirmed > 3, `${confirmed} rounds had worlds that were gone`);
  });

  it("is of one generation when the change is taken back, however soon", async (t) => {
    for (const length of [1, 3, 10, 20]) {
      for (const at of [9, 30, requestsOfWhole - 20]) {
        await serve("first");
        serveAt({ [at]: "second", [at + length]: "first" });
        assertWhole((await mirrorOnce(t)).out, "first");
      }
    }
  });

  it("is of one generation when it goes on from a journal of another one", async (t) => {
    const stop = new AbortController();
    let left = Math.floor(requestsOfWhole / 2);
    upstream.change = () => {
      if (--left === 0) stop.abort(new Error("stopped"));
    };
    const stopped = await open(t, { signal: stop.signal });
    await assert.rejects(stopped.renew(), /stopped/);
    await stopped.close();
    await serve("second");
    const again = await open(t, { out: stopped.out });
    await again.renew();
    await again.close();
    assertWhole(stopped.out, "second");
  });

  it("is not made when it changes all the time, and is made once it does no more", async (t) => {
    const manifest = join(folder, "served/manifest.json");
    let requests = 0;
    upstream.fault = async () => {
      if (++requests % 40 === 0) {
        const text = readFileSync(manifest, "utf8");
        writeFileSync(manifest, text.replace(/"generation": "[^"]*"/, `"generation": "change-${requests}"`));
        await upstream.reload();
      }
      return false;
    };
    const { out, renew, close } = await open(t);
    await assert.rejects(renew(), { name: "SourceError", message: /the server('s data)? change/ });
    assert.equal(existsSync(out), false);
    upstream.fault = undefined;
    await serve("second");
    await renew();
    await close();
    assertWhole(out, "second");
  });
});

describe("worlds that are listed and gone", () => {
  const gone = (reply: Passing): void => {
    if (!/\/worlds\/[^/]+\/stats$/.test(reply.target)) return;
    notFound(reply, "World");
    delete reply.headers.etag;
  };
  for (const isNamed of [true, false]) {
    it(`are no empty snapshot, of a server that names ${isNamed ? "its generations" : "none"}`, async (t) => {
      const { out, renew, close } = await open(t);
      const change = isNamed ? undefined : withoutEtag;
      upstream.change = (reply) => {
        gone(reply);
        change?.(reply);
      };
      const lines =
        /the server lists \d+ worlds and answers 404 to the statistics of all of them; nothing is published/;
      await assert.rejects(renew(), lines);
      await assert.rejects(renew(), lines);
      assert.equal(existsSync(out), false);
      // The journal does not keep the failure: a good server is mirrored next.
      upstream.change = change;
      const { collected } = await renew();
      assert.ok(collected!.worlds.length > 50);
      await close();
    });
  }
});
