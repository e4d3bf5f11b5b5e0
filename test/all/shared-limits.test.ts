/** Limits shared by real counter servers: every way to reach them, every way that they fail, and answers that come late. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { ObservedCounts } from "../../src/admin/metrics/observed.ts";
import { PROGRAM as WHOLE } from "../../src/features.ts";
import { LEASE_SCRIPT } from "../../src/shared-limits/lease-script.ts";
import { temporaryFolder } from "../support/folders.ts";
import { createKeyState, grant, release } from "../support/grant.ts";
import { need } from "../support/need.ts";
import { place, TOKEN } from "../support/place.ts";
import { listen } from "../support/ports.ts";
import { get, serve, until } from "../support/process.ts";
import {
  countAll,
  counting,
  PROGRAM,
  PROGRAMS,
  type Redis,
  startPair,
  startRedis,
} from "../support/redis.ts";

const skip = need(PROGRAM, PROGRAM.replace("-server", "-cli"), "openssl");

describe("the script", { skip }, () => {
  for (const program of PROGRAMS)
    it(`does in ${program} what the functions do`, async () => {
      const redis = await startRedis([], program);
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
      const redis = await startRedis(["--unixsocket", "FOLDER/socket"], program);
      const replicas = [
        await counting(redis.url, { replicas: 3 }),
        await counting(`${redis.url}/0`, { replicas: 3 }),
        await counting(`unix:${join(redis.folder, "socket")}`, { replicas: 3 }),
      ];
      let passed = 0;
      const told = [501, 501, 501];
      const used = [0, 0, 0];
      for (let at = 0; at < 300; at++) {
        const who = at % 7 === 0 ? at % 3 : 2;
        const quota = await replicas[who]!.count("a", 500);
        if (quota.passed) passed++;
        assert.ok(quota.remaining <= 500 - used[who]! - 1 && quota.remaining <= told[who]!);
        used[who]!++;
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
      const redis = await startRedis(user, program);
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

  it("are refused by a certificate that nobody knows", async (t) => {
    const folder = temporaryFolder();
    const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
    const request = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
    const names = ["-days", "1", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
    spawnSync("openssl", [...request, ...names, "-keyout", key, "-out", cert]);
    const files = ["--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", cert];
    const redis = await startRedis([
      "--port",
      "0",
      "--tls-port",
      "PORT",
      ...files,
      "--tls-auth-clients",
      "no",
    ]);
    const url = `rediss://localhost:${redis.port}`;
    // On a busy machine the answer may also come too late.
    const isRefused = async () => /self.signed|certificate/i.test((await counting(url)).problems().join());
    await until(isRefused, "the reason");
    const { snapshot, keys } = place(t);
    const trusting = { NODE_EXTRA_CA_CERTS: cert };
    const server = await serve(snapshot, keys, ["--shared-limits", url, "--rate-limit", "5"], trusting);
    const { headers } = await get(`${server.url}/stats`, { token: TOKEN });
    assert.equal(headers["x-ratelimit-remaining"], "4");
    const isShared = () => server.logs("limits-away").length === server.logs("limits-back").length;
    await until(isShared, "an answer of the server that counts");
    assert.doesNotMatch(server.stderr(), /self.signed|certificate/i);
    await server.stop();
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

/** A proxy to a server that can hold answers back until told: a mere delay would prove nothing on a busy machine. */
async function wayTo({ port }: Redis, t: { after(done: () => void): void }, laterMs = 0) {
  const sockets = new Set<Socket>();
  const held: (() => void)[] = [];
  const way = {
    url: "",
    holds: false,
    /** Passes on the answers that were held back. */
    release: () => {
      for (const pass of held.splice(0)) pass();
    },
  };
  const server = createServer((client) => {
    const upstream = connect(port, "127.0.0.1");
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => {}).on("close", () => [client, upstream].map((one) => one.destroy()));
    }
    client.on("data", (chunk: Buffer) => upstream.write(chunk));
    upstream.on("data", (chunk: Buffer) => {
      held.push(() => client.writable && client.write(chunk));
      if (laterMs > 0) setTimeout(way.release, laterMs);
      else if (!way.holds) way.release();
    });
  });
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  way.url = `redis://127.0.0.1:${await listen(server)}`;
  return way;
}

const LIMIT = 30;

describe("a replica whose answers are late", { skip, concurrency: 3 }, () => {
  it("logs and counts one loss, and lets its share through beside what others had", async (t) => {
    const redis = await startRedis();
    const way = await wayTo(redis, t);
    const [late, other] = await startPair(way.url, redis.url);
    assert.equal(await other.countEach("a", LIMIT, 25), 25);
    way.holds = true;
    const quotas = await Promise.all(Array.from({ length: 40 }, () => late.count("a", LIMIT)));
    assert.equal(quotas.filter(({ passed }) => passed).length, LIMIT / 2);
    // The late answer granted the rest, but comes too late.
    await late.untilAway();
    way.release();
    assert.equal(await late.countEach("a", LIMIT, 20), 0);
    assert.equal(await other.countEach("a", LIMIT, 20), 0);
    assert.deepEqual(late.kinds(), ["limits-away"]);
    assert.match(JSON.stringify(late.seen), /"problem":"no answer within \d+ ms"/);

    way.holds = false;
    way.release();
    await late.untilBack();
    assert.equal(await late.countEach("a", LIMIT, 20), 0);
    assert.deepEqual([late.kinds(), other.kinds()], [["limits-away", "limits-back"], []]);
    const counts = new ObservedCounts(WHOLE.tables);
    for (const observation of late.seen) counts.observe(observation);
    assert.deepEqual([counts.values.limitsAway, counts.values.limitsLosses], [{ "": 0 }, { "": 1 }]);
  });

  it("is asked all the same where each takes a while: the server is looked at in one round trip", async (t) => {
    const redis = await startRedis();
    // Within the bound: a check may take one and a half times as long.
    const far = await counting((await wayTo(redis, t, 400)).url);
    await far.untilGood();
  });
});
