/** Faults and maintenance of a counter server while replicas count by it. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { need } from "../support/need.ts";
import { until } from "../support/process.ts";
import { countAll, counting, PROGRAM, startPair, startRedis, WINDOW } from "../support/redis.ts";

const skip = need(PROGRAM, PROGRAM.replace("-server", "-cli"));
const PASSWORD = "pass-word-that-nobody-may-see";
describe("replicas notice nothing when", { skip, concurrency: 4 }, () => {
  for (const [what, ...command] of [
    ["scripts", "SCRIPT", "FLUSH"],
    // Both replicas ask afterwards, so both report.
    ["keys: each tells it what it had", "FLUSHALL"],
  ] as const) {
    it(`the server forgets its ${what}`, async () => {
      const redis = await startRedis();
      const replicas = await startPair(redis.url);
      let passed = 0;
      for (let round = 0; round < 4; round++) {
        passed += await countAll(replicas, "a", 50, 4);
        redis.cli(...command);
      }
      passed += await countAll(replicas, "a", 50, 40);
      assert.equal(passed, 50);
      for (const replica of replicas) assert.deepEqual(replica.kinds(), []);
    });
  }

  it("the password changes, until a connection is lost", async () => {
    const redis = await startRedis(["--requirepass", PASSWORD]);
    const replicas = await startPair(`redis://:${PASSWORD}@127.0.0.1:${redis.port}`);
    const cli = (...command: string[]): string => redis.cli("--no-auth-warning", "-a", PASSWORD, ...command);
    let passed = await countAll(replicas, "a", 40, 3);
    cli("CONFIG", "SET", "requirepass", "another");
    passed += await countAll(replicas, "a", 40, 3);
    for (const replica of replicas) assert.deepEqual(replica.kinds(), []);
    redis.cli("--no-auth-warning", "-a", "another", "CLIENT", "KILL", "TYPE", "normal");
    for (const replica of replicas) await replica.untilAway();
    // The share of each, including earlier requests.
    passed += await countAll(replicas, "a", 40, 30);
    assert.equal(passed, 40);
    redis.cli("--no-auth-warning", "-a", "another", "CONFIG", "SET", "requirepass", PASSWORD);
    for (const replica of replicas) {
      await replica.untilBack();
      assert.deepEqual(replica.kinds(), ["limits-away", "limits-back"]);
      assert.doesNotMatch(JSON.stringify(replica.seen), /pass-word|another/);
    }
    assert.equal(await countAll(replicas, "a", 40, 5), 0);
  });
});

/** Time without an answer from the server: longer than a test's replicas wait. */
const LONG_MS = 2000;

describe("nobody waits longer for it, and nothing is counted twice, when", { skip, concurrency: 4 }, () => {
  for (const [name, args, command] of [
    ["the server pauses its clients", [], ["CLIENT", "PAUSE", String(LONG_MS), "ALL"]],
    ["the server sleeps", ["--enable-debug-command", "yes"], ["DEBUG", "SLEEP", String(LONG_MS / 1000)]],
  ] as const) {
    it(name, async () => {
      const redis = await startRedis(args);
      const replicas = await startPair(redis.url);
      let passed = await countAll(replicas, "a", 40, 5);
      // Not awaited: a sleeping server answers only afterwards.
      const asked = redis.send(...command);
      await until(() => redis.isSilent(), "the server to be silent");
      passed += await countAll(replicas, "a", 40, 30);
      assert.ok(passed <= 40, `${passed}`);
      await asked;
      for (const replica of replicas) {
        // On a busy machine the pause ends before both have asked.
        if (replica.kinds().length > 0) await replica.untilBack();
        assert.match(replica.kinds().join(), /^(limits-away,limits-back)?$/);
      }
      passed += await countAll(replicas, "a", 40, 40);
      assert.equal(passed, 40);
    });
  }

  it("a user is taken away, and comes back", async () => {
    const redis = await startRedis();
    const user = ["ACL", "SETUSER", "counter", "on", `>${PASSWORD}`, "~orrery:*", "+@all"];
    redis.cli(...user);
    const replicas = await startPair(`redis://counter:${PASSWORD}@127.0.0.1:${redis.port}`);
    let passed = await countAll(replicas, "a", 40, 5);
    redis.cli("ACL", "DELUSER", "counter");
    passed += await countAll(replicas, "a", 40, 30);
    assert.equal(passed, 40);
    redis.cli(...user, "-evalsha", "-eval");
    const [first] = replicas;
    await until(() => redis.cli("ACL", "LOG").includes("eval"), "an attempt that was refused");
    assert.deepEqual(first.kinds(), ["limits-away"]);
    redis.cli(...user);
    for (const replica of replicas) {
      await replica.untilBack();
      assert.deepEqual(replica.kinds(), ["limits-away", "limits-back"]);
      assert.doesNotMatch(JSON.stringify(replica.seen), /pass-word/);
    }
    assert.equal(await countAll(replicas, "a", 40, 5), 0);
  });

  it("the server stands still under load, and answers everything late", async () => {
    const redis = await startRedis();
    const replicas = await startPair(redis.url);
    const limits = [3, 20, 50, 80];
    const keys = Array.from({ length: 40 }, (_, n) => ({ key: `key ${n}`, limit: limits[n % 4]! }));
    const passed = new Map<string, number>();
    const load = (): Promise<unknown> =>
      Promise.all(
        keys.flatMap(({ key, limit }) =>
          replicas.map(async (replica) => {
            if ((await replica.count(key, limit)).passed) passed.set(key, (passed.get(key) ?? 0) + 1);
          }),
        ),
      );
    await load();
    for (const isLong of [false, true]) {
      redis.signal("SIGSTOP");
      await load();
      await load();
      if (isLong) for (const replica of replicas) await replica.untilAway();
      redis.signal("SIGCONT");
      for (const replica of replicas) await replica.untilGood();
      await load();
    }
    for (let time = 0; time < 80; time++) await load();
    for (const { key, limit } of keys) {
      // Each replica that was away may pass its share in addition to the other's requests; shares are halves here.
      const all = passed.get(key)!;
      assert.ok(all >= limit - 1 && all <= limit, `${key}: ${all} of ${limit}`);
      const granted = Number(redis.cli("HGET", `orrery:{${key}}:${WINDOW}`, "g"));
      assert.ok(granted <= limit, `${key}: the server granted ${granted} of ${limit}`);
    }
  });

  it("a server knows no HELLO, and repeats a part of the password in saying so", async () => {
    const long = PASSWORD.repeat(8);
    const redis = await startRedis(["--requirepass", long, "--rename-command", "HELLO", ""]);
    const replica = await counting(`redis://:${long}@127.0.0.1:${redis.port}`);
    assert.deepEqual(replica.kinds(), ["limits-away"]);
    assert.match(JSON.stringify(replica.seen), /unknown command/);
    assert.doesNotMatch(JSON.stringify(replica.seen), /pass-word/);
  });
});
