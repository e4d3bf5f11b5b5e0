/** Limits shared by real servers: every way to reach them, and every way that they fail. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { LEASE_SCRIPT } from "../../src/shared-limits/lease-script.ts";
import { createKeyState, grant, release } from "../support/grant.ts";
import { need } from "../support/need.ts";
import { freePort } from "../support/ports.ts";
import {
  type Counting,
  counting,
  PROGRAM,
  PROGRAMS,
  type Redis,
  startCluster,
  startRedis,
} from "../support/redis.ts";

const skip = need(PROGRAM, PROGRAM.replace("-server", "-cli"), "openssl");

describe("the script", { skip }, () => {
  for (const program of PROGRAMS)
    it(`does in ${program} what the functions do`, async () => {
      const redis = await startRedis([], undefined, program);
      const seconds = 2 ** 28;
      const state = createKeyState();
      let random = 7;
      const draw = (below: number): number => {
        random = (random * 48_271) % 2_147_483_647;
        return random % below;
      };
      const sha = redis.cli("SCRIPT", "LOAD", LEASE_SCRIPT);
      const used = [0, 0, 0, 0];
      for (let round = 0; round < 150; round++) {
        const who = draw(4);
        const limit = [10, 1000, 2 ** 53 - 1][Math.floor(round / 50)]!;
        const now = Date.now();
        const window = Math.floor(now / 1000 / seconds);
        const have = draw(3) === 0 ? draw(200) : 0;
        const ask = { limit, window, have, used: used[who]!, want: draw(4) };
        const doesStop = draw(8) === 0;
        const values = [seconds, `r${who}`, limit, window, have, ask.used, doesStop ? -1 : ask.want];
        const text = redis.cli("EVALSHA", sha, "1", "key", ...values.map(String));
        const told = text.split("\n").map(Number);
        if (doesStop) {
          release(state, `r${who}`, ask, seconds, now);
          assert.equal(redis.cli("HEXISTS", "key", `r${who}`), "0");
          used[who] = 0;
        } else {
          const { total, rest, msLeft } = grant(state, `r${who}`, ask, seconds, now);
          assert.deepEqual(told.slice(0, 3), [window, total, rest], `round ${round}`);
          assert.ok(Math.abs(told[3]! - msLeft) < 60_000);
          used[who] = draw(total + 1);
        }
        assert.equal(redis.cli("HGET", "key", "g"), String(state.granted), `round ${round}`);
      }
      assert.match(redis.cli("HGETALL", "key"), /g\n\d+/);
      assert.ok(Number(redis.cli("TTL", "key")) > seconds);
    });
});

describe("replicas of one server", { skip }, () => {
  for (const program of PROGRAMS)
    it(`let through the limit at any replica, and give back what they do not use: ${program}`, async () => {
      const redis = await startRedis(["--unixsocket", "FOLDER/socket"], undefined, program);
      const replicas = [
        await counting(redis.url, { replicas: 3 }),
        await counting(`${redis.url}/0`, { replicas: 3 }),
        await counting(`unix:${join(redis.folder, "socket")}`, { replicas: 3 }),
      ];
      let passed = 0;
      const told = [501, 501, 501];
      for (let at = 0; at < 300; at++) {
        const who = at % 7 === 0 ? at % 3 : 2;
        const quota = await replicas[who]!.count("a", 500);
        if (quota.passed) passed++;
        assert.ok(quota.remaining <= 500 - passed && quota.remaining <= told[who]!);
        told[who] = quota.remaining;
      }
      assert.equal(passed, 300);
      // A clean stop gives back the held permits.
      await replicas[1]!.keeper.close();
      const rest = await Promise.all(Array.from({ length: 300 }, () => replicas[0]!.count("a", 500)));
      const others = await Promise.all(Array.from({ length: 100 }, () => replicas[2]!.count("a", 500)));
      passed += [...rest, ...others].filter((quota) => quota.passed).length;
      assert.equal(passed, 500);
      assert.equal(redis.cli("DBSIZE"), "2");
    });

  for (const program of PROGRAMS)
    it(`reach it as a user that may do nothing else: ${program}`, async () => {
      const commands = ["eval", "evalsha", "time", "hmget", "hset", "hdel", "hlen", "del", "expire"];
      const rights = ["~orrery:*", ...commands.map((name) => `+${name}`)];
      const user = ["--user", "default", "off", "--user", "orrery", "on", ">s:cret/", "-@all", ...rights];
      const redis = await startRedis(user, undefined, program);
      const replica = await counting(`redis://orrery:s%3Acret%2F@127.0.0.1:${redis.port}`);
      assert.equal((await replica.count("a", 5)).remaining, 4);
      assert.deepEqual(replica.kinds(), []);
      for (const url of [`redis://orrery:wr0ng@127.0.0.1:${redis.port}`, redis.url]) {
        const other = await counting(url, { replicas: 5 });
        assert.match(other.problems().join(), /WRONGPASS|NOAUTH/);
        assert.doesNotMatch(JSON.stringify(other.seen), /wr0ng|s:cret/);
        assert.equal((await other.count("a", 5)).passed, true);
        assert.equal((await other.count("a", 5)).passed, false);
      }
    });

  it("are refused by a certificate that nobody knows", async () => {
    const plain = await startRedis();
    const [key, cert] = ["key.pem", "cert.pem"].map((name) => join(plain.folder, name)) as [string, string];
    const request = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
    const names = ["-days", "1", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
    spawnSync("openssl", [...request, ...names, "-keyout", key, "-out", cert]);
    const files = ["--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", cert];
    const port = await freePort();
    const tls = ["--port", "0", "--tls-port", `${port}`, ...files, "--tls-auth-clients", "no"];
    const redis = await startRedis(tls, port);
    const replica = await counting(`rediss://localhost:${redis.port}`);
    assert.match(replica.problems().join(), /self.signed|certificate/i);
    const module = new URL("../support/tls-count.ts", import.meta.url).pathname;
    const args = ["--import", "tsx", module, `rediss://localhost:${redis.port}`];
    const env = { ...process.env, NODE_EXTRA_CA_CERTS: cert };
    const trusting = spawnSync(process.execPath, args, { env, encoding: "utf8" });
    assert.equal(trusting.stdout, "4 []\n", trusting.stderr);
  });
});

type Deed = (redis: Redis) => unknown;
const sets =
  (name: string, value: string): Deed =>
  (redis) =>
    redis.cli("CONFIG", "SET", name, value);

/** Faults of a server, and how to end them. */
const FAULTS: readonly (readonly [name: string, fault: Deed, mend: Deed])[] = [
  ["hangs", (redis) => redis.signal("SIGSTOP"), (redis) => redis.signal("SIGCONT")],
  ["is killed", (redis) => redis.signal("SIGKILL"), (redis) => redis.restart()],
  ["has no memory", sets("maxmemory", "1"), sets("maxmemory", "0")],
  [
    "is read-only",
    (redis) => redis.cli("REPLICAOF", "127.0.0.1", "1"),
    (redis) => redis.cli("REPLICAOF", "NO", "ONE"),
  ],
  ["has nobody to copy to", sets("min-replicas-to-write", "1"), sets("min-replicas-to-write", "0")],
];

describe("a server that", { skip }, () => {
  for (const [name, fault, mend] of FAULTS) {
    it(`${name} holds nobody up, and is asked again when that is over`, async () => {
      const redis = await startRedis();
      const [one, denying] = [
        await counting(redis.url, { replicas: 2 }),
        await counting(redis.url, { denies: true }),
      ];
      // So few are left that each request asks.
      assert.equal(await one.countEach("a", 40, 5), 5);
      await denying.count("a", 40);
      await fault(redis);
      const { waited } = one.keeper.figures();
      const passed = await one.countEach("a", 40, 40);
      assert.ok(one.keeper.figures().waited <= waited + 1, "one request finds out, the others do not wait");
      assert.equal(passed, 15, "it counts within its share");
      assert.equal((await denying.count("a", 40)).passed, false);
      for (const replica of [one, denying]) await replica.untilAway();
      // A server that cannot work stays away over repeated checks, which is reported once.
      await sleep(500);
      assert.deepEqual(one.kinds(), ["limits-away"]);
      await mend(redis);
      for (const replica of [one, denying]) await replica.untilBack();
      // 21 are known, even to a server that has lost all counts.
      assert.equal(await denying.countEach("a", 40, 60), 19);
      assert.deepEqual(one.kinds(), ["limits-away", "limits-back"]);
      assert.ok(one.keeper.figures().failures > 0);
    });
  }

  it("closes connections loses nothing", async () => {
    const redis = await startRedis();
    const replica = await counting(redis.url, { replicas: 4 });
    await replica.count("a", 30);
    redis.cli("CLIENT", "KILL", "TYPE", "normal");
    await replica.untilBack();
    assert.equal(await replica.countEach("a", 30, 40), 29);
  });
});

describe("a cluster of three", { skip }, () => {
  for (const program of PROGRAMS)
    it(`counts each key where it lies, and goes on with two when one is gone: ${program}`, async () => {
      const nodes = await startCluster(program);
      const [first, second, third] = nodes;
      const keys = Array.from({ length: 30 }, (_, at) => `key ${at}`);
      const replicas = [
        await counting(first.url, { replicas: 2 }),
        await counting(second.url, { replicas: 2 }),
      ];
      for (let at = 0; at < 6; at++) {
        for (const key of keys) {
          const quota = await replicas[at % 2]!.count(key, 4);
          assert.equal(quota.passed, at < 4, `${key}, request ${at}: ${JSON.stringify(replicas[0]!.seen)}`);
        }
      }
      for (const node of nodes) assert.ok(Number(node.cli("DBSIZE")) > 3);
      third.signal("SIGKILL");
      const [one] = replicas as [Counting, Counting];
      await one.untilAway();
      let alone = 0;
      for (let at = 0; at < 90; at++) {
        alone += 2 - (await one.countEach(`new ${at}`, 2, 2));
      }
      // For keys of the lost server, one of two passes here; for all others, both.
      assert.ok(alone > 10 && alone < 60, `${alone}`);
    });
});
