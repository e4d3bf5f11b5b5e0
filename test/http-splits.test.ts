/** Requests split into reads at any place, or cut short: the replies equal those to the whole. */

import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { after, describe, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { Found, PageOf } from "../src/store/generation.ts";
import { BASE, cleanUp, type OpenServer, serveOpen, WORLD } from "./support/http-server.ts";
import { IS_LONG } from "./support/long.ts";
import { dial, errorOf, header, lastWord, type RawResponse, requestHead, type Wire } from "./support/raw.ts";
import { AUTH, good, HOST, MALFORMED, OK, PAGE, SEARCH, STATS } from "./support/requests.ts";

const MAX_HEAD = 4096;

let searches = 0;

/** Answers each search 1 to 4 turns later: the answers after it wait. */
async function later(_name: string, _term: string, { limit, offset }: PageOf): Promise<Found> {
  for (let turns = searches++ % 4; turns >= 0; turns--) await setImmediate();
  return { total: 3, rows: Uint32Array.of(1, 2, 3).subarray(offset, offset + limit) };
}

// Its timeouts never fire: every answer is for the bytes that came.
const server = await serveOpen(
  { searchCacheBytes: 0, headersTimeout: 3600, requestTimeout: 3600, maxHeadBytes: MAX_HEAD },
  later,
);

// In the long form a hundred and fifty connections send at once: on a busy machine none of them may be a silent one.
const hasty = await serveOpen({ headersTimeout: IS_LONG ? 0.8 : 0.4, timeoutCheckInterval: 0.025 });

after(cleanUp);

async function farEnd(wire: Wire, { sockets }: OpenServer): Promise<Socket> {
  for (;;) {
    const end = sockets().find(({ remotePort }) => remotePort === wire.socket.localPort);
    if (end !== undefined) return end;
    await setImmediate();
  }
}

/** Sends pieces. Each is a separate read, unless it arrives while the server has paused reading. */
async function sendApart(wire: Wire, pieces: readonly string[]): Promise<void> {
  const end = await farEnd(wire, server);
  let sent = 0;
  for (const piece of pieces) {
    if (piece === "") continue;
    sent += piece.length;
    await wire.send(piece);
    for (let turn = 0; end.bytesRead < sent && !end.destroyed; turn++) {
      if (end.isPaused() && turn > 4) break;
      await setImmediate();
    }
  }
}

function told({ version, status, reason, headers, body }: RawResponse): string {
  const lines = headers.map(([name, value]) => `${name}: ${name === "Date" ? "-" : value}`);
  return [version, status, reason, ...lines, "", body].join("\n");
}

/** The replies to requests sent in pieces. No bytes follow; the connection ends with the last reply, or this end closes it. */
async function repliesTo(requests: readonly string[], pieces: readonly string[]): Promise<string[]> {
  const wire = await dial(server.port);
  const sent = sendApart(wire, pieces);
  const replies: string[] = [];
  let last: RawResponse | undefined;
  for (const request of requests) {
    last = await wire.response(request.startsWith("HEAD ") ? "HEAD" : "GET");
    replies.push(told(last));
  }
  await sent;
  if (header(last!, "Connection") === "keep-alive") wire.end();
  await wire.closed();
  return replies;
}

/** The replies to requests, each on a separate connection. */
async function repliesAlone(requests: readonly string[]): Promise<string[]> {
  return (await Promise.all(requests.map((request) => repliesTo([request], [request])))).flat();
}

function cutAt(text: string, ...places: readonly number[]): string[] {
  const all = [0, ...places, text.length];
  return places.concat(0).map((_, at) => text.slice(all[at]!, all[at + 1]!));
}

function inPieces(text: string, size: number): string[] {
  const count = Math.ceil(text.length / size);
  return Array.from({ length: count }, (_, at) => text.slice(at * size, (at + 1) * size));
}

async function each<T>(all: readonly T[], run: (one: T) => Promise<void>): Promise<void> {
  const rest = [...all];
  const work = async (): Promise<void> => {
    for (let one = rest.pop(); one !== undefined; one = rest.pop()) await run(one);
  };
  await Promise.all(Array.from({ length: 8 }, work));
}

/** Requests of every kind. More bytes follow a request that ends the connection; they are dropped. */
const REQUESTS: Readonly<Record<string, string>> = {
  "a lookup": good(STATS),
  "a search, answered later": good(SEARCH, ["Accept: */*"]),
  "a HEAD": good(`${BASE}/worlds/${WORLD}`, [], "HEAD"),
  "an absolute target": good(`http://a.b${STATS}`, ["If-None-Match: *"]),
  OPTIONS: requestHead(STATS, [], "OPTIONS"),
  "no token": requestHead(STATS),
  "no such path": good("/nowhere", ["Content-Length: 0\t"]),
  "HTTP/1.0": `GET ${STATS} HTTP/1.0\r\n${AUTH}\r\n`,
  "HTTP/1.0 that stays": `GET ${STATS} HTTP/1.0\r\nConnection: keep-alive\r\n${AUTH}\r\n`,
  "the last one": good(STATS, ["Connection: close"]) + good(STATS),
  "a body": `${good(STATS, ["Content-Length: 9"], "POST")}GET / HTT`,
  "empty lines first": `\r\n\r\n${good(STATS)}`,
  "no HTTP": `BREW ${STATS} HTTP/1.1\r\n${HOST}\r\n${good(STATS)}`,
  "a space before a colon": `${OK}X : y\r\n\r\n${good(STATS)}`,
  "half of a preface": `${MALFORMED["half of the preface of HTTP/2"]}${good(STATS)}`,
};

describe("a request in pieces", () => {
  for (const [name, request] of Object.entries(REQUESTS)) {
    test(`${name}: two reads, and the same on a connection that goes on`, async () => {
      const alone = await repliesTo([request], [request]);
      const isLast = /^Connection: close$/m.test(alone[0]!);
      const places = Array.from(request.slice(1), (_, at) => at + 1);
      // The second request has the same fields as the head before it.
      const requests = Array<string>(isLast ? 1 : 2).fill(request);
      const expected = requests.map(() => alone[0]);
      await each(places, async (place) => {
        const pieces = requests.flatMap(() => cutAt(request, place));
        assert.deepEqual(await repliesTo(requests, pieces), expected, String(place));
      });
    });

    test(`${name}: three reads`, async () => {
      const alone = await repliesTo([request], [request]);
      const step = IS_LONG ? 1 : 29;
      const places: [number, number][] = [];
      for (let first = 1; first < request.length; first += step) {
        // First a piece of one byte.
        places.push([first, first + 1]);
        for (let second = first + 2; second < request.length; second += step) places.push([first, second]);
      }
      await each(places, async (place) => {
        assert.deepEqual(await repliesTo([request], cutAt(request, ...place)), alone, place.join());
      });
    });
  }
});

describe("a pipeline in pieces", () => {
  const OPENAPI = requestHead("/openapi.json");
  const KINDS = [
    OPENAPI,
    good(SEARCH),
    good(STATS),
    good(`${BASE}/users/search?q=user&limit=3`, ["Accept: */*"]),
    good(`${BASE}/worlds?limit=2`),
    requestHead(STATS),
    good(`${BASE}/worlds/${WORLD}`, [], "HEAD"),
    good(SEARCH, ["If-None-Match: *"]),
    good("/nowhere"),
  ];
  /** So many once caused a 400 now and then. */
  const requests = Array.from({ length: 93 }, (_, at) => KINDS[(at * at) % KINDS.length]!);
  const text = requests.join("");
  const sizes = IS_LONG
    ? Array.from({ length: 90 }, (_, at) => 1 + Math.floor(at ** 2.1))
    : [61, 509, 1000, 1460, 1777, 4095, 4096, 8191];
  let alone: Promise<string[]> | undefined;

  for (const size of sizes) {
    test(`93 good requests, ${size} bytes at a time`, async () => {
      alone ??= repliesAlone(KINDS);
      const expected = await alone;
      const replies = await repliesTo(requests, inPieces(text, size));
      for (const [at, reply] of replies.entries())
        assert.equal(reply, expected[(at * at) % KINDS.length], `request ${at}`);
    });
  }

  test("cut anywhere right after a large reply", async () => {
    const next = good(STATS, ["Accept: */*"]);
    const [large, small] = await repliesAlone([OPENAPI, next]);
    const places = Array.from({ length: next.length + 6 }, (_, at) => OPENAPI.length - 3 + at);
    await each(places, async (place) => {
      const replies = await repliesTo([OPENAPI, next, OPENAPI], cutAt(OPENAPI + next + OPENAPI, place));
      assert.deepEqual(replies, [large, small, large], String(place));
    });
  });

  test("a peer that reads late, so that the server stops reading within a head", async () => {
    const alone = await repliesAlone([PAGE, STATS].map((target) => good(target)));
    for (const size of [97, 1777]) {
      const all = [...Array<string>(40).fill(good(PAGE)), ...Array<string>(40).fill(good(STATS))];
      const wire = await dial(server.port);
      wire.socket.pause();
      await sendApart(wire, inPieces(all.join(""), size));
      wire.socket.resume();
      for (const at of all.keys())
        assert.equal(told(await wire.response()), alone[at < 40 ? 0 : 1], String(at));
      await wire.hangUp();
    }
  });
});

describe("what is no HTTP, in a pipeline", () => {
  const BAD = Object.entries(MALFORMED).map(([name, bytes]) => [name, bytes.toString("latin1")] as const);

  test("after any number of requests: their answers, one 400, the end", async () => {
    const before = [requestHead("/openapi.json"), good(SEARCH), good(STATS)];
    const alone = await repliesAlone(before);
    await each(BAD, async ([name, bytes]) => {
      const [refusal] = await repliesTo([""], [bytes]);
      assert.match(refusal!, /^HTTP\/1\.1\n400\n/, name);
      for (let count = 1; count <= before.length; count++) {
        const good = before.slice(0, count);
        const replies = await repliesTo([...good, ""], [good.join("") + bytes + before.join("")]);
        assert.deepEqual(replies, [...alone.slice(0, count), refusal], `${name} after ${count}`);
      }
    });
  });

  test("after a pause, in one piece and in two", async () => {
    await each(BAD, async ([name, bytes]) => {
      const middle = Math.floor(bytes.length / 2);
      for (const cut of [[bytes], cutAt(bytes, middle), cutAt(bytes, bytes.length - 2)]) {
        const wire = await dial(server.port);
        void wire.send(good(SEARCH));
        assert.equal((await wire.response()).status, 200);
        const sent = sendApart(wire, [...cut, good(STATS)]);
        const response = await wire.response();
        assert.equal(response.status, 400, name);
        assert.equal(header(response, "Connection"), "close", name);
        await sent;
        await wire.closed();
      }
    });
  });
});

describe("a beginning of a request", () => {
  const REQUEST = good(STATS, ["Accept: */*"]);
  const lengths = Array.from(REQUEST.slice(1), (_, at) => at + 1);

  for (const before of ["", good(STATS), good(SEARCH)]) {
    const what = before === "" ? "" : ` after ${before.slice(4, before.indexOf(" ", 4))}`;

    async function isRefused(wire: Wire, error: string, length: number): Promise<void> {
      if (before !== "") assert.equal((await wire.response()).status, 200);
      const response = await wire.response();
      assert.equal(errorOf(response), error, String(length));
      assert.equal(header(response, "Connection"), "close");
      await wire.closed();
    }

    test(`then FIN${what}: one 400`, async () => {
      await each(lengths, async (length) => {
        const wire = await dial(server.port);
        void wire.send(before + REQUEST.slice(0, length));
        wire.end();
        await isRefused(wire, "Bad request: incomplete request", length);
      });
    });

    test(`then silence${what}: one 408`, async () => {
      const shorter = lengths.filter((length) => IS_LONG || length % 3 === 1 || length > REQUEST.length - 5);
      const run = async (length: number): Promise<void> => {
        const wire = await dial(hasty.port);
        void wire.send(before + REQUEST.slice(0, length));
        await isRefused(wire, "Request timeout", length);
      };
      await Promise.all(shorter.map(run));
    });

    test(`then RST${what}: nothing, and nothing is left of it`, async () => {
      await each(lengths, async (length) => {
        const wire = await dial(server.port);
        const end = await farEnd(wire, server);
        const sent = before + REQUEST.slice(0, length);
        await wire.send(sent);
        if (before !== "") assert.equal((await wire.response()).status, 200);
        while (end.bytesRead < sent.length) await setImmediate();
        wire.socket.resetAndDestroy();
        await wire.gone;
        while (!end.destroyed) await setImmediate();
      });
      for (let turn = 0; server.sockets().length > 0 && turn < 1000; turn++) await setImmediate();
      assert.equal(server.sockets().length, 0);
      assert.equal((await lastWord(server.port, good(STATS, ["Connection: close"]))).status, 200);
    });
  }

  for (const nothing of ["", "\r\n", "\r\n\r\n"]) {
    test(`${JSON.stringify(nothing)}, then FIN or silence: the end without a byte`, async () => {
      for (const { port } of [server, hasty]) {
        const wire = await dial(port);
        if (nothing !== "") void wire.send(nothing);
        if (port === server.port) wire.end();
        await wire.closed();
      }
    });
  }
});

describe("the size of a head", () => {
  const sized = (size: number): string => {
    const plain = good(STATS, ["X-Long: "]);
    return plain.replace("X-Long: ", `X-Long: ${"x".repeat(size - plain.length)}`);
  };

  for (const before of ["", "\r\n", good(STATS), good(SEARCH)]) {
    const what = before === "" ? "" : ` after ${JSON.stringify(before.slice(0, 50))}`;

    test(`the largest is served, one byte more is not${what}`, async () => {
      for (const size of [MAX_HEAD, MAX_HEAD + 1]) {
        const status = size === MAX_HEAD ? 200 : 431;
        const head = sized(size);
        assert.equal(head.length, size);
        const split = [before, ...cutAt(head, size - 1)];
        for (const cut of [[before + head], split, inPieces(before + head, 100)]) {
          const wire = await dial(server.port);
          const sent = sendApart(wire, cut);
          if (before.length > 2) assert.equal((await wire.response()).status, 200);
          assert.equal((await wire.response()).status, status, `${size} bytes in ${cut.length} pieces`);
          await sent;
          if (status === 200) wire.end();
          await wire.closed();
        }
      }
    });
  }

  test("a head without an end: 431 with the first byte too many", async () => {
    const wire = await dial(server.port);
    const end = await farEnd(wire, server);
    const most = sized(MAX_HEAD * 2).slice(0, MAX_HEAD);
    await sendApart(wire, [most]);
    for (let turn = 0; turn < 10; turn++) await setImmediate();
    assert.equal(end.bytesWritten, 0);
    void wire.send("x");
    assert.equal((await wire.response()).status, 431);
    await wire.closed();
  });
});
