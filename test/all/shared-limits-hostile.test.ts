/**
 * Shared limits beside a misbehaving server: no request waits for it, memory does not grow, and all recovers with it;
 * and with very many keys: the reports after a return and at a stop do not come all at once.
 */

import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { after, describe, it } from "node:test";
import { createSharedCounters, slotOf } from "../../src/auth/limit.ts";
import { keepSharedLimits } from "../../src/shared-limits/keep-shared.ts";
import { readRedisUrl } from "../../src/shared-limits/redis-url.ts";
import { ServersAway } from "../../src/shared-limits/servers-away.ts";
import { type Answer, goodLease, HELLO, type HostileRedis, startHostile } from "../support/hostile-redis.ts";
import { until } from "../support/process.ts";
import { type Counting, counting, ONE_OF_TWO, WINDOW } from "../support/redis.ts";

const PASSWORD = "pass-word-that-nobody-may-see";
/** Memory growth that no case may reach. */
const MOST_BYTES = 400 * 2 ** 20;

const servers = new Set<HostileRedis>();
after(async () => {
  for (const server of servers) server.close();
});

async function startBad(): Promise<HostileRedis> {
  const server = await startHostile();
  servers.add(server);
  return server;
}

/** Answers requests for permits with a text, and all others correctly. */
const asLease =
  (reply: string | Buffer): Answer =>
  ([name]) =>
    name === "HELLO" ? "%1\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n" : reply;

function drip(socket: Socket, text: string): void {
  let at = 0;
  const timer = setInterval(() => {
    if (at < text.length && socket.writable) socket.write(text[at++]!);
    else clearInterval(timer);
  }, 200);
  socket.once("close", () => clearInterval(timer));
}

const nested = (depth: number): string => `${"*1\r\n".repeat(depth)}:1\r\n`;

const flood =
  (chunk: Buffer) =>
  (socket: Socket): void => {
    const send = (): void => {
      while (!socket.destroyed && socket.write(chunk));
    };
    socket.on("drain", send);
    send();
  };

const CASES: Readonly<Record<string, { answer?: Answer; greet?: (socket: Socket) => void }>> = {
  "answers nothing": { answer: () => undefined },
  "answers HELLO, and then nothing": { answer: asLease("") },
  "sends bytes that are no reply": { greet: (socket) => socket.write(Buffer.alloc(4096, 0x80)) },
  "answers with bytes that are no reply": { answer: asLease("HTTP/1.1 400 Bad Request\r\n\r\n") },
  "sends megabytes": { greet: flood(Buffer.alloc(65_536, "+a\r\n")) },
  "sends megabytes of pushes": { greet: flood(Buffer.from(">2\r\n+a\r\n+b\r\n".repeat(4000))) },
  "answers one byte at a time": {
    answer: (_, socket) => void drip(socket, "*4\r\n:1\r\n:1\r\n:1\r\n:1\r\n"),
  },
  "answers everything with an error": { answer: () => "-ERR no\r\n" },
  "answers questions with an error": { answer: asLease("-ERR no\r\n") },
  "repeats the password in an error": {
    answer: (command) => `-ERR unknown command, with args beginning with: ${command.join(" ")}\r\n`,
  },
  "repeats the password where an error is cut": {
    answer: asLease(`-ERR ${"x".repeat(190 - PASSWORD.length / 2)}${PASSWORD}\r\n`),
  },
  "answers with huge numbers": { answer: asLease(`*4\r\n${":99999999999999999999\r\n".repeat(4)}`) },
  "answers with a window that is far away": {
    answer: asLease("*4\r\n:4503599627370496\r\n:1\r\n:1\r\n:1\r\n"),
  },
  "answers with negative numbers": { answer: asLease(`*4\r\n${":-5\r\n".repeat(4)}`) },
  "answers with nothing in the place of numbers": { answer: asLease(`*4\r\n${"_\r\n".repeat(4)}`) },
  "answers with texts in the place of numbers": { answer: asLease(`*4\r\n${"$1\r\n9\r\n".repeat(4)}`) },
  "answers with fewer numbers": { answer: asLease("*3\r\n:1\r\n:1\r\n:1\r\n") },
  "answers with arrays in arrays": { answer: asLease(nested(10_000)) },
  "answers with arrays in arrays that can just be read": { answer: asLease(nested(200)) },
  "closes in the middle of an answer": { answer: (_, socket) => void socket.end("*4\r\n:1\r\n:2") },
  "is reset in the middle of an answer": {
    answer(_, socket) {
      socket.write("*4\r\n:1\r\n:2");
      socket.resetAndDestroy();
      return undefined;
    },
  },
  "says that it is a cluster, with a map that is none": {
    answer: ([name]) =>
      name === "HELLO" ? "%1\r\n$4\r\nmode\r\n$7\r\ncluster\r\n" : "*1\r\n*3\r\n:-5\r\n:99999\r\n*0\r\n",
  },
  "says that it is a cluster of more servers than there can be": {
    answer: ([name]) =>
      name === "HELLO"
        ? "%1\r\n$4\r\nmode\r\n$7\r\ncluster\r\n"
        : `*5000\r\n${Array.from({ length: 5000 }, (_, n) => `*3\r\n:${n}\r\n:${n}\r\n*2\r\n$9\r\n127.0.0.1\r\n:${n + 1}\r\n`).join("")}`,
  },
};

// They mostly wait.
describe("a counter server that", { concurrency: 8 }, () => {
  for (const [name, { answer, greet }] of Object.entries(CASES)) {
    it(`${name}, from its start or all of a sudden, is away until it is good again`, async () => {
      const server = await startBad();
      const url = `redis://:${PASSWORD}@127.0.0.1:${server.port}`;
      const good = await counting(url, { replicas: 2 });
      await good.untilGood();
      good.seen.length = 0;
      assert.equal(await good.countEach("a", 40, 5), 5);
      const before = process.memoryUsage().rss;
      server.turn(answer ?? (() => undefined), greet);
      const late = await counting(url, { replicas: 2 });
      await until(() => late.kinds()[0] === "limits-away", "the server to be away");
      for (const [replica, most] of [
        [good, 15],
        [late, 20],
      ] as const) {
        const passed = await replica.countEach("a", 40, 40);
        assert.equal(passed, most, `it counts within its share: ${JSON.stringify(replica.seen)}`);
        await replica.untilAway();
        assert.match(replica.kinds().join(), /^limits-away(,limits-back,limits-away)*$/);
      }
      const { connections } = server;
      const tried = connections();
      await until(() => connections() > tried, "another attempt");
      server.turn(undefined);
      for (const replica of [good, late]) {
        await replica.untilGood();
        // Once each; on a busy machine even a good server may be late, and away again.
        assert.match(replica.kinds().join(), /^(limits-away,limits-back,?)+$/);
        assert.ok((await replica.count("a", 1000)).passed);
        assert.doesNotMatch(JSON.stringify(replica.seen), /pass-word|word-that/);
        await replica.keeper.close();
      }
      const grown = process.memoryUsage().rss - before;
      assert.ok(grown < MOST_BYTES, `${grown} bytes more`);
    });
  }
});

const KEYS = 2000;

/** A slow server that counts how many requests wait for it. */
async function startSlow() {
  const server = await startBad();
  const seen = { waiting: 0, most: 0, leases: 0, releases: 0 };
  const answer = (command: readonly string[], write: (text: string) => void): string | undefined => {
    if (command[0] === "HELLO") return HELLO;
    if (command[3]!.endsWith(":check")) return goodLease(command);
    seen.leases++;
    if (command.at(-1) === "-1") seen.releases++;
    seen.most = Math.max(seen.most, ++seen.waiting);
    setTimeout(() => {
      seen.waiting--;
      write(goodLease(command));
    }, 2);
    return undefined;
  };
  const good = (): void =>
    server.turn((command, socket) => answer(command, (text) => void (socket.writable && socket.write(text))));
  return { server, seen, good };
}

const isBack = ({ seen }: Counting): boolean => seen.at(-1)?.kind === "limits-back";

describe("shared limits of many keys", () => {
  it("are told of a few at a time", async () => {
    const { server, seen, good } = await startSlow();
    good();
    const replica = await counting(`redis://127.0.0.1:${server.port}`, ONE_OF_TWO);
    const keys = Array.from({ length: KEYS }, (_, n) => `key ${n}`);
    server.turn(() => "-ERR no\r\n");
    for (const key of keys) await replica.count(key, 10);
    const { keysAway: away } = replica;
    assert.equal(away(), KEYS);
    good();
    await until(
      () => isBack(replica) && away() === 0,
      () => `${away()} keys to be told of: ${JSON.stringify(replica.seen)}`,
    );
    assert.equal(seen.leases, KEYS);
    assert.ok(seen.most <= 64, `${seen.most} at once`);
    await replica.keeper.close();
    assert.ok(seen.releases > 64, `${seen.releases} given back`);
    assert.ok(seen.most <= 64, `${seen.most} at once`);
  });

  it("are counted where a reload brings more of them than a call takes arguments", async () => {
    const server = await startBad();
    const counters = createSharedCounters(WINDOW);
    for (let n = 0; n < 300_000; n++) slotOf(counters, `key ${n}`);
    const target = readRedisUrl(`redis://127.0.0.1:${server.port}`);
    const settings = { target, replicas: 1, denies: false };
    const keeper = await keepSharedLimits(settings, counters, new ServersAway(true));
    try {
      const quota = await keeper.limits.count({ id: "key 299999", slot: 299_999 }, 10, Date.now());
      assert.equal(quota.passed, true);
    } finally {
      await keeper.close();
    }
  });
});
