/** The admin listener of a running server: its answers, its refusals, and hostile peers. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { adminAt } from "../src/admin/admin.ts";
import { startServer } from "../src/server/server.ts";
import { documentOf } from "./support/documents.ts";
import { BASE, cleanUp, serve, serveOpen, TOKENS, testOptions, WORLD } from "./support/http-server.ts";
import { assertInTime, within } from "./support/patience.ts";
import { get, type Response, until } from "./support/process.ts";
import { askOnce, dial, errorOf, header, lastWord, requestHead } from "./support/raw.ts";

const ADMIN = { address: { host: "127.0.0.1", port: 0 } } as const;
const HOST = ["Host: localhost"];

const server = await serve({ admin: adminAt(ADMIN), docs: true });
const admin = server.adminPort!;
after(cleanUp);

const ask = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
  get(`http://127.0.0.1:${admin}${path}`, { headers });
const json = async (path: string) => JSON.parse((await ask(path)).text);
const api = (path: string, token: string): Promise<Response> =>
  get(`http://127.0.0.1:${server.port}${BASE}${path}`, { token });
const explain = (target: string, key?: string) =>
  json(`/explain?target=${encodeURIComponent(target)}${key === undefined ? "" : `&key=${key}`}`);

const reload = (...headers: string[]) => askOnce(admin, "/reload", [...HOST, ...headers], "POST");

describe("an admin listener", () => {
  test("says that it lives and is ready", async () => {
    const live = await ask("/livez");
    assert.deepEqual([live.status, live.text], [200, "ok"]);
    const ready = await ask("/readyz");
    assert.equal(ready.status, 200);
    const { status, generation, loadedAt, createdAt, ageSeconds, ...rest } = JSON.parse(ready.text);
    assert.deepEqual([status, `"${generation}"`, rest], ["ready", server.etag, {}]);
    assert.equal(createdAt, null, "there is no manifest");
    assert.ok(!Number.isNaN(Date.parse(loadedAt)) && ageSeconds >= 0);
    assert.equal(ready.headers["cache-control"], "no-store");
    for (const name of Object.keys(ready.headers)) assert.doesNotMatch(name, /^access-control/);
  });

  test("tells the status: requests, keys and searches", async () => {
    const earlier = await json("/status");
    for (let at = 0; at < 3; at++) assert.equal((await api(`/worlds/${WORLD}`, TOKENS.api)).status, 200);
    assert.equal((await api("/worlds/search?q=far", TOKENS.twin)).status, 200);
    assert.equal((await api("/worlds/search?q=far", "svc_sk_nobody")).status, 401);
    const status = await until(async () => {
      const now = await json("/status");
      return now.requests.total >= earlier.requests.total + 5 ? now : undefined;
    }, "a fresh status");
    const { routes, byStatus, perSecond, active } = status.requests;
    const lookup = routes.find((one: { route: string }) => one.route === "/worlds/:id");
    assert.equal(lookup.byStatus["200"], 3);
    assert.ok(lookup.overall.p50Ms > 0 && lookup.overall.p99Ms >= lookup.overall.p50Ms);
    assert.ok(byStatus["401"] >= 1 && perSecond > 0 && active === 0);
    assert.equal(status.searchCache.misses, 1);
    assert.equal(status.generation.rows.worlds > 0, true);
    assert.equal(status.loads[0].result, "loaded");
    const [thread, ...others] = status.threads.all;
    assert.deepEqual([thread.role, others], ["main", []]);
    assert.ok(status.memory.rssBytes > status.memory.heapUsedBytes);
    for (const token of Object.values(TOKENS)) assert.ok(!JSON.stringify(status).includes(token), token);
    assert.doesNotMatch(JSON.stringify(status), /[0-9a-f]{64}/);
    const [table] = /^\| Field \| Holds \|\n(?:\|.*\n)+/m.exec(documentOf("docs/admin.md").text)!;
    const cells = Array.from(table.matchAll(/^\| (.*?) \|/gm), ([, cell]) => cell);
    assert.deepEqual(
      cells
        .join()
        .match(/(?<=`)\w+(?=`)/g)!
        .sort(),
      Object.keys(status).sort(),
    );
  });

  test("remembers what charts draw", async () => {
    const past = await until(async () => {
      const reply = await json("/history");
      return reply.moments.length > 0 ? reply : undefined;
    }, "a moment");
    const [{ now, requests, memory, threads, ...rest }] = past.moments;
    assert.deepEqual([past.everySeconds, rest], [5, {}]);
    assert.ok(Date.parse(now) <= Date.parse(past.now));
    assert.ok(memory.rssBytes > memory.heapUsedBytes && threads.delayP99Ms >= 0);
    assert.ok(Array.isArray(requests.routes) && typeof requests.perSecondByStatus === "object");
  });

  test("explains a search without searching", async () => {
    const searches = async () => (await ask("/metrics")).text.match(/^orrery_searches_total.*$/gm);
    const before = await searches();
    const query = "q=FAR++wide&limit=7&limit=9&offset=-1";
    const target = `${BASE}/worlds/search?${query}`;
    const { route, ...worlds } = await explain(target);
    assert.deepEqual([route.path, route.scope], ["/worlds/search", "read:worlds"]);
    const parameters = { q: "FAR  wide", match: "exact", limit: 7, offset: 0 };
    const search = { term: "far wide", terms: ["far", "wide"] };
    assert.deepEqual(worlds, { target, refusal: null, parameters, search, key: null });
    const users = await explain(`${BASE}/users/search?${query}`);
    assert.deepEqual([users.route.path, users.parameters], ["/users/search", parameters]);
    assert.deepEqual(users.search, { term: "far wide", terms: ["far wide"] });
    assert.deepEqual(await searches(), before);
  });

  test("explains what would be refused, and counts nothing", async () => {
    const before = await explain(`${BASE}/stats`, "few");
    assert.equal(before.refusal, null);
    assert.deepEqual((await explain(`${BASE}/stats`, "few")).key.quota, before.key.quota);
    assert.equal((await explain(`${BASE}/worlds`, "cli")).key.quota, null);
    const cases: [target: string, key: string | undefined, status?: number, error?: string][] = [
      [`${BASE}/worlds`, "narrow", 403, "Insufficient scope. Required: read:worlds"],
      [`${BASE}/worlds`, "disabled", 401, "API key is deactivated"],
      [`${BASE}/worlds/search?q=%20`, undefined, 400, 'Query parameter "q" is required'],
      [`${BASE}/worlds/search?q=%20`, "narrow", 403, "Insufficient scope. Required: read:worlds"],
      [`${BASE}/worlds/none`, undefined],
      ["/none", undefined, 404, "Not found"],
      ["/none", "disabled", 404, "Not found"],
      ["/", undefined],
      ["/", "disabled"],
    ];
    for (const [target, key, status, error] of cases) {
      const { refusal } = await explain(target, key);
      assert.deepEqual([refusal?.status, refusal?.error], [status, error], target);
    }
    assert.equal((await explain("/none")).route, null);
    assert.equal((await ask(`/explain?target=/&key=${TOKENS.api}`)).status, 404);
    const { route, parameters } = await explain(`http://any${BASE}/worlds/${WORLD}`);
    assert.deepEqual([route.name, parameters], ["getWorld", { id: WORLD }]);
  });

  test("tells no token of a target", async () => {
    const hidden = ["SVC_SK_canary1234", "svc%5Fsk_canary1234", "svc%255fsk_ca%6eary1234"];
    for (const token of [
      ...hidden,
      "svc_sk_%63anary12",
      "%25%37%33vc_sk_canary1234",
      "%u0053vc_sk_canary12",
    ]) {
      const { text } = await ask(`/explain?target=${encodeURIComponent(`${BASE}/users/search?q=${token}`)}`);
      assert.doesNotMatch(text, /ary12/i, token);
    }
  });

  test("reads again when it is told to, by nobody else's page", async () => {
    assert.equal((await reload()).status, 403);
    const [one, two] = await Promise.all([reload("X-Orrery-Admin: 1"), reload("X-Orrery-Admin: 1")]);
    assert.deepEqual([one.status, two.status].sort(), [200, 409]);
    const { keys, snapshot } = JSON.parse((one.status === 200 ? one : two).body);
    assert.deepEqual([keys.result, snapshot.result], ["unchanged", "unchanged"]);
  });
});

describe("hostile peers of the admin listener", () => {
  test("other hosts, none, and two", async () => {
    for (const [host, wanted] of Object.entries({ "evil.test": 421, "": 421, "localhost:1": 200 })) {
      assert.equal((await askOnce(admin, "/status", [`Host: ${host}`])).status, wanted, host);
      // Health is asked for by any name.
      for (const path of ["/livez", "/readyz"])
        assert.equal((await askOnce(admin, path, [`Host: ${host}`])).status, 200, host);
    }
    const none = await lastWord(admin, "GET /livez HTTP/1.1\r\n\r\n");
    assert.equal(errorOf(none), "Bad request: no Host header");
    const two = await lastWord(admin, requestHead("/livez", [...HOST, "Host: evil.test"]));
    assert.equal(two.status, 400);
    const old = await lastWord(admin, "GET /livez HTTP/1.0\r\n\r\n");
    assert.deepEqual([old.status, old.body], [200, "ok"]);
  });

  test("what is no HTTP, and heads and bodies that are too large", async () => {
    const garbage = await lastWord(admin, "\x16\x03\x01\x02\r\n\r\n");
    assert.equal(errorOf(garbage), "Bad request: malformed request line");
    const long = "x".repeat(1_000_000);
    assert.equal((await askOnce(admin, `/explain?target=${long}`, HOST)).status, 431);
    assert.equal((await askOnce(admin, "/status", [...HOST, `Authorization: Bearer ${long}`])).status, 431);
    // A large body is never read: the answer comes before it and ends the connection.
    for (const more of [[], ["Expect: 100-continue"]]) {
      const headers = [...HOST, "X-Orrery-Admin: 1", "Content-Length: 100000000", ...more];
      const response = await lastWord(admin, requestHead("/reload", headers, "POST"), "POST");
      assert.deepEqual([response.status, header(response, "Connection")], [400, "close"]);
    }
    const headers = [...HOST, "X-Orrery-Admin: 1", "Content-Length: 2", "Connection: close"];
    const small = requestHead("/reload", headers, "POST");
    assert.equal((await lastWord(admin, `${small}{}`, "POST")).status, 200);
  });
});

test("a token is asked for but where health is asked for", async () => {
  const guarded = await serve({ admin: adminAt({ ...ADMIN, token: "canary-token" }) });
  const from = (path: string, token?: string): Promise<Response> =>
    get(`http://127.0.0.1:${guarded.adminPort}${path}`, { token });
  for (const path of ["/livez", "/readyz"]) assert.equal((await from(path)).status, 200);
  for (const path of ["/status", "/explain?target=/", "/", "/metrics", "/keys", "/none"]) {
    const refused = await from(path);
    assert.equal(refused.status, 401, path);
    assert.equal(refused.headers["www-authenticate"], "Bearer");
    assert.equal((await from(path, "canary-tokem")).status, 401);
  }
  const status = await from("/status", "canary-token");
  assert.equal(status.status, 200);
  assert.ok(!status.text.includes("canary"));
  assert.ok(!JSON.stringify(guarded.observations).includes("canary"));
});

describe("a stop", () => {
  test("is told at once, while requests are answered", async () => {
    const stopping = await serve({ admin: adminAt(ADMIN) });
    const api = await dial(stopping.port);
    const stopped = stopping.stop();
    const ready = await get(`http://127.0.0.1:${stopping.adminPort}/readyz`);
    assert.deepEqual([ready.status, JSON.parse(ready.text).status], [503, "draining"]);
    void api.send(requestHead(`${BASE}/stats`, [`Authorization: Bearer ${TOKENS.cli}`]));
    assert.equal((await api.response()).status, 200);
    api.destroy();
    await within(stopped, "the stop");
  });

  test("waits for no slow peer of the admin listener", async () => {
    const stopping = await serve({ admin: adminAt(ADMIN) });
    const [half, deaf] = [await dial(stopping.adminPort!), await dial(stopping.adminPort!)];
    void half.send("GET /status HTTP/1.1\r\nHost: ");
    deaf.socket.pause();
    void deaf.send(requestHead("/status", HOST).repeat(10));
    const began = performance.now();
    await within(stopping.stop(), "the stop");
    assertInTime(began, 10_000, "the stop");
    half.destroy();
    deaf.destroy();
  });
});

test("a server that cannot start leaves no admin listener behind", async () => {
  const options = await testOptions({ admin: adminAt(ADMIN), snapshot: "/nowhere" }, []);
  await assert.rejects(startServer(options), /nowhere/);
  const { port } = await serveOpen();
  const clash = await testOptions({ admin: adminAt({ address: { host: "127.0.0.1", port } }) }, []);
  const problem =
    /cannot listen for --admin on 127\.0\.0\.1 port \d+: the port is in use; choose another with --admin or ORRERY_ADMIN$/;
  await assert.rejects(startServer(clash), problem);
  const keys = join(options.settings.keys, "none");
  await assert.rejects(startServer({ ...options, settings: { ...options.settings, keys } }));
});
