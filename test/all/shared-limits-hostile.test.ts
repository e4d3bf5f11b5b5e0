/** Shared limits beside a misbehaving server: no request waits for it, memory does not grow, and all recovers with it. */

import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { after, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { assertInTime } from "../support/patience.ts";
import { type Answer, HELLO, type HostileRedis, startHostile } from "./support/hostile-redis.ts";
import { counting } from "./support/redis.ts";

const PASSWORD = "pass-word-that-nobody-may-see";
/** Memory growth that no case may reach. */
const MOST_BYTES = 400 * 2 ** 20;
/** Longest wait of a request, and of one on a busy machine. */
const MOST_MS = 50;

const servers = new Set<HostileRedis>();
after(() => {
  for (const server of servers) server.close();
});

/** Answers questions with a text, and HELLO correctly. */
const asCount =
  (reply: string | Buffer): Answer =>
  ([name]) =>
    name === "HELLO" ? HELLO : reply;

function drip(socket: Socket, text: string): void {
  let at = 0;
  const timer = setInterval(() => {
    if (at < text.length && socket.writable) socket.write(text[at++]!);
    else clearInterval(timer);
  }, 200);
  socket.once("close", () => clearInterval(timer));
}

const flood =
  (chunk: Buffer) =>
  (socket: Socket): void => {
    const send = (): void => {
      while (!socket.destroyed && socket.write(chunk));
    };
    socket.on("drain", send);
    send();
  };

/** @property believed requests that a new replica lets pass by answers that could be true */
interface Case {
  readonly answer?: Answer;
  readonly greet?: (socket: Socket) => void;
  readonly believed?: number;
}

const CASES: Readonly<Record<string, Case>> = {
  "answers nothing": { answer: () => undefined },
  "answers HELLO, and then nothing": { answer: asCount("") },
  "answers with bytes that are no reply": { answer: asCount("HTTP/1.1 400 Bad Request\r\n\r\n") },
  "sends megabytes": { greet: flood(Buffer.alloc(65_536, "+a\r\n")) },
  "answers one byte at a time": { answer: (_, socket) => void drip(socket, ":1000\r\n") },
  "answers questions with an error": { answer: asCount("-ERR no\r\n") },
  "repeats the password in an error": {
    answer: (command) => `-ERR unknown command, with args beginning with: ${command.join(" ")}\r\n`,
  },
  "repeats the password where an error is cut": {
    answer: asCount(`-ERR ${"x".repeat(190 - PASSWORD.length / 2)}${PASSWORD}\r\n`),
  },
  "answers with negative numbers": { answer: asCount(":-5\r\n") },
  "answers with a count that is less than before": { answer: asCount(":0\r\n"), believed: 1 },
  "answers with texts": { answer: asCount("+OK\r\n") },
  "answers with arrays in arrays": { answer: asCount(`${"*1\r\n".repeat(10_000)}:1\r\n`) },
  "closes in the middle of an answer": { answer: (_, socket) => void socket.end(":1") },
  "says that it is a cluster, with a map that is none": {
    answer: ([name]) =>
      name === "HELLO"
        ? HELLO.replace("$10\r\nstandalone", "$7\r\ncluster")
        : "*1\r\n*3\r\n:-5\r\n:99999\r\n*0\r\n",
  },
};

describe("a counter server that", { concurrency: 3 }, () => {
  for (const [name, { answer, greet, believed = 0 }] of Object.entries(CASES)) {
    it(`${name}: no request waits for it, and it counts again when it is well`, async () => {
      const server = await startHostile();
      servers.add(server);
      const url = `redis://:${PASSWORD}@127.0.0.1:${server.port}`;
      const given = { replicas: 2, answerMs: 40 };
      const good = await counting(url, given);
      await good.untilShared("a");
      assert.equal(await good.countEach("a", 40, 5), 5);
      const before = process.memoryUsage().rss;
      server.turn(answer ?? (() => undefined), greet);
      if (greet !== undefined) server.disconnect();
      const late = await counting(url, given);
      for (const replica of [good, late]) {
        let passed = 0;
        for (let time = 0; time < 60; time++) {
          const began = performance.now();
          if ((await replica.count("a", 40)).passed) passed++;
          assertInTime(began, MOST_MS, "a request");
        }
        const most = 20 + (replica === late ? believed : 0);
        assert.equal(passed, most, `it counts within its share: ${JSON.stringify(replica.seen)}`);
        await replica.untilAway();
      }
      server.turn(undefined);
      for (const replica of [good, late]) {
        await replica.untilBack();
        await replica.untilShared("b");
        assert.equal(await replica.countEach("b", 10, 12), 10);
        assert.doesNotMatch(JSON.stringify(replica.seen), /pass-word|word-that/);
        replica.close();
      }
      const grown = process.memoryUsage().rss - before;
      assert.ok(grown < MOST_BYTES, `${grown} bytes more`);
    });
  }

  it("answers with texts is not taken to be back while no request asks it", async () => {
    const server = await startHostile();
    servers.add(server);
    const replica = await counting(`redis://127.0.0.1:${server.port}`, { answerMs: 40 });
    server.turn(asCount("+OK\r\n"));
    await replica.count("a", 10);
    await replica.untilAway();
    await sleep(5000);
    assert.deepEqual(replica.kinds(), ["limits-away"]);
    server.turn(undefined);
    await replica.untilBack();
  });
});
