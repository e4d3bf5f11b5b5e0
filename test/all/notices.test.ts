/** Notices of keys that have used up their window and of addresses that try bad tokens: few, whatever clients send. */

import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { networkOf, rationNotices } from "../../src/auth/notices.ts";
import type { Observation } from "../../src/observe/events.ts";
import { collectGarbage } from "../../src/util/process/collect.ts";
import { cleanUp, serve, TOKENS } from "../support/http-server.ts";
import { get, keepAlive } from "../support/process.ts";

after(cleanUp);

const named = { name: "shop" };
const fault = "apiKeyUnknown";

function noticing() {
  const told: Observation[] = [];
  const clock = { now: 0 };
  const tell = (one: Observation) => told.push(one);
  const notice = rationNotices(tell, () => clock.now);
  return {
    told,
    clock,
    limited: (keyId: string, reset = 3600, limit = 10) =>
      notice({ kind: "key-limited", ...named, keyId, limit, reset }),
    badToken: (client: string) => notice({ kind: "bad-tokens", client, count: 1, fault }),
  };
}

describe("a key that has used up its window", () => {
  it("is told of once a window, and once a minute at most", () => {
    const { told, clock, limited } = noticing();
    for (let n = 0; n < 100; n++) limited("a");
    limited("b", 3600, 20);
    assert.deepEqual(told, [
      { kind: "key-limited", keyId: "a", ...named, limit: 10, reset: 3600 },
      { kind: "key-limited", keyId: "b", ...named, limit: 20, reset: 3600 },
    ]);
    clock.now += 3_600_000;
    limited("a");
    assert.equal(told.length, 2, "the same window");
    limited("a", 7200);
    assert.equal(told.length, 3);
    // Windows of one second.
    for (let second = 1; second <= 180; second++) {
      clock.now += 1000;
      limited("a", 7200 + second);
    }
    assert.equal(told.length, 6);
    // A window before the last one, as after a clock that was set back.
    clock.now += 60_000;
    limited("a");
    assert.equal(told.length, 6);
  });
});

describe("an address that tries bad tokens", () => {
  it("is told of from the tenth in a minute on, and how many there were since", () => {
    const { told, clock, badToken } = noticing();
    for (let n = 0; n < 9; n++) badToken("10.0.0.1");
    clock.now += 60_000;
    for (let n = 0; n < 9; n++) badToken("10.0.0.1");
    assert.deepEqual(told, []);
    for (let n = 0; n < 1000; n++) badToken("10.0.0.1");
    for (let n = 0; n < 9; n++) badToken("10.0.0.2");
    assert.deepEqual(told, [{ kind: "bad-tokens", client: "10.0.0.1", count: 10, fault }]);
    clock.now += 60_000;
    badToken("10.0.0.1");
    assert.deepEqual(told.slice(1), [{ kind: "bad-tokens", client: "10.0.0.1", count: 1000, fault }]);
  });

  it("is one with all of its network of IPv6", () => {
    const cases = {
      "10.0.0.1": "10.0.0.1",
      "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64",
      "2001:db8::6": "2001:db8:0:0::/64",
      "::1": "0:0:0:0::/64",
      "fe80::1%eth0": "fe80:0:0:0::/64",
    };
    for (const [address, network] of Object.entries(cases)) assert.equal(networkOf(address), network);
  });

  it("takes no memory with a million others, and few lines", () => {
    const { told, badToken } = noticing();
    for (let n = 0; n < 12; n++)
      for (let host = 0; host < 2000; host++) badToken(`10.0.${host >> 8}.${host & 255}`);
    assert.equal(told.length, 100);
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    for (let host = 0; host < 30_000; host++) badToken(`11.${host >> 16}.${(host >> 8) & 255}.${host & 255}`);
    collectGarbage();
    assert.ok(process.memoryUsage().heapUsed - before < 10_000_000);
  });
});

it("notices of several threads become one", () => {
  const told: Observation[] = [];
  const observe = rationNotices((one) => told.push(one));
  for (let thread = 0; thread < 4; thread++) {
    observe({ kind: "key-limited", keyId: "a", ...named, limit: 1, reset: 3600 });
    observe({ kind: "bad-tokens", client: "10.0.0.1", count: 10, fault });
    observe({ kind: "keys-loaded", keys: thread, added: 0, changed: 0, removed: 0 });
  }
  const loads = Array<string>(4).fill("keys-loaded");
  assert.deepEqual(told.map(({ kind }) => kind).sort(), ["bad-tokens", "key-limited", ...loads]);
});

it("a server gives notice of the first 429 of a key and of bad tokens, not of missing ones", async () => {
  const server = await serve({ rateLimit: 3 });
  const agent = keepAlive(1);
  const ask = async (token?: string): Promise<number> =>
    (await get(`http://127.0.0.1:${server.port}/api/public/v1/stats`, { agent, token })).status;
  for (let n = 0; n < 8; n++) assert.equal(await ask(TOKENS.api), n < 3 ? 200 : 429);
  for (let n = 0; n < 20; n++) await ask();
  const notices = () =>
    server.observations.filter(({ kind }) => kind === "key-limited" || kind === "bad-tokens");
  const [limited, ...others] = notices();
  assert.ok(limited?.kind === "key-limited" && others.length === 0, JSON.stringify(notices()));
  assert.deepEqual([limited.keyId, limited.name], ["api", "api"]);
  const bad = ["svc_sk_canary", "nonsense", TOKENS.disabled, TOKENS.expired];
  for (let n = 0; n < 12; n++) await ask(bad[n % 4]);
  const told = { kind: "bad-tokens", client: "127.0.0.1", count: 10, fault: "tokenFormat" };
  assert.deepEqual(notices().slice(1), [told]);
  assert.doesNotMatch(JSON.stringify(server.observations), /canary/);
  agent.destroy();
  await server.stop();
});
