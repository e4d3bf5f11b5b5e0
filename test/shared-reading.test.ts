/** What explanations say of shared limits, held to what requests get. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { explainKey } from "../src/admin/explain-key.ts";
import { createKeyRing, type KeyRecord } from "../src/auth/keys.ts";
import { createSharedCounters, slotOf, usageOf } from "../src/auth/limit.ts";
import { SharedLimitsKeeper } from "../src/shared-limits/keep-shared.ts";
import { readTally } from "../src/shared-limits/leases.ts";
import { monotonic } from "../src/shared-limits/monotonic.ts";
import { readShared, takeAlone } from "../src/shared-limits/permits.ts";
import { readRedisUrl } from "../src/shared-limits/redis-url.ts";
import { createKeyState, grant, type KeyState } from "./support/grant.ts";

const SECONDS = 3600;
const KEY: KeyRecord = {
  ...{ id: "k", kind: "api", name: "k", sha256: "0".repeat(64), scopes: [], limit: null, active: true },
  ...{ expiresAt: null, createdAt: "2026-01-01T00:00:00Z" },
};

/** A replica by a counter server of one key, which can go away. */
function replica(server: { state: KeyState; isAway: boolean }, name: string, limit: number, replicas = 2) {
  const counters = createSharedCounters(SECONDS);
  const keys = createKeyRing([KEY], counters);
  const slot = slotOf(counters, "k");
  // Requests wait for as long as it takes.
  const settings = { target: readRedisUrl("redis://127.0.0.1"), replicas, denies: false, waitMs: 60_000 };
  const shared = new SharedLimitsKeeper(settings, counters, nobody, () => ({
    ...{ tried: nobody, isUp: nobody, release: nobody, close: nobody },
    async lease(_, asked) {
      await new Promise((resolve) => setImmediate(resolve));
      if (server.isAway) throw new Error("away");
      return grant(server.state, name, asked, SECONDS, Date.now());
    },
  }));
  const { leases, limits } = shared;
  const gate = { prefixes: { api: "a", cli: "c" }, defaultLimit: limit, counters, keys };
  return {
    leases,
    slot,
    count: () => limits.count(slot, limit, Date.now()),
    async explain() {
      const explained = await explainKey(gate, shared, "k", null, Date.now());
      return { fault: explained!.fault, ...explained!.quota! };
    },
    used: () => usageOf(counters, slot).used,
  };
}

const nobody = (): never => assert.fail("nobody asks for it");

const newServer = () => ({ state: createKeyState(), isAway: false });

describe("a shared limit, explained", () => {
  it("is what all replicas have left, and counts nothing", async () => {
    const server = newServer();
    const [a, b] = [replica(server, "a", 20), replica(server, "b", 20)];
    assert.deepEqual((await b.explain()).remaining, 20);
    for (let left = 19; left >= 0; left--) {
      assert.equal((await a.count()).passed, true);
      for (const one of [a, b]) {
        const { counted, used, remaining, fault } = await one.explain();
        assert.deepEqual([counted, used, remaining], ["shared", 20 - left, left]);
        assert.equal(fault, left === 0 ? "rateLimited" : null, `${left} left`);
      }
    }
    assert.deepEqual([a.used(), b.used(), server.state.granted], [20, 0, 20]);
    assert.equal((await b.count()).passed, false);
    assert.equal((await a.count()).passed, false);
  });

  it("says that permits of other replicas are used, and lets pass as many as it says", async () => {
    const server = newServer();
    const [a, b] = [replica(server, "a", 2000), replica(server, "b", 2000)];
    for (let at = 0; at < 300; at++) await a.count();
    const { remaining } = await b.explain();
    assert.ok(remaining < 1700, `${remaining}`);
    for (let at = 0; at < remaining; at++) assert.equal((await b.count()).passed, true, `${at}`);
    assert.equal((await b.count()).passed, false);
    assert.equal((await b.explain()).fault, "rateLimited");
  });

  it("is the replica's share while the server is away", async () => {
    const server = newServer();
    const one = replica(server, "a", 200, 4);
    server.isAway = true;
    assert.deepEqual(
      await one.explain().then(({ counted, used, limit, remaining }) => [counted, used, limit, remaining]),
      ["alone", 0, 200, 50],
    );
    const before = readTally(one.leases);
    for (let left = 49; left >= 0; left--) {
      assert.equal((await one.count()).passed, true);
      assert.equal((await one.explain()).remaining, left);
    }
    assert.equal((await one.explain()).fault, "rateLimited");
    assert.equal((await one.count()).passed, false);
    assert.equal(readTally(one.leases).alone - before.alone, 50, "explanations are not requests");
  });

  it("is read as takeAlone takes, whatever is held", () => {
    for (let seed = 1; seed <= 400; seed++) {
      const random = (below: number): number => (Math.imul(seed * 31 + below, 2654435761) >>> 8) % below;
      const limit = 1 + random(30);
      const server = newServer();
      const { leases, slot } = replica(server, "a", limit, 1 + random(4));
      const now = { mono: monotonic(), wall: Date.now() };
      const { mono, wall } = now;
      const window = BigInt(Math.floor(wall / 1000 / SECONDS) - (seed % 3 === 0 ? 1 : 0));
      const cell = (count: number): bigint =>
        ((window * BigInt(leases.counters.split)) << 32n) | BigInt(count);
      leases.permits[slot] = cell(random(limit + 3));
      leases.counters.cells[slot] = cell(random(limit + 5));
      leases.until[slot] = mono + (seed % 2 === 0 ? 1000 : -1000);
      leases.wallUntil[slot] = wall + 1000;
      leases.rest[slot] = random(7);
      leases.limits[slot] = seed % 5 === 0 ? -limit : limit;
      leases.away[slot] = 1;
      const { remaining, reset } = readShared(leases, slot, limit, now);
      let passed = 0;
      let last = takeAlone(leases, slot, limit, now);
      while (last.passed) {
        passed++;
        last = takeAlone(leases, slot, limit, now);
      }
      assert.deepEqual([remaining, reset], [passed, last.reset], `seed ${seed}`);
    }
  });
});
