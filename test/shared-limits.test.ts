/** Limits shared by replicas: random histories beside a plain model, limits that change, losses, explanations, and the URL. */

import assert from "node:assert/strict";
import { createServer, type Socket } from "node:net";
import { after, describe, it, type TestContext } from "node:test";
import fc from "fast-check";
import { explainKey } from "../src/admin/explain.ts";
import { createKeyRing, KeysFileError } from "../src/auth/keys.ts";
import { createCounters, createSharedCounters, type Quota, slotOf } from "../src/auth/limit.ts";
import type { Observation } from "../src/observe/events.ts";
import { openState } from "../src/server/open.ts";
import { type CounterServer, SharedCounts } from "../src/shared-limits/counts.ts";
import { RedisServer } from "../src/shared-limits/redis-server.ts";
import { placeOf, RedisUrlError, readRedisUrl } from "../src/shared-limits/redis-url.ts";
import { ReplicaLimits } from "../src/shared-limits/replica.ts";
import { cleanUp, testOptions } from "./support/http-server.ts";
import { part } from "./support/long.ts";
import { keyRecord } from "./support/place.ts";
import { listen } from "./support/ports.ts";
import { until } from "./support/process.ts";

const SECONDS = 3600;
const NOW = Date.parse("2026-01-01T00:30:00Z");

/** Counts as the script does; test/all/shared-limits.test.ts compares them. */
class FakeServer implements CounterServer {
  readonly counts = new Map<string, number>();
  questions = 0;
  trouble: "none" | "lost questions" | "lost answers" = "none";
  /** Ends the wait of each question; at once when absent. */
  held: (() => void)[] | undefined;

  async evaluate(name: string, [wanted, limit, known]: readonly string[]): Promise<number> {
    this.questions++;
    if (this.trouble === "lost questions") throw new Error("no answer");
    const used = Math.max(this.counts.get(name) ?? 0, Number(known));
    const taken = Math.max(0, Math.min(Number(wanted), Number(limit) - used));
    if (taken > 0) this.counts.set(name, used + taken);
    if (this.held !== undefined) await new Promise<void>((go) => this.held!.push(go));
    if (this.trouble === "lost answers") throw new Error("no answer");
    return used;
  }

  async get(name: string): Promise<string | null> {
    if (this.trouble !== "none") throw new Error("no answer");
    return this.counts.get(name)?.toString() ?? null;
  }
}

/** A replica of the server; its clocks are passed in. */
function replicaOf(server: FakeServer, replicas: number, seconds = SECONDS) {
  const clock = { wall: NOW, mono: 0 };
  const counters = createCounters(seconds);
  const failures: string[] = [];
  const figures = { asks: 0, failures: 0, alone: 0, refused: 0 };
  const counts = new SharedCounts({
    counters,
    alone: createCounters(seconds),
    replicas,
    server,
    add: (figure) => figures[figure]++,
    onFailure: (problem) => failures.push(problem),
    now: () => clock.mono,
  });
  const keyOf = (id: string) => ({ id, slot: slotOf(counters, id) });
  return {
    clock,
    counters,
    counts,
    failures,
    figures,
    count: async (limit: number, id = "key"): Promise<Quota> => counts.count(keyOf(id), limit, clock.wall),
    read: (limit: number, id = "key") => counts.read(keyOf(id), limit, clock.wall),
    async countEach(limit: number, times: number): Promise<Quota[]> {
      const quotas: Quota[] = [];
      for (let time = 0; time < times; time++) quotas.push(await this.count(limit));
      return quotas;
    },
  };
}

/** A replica whose clock stands still, and a server that holds its answers. */
function openHeld(t: TestContext) {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const server = new FakeServer();
  const held: (() => void)[] = [];
  server.held = held;
  return { server, held, count: replicaOf(server, 1).count };
}

const passedOf = (quotas: readonly Quota[]): number => quotas.filter(({ passed }) => passed).length;

/** So many requests of a key at a replica at once; before that both clocks move, and the limit may change. */
const asked = {
  replica: fc.nat(2),
  key: fc.constantFrom("a", "b"),
  requests: fc.integer({ min: 1, max: 12 }),
};
const step = fc.record({
  ...asked,
  limit: fc.constantFrom(undefined, undefined, undefined, 5, 20, 40),
  seconds: fc.constantFrom(0, 0, 0, 2, 5),
});
const troubled = fc.record({
  ...asked,
  limit: fc.constantFrom(undefined, undefined, 5, 20, 40),
  seconds: fc.constantFrom(-25, -3, 0, 0, 0, 2, 5),
  trouble: fc.constantFrom("none", "none", "lost questions", "lost answers", "lost data"),
});
const WINDOW_SECONDS = 10;

describe("limits shared over replicas", () => {
  it("are those of one counter, request by request, in every history without trouble", async () => {
    const property = fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const server = new FakeServer();
      const replicas = [0, 1, 2].map(() => replicaOf(server, 3, WINDOW_SECONDS));
      const used = new Map<string, number>();
      let limit = 20;
      let wall = NOW;
      for (const one of steps) {
        limit = one.limit ?? limit;
        wall += one.seconds * 1000;
        const window = Math.floor(wall / 1000 / WINDOW_SECONDS);
        const { clock, count } = replicas[one.replica]!;
        clock.wall = wall;
        const asked = Array.from({ length: one.requests }, () => count(limit, one.key));
        const name = `${one.key} ${window}`;
        for (const quota of await Promise.all(asked)) {
          const before = used.get(name) ?? 0;
          const passed = before < limit;
          if (passed) used.set(name, before + 1);
          const remaining = passed ? limit - before - 1 : 0;
          assert.deepEqual(quota, { passed, limit, remaining, reset: (window + 1) * WINDOW_SECONDS });
        }
      }
    });
    await fc.assert(property, { numRuns: part(300) });
  });

  it("pass the limit, and what each replica may count alone, in every history of losses and clocks", async () => {
    let alone = 0;
    const property = fc.asyncProperty(fc.array(troubled, { minLength: 5, maxLength: 40 }), async (steps) => {
      const server = new FakeServer();
      const replicas = [0, 1, 2].map(() => replicaOf(server, 3, WINDOW_SECONDS));
      /** By key and window: requests that passed, and the highest limit. */
      const seen = new Map<string, { passed: number; most: number }>();
      const newest = new Map<string, number>();
      let limit = 20;
      for (const one of steps) {
        limit = one.limit ?? limit;
        const replica = replicas[one.replica]!;
        replica.clock.wall += one.seconds * 1000;
        replica.clock.mono += Math.abs(one.seconds) * 1000;
        if (one.trouble === "lost data") server.counts.clear();
        server.trouble = one.trouble === "lost data" ? "none" : (one.trouble as FakeServer["trouble"]);
        const asked = Array.from({ length: one.requests }, () => replica.count(limit, one.key));
        for (const { passed, reset, remaining } of await Promise.all(asked)) {
          assert.ok(remaining >= 0 && remaining < limit);
          const whose = `${one.replica} ${one.key}`;
          assert.ok(reset >= (newest.get(whose) ?? 0), "a window was reopened");
          newest.set(whose, reset);
          const name = `${one.key} ${reset}`;
          const of = seen.get(name) ?? { passed: 0, most: 0 };
          seen.set(name, { ...of, passed: of.passed + Number(passed), most: Math.max(of.most, limit) });
        }
      }
      alone += replicas.reduce((sum, { figures }) => sum + figures.alone, 0);
      for (const [name, { passed, most }] of seen) {
        // Of lost data each replica knows its own part, so at worst each passes the limit by what it knows.
        const wasLost = steps.some(({ trouble }) => trouble === "lost data");
        const bound = wasLost ? 3 * most : most + 3 * Math.floor(most / 3);
        assert.ok(passed <= bound, `${name}: ${passed} passed of ${most}`);
      }
    });
    await fc.assert(property, { numRuns: part(300) });
    assert.ok(alone > part(1000), `${alone} counted alone`);
  });
});

describe("a key", () => {
  it("is asked about by one question at a time, which later requests share", async (t) => {
    const { server, held, count } = openHeld(t);
    const first = count(10);
    await new Promise(setImmediate);
    const others = Array.from({ length: 5 }, () => count(10));
    assert.equal(server.questions, 1);
    held.shift()!();
    await first;
    await new Promise(setImmediate);
    assert.equal(server.questions, 2);
    held.shift()!();
    const remaining = (await Promise.all(others)).map((quota) => quota.remaining);
    assert.deepEqual(remaining, [8, 7, 6, 5, 4]);
  });

  it("does not wait for a slow answer before its next question", async (t) => {
    const { server, held, count } = openHeld(t);
    const asked = [count(10), count(10)];
    await new Promise(setImmediate);
    asked.push(count(10));
    t.mock.timers.tick(5);
    await new Promise(setImmediate);
    assert.equal(server.questions, 2);
    for (const go of held) go();
    assert.deepEqual(
      (await Promise.all(asked)).map(({ passed }) => passed),
      [true, true, true],
    );
  });

  it("is refused without a question when its limit is used up, until that is raised or the window ends", async () => {
    const server = new FakeServer();
    const [one, other] = [replicaOf(server, 2), replicaOf(server, 2)];
    assert.equal(passedOf(await one.countEach(10, 12)), 10);
    const { questions } = server;
    assert.equal(passedOf(await one.countEach(10, 5)), 0);
    assert.equal(server.questions, questions, "who is refused asks nobody");
    assert.equal(passedOf(await other.countEach(10, 5)), 0);
    assert.equal(passedOf(await other.countEach(8, 5)), 0, "lowered");
    assert.equal(passedOf(await one.countEach(15, 8)), 5, "raised");
    one.clock.wall += SECONDS * 1000;
    assert.equal((await one.count(10)).remaining, 9);
    one.clock.wall -= SECONDS * 1000;
    const { passed, reset } = await one.count(10);
    assert.deepEqual([passed, reset], [true, (NOW + SECONDS * 1500) / 1000], "the window of before is over");
  });

  it("counts alone for a second when a question has no answer, within the share of the replica", async () => {
    const server = new FakeServer();
    const one = replicaOf(server, 2);
    await one.countEach(10, 3);
    server.trouble = "lost questions";
    const quotas = await one.countEach(10, 8);
    assert.equal(passedOf(quotas), 5);
    assert.deepEqual(
      quotas.map(({ remaining }) => remaining),
      [4, 3, 2, 1, 0, 0, 0, 0],
    );
    assert.deepEqual([server.questions, one.failures.length], [4, 1], "one finds out, the others do not ask");
    assert.deepEqual(one.figures, { asks: 4, failures: 1, alone: 5, refused: 3 });
    assert.equal((await one.count(10, "other")).passed, true);
    server.trouble = "none";
    one.clock.mono += 999;
    assert.equal((await one.count(10)).passed, false);
    one.clock.mono += 1;
    assert.equal((await one.count(10)).remaining, 1, "what was counted alone is told");
    assert.equal([...server.counts.values()][0], 9);
  });

  it("counts alone at once for requests that wait for the next question", async (t) => {
    const { server, held, count } = openHeld(t);
    server.trouble = "lost answers";
    const first = count(10);
    await new Promise(setImmediate);
    const second = count(10);
    held.shift()!();
    assert.deepEqual([(await first).passed, (await second).passed], [true, true]);
    assert.equal(server.questions, 1);
  });

  it("takes nothing but a count for an answer, and none below the known one", async () => {
    const server = new FakeServer();
    const one = replicaOf(server, 2);
    await one.countEach(100, 3);
    for (const answer of [2, -1, 1.5, 2 ** 60, "x", "", null, undefined, [5], {}]) {
      server.evaluate = async () => answer as number;
      assert.equal((await one.count(100)).passed, true);
      assert.match(one.failures.at(-1)!, /something else than a count/, JSON.stringify(answer));
      one.clock.mono += 1000;
    }
    assert.equal(one.figures.alone, 10);
  });
});

describe("a shared limit, explained", () => {
  const KEY = keyRecord("svc_sk_k", { id: "k" });
  function explained(server: FakeServer, limit: number, replicas: number) {
    const replica = replicaOf(server, replicas);
    const { counters, counts, clock } = replica;
    clock.wall = Date.now();
    const gate = {
      prefixes: { api: "a", cli: "c" },
      defaultLimit: limit,
      counters,
      keys: createKeyRing([KEY], counters),
    };
    return {
      ...replica,
      count: () => replica.count(limit, "k"),
      async explain() {
        const found = await explainKey(gate, counts, "k", null, clock.wall);
        return { fault: found!.fault, ...found!.quota! };
      },
    };
  }

  it("is what all replicas have left, and counts nothing", async () => {
    const server = new FakeServer();
    const [a, b] = [explained(server, 20, 2), explained(server, 20, 2)];
    assert.equal((await b.explain()).remaining, 20);
    for (let left = 19; left >= 0; left--) {
      assert.equal((await a.count()).passed, true);
      for (const one of [a, b]) {
        const { counted, used, remaining, fault } = await one.explain();
        assert.deepEqual([counted, used, remaining], ["shared", 20 - left, left]);
        assert.equal(fault, left === 0 ? "rateLimited" : null, `${left} left`);
      }
    }
    assert.equal((await b.count()).passed, false);
  });

  it("is the replica's share while the server is away", async () => {
    const server = new FakeServer();
    const one = explained(server, 200, 4);
    server.trouble = "lost questions";
    const { counted, used, limit, remaining } = await one.explain();
    assert.deepEqual([counted, used, limit, remaining], ["alone", 0, 200, 50]);
    for (let left = 49; left >= 0; left--) {
      assert.equal((await one.count()).passed, true);
      assert.equal((await one.explain()).remaining, left);
    }
    assert.equal((await one.explain()).fault, "rateLimited");
    assert.equal((await one.count()).passed, false);
    assert.equal(one.figures.alone, 50, "explanations are not requests");
  });
});

/** A server that refuses commands. @returns its port, and how many connections are open */
async function startRefusing(t: TestContext) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
    socket.on("data", () => socket.write("-ERR no\r\n"));
  });
  t.after(() => server.close());
  return { port: await listen(server), open: () => sockets.size };
}

describe("a replica", () => {
  it("tells of a loss once, whichever threads find it", async (t) => {
    const { port } = await startRefusing(t);
    const seen: Observation[] = [];
    const limits = new ReplicaLimits({ target: readRedisUrl(`redis://127.0.0.1:${port}`), replicas: 1 });
    assert.deepEqual([limits.problem, limits.losses], [null, 0]);
    const shared = await limits.open(createSharedCounters(SECONDS), (observation) => seen.push(observation));
    limits.take({ problem: "no answer", name: "orrery:{}" });
    assert.deepEqual(
      seen.map(({ kind }) => kind),
      ["limits-away"],
    );
    assert.deepEqual([limits.problem, limits.losses, limits.server], ["no answer", 1, `127.0.0.1:${port}`]);
    shared.close();
  });

  it("asks for the count of the newest failure, also after an older question fails", async (t) => {
    const asked: string[] = [];
    const failing: ((error: Error) => void)[] = [];
    t.mock.method(RedisServer.prototype, "get", (name: string) => {
      asked.push(name);
      return new Promise((_, fail) => failing.push(fail));
    });
    t.mock.timers.enable({ apis: ["setInterval"] });
    const { port } = await startRefusing(t);
    const limits = new ReplicaLimits({ target: readRedisUrl(`redis://127.0.0.1:${port}`), replicas: 1 });
    const opened = limits.open(createSharedCounters(SECONDS), () => {});
    await until(() => failing.length === 1, "the first question");
    failing[0]!(new Error("no answer"));
    const shared = await opened;
    limits.take({ problem: "no answer", name: "older" });
    t.mock.timers.tick(1000);
    limits.take({ problem: "no answer", name: "newer" });
    failing[1]!(new Error("the connection broke"));
    await until(() => limits.problem === "the connection broke", "the answer to the check");
    t.mock.timers.tick(1000);
    assert.deepEqual(asked.slice(1), ["older", "newer"]);
    shared.close();
  });

  it("leaves no connection behind when a keys file cannot be read", async (t) => {
    const { port, open } = await startRefusing(t);
    const options = await testOptions({ rateWindow: SECONDS, keys: "no/such/file" }, []);
    const sharedLimits = new ReplicaLimits({
      target: readRedisUrl(`redis://127.0.0.1:${port}`),
      replicas: 1,
    });
    await assert.rejects(openState({ ...options, sharedLimits }), KeysFileError);
    await until(() => open() === 0, "the connection is closed");
  });
});

describe("the URL of a counter server", () => {
  type Text = string | undefined;
  type Target = [place: string, username?: Text, password?: Text, database?: number];
  const TARGETS: Readonly<Record<string, Target>> = {
    "redis://:p%2Fw@cache:7000/3": ["cache:7000", undefined, "p/w", 3],
    "rediss://user:p%40w@[::1]:7000/": ["[::1]:7000", "user", "p@w"],
    "unix:/run/a%20b@1.sock?db=2": ["/run/a b@1.sock", undefined, undefined, 2],
    "unix://:pw@/run/redis.sock?db=1": ["/run/redis.sock", undefined, "pw", 1],
  };
  for (const [url, [place, username, password, database = 0]] of Object.entries(TARGETS)) {
    it(`is read: ${url}`, () => {
      const target = readRedisUrl(url);
      assert.equal(placeOf(target), place);
      const read = [target.username, target.password, target.database, target.tls];
      assert.deepEqual(read, [username, password, database, url.startsWith("rediss")]);
    });
  }

  const WRONG = [
    "redis: redis:/run 127.0.0.1:6379 http://127.0.0.1 redis://h:0 redis://[::1 redis://%zz@h redis://h/x",
    "redis://h?db=1 redis://h#1 unix:/ unix:redis.sock unix:/a?db=x unix:/a?db=1&x=2 unix://host/redis.sock",
  ];
  for (const url of ["", ...WRONG.join(" ").split(" ")]) {
    it(`is refused: ${JSON.stringify(url)}`, () => assert.throws(() => readRedisUrl(url), RedisUrlError));
  }

  // Characters that a user forgot to encode.
  for (const secret of ["hun/ter2", "hun?ter2", "hun#ter2", "hun@ter2", "/hunter2", "//hunter2", "%zz"]) {
    const urls = [`redis://u:${secret}@h`, `redis://:${secret}@h:1/2`, `unix://u:${secret}@/run/r.sock`];
    for (const url of urls) {
      it(`shows no part of a password: ${url}`, () => {
        let shown: string;
        try {
          shown = placeOf(readRedisUrl(url));
        } catch (error) {
          assert.ok(error instanceof RedisUrlError);
          shown = error.message;
        }
        assert.doesNotMatch(shown, /hun|ter2|12|34|zz/);
      });
    }
  }
});

after(cleanUp);
