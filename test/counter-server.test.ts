/** Counter servers: their losses and returns, timers, and URLs. */

import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { CounterServer } from "../src/shared-limits/counter-server.ts";
import type { LeaseAsk } from "../src/shared-limits/lease-script.ts";
import { startRealTimer } from "../src/shared-limits/real-timer.ts";
import type { OpenClient } from "../src/shared-limits/redis-client.ts";
import { placeOf, RedisUrlError, readRedisUrl } from "../src/shared-limits/redis-url.ts";
import { until } from "./support/process.ts";

const AWAY = "away: no answer within 15 ms";
const ASK: LeaseAsk = { limit: 10, window: 0, have: 0, used: 0, want: 1 };
const LEASE = [500_000, 1, 9, 1000];

/** A source of leases from a server that answers questions about keys when the test says so, and checks at once. */
async function connected(t: TestContext) {
  const sent: string[] = [];
  const answers: ((value: unknown) => void)[] = [];
  const seen: string[] = [];
  let opened = 0;
  const open: OpenClient = async () => {
    const number = ++opened;
    return {
      servers: [],
      serverOf: () => "server",
      evaluate(_, key) {
        if (key.endsWith(":check")) return Promise.resolve(LEASE);
        sent.push(key);
        return new Promise((resolve) => answers.push(resolve));
      },
      close: () => seen.push(`closed ${number}`),
    };
  };
  const events = {
    onAway: (_: string, problem: string) => seen.push(`away: ${problem}`),
    onBack: () => seen.push("back"),
    onUp: () => seen.push("up"),
    onClock() {},
  };
  const target = readRedisUrl("redis://127.0.0.1:7000");
  const server = new CounterServer({ target, seconds: 3600, lessee: "me", events, open, answerMs: 15 });
  t.after(() => server.close());
  await server.tried;
  return { server, sent, answers, seen, ask: () => server.lease("key", ASK), opened: () => opened };
}

describe("a counter server", () => {
  it("is away as soon as an answer is late, told once, and asked nothing until another connection is good", async (t) => {
    const { server, sent, answers, seen, ask, opened } = await connected(t);
    const first = assert.rejects(ask(), /no answer within 15 ms/);
    await new Promise((resolve) => setTimeout(resolve, 5));
    await Promise.all([first, assert.rejects(ask())]);
    assert.deepEqual(seen, ["up", AWAY]);
    assert.equal(server.isUp("key"), false);
    await assert.rejects(ask(), /away/);
    assert.equal(sent.length, 2);
    answers[0]!(LEASE);
    await until(() => server.isUp("key"), "another connection");
    const again = ask();
    answers[2]!(LEASE);
    assert.deepEqual(await again, { window: 500_000, total: 1, rest: 9, msLeft: 1000 });
    assert.deepEqual([seen, opened()], [["up", AWAY, "back", "up"], 2]);
    await until(() => seen.includes("closed 1"), "the end of the first connection");
  });

  it("of a cluster is there when its map can be read, wherever the key of a check lies", async (t) => {
    const seen: string[] = [];
    let fails = 1;
    const open: OpenClient = async () => {
      if (fails-- > 0) throw new Error("refused");
      return {
        servers: ["a:1", "b:1"],
        serverOf: (key) => (key.includes("{on a}") ? "a:1" : "b:1"),
        evaluate: (_, key) =>
          key.includes("{on a}") ? Promise.resolve(LEASE) : Promise.reject(new Error("b is down")),
        close() {},
      };
    };
    const events = {
      onAway: (server: string) => seen.push(`away ${server}`),
      onBack: (server: string) => seen.push(`back ${server}`),
      onUp: () => seen.push("up"),
      onClock() {},
    };
    const target = readRedisUrl("redis://a:1");
    const server = new CounterServer({ target, seconds: 3600, lessee: "me", events, open, answerMs: 50 });
    t.after(() => server.close());
    await until(() => server.isUp("on a"), "the cluster");
    assert.deepEqual(seen, ["away a:1", "back a:1", "up"]);
    assert.equal((await server.lease("on a", ASK)).total, 1);
    await assert.rejects(server.lease("on b", ASK), /b is down/);
    assert.ok(server.isUp("on a") && !server.isUp("on b"));
  });

  it("is away when its answer is no lease", async (t) => {
    const { answers, seen, ask } = await connected(t);
    const asked = ask();
    answers[0]!([1, 2, 3]);
    await assert.rejects(asked, /something else than a lease/);
    assert.deepEqual(seen, ["up", "away: the server answered something else than a lease"]);
  });
});

function block(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

/** Keeps the thread busy in turns of the event loop. @returns the number of turns before a timer fired */
function turnsBefore(ms: number, turnMs: number): Promise<number> {
  return new Promise((resolve) => {
    let turns = 0;
    let isOver = false;
    const turn = (): void => {
      if (isOver) return;
      turns++;
      block(turnMs);
      setImmediate(turn);
    };
    startRealTimer(() => {
      isOver = true;
      resolve(turns);
    }, ms);
    turn();
  });
}

/** Waits for a timer. @returns the time taken, in milliseconds */
function timed(ms: number, meanwhile: () => void): Promise<number> {
  const began = performance.now();
  return new Promise((resolve) => {
    startRealTimer(() => resolve(performance.now() - began), ms);
    meanwhile();
  });
}

describe("the timer of waiting requests", () => {
  it("does not take the thread's delay for that of a server", async () => {
    // The 60 ms count only in part: the wait goes on for replies that have arrived since, and for requests sent only now.
    const took = await timed(40, () => block(60));
    assert.ok(took >= 60 + 20 - 1, `${took} ms`);
  });

  it("costs no more than some turns of a busy event loop", async () => {
    for (const turnMs of [10, 20, 40]) {
      const turns = await turnsBefore(45, turnMs);
      assert.ok(turns <= 7, `${turns} turns of ${turnMs} ms`);
    }
  });

  it("can be stopped at any moment", async () => {
    let calls = 0;
    const stop = startRealTimer(() => calls++, 5);
    // The stop comes after the timer is due.
    await new Promise((resolve) => setTimeout(resolve, 1));
    block(30);
    stop();
    await timed(30, () => {});
    assert.equal(calls, 0);
  });
});

describe("the URL of a counter server", () => {
  type Text = string | undefined;
  type Target = [place: string, username?: Text, password?: Text, database?: number];
  const TARGETS: Readonly<Record<string, Target>> = {
    "redis://127.0.0.1": ["127.0.0.1:6379"],
    "redis://:p%2Fw@cache:7000/3": ["cache:7000", undefined, "p/w", 3],
    "rediss://user:p%40w@[::1]:7000/": ["[::1]:7000", "user", "p@w"],
    "unix:/run/redis.sock": ["/run/redis.sock"],
    "unix:/run/a%20b@1.sock?db=2": ["/run/a b@1.sock", undefined, undefined, 2],
    "unix:///run/redis.sock": ["/run/redis.sock"],
    "unix://user:p%2Fw@/run/redis.sock": ["/run/redis.sock", "user", "p/w"],
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
    "redis: redis:// redis:/run 127.0.0.1:6379 http://127.0.0.1 valkey://h //h redis://h:0 redis://h:99999",
    "redis://h:x redis://[::1 redis://%zz@h redis://h/x redis://h/1/2 redis://h/-1 redis://h?db=1 redis://h#1",
    "unix: unix:/ unix:redis.sock unix:/a?x=1 unix:/a?db=x unix:/a?db=1&x=2 unix:/a#b unix://host/redis.sock",
    "unix:////redis.sock unix:/%zz",
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
