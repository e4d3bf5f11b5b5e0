/** The parts of the admin listener: addresses, hosts, tokens, questions, busiest keys, readiness. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isLoopback, parseAdminAddress } from "../src/admin/admin.ts";
import { readExplainQuestion } from "../src/admin/explain.ts";
import { Health } from "../src/admin/health.ts";
import { busiestKeys } from "../src/admin/keys.ts";
import { type AdminRow, createAdminRouter, errorReply, isKnownHost } from "../src/admin/router.ts";
import { countUse, createKeyUse } from "../src/auth/key-use.ts";
import { createKeyRing, type KeyRecord } from "../src/auth/keys.ts";
import { countRequest, createCounters } from "../src/auth/limit.ts";
import { PROGRAM } from "../src/features.ts";
import { bodyText } from "../src/model/body.ts";
import type { Ask } from "../src/model/message.ts";
import { OBSERVATIONS } from "./support/observations.ts";
import { keyRecord } from "./support/place.ts";

describe("an address", () => {
  test("is a port, or a host and a port", () => {
    for (const [text, address] of Object.entries({
      "9090": { host: "127.0.0.1", port: 9090 },
      "0": { host: "127.0.0.1", port: 0 },
      "localhost:1": { host: "localhost", port: 1 },
      "10.0.0.7:65535": { host: "10.0.0.7", port: 65_535 },
      "[::1]:80": { host: "::1", port: 80 },
      "ops.internal:80": { host: "ops.internal", port: 80 },
    }))
      assert.deepEqual(parseAdminAddress(text), address);
    const bad =
      ",:,:80,65536,-1,1.5,0x10,host,host:,::1:80,[::1],[x]:80,127.1:80,1.2.3.4.5:80,a b:80,http://x:80, 80,127.0.0.1:080808";
    for (const text of bad.split(",")) assert.equal(parseAdminAddress(text), undefined, text);
  });

  test("is loopback, or others can reach it", () => {
    for (const host of ["127.0.0.1", "127.9.9.9", "localhost", "::1", "0:0:0:0:0:0:0:1", "::ffff:127.0.0.1"])
      assert.ok(isLoopback(host), host);
    for (const host of ["::", "10.0.0.1", "localhost.evil.test", "::ffff:10.0.0.1", "127.0.0.1.nip.io"])
      assert.ok(!isLoopback(host), host);
  });
});

test("a host is an IP address, localhost or the bound name", () => {
  const known =
    "127.0.0.1 127.0.0.1:8788 [::1] [::1]:80 [fe80::1%eth0]:80 localhost LOCALHOST:99999 ops.internal OPS.internal:80";
  for (const host of known.split(" ")) assert.ok(isKnownHost(host, ["ops.internal"]), host);
  const foreign = ["", ":80", "evil.test", "127.1", "2130706433", "localhost.evil.test"];
  const forged = ["127.0.0.1@evil.test", "evil.test:80@127.0.0.1", "[::1", "[evil]", "127.0.0.1,evil.test"];
  for (const host of [...foreign, ...forged, "ops.internal.", "[::1]:x"])
    assert.ok(!isKnownHost(host, ["ops.internal"]), host);
});

type Change = Partial<Ask> & { readonly host?: string; readonly action?: string };

function call({ host = "localhost", action, ...change }: Change): Ask {
  const sent: Readonly<Record<string, string | undefined>> = { host, "x-orrery-admin": action };
  return {
    method: "GET",
    target: "/a",
    authorization: undefined,
    ifNoneMatch: undefined,
    ifMatch: undefined,
    now: 0,
    isGone: () => false,
    headers: { get: (name) => sent[name] ?? null },
    ...change,
  };
}

describe("the router", () => {
  const answer = () => errorReply(200, "well");
  const rows: readonly AdminRow[] = [
    { method: "GET", path: "/a", answer },
    { method: "GET", path: "/open", access: "open", answer },
    { method: "GET", path: "/", answer, signIn: async () => errorReply(401, "page that asks") },
    { method: "POST", path: "/do", access: "action", answer },
  ];
  const free = createAdminRouter(rows, { names: ["ops"], token: undefined });
  const guarded = createAdminRouter(rows, { names: ["ops", "metrics.ns.svc"], token: "secret" });
  const statusOf = async (router: typeof free, change: Change): Promise<number> =>
    (await router(call(change))).status;

  test("judges host, token, path, method and action in this order", async () => {
    const authorization = "Bearer secret";
    const cases: [router: typeof free, change: Change, status: number][] = [
      [guarded, { host: "evil.test", target: "/none" }, 421],
      [guarded, { host: "metrics.ns.svc", target: "/none" }, 401],
      // No foreign page has the token; health is no secret.
      [guarded, { host: "evil.test", target: "/none", authorization }, 404],
      [guarded, { host: "evil.test", target: "/none", authorization: "Bearer other" }, 421],
      [free, { host: "evil.test", target: "/open" }, 200],
      [guarded, { target: "/none" }, 401],
      [guarded, { target: "/none", authorization }, 404],
      [guarded, { method: "DELETE", authorization: "bearer   secret" }, 405],
      [guarded, { method: "POST", target: "/do", action: "1" }, 401],
      [free, { method: "POST", target: "/do" }, 403],
      [free, { method: "POST", target: "/do", action: "1" }, 200],
      [free, { method: "HEAD" }, 200],
      [guarded, { method: "POST", target: "/open" }, 401],
      // The host of an absolute target counts, and one may be absent.
      [free, { target: "http://localhost/a" }, 200],
      [free, { target: "http://evil.test/a" }, 421],
      [free, { target: "http://localhost/a", host: "evil.test" }, 421],
    ];
    for (const [router, change, status] of cases)
      assert.equal(await statusOf(router, change), status, JSON.stringify(change));
  });

  test("says which methods a path has, and asks for the token with a 401 and a page where there is one", async () => {
    assert.match((await free(call({ method: "PUT" }))).headers, /^Allow: GET, HEAD\r$/m);
    assert.match((await free(call({ method: "GET", target: "/do" }))).headers, /^Allow: POST\r$/m);
    assert.match((await guarded(call({}))).headers, /^WWW-Authenticate: Bearer\r$/m);
    const { status, body } = await guarded(call({ target: "/" }));
    assert.deepEqual([status, bodyText(body)], [401, bodyText(errorReply(401, "page that asks").body)]);
  });

  test("takes no token but the one", async () => {
    const others = [undefined, "", "secret", "Bearer ", "Bearer secre", "Bearer secrets", "Bearer secret "];
    for (const authorization of [...others, `Bearer ${"s".repeat(1_000_000)}`])
      assert.equal(await statusOf(guarded, { authorization }), 401, authorization?.slice(0, 20));
  });
});

describe("a question of /explain", () => {
  test("is a target, and perhaps a key, and is encoded as a client would do it", () => {
    for (const [query, target, key] of [
      ["target=%2Fapi%3Fq%3Da%2Bb&key=k%201", "/api?q=a+b", "k 1"],
      ["key=k&target=/x", "/x", "k"],
      ["target=http%3A%2F%2Fany%2Fapi", "http://any/api"],
      ["target=/s?q=%E3%81%8B%20x", "/s?q=%E3%81%8B%20x"],
      ["target=/s?q=a+b", "/s?q=a%20b"],
    ] as const)
      assert.deepEqual(readExplainQuestion(query), { target, key });
  });

  test("is refused in a sentence that quotes nothing", () => {
    const secret = "svc_sk_canary";
    for (const [query, about] of [
      ["", /target is required/],
      [`target=/a&target=/${secret}`, /target is given twice/],
      ["target=/a?limit=1&offset=2", /%26/],
      [`target=/a&${secret}=1`, /%26/],
      [`target=%ff${secret}`, /percent-encoded UTF-8/],
      ["target=/a%0d%0aX:y", /control/],
      [`target=${secret}`, /must begin/],
      ["target=ftp://x/", /must begin/],
      [`target=/${"x".repeat(8192)}`, /longer than 8192/],
      ["target=/a&key=", /key must be/],
    ] as const) {
      const problem = readExplainQuestion(query);
      assert.ok(typeof problem === "string", query.slice(0, 50));
      assert.match(problem, about);
      assert.ok(!problem.includes(secret));
    }
  });
});

const record = (at: number): KeyRecord => keyRecord(`svc_sk_${at}`, { id: `key-${at}` });

describe("the busiest keys", () => {
  const NOW = 7_200_000;

  test("are none that were deleted, and reading counts nothing", () => {
    const counters = createCounters(60);
    createKeyRing([record(0), record(1)], counters);
    const left = createKeyRing([record(1)], counters);
    const use = createKeyUse(1);
    for (const slot of [0, 1]) {
      countRequest(counters, slot, 5, NOW);
      countUse(use[0]!, slot, undefined, NOW);
    }
    const [busiest, ...others] = busiestKeys({ keys: left, counters, defaultLimit: 5, use }, NOW);
    assert.deepEqual([busiest!.id, busiest!.used, others], ["key-1", 1, []]);
    assert.equal(countRequest(counters, 1, 5, NOW).remaining, 3);
  });
});

describe("readiness", () => {
  test("goes from loading over ready and stale to draining", () => {
    const health = new Health({ maxDataAge: 100 }, PROGRAM.tables.events);
    const nothing = { generation: null, loadedAt: null, createdAt: null, ageSeconds: null };
    assert.deepEqual(health.readiness(), { status: "loading", ...nothing });
    health.began();
    health.progress = 0.5;
    assert.equal(health.loading?.progress, 0.5);
    health.confirmed(0);
    health.observe(OBSERVATIONS.find(({ kind }) => kind === "snapshot-loaded")!);
    health.ended();
    assert.equal(health.loading, null);
    assert.equal(health.readiness().status, "loading", "nothing listens yet");
    health.observe({ kind: "listening", url: "http://x/", generation: "g" });
    assert.deepEqual([health.readiness().status, health.readiness().generation], ["ready", "g"]);
    health.confirmed(61_000);
    assert.equal(health.readiness().status, "ready");
    assert.ok(health.readiness().ageSeconds! >= 61);
    const secondsAgo = (seconds: number): string => new Date(Date.now() - seconds * 1000).toISOString();
    const old = secondsAgo(101);
    health.confirmed(0, old);
    assert.deepEqual([health.readiness().status, health.readiness().createdAt], ["stale", old]);
    assert.match(health.reason(), /^The data are of [^ ]+, 101 s ago; --max-data-age allows 100 s\.$/);
    for (const createdAt of [secondsAgo(50), secondsAgo(-1000), "2026", undefined]) {
      health.confirmed(0, createdAt);
      const told = createdAt === "2026" ? null : (createdAt ?? null);
      assert.deepEqual([health.readiness().status, health.readiness().createdAt], ["ready", told]);
    }
    health.isDraining = true;
    assert.equal(health.readiness().status, "draining");
  });
});

test("requests that cost much are answered one at a time, and few wait", async (t) => {
  // Keeps the process alive, as a server does: the pauses do not.
  const hold = setInterval(() => {}, 1000);
  t.after(() => clearInterval(hold));
  let [running, most, answered] = [0, 0, 0];
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
  const answer = createAdminRouter([row], { names: ["ops"], token: undefined });
  const ask = async (_: unknown, at: number): Promise<number> => {
    const reply = answer(call({ target: "/costly", isGone: () => at > 20 }));
    return await Promise.resolve(reply).then(
      ({ status }) => status,
      () => 500,
    );
  };
  const statuses = await Promise.all(Array.from({ length: 40 }, ask));
  assert.equal(most, 1);
  assert.deepEqual([statuses.filter((status) => status === 200).length, answered], [20, 21]);
  assert.equal(statuses[1], 500);
  assert.ok(statuses.slice(32).every((status) => status === 503));
});
