/** Connections to a counter server: links, clusters, timers, URLs, and announced lengths of replies. */

import assert from "node:assert/strict";
import { describe, it, type TestContext, test } from "node:test";
import fc from "fast-check";
import type { CounterConnection, OpenConnection } from "../src/shared-limits/connection.ts";
import { CounterServer } from "../src/shared-limits/counter-server.ts";
import { AwayError, Link } from "../src/shared-limits/link.ts";
import { startRealTimer } from "../src/shared-limits/monotonic.ts";
import { placeOf, RedisUrlError, readRedisUrl } from "../src/shared-limits/redis-url.ts";
import { ReplyScanner } from "../src/shared-limits/reply-scanner.ts";
import { until } from "./support/process.ts";

/** A link to a server that answers when the test says so. */
function linked(t: TestContext) {
  const sent: string[] = [];
  const answers: ((value: unknown) => void)[] = [];
  const seen: string[] = [];
  let opened = 0;
  const connection: CounterConnection = {
    isCluster: false,
    run(command) {
      sent.push(command.join(" "));
      return new Promise((resolve) => answers.push(resolve));
    },
    close() {
      seen.push("closed");
    },
  };
  const link = new Link({
    answerMs: 15,
    async open() {
      opened++;
      return connection;
    },
    check: async () => {},
    onAway: (problem) => seen.push(`away: ${problem}`),
    onUp: () => seen.push("up"),
    say: (error) => (error as Error).message,
  });
  t.after(() => link.close());
  const late: unknown[] = [];
  const same = (answer: unknown): unknown => answer;
  const ask = () => link.run(["ASK"], same, (answer) => late.push(answer));
  const overdue = () => assert.rejects(ask(), /no answer within 15 ms/);
  return { link, sent, answers, seen, ask, late, overdue, opened: () => opened };
}

const AWAY = "away: no answer within 15 ms";

describe("a link", () => {
  it("is away as soon as an answer is overdue, told once, and sends nothing until another connection is good", async (t) => {
    const { link, sent, answers, seen, ask, late, overdue, opened } = linked(t);
    await link.tried;
    await overdue();
    assert.deepEqual(seen, ["up", AWAY]);
    assert.equal(link.isUp, false);
    await assert.rejects(ask(), AwayError);
    assert.deepEqual(sent, ["ASK"]);
    answers[0]!("late");
    await until(() => link.isUp, "another connection");
    assert.deepEqual(late, ["late"], "what comes late is handed on");
    const again = ask();
    answers[1]!("in time");
    assert.equal(await again, "in time");
    assert.deepEqual([seen, opened()], [["up", AWAY, "closed", "up"], 2]);
    assert.deepEqual(late, ["late"]);
  });

  it("awaits all that is on its way, in time or late, before it closes the connection", async (t) => {
    const { link, answers, seen, ask, late, overdue } = linked(t);
    await link.tried;
    const first = overdue();
    await new Promise((resolve) => setTimeout(resolve, 8));
    const second = ask().catch((error: unknown) => error);
    await first;
    answers[0]!("first");
    await new Promise((resolve) => setTimeout(resolve, 1));
    assert.deepEqual([late, seen], [["first"], ["up", AWAY]]);
    answers[1]!("second");
    const outcome = await second;
    assert.ok(outcome === "second" || late.includes("second"));
    assert.deepEqual(seen, ["up", AWAY, "closed"]);
  });

  it("is closed when nothing comes, and opened again", async (t) => {
    const { link, seen, overdue, opened } = linked(t);
    await link.tried;
    await overdue();
    await until(() => opened() === 2 && link.isUp, "another connection");
    assert.deepEqual(seen, ["up", AWAY, "closed", "up"]);
  });
});

it("a server whose slots are all another's is not asked whether it can count", async () => {
  const slots = [
    [0, 16383, ["127.0.0.1", 7001]],
    [0, 8191, ["127.0.0.1", 7002]],
    [8192, 16383, ["127.0.0.1", 7003]],
  ];
  const checked = new Set<number>();
  const open: OpenConnection = async ({ port }) => ({
    isCluster: true,
    async run([name]) {
      if (name === "CLUSTER") return slots;
      checked.add(port);
      return [500_000, 0, 0, 1000];
    },
    close() {},
  });
  const ignore = (): void => {};
  const events = { onAway: ignore, onBack: ignore, onUp: ignore, onClock: ignore };
  const target = readRedisUrl("redis://127.0.0.1:7000");
  const server = new CounterServer({ target, seconds: 3600, replica: "replica", events, open });
  await server.tried();
  try {
    for (const key of ["one", "two", "three", "four"]) assert.ok(server.isUp(key), key);
    assert.deepEqual([...checked].sort(), [7002, 7003]);
  } finally {
    server.close();
  }
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

const { reply } = fc.letrec<{ reply: string; item: string }>((tie) => ({
  reply: fc.oneof(
    { maxDepth: 4 },
    tie("item"),
    fc.array(tie("reply"), { maxLength: 4 }).map((items) => `*${items.length}\r\n${items.join("")}`),
    fc
      .array(fc.tuple(tie("item"), tie("reply")), { maxLength: 3 })
      .map((pairs) => `%${pairs.length}\r\n${pairs.flat().join("")}`),
  ),
  item: fc.oneof(
    fc.integer().map((number) => `:${number}\r\n`),
    fc.string({ unit: "binary-ascii", maxLength: 40 }).map((text) => `$${text.length}\r\n${text}\r\n`),
    fc.constantFrom("+OK\r\n", "-ERR no\r\n", "_\r\n", "#t\r\n", ",1.5\r\n", "$-1\r\n", "*-1\r\n", "+\r\n"),
  ),
}));

describe("what a counter server announces", () => {
  test("is never more than what comes, and nothing is left after a whole reply", () => {
    fc.assert(
      fc.property(fc.array(reply, { minLength: 1, maxLength: 4 }), fc.array(fc.nat(30)), (replies, cuts) => {
        const bytes = Buffer.from(replies.join(""), "latin1");
        const scanner = new ReplyScanner();
        let announced = 0;
        for (let at = 0, turn = 0; at < bytes.length; turn++) {
          const chunk = bytes.subarray(at, at + 1 + (cuts[turn] ?? 7));
          at += chunk.length;
          announced = scanner.scan(chunk);
          assert.ok(announced <= bytes.length - at, `${announced} with ${bytes.length - at} to come`);
        }
        assert.equal(announced, 0);
      }),
      { numRuns: 300 },
    );
  });

  for (const [text, least] of [
    ["*30000000\r\n", 90_000_000],
    ["*1\r\n*2\r\n*1000000\r\n", 3_000_000],
    ["%1000\r\n", 6000],
    ["$1073741824\r\nabc", 1_073_741_823],
  ] as const) {
    test(`is known at once: ${JSON.stringify(text)}`, () => {
      const scanner = new ReplyScanner();
      assert.ok(scanner.scan(Buffer.from(text)) >= least);
    });
  }

  const wrong = "*1x *-\r\n *-2\r\n $-11\r\n *5-\r\n *9999999999 :1\rx #\r\n #tt\r\n".split(" ");
  for (const text of [..."(=!|A\0", ...wrong]) {
    test(`is no reply: ${JSON.stringify(text)}`, () => {
      assert.equal(new ReplyScanner().scan(Buffer.from(text)), Number.POSITIVE_INFINITY);
    });
  }
});
