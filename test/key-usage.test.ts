/** Use by key: the counts, and the admin listener's report of them. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { adminAt } from "../src/admin/admin.ts";
import { answerKeys } from "../src/admin/keys.ts";
import type { KeyStatus } from "../src/admin/status.ts";
import { countBusy, countUse, createKeyUse, REFUSALS, requestsOf, useOf } from "../src/auth/key-use.ts";
import { createKeyRing } from "../src/auth/keys.ts";
import { createCounters } from "../src/auth/limit.ts";
import { bodyText } from "../src/model/body.ts";
import { BASE, cleanUp, FEW, serve, TOKENS, type TokenName, WORLD } from "./support/http-server.ts";
import { keyRecord } from "./support/place.ts";
import { get } from "./support/process.ts";

interface KeysReply {
  readonly windowSeconds: number;
  readonly keys: readonly KeyStatus[];
  readonly next: number | null;
}

const NONE = { rate_limited: 0, scope: 0, expired: 0, disabled: 0, busy: 0 };
const HOUR_MS = 3_600_000;

after(cleanUp);

describe("the use of a key", () => {
  it("is what passed, what was refused by reason, and the second of the last request, summed over threads", () => {
    const threads = createKeyUse(2, 8);
    const now = 500 * HOUR_MS;
    const faults = ["rateLimited", "scopeUsers", "apiKeyExpired", "apiKeyInactive"] as const;
    for (const [at, fault] of [...faults, undefined, undefined].entries())
      countUse(threads[at % 2]!, 0, fault, now + at * 1000);
    for (const fault of ["cliTokenUnknown", "cliTokenExpired"] as const) countUse(threads[0]!, 1, fault, now);
    countBusy(threads[1]!, 0);
    assert.deepEqual(useOf(threads, 0), {
      passed: 1,
      refused: { rate_limited: 1, scope: 1, expired: 1, disabled: 1, busy: 1 },
      lastUsed: now / 1000 + 5,
    });
    assert.deepEqual(useOf(threads, 1).refused, { ...NONE, expired: 1, disabled: 1 });
    assert.deepEqual(useOf(threads, 2), { passed: 0, refused: NONE, lastUsed: null });
    const requests = [0, 1, 2].map((slot) => requestsOf(threads, slot));
    assert.deepEqual(requests, [6, 2, 0]);
  });

  it("goes on through all windows, also when the clock steps back, and beyond 32 bits", () => {
    const threads = createKeyUse(1, 2);
    const [use] = threads;
    const now = 500 * HOUR_MS;
    for (const fault of [undefined, "apiKeyExpired", "rateLimited"] as const) countUse(use!, 0, fault, now);
    countUse(use!, 0, "rateLimited", now + 9 * HOUR_MS);
    countUse(use!, 0, undefined, now);
    const refused = { ...NONE, rate_limited: 2, expired: 1 };
    assert.deepEqual(useOf(threads, 0), { passed: 2, refused, lastUsed: (now + 9 * HOUR_MS) / 1000 });
    use!.fill(2 ** 32);
    countUse(use!, 0, undefined, now);
    assert.equal(useOf(threads, 0).passed, 2 ** 32 + 1);
  });
});

describe("a page of keys", () => {
  const counters = createCounters(3600);
  const records = Array.from({ length: 2500 }, (_, at) => keyRecord(`svc_sk_${String(at).padStart(6, "0")}`));
  createKeyRing(records, counters);
  // The first thousand keys are gone; their slots stay empty.
  const keys = createKeyRing(records.slice(1000), counters);
  const figures = { keys, counters, defaultLimit: 9, use: createKeyUse(1) };
  const ask = (query: string) => {
    const { status, body } = answerKeys(query, figures);
    return { status, body: bodyText(body) };
  };

  it("has 500 slots, and leads to the next until all keys were seen once", () => {
    const pages: string[][] = [];
    for (let query = ""; ; ) {
      const { status, body } = ask(query);
      assert.equal(status, 200);
      const { keys: some, next } = JSON.parse(body) as KeysReply;
      pages.push(some.map(({ id }) => id));
      if (next === null) break;
      query = `after=${next}`;
    }
    assert.deepEqual(
      pages.map((page) => page.length),
      [0, 0, 500, 500, 500],
    );
    assert.deepEqual(
      pages.flat(),
      records.slice(1000).map(({ id }) => id),
    );
  });

  it("is refused where it is none, and empty beyond the end", () => {
    for (const after of ["-1", "1.5", "1e3", "x", "", "9999999999"])
      assert.equal(ask(`after=${after}`).status, 400, after);
    assert.deepEqual((JSON.parse(ask("after=999999999").body) as KeysReply).keys, []);
    const { status, body } = ask("id=svc_sk_canary");
    assert.deepEqual([status, body.includes("canary")], [404, false]);
    assert.equal(ask(`id=${records[0]!.id}`).status, 404, "deleted");
  });
});

describe("a server with an admin listener", () => {
  let url: string;

  before(async () => {
    const { port, adminPort } = await serve({ admin: adminAt({ address: { host: "127.0.0.1", port: 0 } }) });
    url = `http://127.0.0.1:${adminPort}`;
    const api = `http://127.0.0.1:${port}${BASE}`;
    const ask = async (name: TokenName, path: string, times: number): Promise<void> => {
      for (let time = 0; time < times; time++) await get(api + path, { token: TOKENS[name] });
    };
    await ask("api", `/worlds/${WORLD}`, 2);
    await ask("api", "/worlds/none", 1);
    await ask("narrow", "/users/none", 3);
    await ask("few", "/stats", FEW + 12);
    await ask("disabled", "/stats", 2);
    await ask("cli", "/stats", 4);
    for (const name of ["expired", "cliDisabled", "cliExpired"] as const) await ask(name, "/stats", 1);
    await get(`${api}/stats`, { token: "svc_sk_nobody" });
  });

  const expected: Readonly<Record<string, readonly [passed: number, refused: object]>> = {
    few: [FEW, { ...NONE, rate_limited: 12 }],
    cli: [4, NONE],
    api: [3, NONE],
    narrow: [0, { ...NONE, scope: 3 }],
    disabled: [0, { ...NONE, disabled: 2 }],
    cliDisabled: [0, { ...NONE, disabled: 1 }],
    cliExpired: [0, { ...NONE, expired: 1 }],
    expired: [0, { ...NONE, expired: 1 }],
  };
  const json = async (path: string) => JSON.parse((await get(url + path)).text);

  it("says in its status what became of the busiest, refused requests included", async () => {
    const busiest: KeyStatus[] = (await json("/status")).keys.busiest;
    assert.deepEqual(
      busiest.map(({ id }) => id),
      Object.keys(expected),
    );
    for (const { id, name, passed, refused, lastUsedAt, ...rest } of busiest) {
      assert.deepEqual([name, passed, refused], [id, ...expected[id]!], id);
      assert.ok(Math.abs(Date.now() - Date.parse(lastUsedAt!)) < 600_000, String(lastUsedAt));
      const { kind, used, limit, remaining } = rest;
      if (kind === "cli") assert.deepEqual([used, limit, remaining], [passed, null, null]);
      else assert.equal(remaining, limit! - used);
    }
  });

  it("says it of one key and of all, without a token or a hash", async () => {
    const { keys, next, windowSeconds } = (await json("/keys")) as KeysReply;
    assert.deepEqual([keys.length, next, windowSeconds], [Object.keys(TOKENS).length, null, 31_536_000]);
    for (const { id, passed, refused, lastUsedAt } of keys) {
      assert.deepEqual([passed, refused], expected[id] ?? [0, NONE], id);
      assert.equal(lastUsedAt === null, expected[id] === undefined);
    }
    const one = (await json("/keys?id=few")) as KeysReply;
    assert.deepEqual([one.keys.length, one.keys[0]!.passed, one.next], [1, FEW, null]);
    const { text } = await get(`${url}/keys`);
    for (const secret of [...Object.values(TOKENS), "sha256"]) assert.ok(!text.includes(secret));
    assert.doesNotMatch(text, /[0-9a-f]{64}/);
  });

  it("never puts a key into its metrics", async () => {
    const { text } = await get(`${url}/metrics`);
    assert.match(text, /orrery_requests_rejected_total/);
    assert.doesNotMatch(text, /"(few|narrow|cliDisabled)"/);
  });
});

it("the reasons are those of the status and of nothing else", () => {
  assert.deepEqual(Object.keys(NONE), [...REFUSALS]);
});
