/** The parts of the admin listener: addresses, hosts, tokens, questions, busiest keys, readiness. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isLoopback, parseAdminAddress } from "../src/admin/admin.ts";
import { readExplainQuestion } from "../src/admin/explain.ts";
import { History } from "../src/admin/history.ts";
import { busiestKeys } from "../src/admin/keys.ts";
import { type AdminRow, createAdminRouter, errorReply, isKnownHost } from "../src/admin/router.ts";
import type { Moment } from "../src/admin/status.ts";
import { keepMoments } from "../src/admin/status-reply.ts";
import { createKeyRing, type KeyRecord } from "../src/auth/keys.ts";
import { countRequest, createCounters, readCounts } from "../src/auth/limit.ts";
import { bodyText } from "../src/model/body.ts";
import type { Ask } from "../src/model/message.ts";
import { keyRecord } from "./support/place.ts";

describe("an address", () => {
  test("is a port, or a host and a port", () => {
    assert.deepEqual(parseAdminAddress("9090"), { host: "127.0.0.1", port: 9090 });
    assert.deepEqual(parseAdminAddress("0"), { host: "127.0.0.1", port: 0 });
    assert.deepEqual(parseAdminAddress("localhost:1"), { host: "localhost", port: 1 });
    assert.deepEqual(parseAdminAddress("10.0.0.7:65535"), { host: "10.0.0.7", port: 65_535 });
    assert.deepEqual(parseAdminAddress("[::1]:80"), { host: "::1", port: 80 });
    assert.deepEqual(parseAdminAddress("ops.internal:80"), { host: "ops.internal", port: 80 });
    const bad = ["", ":", ":80", "65536", "-1", "1.5", "0x10", "host", "host:", "::1:80", "[::1]", "[x]:80"];
    for (const text of [
      ...bad,
      "127.1:80",
      "1.2.3.4.5:80",
      "a b:80",
      "http://x:80",
      " 80",
      "127.0.0.1:080808",
    ]) {
      assert.equal(parseAdminAddress(text), undefined, text);
    }
  });

  test("is loopback, or others can reach it", () => {
    for (const host of ["127.0.0.1", "127.9.9.9", "localhost", "::1", "0:0:0:0:0:0:0:1", "::ffff:127.0.0.1"])
      assert.ok(isLoopback(host), host);
    for (const host of ["0.0.0.0", "10.0.0.1", "localhost.evil.test", "::ffff:10.0.0.1", "127.0.0.1.nip.io"])
      assert.ok(!isLoopback(host), host);
  });
});

test("a host is an IP address, localhost or the bound name", () => {
  const known = ["127.0.0.1", "127.0.0.1:8788", "[::1]", "[::1]:80", "[fe80::1%eth0]:80", "localhost"];
  for (const host of [...known, "LOCALHOST:99999", "ops.internal", "OPS.internal:80"])
    assert.ok(isKnownHost(host, "ops.internal"), host);
  const foreign = ["", ":80", "evil.test", "0x7f.1", "2130706433", "localhost.", "localhost.evil.test"];
  const forged = ["127.0.0.1.evil.test", "127.0.0.1@evil.test", "evil.test:80@127.0.0.1", "[::1", "[evil]"];
  for (const host of [
    ...foreign,
    ...forged,
    "127.0.0.1,evil.test",
    "127.0.0.1 evil.test",
    "ops.internal.",
    "[::1]:x",
    "ops",
  ])
    assert.ok(!isKnownHost(host, "ops.internal"), host);
});

interface Change extends Partial<Ask> {
  readonly host?: string | undefined;
  readonly action?: string;
}

function call({ host = "localhost", action, ...change }: Change): Ask {
  const headers = new Map([
    ["host", host],
    ["x-orrery-admin", action],
  ]);
  return {
    ...{ method: "GET", target: "/a", authorization: undefined, ifNoneMatch: undefined, ifMatch: undefined },
    ...{ now: 0, isGone: () => false, headers: { get: (name) => headers.get(name) ?? null } },
    ...change,
  };
}

describe("the router", () => {
  const rows: readonly AdminRow[] = [
    { method: "GET", path: "/a", answer: () => errorReply(200, "a") },
    { method: "GET", path: "/open", access: "open", answer: () => errorReply(200, "open") },
    {
      ...{ method: "GET", path: "/", answer: () => errorReply(200, "page") },
      signIn: async () => errorReply(401, "page that asks"),
    },
    { method: "POST", path: "/do", access: "action", answer: () => errorReply(200, "done") },
  ];
  const free = createAdminRouter(rows, { boundHost: "ops", token: undefined });
  const guarded = createAdminRouter(rows, { boundHost: "ops", token: "secret" });
  const statusOf = async (answer: typeof free, change: Change): Promise<number> =>
    (await answer(call(change))).status;

  test("judges host, token, path, method and action in this order", async () => {
    assert.equal(await statusOf(guarded, { host: "evil.test", target: "/none" }), 421);
    assert.equal(await statusOf(guarded, { target: "/none" }), 401);
    assert.equal(await statusOf(guarded, { target: "/none", authorization: "Bearer secret" }), 404);
    assert.equal(await statusOf(guarded, { method: "DELETE", authorization: "bearer   secret" }), 405);
    assert.equal(await statusOf(guarded, { method: "POST", target: "/do", action: "1" }), 401);
    assert.equal(await statusOf(free, { method: "POST", target: "/do" }), 403);
    assert.equal(await statusOf(free, { method: "POST", target: "/do", action: "true" }), 403);
    assert.equal(await statusOf(free, { method: "POST", target: "/do", action: "1" }), 200);
    assert.equal(await statusOf(free, { method: "HEAD" }), 200);
    assert.equal(await statusOf(free, { method: "OPTIONS" }), 405);
    assert.equal(await statusOf(guarded, { target: "/open" }), 200);
    assert.equal(await statusOf(guarded, { method: "POST", target: "/open" }), 401);
  });

  test("says which methods a path has", async () => {
    assert.match((await free(call({ method: "PUT" }))).headers, /^Allow: GET, HEAD\r$/m);
    assert.match((await free(call({ method: "GET", target: "/do" }))).headers, /^Allow: POST\r$/m);
  });

  test("sends a page that asks for the token with a 401", async () => {
    const reply = await guarded(call({ target: "/" }));
    assert.equal(reply.status, 401);
    assert.match(bodyText(reply.body), /page that asks/);
    const other = await guarded(call({}));
    assert.match(other.headers, /^WWW-Authenticate: Bearer\r$/m);
  });

  test("looks at the host of an absolute target, and at one that is absent", async () => {
    assert.equal(await statusOf(free, { target: "http://localhost/a" }), 200);
    assert.equal(await statusOf(free, { target: "http://evil.test/a" }), 421);
    assert.equal(await statusOf(free, { target: "http://evil.test/a", headers: undefined }), 421);
    assert.equal(await statusOf(free, { target: "http://localhost/a", host: "evil.test" }), 421);
    assert.equal(await statusOf(free, { headers: undefined }), 200);
    assert.equal(await statusOf(free, { target: "//localhost/a" }), 404);
  });

  test("takes no token but the one", async () => {
    const others = [undefined, "", "secret", "Bearer ", "Bearer secre", "Bearer secrets", "Bearer secret "];
    for (const authorization of [...others, `Bearer ${"s".repeat(1_000_000)}`])
      assert.equal(await statusOf(guarded, { authorization }), 401, authorization?.slice(0, 20));
  });
});

describe("a question of /explain", () => {
  const read = (query: string) => readExplainQuestion(query);

  test("is a target, and perhaps a key", () => {
    assert.deepEqual(read("target=%2Fapi%3Fq%3Da%2Bb&key=k%201"), { target: "/api?q=a+b", key: "k 1" });
    assert.deepEqual(read("key=k&target=/x"), { target: "/x", key: "k" });
    assert.deepEqual(read("target=http%3A%2F%2Fany%2Fapi"), { target: "http://any/api", key: undefined });
  });

  test("is encoded as a client would do it", () => {
    assert.deepEqual(read("target=/s?q=%E3%81%8B%20x"), { target: "/s?q=%E3%81%8B%20x", key: undefined });
    assert.deepEqual(read("target=/s?q=a+b"), { target: "/s?q=a%20b", key: undefined });
  });

  test("is refused in a sentence that quotes nothing", () => {
    const secret = "svc_sk_canary";
    for (const [query, about] of [
      ["", /target is required/],
      ["target=", /target is required/],
      ["target", /target is required/],
      ["key=x", /target is required/],
      [`target=/a&target=/${secret}`, /target is given twice/],
      ["target=/a&key=a&key=b", /key is given twice/],
      ["target=/a?limit=1&offset=2", /%26/],
      [`target=/a&${secret}=1`, /%26/],
      [`target=%ff${secret}`, /percent-encoded UTF-8/],
      ["target=/%zz", /percent-encoded UTF-8/],
      ["target=/a%00b", /control/],
      ["target=/a%0d%0aX:y", /control/],
      [`target=${secret}`, /must begin/],
      ["target=ftp://x/", /must begin/],
      ["target=*", /must begin/],
      [`target=/${"x".repeat(8192)}`, /longer than 8192/],
      [`target=/${"%E3%81%8B".repeat(1000)}`, /longer than 8192/],
      ["target=/a&key=", /key must be/],
    ] as const) {
      const problem = read(query);
      assert.ok(typeof problem === "string", query.slice(0, 50));
      assert.match(problem, about);
      assert.ok(!problem.includes(secret));
    }
  });
});

const record = (at: number, limit: number | null = null): KeyRecord =>
  keyRecord(`svc_sk_${at}`, { id: `key-${at}`, name: `Key ${at}`, limit });

describe("the busiest keys", () => {
  const NOW = 7_200_000;

  test("are those with the most requests in this window, most first", () => {
    const counters = createCounters(3600);
    const ring = createKeyRing(
      Array.from({ length: 300 }, (_, at) => record(at, at === 7 ? 9 : null)),
      counters,
    );
    const gate = { keys: ring, counters, defaultLimit: 1000, use: [] };
    const use = (at: number, times: number, now = NOW): void => {
      for (let time = 0; time < times; time++) countRequest(counters, at, 1000, now);
    };
    const random = [...Array(300).keys()].map((at) => (at * 7919) % 53);
    // A count of the previous window must not appear in this one.
    use(5, 900, NOW - 3_600_000);
    for (const [at, times] of random.entries()) use(at, times);
    const busiest = busiestKeys(gate, NOW, 10);
    const expected = random
      .map((used, at) => ({ id: `key-${at}`, used }))
      .sort((a, b) => b.used - a.used || (a.id < b.id ? -1 : 1));
    assert.deepEqual(
      busiest.map(({ used }) => used),
      expected.slice(0, 10).map(({ used }) => used),
    );
    assert.deepEqual(busiest[0], {
      id: busiest[0]!.id,
      name: busiest[0]!.id.replace("key-", "Key "),
      kind: "api",
      used: 52,
      limit: 1000,
      remaining: 948,
      resetEpochSeconds: 10_800,
      passed: 0,
      refused: { rate_limited: 0, scope: 0, expired: 0, disabled: 0, busy: 0 },
      lastUsedAt: null,
    });
    assert.deepEqual(busiestKeys(gate, NOW + 3_600_000), []);
    assert.equal(
      busiestKeys({ ...gate, remainingOf: () => 5 }, NOW)[0]!.remaining,
      5,
      "where a counter server knows",
    );
  });

  test("are none that were deleted, and reading counts nothing", () => {
    const counters = createCounters(60);
    createKeyRing([record(0), record(1)], counters);
    const left = createKeyRing([record(1)], counters);
    countRequest(counters, 0, 5, NOW);
    countRequest(counters, 1, 5, NOW);
    assert.deepEqual(
      busiestKeys({ keys: left, counters, defaultLimit: 5, use: [] }, NOW).map(({ id, used }) => [id, used]),
      [["key-1", 1]],
    );
    assert.equal(readCounts(counters, NOW).usedBy(1), 1);
    assert.equal(countRequest(counters, 1, 5, NOW).remaining, 3);
  });
});

describe("readiness", () => {
  const LOADED = {
    kind: "snapshot-loaded",
    generation: "g",
    counts: { users: 1, worlds: 2, instances: 3 },
    bytes: 4,
    ms: 5,
    readMs: 1,
    packMs: 1,
    indexMs: 1,
    read: ["users"],
    kept: [],
  } as const;

  test("goes from loading over ready and stale to draining", () => {
    const history = new History({ maxAge: 60, maxDataAge: 100 });
    assert.deepEqual(history.readiness(), {
      status: "loading",
      generation: null,
      loadedAt: null,
      createdAt: null,
      ageSeconds: null,
    });
    history.began();
    history.progress = 0.5;
    assert.equal(history.loading?.progress, 0.5);
    history.confirmed(0);
    history.observe(LOADED);
    history.ended();
    assert.equal(history.loading, null);
    assert.equal(history.readiness().status, "loading", "nothing listens yet");
    history.observe({ kind: "listening", url: "http://x/", generation: "g" });
    assert.equal(history.readiness().status, "ready");
    assert.equal(history.readiness().generation, "g");
    history.confirmed(61_000);
    assert.equal(history.readiness().status, "stale");
    assert.ok(history.readiness().ageSeconds! >= 61);
    history.confirmed(0);
    assert.equal(history.readiness().status, "ready");
    const secondsAgo = (seconds: number): string => new Date(Date.now() - seconds * 1000).toISOString();
    const [old, young] = [secondsAgo(101), secondsAgo(50)];
    history.confirmed(0, old);
    assert.deepEqual([history.readiness().status, history.readiness().createdAt], ["stale", old]);
    assert.match(history.reason(), /^The data are of [^ ]+, 101 s ago; --max-data-age allows 100 s\.$/);
    for (const createdAt of [young, secondsAgo(-1000), "2026", undefined]) {
      history.confirmed(0, createdAt);
      assert.equal(history.readiness().status, "ready", createdAt);
      assert.equal(history.readiness().createdAt, createdAt === "2026" ? null : (createdAt ?? null));
    }
    history.isDraining = true;
    assert.equal(history.readiness().status, "draining");
  });

  test("the server keeps ten minutes for charts, and survives a moment that cannot be measured", async (t) => {
    t.mock.timers.enable({ apis: ["setInterval"] });
    let at = 0;
    const history = keepMoments(async () => {
      if (at++ === 1) throw new Error("a thread is gone");
      return { now: String(at) } as Moment;
    });
    for (let tick = 0; tick < 200; tick++) {
      t.mock.timers.tick(5000);
      await Promise.resolve();
    }
    const { moments, everySeconds } = history();
    assert.equal(moments.length * everySeconds, 600);
    assert.deepEqual([moments[0]!.now, moments.at(-1)!.now], ["81", "200"]);
  });
});

test("requests that cost much are answered one at a time, and few wait", async (t) => {
  // Keeps the process alive, as a server does: the pauses do not.
  const hold = setInterval(() => {}, 1000);
  t.after(() => clearInterval(hold));
  let running = 0;
  let most = 0;
  let answered = 0;
  const row: AdminRow = {
    method: "GET",
    path: "/costly",
    isCostly: true,
    async answer() {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setImmediate(resolve));
      running--;
      if (++answered === 2) throw new Error("one that fails holds nobody up");
      return errorReply(200, "done");
    },
  };
  const answer = createAdminRouter([row], { boundHost: "ops", token: undefined });
  const all = Array.from({ length: 40 }, (_, at) =>
    Promise.resolve(answer(call({ target: "/costly", isGone: () => at > 20 }))).then(
      ({ status }) => status,
      () => 500,
    ),
  );
  const statuses = await Promise.all(all);
  assert.equal(most, 1);
  assert.deepEqual([statuses.filter((status) => status === 200).length, answered], [20, 21]);
  assert.equal(statuses[1], 500);
  assert.ok(statuses.slice(32).every((status) => status === 503));
});
