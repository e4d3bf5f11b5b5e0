/** Keys, tokens and limits, by themselves. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, it } from "node:test";
import { type Admission, admit as admitOrWait, findKey, type Gate, judgeKey } from "../src/auth/admit.ts";
import {
  createKeyRing,
  hashToken,
  type KeyRecord,
  type KeyRing,
  KeysFileError,
  parseKeys,
} from "../src/auth/keys.ts";
import { countRequest, createCounters, slotOf } from "../src/auth/limit.ts";

const PREFIXES = { api: "svc_sk_", cli: "svcx_" };

function record(token: string, changes: Partial<KeyRecord> = {}): KeyRecord {
  return {
    id: `id of ${token}`,
    kind: "api",
    name: "n",
    sha256: createHash("sha256").update(token).digest("hex"),
    scopes: ["read:worlds"],
    limit: null,
    active: true,
    expiresAt: null,
    createdAt: "2026-01-01T00:00:00Z",
    ...changes,
  };
}

/** The id of the key that a header lets in, or why it lets in none. */
function verdict(header: string | undefined, ring: KeyRing, now: number): string {
  const key = findKey(header, PREFIXES, ring);
  return typeof key === "string" ? key : (judgeKey(key, now) ?? key.id);
}

/** Limits that are not shared are judged at once. */
function admit(...given: Parameters<typeof admitOrWait>): Admission {
  const admission = admitOrWait(...given);
  assert.ok(!(admission instanceof Promise));
  return admission;
}

describe("the keys file", () => {
  const good = record("svc_sk_a");
  const text = (...keys: unknown[]): string => JSON.stringify({ keys });
  const HASH = "ab".repeat(32);

  it("is read", () => {
    assert.deepEqual(parseKeys(text(good)), [good]);
    assert.deepEqual(parseKeys(`\uFEFF${text()}`), []);
    assert.equal(parseKeys(text({ ...good, note: "kept" })).length, 1);
  });

  const bad: Record<string, [text: string, message: RegExp]> = {
    "no JSON": ["{", /JSON/],
    "an array": ["[]", /"keys"/],
    "no keys": ["{}", /"keys"/],
    "keys that are no array": ['{"keys":{}}', /"keys"/],
    "a record that is no object": [text(null), /keys\[0\]/],
    "an empty id": [text({ ...good, id: "" }), /keys\[0\]\.id/],
    "an unknown kind": [text({ ...good, kind: "root" }), /kind/],
    "a short hash": [text({ ...good, sha256: "ab" }), /sha256/],
    "scopes that are no strings": [text({ ...good, scopes: [1] }), /scopes/],
    "a limit of 0": [text({ ...good, limit: 0 }), /limit/],
    "a limit of 1.5": [text({ ...good, limit: 1.5 }), /limit/],
    "a limit in quotes": [text({ ...good, limit: "5" }), /limit/],
    "active that is no boolean": [text({ ...good, active: 1 }), /active/],
    "an impossible expiry": [text({ ...good, expiresAt: "2026-02-30T00:00:00Z" }), /expiresAt/],
    "a creation that is null": [text({ ...good, createdAt: null }), /createdAt/],
    "previous tokens that are no array": [
      text({ ...good, previous: {} }),
      /keys\[0\]\.previous: must be an array/,
    ],
    "a previous token that is no object": [
      text({ ...good, previous: [1] }),
      /keys\[0\]\.previous\[0\]: must be/,
    ],
    "a previous token without an end": [
      text({ ...good, previous: [{ sha256: HASH }] }),
      /previous\[0\]\.expiresAt: is/,
    ],
    "a previous token that never ends": [
      text({ ...good, previous: [{ sha256: HASH, expiresAt: null }] }),
      /previous\[0\]\.expiresAt: must be a time/,
    ],
    "a previous token with the hash of a key": [
      text(good, {
        ...record("svc_sk_b"),
        previous: [{ sha256: good.sha256, expiresAt: "2000-01-01T00:00:00Z" }],
      }),
      /keys\[1\]\.previous\[0\]\.sha256: duplicate hash/,
    ],
    "a hash that was a previous token's": [
      text(
        { ...good, previous: [{ sha256: HASH.toUpperCase(), expiresAt: "2000-01-01T00:00:00Z" }] },
        { ...good, id: "2", sha256: HASH },
      ),
      /keys\[1\]\.sha256: duplicate hash/,
    ],
    "a duplicate id": [text(good, { ...record("svc_sk_b"), id: good.id }), /keys\[1\]\.id/],
    "a duplicate hash": [
      text(good, { ...good, id: "2", sha256: good.sha256.toUpperCase() }),
      /keys\[1\]\.sha256/,
    ],
  };
  for (const [what, [bytes, message]] of Object.entries(bad)) {
    it(`is refused with ${what}`, () => {
      assert.throws(
        () => parseKeys(bytes),
        (error) => error instanceof KeysFileError && message.test(error.message),
      );
    });
  }
  for (const field of Object.keys(good)) {
    it(`is refused without ${field}`, () => {
      const { [field as keyof KeyRecord]: _left, ...rest } = good;
      assert.throws(() => parseKeys(text(rest)), new RegExp(`${field}: is missing`));
    });
  }
});

describe("a token", () => {
  const ring = createKeyRing(
    [
      record("svc_sk_good"),
      record("svc_sk_off", { active: false, expiresAt: "2000-01-01T00:00:00Z" }),
      record("svc_sk_old", { expiresAt: "2026-01-01T00:00:00Z" }),
      record("svcx_good", { kind: "cli" }),
      record("svcx_off", { kind: "cli", active: false }),
      record("svcx_old", { kind: "cli", expiresAt: "2026-01-01T00:00:00Z" }),
      record("svc_sk_really-cli", { kind: "cli" }),
      record("svcx_really-api"),
      record("svc_sk_two words", {}),
    ],
    createCounters(3600),
  );
  const now = Date.parse("2026-01-01T00:00:00Z");
  const cases: [header: string | undefined, found: string][] = [
    [undefined, "noToken"],
    ["", "tokenFormat"],
    ["Bearer", "tokenFormat"],
    ["Bearer ", "tokenFormat"],
    ["Bearer\tsvc_sk_good", "tokenFormat"],
    ["Basic svc_sk_good", "tokenFormat"],
    ["Bearersvc_sk_good", "tokenFormat"],
    [" Bearer svc_sk_good", "tokenFormat"],
    ["Bearer svc_sk_", "tokenFormat"],
    ["Bearer svcx_", "tokenFormat"],
    ["Bearer SVC_SK_good", "tokenFormat"],
    ["Bearer other", "tokenFormat"],
    ["Bearer svc_sk_nobody", "apiKeyUnknown"],
    ["Bearer svc_sk_good extra", "apiKeyUnknown"],
    ["Bearer svc_sk_really-cli", "apiKeyUnknown"],
    ["Bearer svc_sk_off", "apiKeyInactive"],
    ["Bearer svc_sk_old", "apiKeyExpired"],
    ["Bearer svcx_nobody", "cliTokenUnknown"],
    ["Bearer svcx_off", "cliTokenUnknown"],
    ["Bearer svcx_really-api", "cliTokenUnknown"],
    ["Bearer svcx_old", "cliTokenExpired"],
    ["Bearer svc_sk_good", "id of svc_sk_good"],
    ["bearer   svc_sk_good", "id of svc_sk_good"],
    ["BEARER svcx_good", "id of svcx_good"],
    ["Bearer svc_sk_two words", "id of svc_sk_two words"],
  ];
  for (const [header, expected] of cases) {
    it(`${JSON.stringify(header)} → ${expected}`, () => {
      assert.equal(verdict(header, ring, now), expected);
    });
  }

  it("expires at its moment, not before", () => {
    assert.equal(verdict("Bearer svc_sk_old", ring, now - 1), "id of svc_sk_old");
  });

  it("is found by a hash in upper case", () => {
    const good = record("svc_sk_upper");
    const upper = createKeyRing([{ ...good, sha256: good.sha256.toUpperCase() }], createCounters(3600));
    assert.equal(verdict("Bearer svc_sk_upper", upper, now), good.id);
  });

  it("that was used is judged by the keys of the moment", () => {
    const counters = createCounters(3600);
    const states = [true, false, true].map((active) => {
      const keys = createKeyRing([record("svc_sk_used", { active })], counters);
      return [1, 2].map(() => verdict("Bearer svc_sk_used", keys, now) === "id of svc_sk_used");
    });
    assert.deepEqual(states, [
      [true, true],
      [false, false],
      [true, true],
    ]);
  });

  it("that nobody has is not kept: guesses would fill the memory", (t) => {
    const kept = new Set<unknown>();
    const { set } = Map.prototype;
    t.mock.method(Map.prototype, "set", function (this: Map<unknown, unknown>, key: unknown, value: unknown) {
      kept.add(key);
      return set.call(this, key, value);
    });
    const keys = createKeyRing([record("svc_sk_kept")], createCounters(3600));
    for (const token of ["svc_sk_kept", "svc_sk_guess"]) keys.find(token);
    t.mock.restoreAll();
    assert.deepEqual([kept.has("svc_sk_kept"), kept.has("svc_sk_guess")], [true, false]);
  });

  it("is hashed as its bytes", () => {
    const utf8 = "svc_sk_é";
    const onTheWire = Buffer.from(utf8).toString("latin1");
    assert.equal(hashToken(onTheWire), createHash("sha256").update(utf8).digest("hex"));
  });
});

describe("the limit", () => {
  it("lets exactly the limit pass in each window", () => {
    const counters = createCounters(10);
    const slot = slotOf(counters, "k");
    const passed = (now: number): number =>
      Array.from({ length: 9 }, () => countRequest(counters, slot, 4, now)).filter((quota) => quota.passed)
        .length;
    assert.equal(passed(19_999), 4);
    assert.equal(passed(20_000), 4);
    assert.equal(passed(19_999), 0, "a clock that steps back reopens nothing");
    assert.equal(passed(29_999), 0);
    assert.equal(passed(30_000), 4);
  });

  it("tells what is left and when the window ends", () => {
    const counters = createCounters(10);
    const slot = slotOf(counters, "k");
    const quotas = [1, 2, 3].map(() => countRequest(counters, slot, 2, 25_500));
    assert.deepEqual(quotas, [
      { passed: true, limit: 2, remaining: 1, reset: 30 },
      { passed: true, limit: 2, remaining: 0, reset: 30 },
      { passed: false, limit: 2, remaining: 0, reset: 30 },
    ]);
  });

  it("keeps a key's count when keys are loaded again, and room for many keys", () => {
    const counters = createCounters(10);
    const records = Array.from({ length: 300 }, (_, at) => record(`svc_sk_${at}`, { limit: 2 }));
    const gate: Gate = {
      prefixes: PREFIXES,
      defaultLimit: 9,
      counters,
      keys: createKeyRing(records, counters),
    };
    const ask = (token: string): number | undefined =>
      admit(gate, `Bearer ${token}`, null, 0).quota?.remaining;
    assert.equal(ask("svc_sk_0"), 1);
    assert.equal(ask("svc_sk_299"), 1);
    gate.keys = createKeyRing([...records].reverse(), counters);
    assert.equal(ask("svc_sk_0"), 0);
    assert.equal(ask("svc_sk_299"), 0);
    assert.equal(admit(gate, "Bearer svc_sk_0", null, 0).fault, "rateLimited");
  });

  it("counts what lacks a scope, and judges the limit first", () => {
    const counters = createCounters(10);
    const keys = createKeyRing([record("svc_sk_a", { limit: 1, scopes: ["read:everything"] })], counters);
    const gate: Gate = { prefixes: PREFIXES, defaultLimit: 9, counters, keys };
    assert.equal(admit(gate, "Bearer svc_sk_a", "read:users", 0).fault, "scopeUsers");
    assert.equal(admit(gate, "Bearer svc_sk_a", "read:users", 0).fault, "rateLimited");
  });
});
