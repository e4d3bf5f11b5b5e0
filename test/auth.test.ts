/** The form of the keys file, hashes of tokens, and the rate limit: exact across threads and at the extremes of its numbers. */

import assert from "node:assert/strict";
import { createHash, hash } from "node:crypto";
import { once } from "node:events";
import { describe, it } from "node:test";
import { Worker } from "node:worker_threads";
import { parseKeys, tokenHasher } from "../src/auth/keys.ts";
import {
  type Counters,
  countRequest,
  createCounters,
  createSharedCounters,
  slotOf,
} from "../src/auth/limit.ts";
import { keyRecord } from "./support/place.ts";

describe("the keys file", () => {
  const good = keyRecord("svc_sk_a");
  const text = (...keys: unknown[]): string => JSON.stringify({ keys });
  const HASH = "ab".repeat(32);
  const ended = (sha256: string) => [{ sha256, expiresAt: "2000-01-01T00:00:00Z" }];

  it("is read", () => {
    assert.deepEqual(parseKeys(text(good)).records, [good]);
    assert.deepEqual(parseKeys(`\uFEFF${text()}`).records, []);
    assert.equal(parseKeys(text({ ...good, note: "kept" })).records.length, 1);
    const odd = JSON.stringify({ a: { keys: [1] }, keys: [good], b: ["keys"] }, null, 2);
    assert.deepEqual(parseKeys(odd).records, [good]);
  });

  const another = keyRecord("svc_sk_b");
  const bad: Record<string, [text: string, message: RegExp]> = {
    "no JSON": ["{", /not valid JSON/],
    "an array": ["[]", /"keys"/],
    "no keys": ["{}", /"keys"/],
    "keys that are no array": ['{"keys":{}}', /"keys"/],
    "a record that is no object": [text(good, null), /keys\[1\]: must be an object/],
    "a previous token with the hash of a key": [
      text(good, { ...another, previous: ended(good.sha256) }),
      /keys\[1\]\.previous\[0\]\.sha256: duplicate hash/,
    ],
    "a hash that was a previous token's": [
      text({ ...good, previous: ended(HASH.toUpperCase()) }, { ...good, id: "2", sha256: HASH }),
      /keys\[1\]\.sha256: duplicate hash/,
    ],
    "a duplicate id": [text(good, { ...another, id: good.id }), /keys\[1\]\.id: duplicate id/],
    "a duplicate hash": [text(good, { ...another, sha256: good.sha256.toUpperCase() }), /keys\[1\]\.sha256/],
  };
  const wrong: [change: object, message: RegExp][] = [
    [{ id: "" }, /keys\[0\]\.id/],
    [{ kind: "root" }, /kind/],
    [{ sha256: "ab" }, /sha256/],
    [{ scopes: [1] }, /scopes/],
    [{ limit: 0 }, /limit/],
    [{ active: 1 }, /active/],
    [{ expiresAt: "2026-02-30T00:00:00Z" }, /expiresAt/],
    [{ createdAt: null }, /createdAt/],
    [{ hint: 5 }, /keys\[0\]\.hint: must be a string/],
    [{ previous: {} }, /keys\[0\]\.previous: must be an array/],
    [{ previous: [{ sha256: HASH }] }, /previous\[0\]\.expiresAt: is/],
    [{ previous: [{ sha256: HASH, expiresAt: null }] }, /previous\[0\]\.expiresAt: must be a time/],
  ];
  for (const [change, message] of wrong)
    bad[JSON.stringify(change)] = [text({ ...good, ...change }), message];
  for (const field of Object.keys(good))
    bad[`a record without ${field}`] = [
      text({ ...good, [field]: undefined }),
      RegExp(`${field}: is missing`),
    ];
  for (const [what, [bytes, message]] of Object.entries(bad)) {
    it(`is refused with ${what}`, () => {
      assert.throws(() => parseKeys(bytes), { name: "KeysFileError", message });
    });
  }
});

const ASCII = Array.from({ length: 128 }, (_, code) => code);

/** Tokens, and the bytes or the text of their hash. */
const TOKENS: Record<string, [token: string, hashed?: string | Buffer]> = {
  "every ASCII char": [String.fromCharCode(...ASCII), Buffer.from(ASCII)],
  "UTF-8 out of a header": ["svc_sk_\xc3\xa9", "svc_sk_é"],
  "bytes that are no UTF-8": ["svc_sk_\xff\x80", Buffer.from("svc_sk_\xff\x80", "latin1")],
  "a program's own text": ["svc_sk_é東"],
  "half of a surrogate pair": ["svc_sk_東\ud800", "svc_sk_東\ufffd"],
  "a part of a header": ["Bearer svc_sk_a-token-that-is-cut-out".slice(7), "svc_sk_a-token-that-is-cut-out"],
};

describe("the hash of a token", () => {
  for (const [how, hasher] of Object.entries({
    "in one call": tokenHasher(hash),
    "in several": tokenHasher(undefined),
  })) {
    for (const [what, [token, hashed = token]] of Object.entries(TOKENS)) {
      it(`${how}: ${what}`, () => {
        assert.equal(hasher(token), createHash("sha256").update(hashed).digest("hex"));
      });
    }
  }
});

it("threads that count requests of one key let exactly the limit pass in each window", async () => {
  const counters = createSharedCounters(60);
  const [threads, windows, requests, limit] = [3, 20, 20_000, 25_000];
  const shared = (length: number) => new Int32Array(new SharedArrayBuffer(length * 4));
  const [waiting, passed, refused] = [shared(1), shared(windows), shared(windows)];
  const slot = slotOf(counters, "k");
  const workerData = { counters, slot, limit, windows, requests, threads, waiting, passed, refused };
  const entry = new URL("./support/counting-thread.mjs", import.meta.url);
  const workers = Array.from({ length: threads }, () => new Worker(entry, { workerData, execArgv: [] }));
  await Promise.all(workers.map((worker) => once(worker, "exit")));
  const asked = Array.from(passed, (count, at) => count + refused[at]!);
  // A thread with a late clock counts in the window that others have begun.
  const wanted = asked.map((all) => Math.min(limit, all));
  assert.deepEqual([...passed], wanted);
  const total = asked.reduce((sum, all) => sum + all);
  assert.equal(total, threads * windows * requests);
  assert.ok(Math.max(...refused) > 0, "no window was full");
});

function use(counters: Counters, slot: number, window: number, used: number): void {
  counters.cells[slot] = BigInt(window) * BigInt(counters.split) * 2n ** 32n + BigInt(used);
}

describe("a cell", () => {
  const NOW = Date.parse("2026-01-01T00:00:00Z");

  for (const seconds of [1, 2, 60, 3600, 2 ** 21, 31_536_000]) {
    it(`keeps large counts in windows of ${seconds} s`, () => {
      const counters = createCounters(seconds);
      const slot = slotOf(counters, "k");
      const most = Math.min(Number.MAX_SAFE_INTEGER, counters.split * 2 ** 32 - 1);
      const window = Math.floor(NOW / 1000 / seconds);
      const reset = (window + 1) * seconds;
      assert.ok(most >= Math.min(Number.MAX_SAFE_INTEGER, 2 ** 31 * seconds), "2^31 requests a second");
      const edges = [2 ** 16, 2 ** 31, 2 ** 32, 2 ** 33, 2 ** 40, 2 ** 52].filter((edge) => edge < most);
      assert.ok(edges.length >= 2);
      for (const edge of edges) {
        use(counters, slot, window, edge - 1);
        const limit = edge + 1;
        for (const [at, remaining] of [1, 0, 0].entries()) {
          const told = countRequest(counters, slot, limit, NOW);
          assert.deepEqual(told, { passed: at < 2, limit, remaining, reset });
        }
        assert.equal(countRequest(counters, slot, limit, NOW + seconds * 1000).remaining, edge);
      }
      // A full cell refuses, whatever the limit.
      use(counters, slot, window, most - 1);
      const passed = [1, 2].map(() => countRequest(counters, slot, Number.MAX_SAFE_INTEGER, NOW).passed);
      assert.deepEqual(passed, [true, false]);
    });
  }
});
