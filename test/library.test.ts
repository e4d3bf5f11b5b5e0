/** The library's functions: arguments, the in-process client, given keys, outcomes of a reload, closing. */

import assert from "node:assert/strict";
import { cpSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, it, type TestContext, test } from "node:test";
import { pathToFileURL } from "node:url";
import { hashToken } from "../src/auth/keys.ts";
import { makeKey } from "../src/auth/keys-file.ts";
import { type DirectAsk, type GivenKey, type OpenOptions, openOrrery } from "../src/mod.ts";
import { FAULTS } from "../src/model/fault.ts";
import { temporaryFolder } from "./support/folders.ts";
import { collect, openPlace, openSample } from "./support/library.ts";
import { place, TOKEN } from "./support/place.ts";
import { serveHttp } from "./support/ports.ts";

const SAMPLE = "data/sample";
const STATS = "/api/public/v1/stats";

const KEYS: readonly GivenKey[] = [
  { id: "limited", kind: "api", token: "svc_sk_limited", limit: 5 },
  { id: "users", kind: "api", token: "svc_sk_users", scopes: ["read:users"] },
  { id: "cli", kind: "cli", token: "svcx_cli" },
];

const CLI = "Bearer svcx_cli";

const open = (t: TestContext, options: Partial<OpenOptions> = {}) =>
  openSample(t, { keys: KEYS, ...options });

const remaining = (headers: Readonly<Record<string, string>>): string | undefined =>
  headers["x-ratelimit-remaining"];

describe("fetch", () => {
  const shared = openOrrery({ snapshot: SAMPLE, keys: KEYS, threads: false, watch: 0 });
  after(async () => (await shared).close());
  const headers = { authorization: CLI };

  it("takes a path, a URL as text, a URL and a Request, with and without options", async () => {
    const orrery = await shared;
    const url = `https://example.org${STATS}#part`;
    const replies = await Promise.all([
      orrery.fetch(STATS, { headers }),
      orrery.fetch(url, { headers }),
      orrery.fetch(new URL(url), { headers: new Headers(headers) }),
      orrery.fetch(new Request(url, { headers })),
      orrery.fetch(new Request(url), { headers }),
      orrery.fetch(new Request(url, { headers, method: "POST", body: "x" }), { method: "GET", body: null }),
    ]);
    const texts = new Set(await Promise.all(replies.map((reply) => reply.text())));
    assert.equal(texts.size, 1);
    for (const { status } of replies) assert.equal(status, 200);
    assert.equal((await orrery.fetch(STATS, { headers, method: "head" })).status, 200);
    assert.equal((await orrery.fetch(STATS, { headers, method: "DELETE" })).status, 405);
    assert.equal((await orrery.fetch(STATS)).status, 401);
  });

  it("takes objects whose text is a URL", async () => {
    const orrery = await shared;
    const url = new URL(`http://example.org${STATS}`);
    // As the URL of a request in Next: no URL of the platform, but with its properties.
    const urlLike = { href: url.href, signal: AbortSignal.abort(), toString: () => url.href };
    assert.equal((await orrery.fetch(urlLike, { headers })).status, 200);
    for (const text of [url.href, STATS])
      assert.equal((await orrery.fetch(new String(text) as string, { headers })).status, 200);
    const says = /^TypeError: fetch: Cannot convert object to primitive value$/;
    await assert.rejects(orrery.fetch(Object.create(null) as URL), says);
  });

  it("reads its second argument as the global fetch does", async () => {
    const orrery = await shared;
    const head = new Request(`http://example.org${STATS}`, { method: "HEAD", headers });
    const none = { method: undefined, headers: undefined } as unknown as RequestInit;
    const reply = await orrery.fetch(head, none);
    assert.deepEqual([reply.status, await reply.text()], [200, ""]);
    const get = new Request(head, { method: "GET" });
    assert.equal((await (await orrery.fetch(head, get)).text()).slice(0, 8), '{"data":');
    assert.equal((await orrery.fetch(head, { headers: {} })).status, 401);
    await assert.rejects(orrery.fetch(head, 5 as RequestInit), /^TypeError: fetch: /);
  });

  it("takes requests of other implementations", async () => {
    const orrery = await shared;
    const headersOf = new Map([["authorization", CLI]]) as unknown as Headers;
    const other = { method: "GET", url: `http://example.org${STATS}`, headers: headersOf };
    assert.equal((await orrery.fetch(other)).status, 200);
    const reply = await orrery.fetch(other, { method: "HEAD" });
    assert.deepEqual([reply.status, await reply.text()], [200, ""]);
    assert.equal((await orrery.fetch({ ...other, url: STATS }, {})).status, 200);
    assert.equal((await orrery.fetch({ ...other, method: "get" })).status, 200);
    const signal = { aborted: true } as AbortSignal;
    for (const init of [undefined, {}])
      await assert.rejects(orrery.fetch({ ...other, signal }, init), { name: "AbortError" });
    const headers = { get: () => null };
    const says = /^TypeError: fetch: the headers of the request cannot be listed; pass it without/;
    await assert.rejects(orrery.fetch({ ...other, headers }, {}), says);
  });

  it("rejects with the reason of the signal, of the request or of the second argument", async (t) => {
    const orrery = await open(t);
    const reason = new Error("enough");
    const signal = AbortSignal.abort(reason);
    const limited = { authorization: "Bearer svc_sk_limited" };
    const request = new Request(`http://example.org${STATS}`, { headers: limited, signal });
    await assert.rejects(orrery.fetch(STATS, { headers, signal }), reason);
    for (const init of [undefined, {}, { signal: undefined as unknown as null }])
      await assert.rejects(orrery.fetch(request, init), reason);
    // Another signal replaces that of the request, and null means none. No request before this one was counted.
    const other = await orrery.fetch(request, { signal: new AbortController().signal });
    assert.equal(other.headers.get("x-ratelimit-remaining"), "4");
    assert.equal((await orrery.fetch(request, { signal: null })).status, 200);

    // An abort while the search waits.
    const controller = new AbortController();
    const init = { headers, signal: controller.signal };
    const late = orrery.fetch(new Request("http://a/api/public/v1/worlds/search?q=a", init));
    controller.abort(reason);
    await assert.rejects(late, reason);
  });

  it("refuses any other argument", async () => {
    const orrery = await shared;
    const relative = STATS.slice(1);
    for (const input of [undefined, 5, null, {}, { method: "GET", url: "/", headers: {} }, "", relative]) {
      await assert.rejects(orrery.fetch(input as unknown as string), {
        name: "TypeError",
        message: "fetch: the first argument must be a URL, a path or a Request; a path begins with /",
      });
    }
    for (const init of [{ method: "TRACE" }, { body: "x" }, { signal: 5 }, 5])
      await assert.rejects(orrery.fetch(STATS, init as RequestInit), /^TypeError: fetch: /);
    // A body that was read is no matter.
    const read = new Request(`http://a${STATS}`, { headers, method: "POST", body: "x" });
    await read.text();
    assert.equal((await orrery.fetch(read, { method: "GET" })).status, 200);
  });
});

it("the client in the process reads as the process itself without a token, and under a key with one", async (t) => {
  const orrery = await open(t);
  const client = orrery.client();
  const { pagination } = await client.worlds.list({ limit: 2 });
  assert.equal((await collect(client.worlds.list.all())).length, pagination.total);
  for (let at = 0; at < 20; at++) assert.ok((await client.stats()).data.totalUsers > 0);
  assert.ok((await client.users.search("a")).pagination.total > 0);
  const limited = orrery.client("svc_sk_limited");
  await limited.stats();
  const { headers } = await orrery.ask({ target: STATS, authorization: "Bearer svc_sk_limited" });
  assert.equal(remaining(headers), "3", "the token's requests are counted, those of the process are not");
  await assert.rejects(orrery.client("svc_sk_users").worlds.list(), { name: "ApiError", status: 403 });
  await assert.rejects(orrery.client("svc_sk_nobody").stats(), { name: "ApiError", status: 401 });
  await assert.rejects(client.worlds.get("no-such"), { name: "ApiError", status: 404 });
  for (const token of ["ä", "", null, 5, "Bearer x"] as string[])
    assert.throws(() => orrery.client(token), /^TypeError: token: must be given, in visible ASCII$/, token);
});

it("a key that the host has chosen decides over the Authorization header, through every door", async (t) => {
  const orrery = await open(t);
  const chosen = orrery.as("limited");
  const ask = await chosen.ask({ target: STATS, authorization: "Bearer nonsense" });
  assert.equal(remaining(ask.headers), "4");
  const fetched = await chosen.fetch(STATS);
  assert.equal(fetched.headers.get("x-ratelimit-remaining"), "3");
  const origin = await serveHttp(t, chosen.handle);
  const handled = await fetch(origin + STATS);
  assert.equal(handled.headers.get("x-ratelimit-remaining"), "2");
  const users = await orrery.as("users").ask({ target: "/api/public/v1/worlds" });
  assert.equal(users.status, 403);
  const nobody = await orrery.as("nobody").ask({ target: STATS, authorization: CLI });
  assert.deepEqual([nobody.status, nobody.body], [401, '{"error":"Invalid API key"}']);
  for (const id of [undefined, null, 5] as unknown as string[])
    assert.throws(() => orrery.as(id), /^TypeError: as: the id of a key must be a string$/);
});

describe("setKeys", () => {
  it("replaces given keys at once; counts of their ids go on", async (t) => {
    const orrery = await open(t);
    const ask = (token: string) => orrery.ask({ target: STATS, authorization: `Bearer ${token}` });
    assert.equal(remaining((await ask("svc_sk_limited")).headers), "4");
    orrery.setKeys([
      { id: "limited", kind: "api", sha256: hashToken("svc_sk_new").toUpperCase(), limit: 10 },
      { id: "gone", kind: "api", token: "svc_sk_gone", expiresAt: "2020-01-01T00:00:00Z" },
      { id: "off", kind: "api", token: "svc_sk_off", active: false },
    ]);
    assert.equal((await ask("svc_sk_limited")).status, 401);
    assert.equal(remaining((await ask("svc_sk_new")).headers), "8");
    assert.match((await ask("svc_sk_gone")).body, /API key has expired/);
    assert.match((await ask("svc_sk_off")).body, /API key is deactivated/);
    assert.equal((await ask("svcx_cli")).status, 401);
    orrery.setKeys([]);
    assert.equal((await ask("svc_sk_new")).status, 401);
    orrery.setKeys(KEYS);
    assert.equal(remaining((await ask("svc_sk_limited")).headers), "2", "a key that comes back");
  });

  it("takes records as a keys file has them, and dates", async (t) => {
    const orrery = await open(t);
    const { record, token } = makeKey({ name: "n", kind: "api", prefix: "svc_sk_" });
    const cli = makeKey({ name: "c", kind: "cli", prefix: "svcx_" });
    const previous = [{ sha256: hashToken("svc_sk_old"), expiresAt: "2999-01-01T00:00:00Z" }];
    const scopes = ["read:worlds", "read:moons"];
    orrery.setKeys([
      { ...record, previous, owner: "me", team: "blue", scopes } as GivenKey,
      cli.record,
      { id: "dated", kind: "api", token: "svc_sk_dated", limit: null, expiresAt: new Date("2999-01-01") },
      { id: "past", kind: "api", token: "svc_sk_past", expiresAt: new Date(0) },
    ]);
    const statusOf = async (token: string, path = "/worlds"): Promise<number> =>
      (await orrery.ask({ target: `/api/public/v1${path}`, authorization: `Bearer ${token}` })).status;
    for (const good of [token, "svc_sk_old", cli.token, "svc_sk_dated"])
      assert.equal(await statusOf(good), 200);
    assert.equal(await statusOf(token, "/users/search?q=a"), 403);
    assert.equal(await statusOf("svc_sk_past"), 401);
  });

  it("refuses a bad list, names the key, and changes nothing", async (t) => {
    const orrery = await open(t);
    const good = { id: "a", kind: "api", token: "svc_sk_a" };
    const sha256 = hashToken("svc_sk_a");
    const bad: readonly [unknown, RegExp][] = [
      [undefined, /^setKeys: keys must be an array$/],
      [[{ ...good, sha256 }], /^setKeys: key "a": takes a token or its sha256, not both$/],
      [[{ id: "a", kind: "api", sha256: "xyz" }], /^setKeys: key "a": sha256 must be 64 hex digits$/],
      [[{ ...good, expiresAt: "soon" }], /^setKeys: key "a": expiresAt must be null or an ISO 8601 time$/],
      [
        [{ ...good, expiresAt: new Date("x") }],
        /: expiresAt must be null or an ISO 8601 time, is an invalid Date$/,
      ],
      [[{ ...good, previous: [{ sha256 }] }], /^setKeys: key "a": previous\[0\]\.expiresAt: is missing$/],
      [[{ ...good, active: 1 }], /^setKeys: key "a": active must be true or false, is 1$/],
    ];
    for (const [keys, message] of bad) {
      assert.throws(() => orrery.setKeys(keys as GivenKey[]), { name: "TypeError", message });
      assert.equal((await orrery.ask({ target: STATS, authorization: CLI })).status, 200);
    }
  });

  it("is refused where the keys are those of a file", async (t) => {
    const file = join(temporaryFolder(t), "keys.json");
    writeFileSync(file, '{"keys":[]}');
    const orrery = await open(t, { keys: file });
    assert.throws(() => orrery.setKeys([]), /setKeys: the keys are those of a file/);
  });
});

it("reload tells what became of keys and snapshot", async (t) => {
  const folder = temporaryFolder(t);
  const snapshot = join(folder, "snapshot");
  const file = join(folder, "keys.json");
  cpSync(SAMPLE, snapshot, { recursive: true });
  rmSync(join(snapshot, "manifest.json"), { force: true });
  writeFileSync(file, '{"keys":[]}');
  const orrery = await open(t, { keys: file, snapshot });
  const first = orrery.generation();
  const unchanged = { keys: "unchanged", snapshot: "unchanged", generation: first, problems: [] };
  assert.deepEqual(await orrery.reload(), unchanged);

  writeFileSync(join(snapshot, "instances.ndjson"), "");
  writeFileSync(file, '{"keys":[],"more":1}');
  const loaded = await orrery.reload();
  assert.deepEqual([loaded.keys, loaded.snapshot, loaded.problems], ["loaded", "loaded", []]);
  assert.notEqual(loaded.generation, first);
  assert.equal(orrery.generation(), loaded.generation);

  writeFileSync(join(snapshot, "users.ndjson"), "nonsense\n");
  writeFileSync(file, "nonsense");
  for (let at = 0; at < 2; at++) {
    const { problems, ...outcome } = await orrery.reload();
    assert.deepEqual(outcome, { keys: "refused", snapshot: "refused", generation: loaded.generation });
    assert.match(problems.join("\n"), /keys\.json[^\n]*\nusers\.ndjson/);
  }

  rmSync(snapshot, { recursive: true });
  cpSync(SAMPLE, snapshot, { recursive: true });
  const closing = [orrery.reload(), orrery.reload()];
  orrery.close();
  for (const reloading of [...closing, orrery.reload()]) {
    const { snapshot, problems } = await reloading;
    assert.equal(snapshot, "refused");
    assert.equal(problems.at(-1), "the server is stopping: nothing is loaded any more");
  }
  const { keys, problems } = await orrery.reload();
  assert.equal(keys, "refused");
  assert.equal(problems[0], "the server is stopping: no keys are read any more");
});

const asked = { target: STATS, authorization: `Bearer ${TOKEN}` };

test("snapshot and keys may be file: URLs", async (t) => {
  const { snapshot, keys } = place(t);
  const orrery = await open(t, { snapshot: pathToFileURL(`${snapshot}/`), keys: pathToFileURL(keys) });
  assert.equal((await orrery.ask(asked)).status, 200);

  const wrong: [given: Partial<OpenOptions>, says: RegExp][] = [
    [{ snapshot: new URL("ftp://host/rows/") }, /"snapshot": a URL must begin with http:.. or https:..$/],
    [{ keys: new URL("data:,x") }, /"keys" can be a file: URL only, is a data: URL$/],
    [{ snapshot: new URL("file://elsewhere/rows") }, /^openOrrery: option "snapshot": /],
  ];
  for (const [given, message] of wrong) await assert.rejects(open(t, given), { name: "TypeError", message });
});

test("what cannot be asked is refused; a field that is unknown is named with the one that may be meant", async (t) => {
  const orrery = await openPlace(t);
  const target = STATS;
  const wrong: [asked: unknown, says: RegExp][] = [
    [undefined, /target must be a string/],
    [target, /target must be a string/],
    [{ target, authorization: 5 }, /authorization must be a string/],
    [{ target, signal: 5 }, /signal must be an AbortSignal/],
    [{ target, now: Number.NaN }, /^ask: now must be a number$/],
    [{ target, authorisation: "" }, /^ask: unknown field "authorisation"; did you mean "authorization"\?$/],
    [{ target, headers: {} }, /^ask: unknown field "headers"; there are target, method, /],
  ];
  for (const [asked, message] of wrong)
    await assert.rejects(orrery.ask(asked as DirectAsk), { name: "TypeError", message });
});

for (const threads of [false, true]) {
  test(`a replica that was closed answers nothing more, threads: ${threads}`, async (t) => {
    const orrery = await openPlace(t, { threads });
    const base = await serveHttp(t, orrery.handle);
    const headers = { authorization: asked.authorization };
    assert.equal((await fetch(base + STATS, { headers })).status, 200);
    if (threads) orrery.close();
    else orrery[Symbol.dispose]();
    const reply = await orrery.ask(asked);
    assert.deepEqual([reply.status, reply.body], [503, '{"error":"Server is closed"}']);
    for (const ask of [orrery.fetch, fetch]) {
      for (const path of ["/stats", "/worlds", "/users/search?q=a"]) {
        const reply = await ask(new Request(`${base}/api/public/v1${path}`, { headers }));
        assert.equal(reply.status, 503, path);
        assert.deepEqual(await reply.json(), { error: "Server is closed" });
        assert.equal(reply.headers.get("x-ratelimit-remaining"), null, "it is not counted");
      }
    }
    const judged = Object.keys(FAULTS);
    assert.ok(judged.indexOf("closed") < judged.indexOf("notFound"), "the table has it in the judged order");
    const refusal = { name: "ApiError", status: 503, message: "Server is closed" };
    // A second attempt would wait a random time, 125 ms at least: ten calls with one each would take above a second.
    const began = performance.now();
    for (let call = 0; call < 10; call++) await assert.rejects(orrery.client().stats(), refusal);
    assert.ok(performance.now() - began < 1000, "the client does not try again");
    assert.ok(orrery.generation());
  });
}
