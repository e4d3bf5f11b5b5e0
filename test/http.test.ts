/** The server on the wire, as a stranger meets it: raw sockets, and every answer read byte by byte. */

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { Found, PageOf } from "../src/store/generation.ts";
import {
  BASE,
  cleanUp,
  FEW,
  HIDDEN_WORLD,
  INSTANCE,
  type Stopped,
  serve,
  serveAlone,
  serveOpen,
  type TestServer,
  TOKENS,
  type TokenName,
  USER,
  WORLD,
} from "./support/http-server.ts";
import { assertInTime, within } from "./support/patience.ts";
import {
  closeWires,
  dial,
  errorOf,
  header,
  headerValues,
  lastWord,
  type RawResponse,
  requestHead,
  Wire,
} from "./support/raw.ts";

const STATS = `${BASE}/stats`;
const PAGE = `${BASE}/worlds?limit=50`;
const SEARCH = `${BASE}/worlds/search?q=world`;

function bearer(token: TokenName): string {
  return `Authorization: Bearer ${TOKENS[token]}`;
}

/** A good request. */
function good(target: string, headers: readonly string[] = [], method = "GET"): string {
  return requestHead(target, [bearer("cli"), ...headers], method);
}

/** Sends one request and hangs up like a client that is done; the server must leave the connection open until then. */
async function ask(
  target: string,
  headers: readonly string[] = [],
  method = "GET",
  { port }: Pick<TestServer, "port"> = main,
): Promise<RawResponse> {
  const wire = await dial(port);
  void wire.send(requestHead(target, headers, method));
  const response = await wire.response(method);
  assert.equal(header(response, "Connection"), "keep-alive");
  wire.end();
  await wire.closed();
  return response;
}

function isStats(response: RawResponse): void {
  assert.equal(response.status, 200);
  assert.deepEqual(JSON.parse(response.body), {
    data: { totalUsers: 30, totalPublicWorlds: 60, totalPublicInstances: 1 },
  });
}

/** A refusal that is none of the API's: it ends the connection and carries no CORS headers. */
function isBareRefusal(response: RawResponse, status: number, error: string): void {
  assert.equal(response.status, status);
  assert.equal(errorOf(response), error);
  assert.equal(header(response, "Connection"), "close");
  assert.equal(header(response, "Cache-Control"), "no-store");
  const extra = response.headers.filter(([name]) => /^(access-control-|x-ratelimit-|etag$)/i.test(name));
  assert.deepEqual(extra, []);
}

const isBadRequest = (response: RawResponse): void => isBareRefusal(response, 400, "Bad request");

const HOST = "Host: orrery.test\r\n";
const AUTH = `${bearer("cli")}\r\n`;
const OK = `GET ${STATS} HTTP/1.1\r\n${HOST}${AUTH}`;
// Its timeouts are longer than anybody's patience here: what is answered was not waited for.
const main = await serve({ threads: true, http: { headersTimeout: 3_600_000, requestTimeout: 3_600_000 } });
const quick = await serve({
  http: {
    headersTimeout: 200,
    requestTimeout: 400,
    checkInterval: 50,
    keepAliveTimeout: 300,
    socketTimeout: 5000,
  },
});

// These take their time, so they begin here and are looked at later.
const alone = { plain: serveAlone(), narrow: serveAlone(128) };
const stuck = stopBesideStuckPeers();
for (const begun of [alone.plain, alone.narrow, stuck]) begun.catch(() => {});

async function stopBesideStuckPeers(): Promise<Stopped> {
  const server = await serveAlone();
  const deaf = await dial(server.port);
  deaf.socket.pause();
  void deaf.send(good(PAGE).repeat(1000));
  const half = await dial(server.port);
  isStats(await ask(STATS, [bearer("cli")], "GET", server));
  void half.send(OK);
  const stopped = within(server.stop(), "the stop");
  await half.closed();
  const result = await stopped;
  deaf.destroy();
  return result;
}

after(async () => {
  closeWires();
  await cleanUp();
});

const MALFORMED: Readonly<Record<string, string | Buffer>> = {
  "an unknown method": `BREW ${STATS} HTTP/1.1\r\n${HOST}${AUTH}\r\n`,
  "a method in lower case": `get ${STATS} HTTP/1.1\r\n${HOST}${AUTH}\r\n`,
  "an unknown version": `GET ${STATS} HTTP/1.2\r\n${HOST}${AUTH}\r\n`,
  "version 2.0": `GET ${STATS} HTTP/2.0\r\n${HOST}${AUTH}\r\n`,
  "version 3.0": `GET ${STATS} HTTP/3.0\r\n${HOST}${AUTH}\r\n`,
  "another protocol's name": `GET ${STATS} HTTQ/1.1\r\n${HOST}${AUTH}\r\n`,
  "no version": `GET ${STATS}\r\n${HOST}${AUTH}\r\n`,
  "version 0.9": `GET ${STATS} HTTP/0.9\r\n${HOST}${AUTH}\r\n`,
  "no target": `GET HTTP/1.1\r\n${HOST}${AUTH}\r\n`,
  "a space in the target": `GET ${STATS} x HTTP/1.1\r\n${HOST}${AUTH}\r\n`,
  "a target without a slash": `GET stats HTTP/1.1\r\n${HOST}${AUTH}\r\n`,
  "a control byte in the target": `GET ${STATS}\x01 HTTP/1.1\r\n${HOST}${AUTH}\r\n`,
  "NUL in the target": `GET ${STATS}\0 HTTP/1.1\r\n${HOST}${AUTH}\r\n`,
  "DEL in the target": `GET ${STATS}\x7f HTTP/1.1\r\n${HOST}${AUTH}\r\n`,
  "bare LF in the request line": `GET ${STATS} HTTP/1.1\n${HOST}${AUTH}\r\n`,
  "bare LF behind a header": `GET ${STATS} HTTP/1.1\r\nHost: orrery.test\n${AUTH}\r\n`,
  "bare LF throughout": `${OK.replaceAll("\r", "")}\n`,
  "bare CR in a header": `${OK}X-Odd: a\rb\r\n\r\n`,
  "a folded header": `${OK}X-Odd: a\r\n b\r\n\r\n`,
  "NUL in a header": `${OK}X-Odd: a\0b\r\n\r\n`,
  "a control byte in a header": `${OK}X-Odd: a\x02b\r\n\r\n`,
  "a space before the colon": `${OK}X-Odd : a\r\n\r\n`,
  "a header without a name": `${OK}: a\r\n\r\n`,
  "a header without a colon": `${OK}X-Odd\r\n\r\n`,
  "a header name that is no token": `${OK}X(Odd): a\r\n\r\n`,
  "Content-Length with Transfer-Encoding": `POST ${STATS} HTTP/1.1\r\n${HOST}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  "Transfer-Encoding with Content-Length": `POST ${STATS} HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n`,
  "two Content-Lengths": `POST ${STATS} HTTP/1.1\r\n${HOST}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello`,
  "Transfer-Encoding that is not chunked at its end": `POST ${STATS} HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked, gzip\r\n\r\n5\r\nhello\r\n0\r\n\r\n`,
  "Content-Length twice the same": `POST ${STATS} HTTP/1.1\r\n${HOST}Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello`,
  "Content-Length with plus": `POST ${STATS} HTTP/1.1\r\n${HOST}Content-Length: +5\r\n\r\nhello`,
  "Content-Length with minus": `POST ${STATS} HTTP/1.1\r\n${HOST}Content-Length: -5\r\n\r\nhello`,
  "Content-Length in hex": `POST ${STATS} HTTP/1.1\r\n${HOST}Content-Length: 0x5\r\n\r\nhello`,
  "Content-Length beyond 64 bits": `POST ${STATS} HTTP/1.1\r\n${HOST}Content-Length: 99999999999999999999\r\n\r\n`,
  "a TLS hello": Buffer.from(`16030100c8010000c40303${"5a".repeat(196)}`, "hex"),
  "the preface of HTTP/2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  "random bytes": Buffer.from("fffe00017f80c3280d0a0d0a", "hex"),
  "no Host": `GET ${STATS} HTTP/1.1\r\n${AUTH}\r\n`,
  "two Hosts": `${OK}Host: other.test\r\n\r\n`,
  "two equal Hosts": `${OK}hOST: orrery.test\r\n\r\n`,
  "GET *": `GET * HTTP/1.1\r\n${HOST}${AUTH}\r\n`,
};

/** More at once would keep this process from answering a server of its own in time, on a machine that is busy. */
const AT_ONCE = { concurrency: 16 };

describe("malformed requests", AT_ONCE, () => {
  for (const [name, bytes] of Object.entries(MALFORMED)) {
    test(`${name}: one 400, then the end`, async () => {
      isBadRequest(await lastWord(main.port, bytes));
    });

    test(`${name}: no reset although the peer goes on sending`, async () => {
      const wire = await dial(main.port);
      void wire.send(bytes);
      isBadRequest(await wire.response());
      // What comes now finds the server's side closed, in several reads.
      await wire.sendSlowly(
        Array.from({ length: 8 }, (_, at) => Buffer.alloc(65_536, at % 2 ? "\r\n" : 0xfe)),
      );
      await wire.closed();
    });

    test(`${name}: one 400 behind good requests`, async () => {
      const wire = await dial(main.port);
      void wire.send(
        Buffer.concat([Buffer.from(good(SEARCH) + good(STATS)), Buffer.from(bytes as string, "latin1")]),
      );
      assert.equal((await wire.response()).status, 200);
      isStats(await wire.response());
      isBadRequest(await wire.response());
      await wire.closed();
    });
  }

  const halves = [`GET ${STATS} HTT`, `GET ${STATS} HTTP/1.1\r\n`, OK, `${OK}X-Odd`, "G"];
  for (const half of halves) {
    test(`half a request, then FIN: ${JSON.stringify(half.slice(-12))}`, async () => {
      const wire = await dial(main.port);
      void wire.send(half);
      wire.end();
      isBadRequest(await wire.response());
      await wire.closed();
    });

    test(`half a request, then FIN, behind good ones: ${JSON.stringify(half.slice(-12))}`, async () => {
      const wire = await dial(main.port);
      void wire.send(good(SEARCH) + good(STATS) + half);
      wire.end();
      assert.equal((await wire.response()).status, 200);
      isStats(await wire.response());
      isBadRequest(await wire.response());
      await wire.closed();
    });
  }

  test("HTTP/0.9: nothing but a line", async () => {
    const wire = await dial(main.port);
    void wire.send("GET /\r\n");
    wire.end();
    isBadRequest(await wire.response());
    await wire.closed();
  });

  test("FIN without a byte is no error", async () => {
    const wire = await dial(main.port);
    wire.end();
    await wire.closed();
  });

  test("blank lines before a request are no error", async () => {
    const wire = await dial(main.port);
    void wire.send(`\r\n\r\n${good(STATS)}\r\n${good(STATS)}`);
    isStats(await wire.response());
    isStats(await wire.response());
    wire.end();
    await wire.closed();
  });

  test("a request in pieces of one byte is no error", async () => {
    const wire = await dial(main.port);
    for (const byte of good(STATS)) await wire.send(byte);
    isStats(await wire.response());
    wire.end();
    await wire.closed();
  });

  test("of a HEAD the 400 has no body", async () => {
    const bytes = `HEAD ${STATS} HTTP/1.1\r\n${AUTH}\r\n`;
    const response = await lastWord(main.port, bytes, "HEAD");
    assert.equal(response.status, 400);
    assert.equal(header(response, "Connection"), "close");
  });
});

describe("size of the head", AT_ONCE, () => {
  const TOO_LARGE = "Request header fields too large";

  test("above 16 KiB in one header: 431", async () => {
    const bytes = good(STATS, [`X-Long: ${"x".repeat(17_000)}`]);
    isBareRefusal(await lastWord(main.port, bytes), 431, TOO_LARGE);
  });

  test("above 16 KiB in 60 headers: 431", async () => {
    const many = Array.from({ length: 60 }, (_, at) => `X-Long-${at}: ${"x".repeat(280)}`);
    isBareRefusal(await lastWord(main.port, good(STATS, many)), 431, TOO_LARGE);
  });

  test("above 16 KiB in the target: 431", async () => {
    isBareRefusal(await lastWord(main.port, good(`${STATS}?${"x".repeat(17_000)}`)), 431, TOO_LARGE);
  });

  test("a head that never ends: 431, and no reset", async () => {
    const wire = await dial(main.port);
    void wire.send(OK);
    for (let at = 0; at < 64; at++) void wire.send(`X-${at}: ${"x".repeat(16_000)}\r\n`);
    isBareRefusal(await wire.response(), 431, TOO_LARGE);
    await wire.closed();
  });

  test("behind good requests: 431 in its turn", async () => {
    const wire = await dial(main.port);
    void wire.send(good(SEARCH) + good(STATS) + good(STATS, [`X-Long: ${"x".repeat(17_000)}`]));
    assert.equal((await wire.response()).status, 200);
    isStats(await wire.response());
    isBareRefusal(await wire.response(), 431, TOO_LARGE);
    await wire.closed();
  });

  // Host and Authorization are two of them.
  const filler = (count: number) => Array.from({ length: count - 2 }, (_, at) => `X-${at}: ${at}`);

  test("64 headers are served", async () => {
    isStats(await ask(STATS, [...filler(64), bearer("cli")]));
  });

  test("65 headers: 431", async () => {
    isBareRefusal(await lastWord(main.port, good(STATS, filler(65))), 431, TOO_LARGE);
  });

  test("2,000 short headers: 431, and none is dropped silently", async () => {
    const bytes = requestHead(STATS, [...Array.from({ length: 2000 }, () => "a:"), bearer("cli")]);
    isBareRefusal(await lastWord(main.port, bytes), 431, TOO_LARGE);
  });

  test("a URL of 8 KiB works", async () => {
    const start = `${BASE}/worlds/search?q=world&x=`;
    const target = start + "y".repeat(8192 - start.length);
    const response = await ask(target, [bearer("cli")]);
    assert.equal(response.status, 200);
    assert.equal(JSON.parse(response.body).pagination.total, 60);
  });

  test("a head of 15 KiB works", async () => {
    const headers = Array.from({ length: 10 }, (_, at) => `X-${at}: ${"x".repeat(1450)}`);
    isStats(await ask(STATS, [bearer("cli"), ...headers]));
  });
});

describe("slow peers", AT_ONCE, () => {
  const slow = (response: RawResponse): void => isBareRefusal(response, 408, "Request timeout");

  for (const [name, bytes] of [
    ["silence", ""],
    ["half a request line", "GET /api"],
    ["half a head", OK],
  ] as const) {
    test(`${name}: 408`, async () => {
      slow(await lastWord(quick.port, bytes));
    });
  }

  test("a head that drips in: 408 although bytes keep coming", async () => {
    const wire = await dial(quick.port);
    void wire.send(OK);
    const drip = setInterval(() => void wire.send("X"), 20).unref();
    slow(await wire.response());
    clearInterval(drip);
    await wire.closed();
  });

  test("half a head behind a request that was answered: 408", async () => {
    const wire = await dial(quick.port);
    void wire.send(good(STATS) + OK);
    isStats(await wire.response());
    slow(await wire.response());
    await wire.closed();
  });

  test("a body that never comes costs nobody a wait: one answer, and no 408 behind it", async () => {
    const wire = await dial(quick.port);
    void wire.send(requestHead(STATS, ["Content-Length: 10"], "POST"));
    assert.equal((await wire.response()).status, 405);
    await wire.closed();
  });

  test("an idle connection that was answered is closed without a word", async () => {
    const wire = await dial(quick.port);
    void wire.send(good(STATS));
    isStats(await wire.response());
    await wire.closed();
  });
});

describe("bodies", AT_ONCE, () => {
  const FRAMES: Readonly<Record<string, [header: string, body: string]>> = {
    "a length": ["Content-Length: 5", "hello"],
    chunks: ["Transfer-Encoding: chunked", "5\r\nhello\r\n0\r\n\r\n"],
    "a bad chunk size": ["Transfer-Encoding: chunked", "zz\r\nhello\r\n0\r\n\r\n"],
    "a chunk that is too long": ["Transfer-Encoding: chunked", "5\r\nhello, world\r\n0\r\n\r\n"],
    "a huge chunk size": ["Transfer-Encoding: chunked", "fffffffffffffffffff\r\n"],
    "a chunk extension of 64 KB": [
      "Transfer-Encoding: chunked",
      `5;${"x".repeat(65_536)}\r\nhello\r\n0\r\n\r\n`,
    ],
    "trailers of 64 KB": ["Transfer-Encoding: chunked", `0\r\nX-Long: ${"x".repeat(65_536)}\r\n\r\n`],
    "an unknown coding": ["Transfer-Encoding: xchunked", "5\r\nhello\r\n0\r\n\r\n"],
    "another request in it": ["Content-Length: 999", good(STATS)],
    "a body that never comes": ["Content-Length: 1000000", ""],
    "chunks that never come": ["Transfer-Encoding: chunked", ""],
  };
  const CASES = [
    ["GET", STATS, 400, "Request body not allowed"],
    ["GET", "/nowhere", 400, "Request body not allowed"],
    ["HEAD", STATS, 400, ""],
    ["POST", STATS, 405, "Method not allowed"],
    ["PUT", `${BASE}/worlds/${WORLD}`, 405, "Method not allowed"],
    ["DELETE", `${BASE}/users/${USER}`, 405, "Method not allowed"],
    ["PATCH", SEARCH, 405, "Method not allowed"],
    ["POST", "/nowhere", 404, "Not found"],
    ["PUT", `${BASE}/stats/`, 404, "Not found"],
    ["DELETE", `${BASE}/nowhere`, 404, "Not found"],
    ["OPTIONS", STATS, 204, ""],
  ] as const;

  for (const [frame, [framing, body]] of Object.entries(FRAMES)) {
    for (const [method, target, status, error] of CASES) {
      for (const apart of [false, true]) {
        test(`${method} ${target} with ${frame}${apart ? ", sent later" : ""}: one ${status}, then the end`, async () => {
          const wire = await dial(main.port);
          const head = requestHead(target, [bearer("cli"), framing], method);
          void wire.send(apart ? head : head + body);
          const response = await wire.response(method);
          assert.equal(response.status, status);
          assert.equal(header(response, "Connection"), "close");
          if (error !== "") assert.equal(errorOf(response), error);
          if (status === 400) assert.equal(header(response, "Access-Control-Allow-Origin"), undefined);
          if (apart) await wire.sendSlowly(body.match(/[\s\S]{1,8000}/g) ?? []);
          await wire.closed();
        });
      }
    }
  }

  for (const method of ["GET", "HEAD", "POST"]) {
    test(`${method} with 8 MB that are sent before the answer is read: the answer is there`, async () => {
      const wire = await dial(main.port);
      wire.socket.pause();
      const bytes = Buffer.alloc(8_000_000, "GET / HTTP/1.1\r\n\r\n");
      await wire.send(requestHead(STATS, [`Content-Length: ${bytes.length}`], method));
      await within(wire.send(bytes), "the body to be taken");
      wire.socket.resume();
      assert.equal((await wire.response(method)).status, method === "POST" ? 405 : 400);
      await wire.closed();
    });
  }

  test("Content-Length: 0 is no body", async () => {
    isStats(await ask(STATS, [bearer("cli"), "Content-Length: 0"]));
    const response = await ask(STATS, ["Content-Length: 0"], "POST");
    assert.equal(response.status, 405);
  });

  test("POST, PUT and DELETE without a body leave the connection open", async () => {
    for (const method of ["POST", "PUT", "DELETE", "PATCH", "PROPFIND"]) {
      assert.equal((await ask(STATS, [], method)).status, 405);
      assert.equal((await ask("/nowhere", [], method)).status, 404);
    }
  });

  test("a body behind good requests: all answered in order, then the end", async () => {
    const wire = await dial(main.port);
    const post = requestHead(STATS, ["Content-Length: 5"], "POST");
    void wire.send(`${good(SEARCH)}${good(SEARCH, [], "HEAD")}${good(STATS)}${post}hello${good(STATS)}`);
    assert.equal((await wire.response()).status, 200);
    assert.equal((await wire.response("HEAD")).status, 200);
    isStats(await wire.response());
    assert.equal((await wire.response("POST")).status, 405);
    await wire.closed();
  });
});

describe("Expect", AT_ONCE, () => {
  test("100-continue without a body is answered like any request, without a 100", async () => {
    isStats(await lastWord(main.port, good(STATS, ["Expect: 100-continue"])));
  });

  test("100-continue with a body: refused without a 100", async () => {
    const headers = ["Expect: 100-Continue", "Content-Length: 5"];
    const response = await lastWord(main.port, requestHead(STATS, headers, "POST"), "POST");
    assert.equal(response.status, 405);
    isBareRefusal(await lastWord(main.port, requestHead(STATS, headers)), 400, "Request body not allowed");
  });

  test("anything else: 417", async () => {
    for (const value of ["200-ok", "x", "100-continued"]) {
      isBareRefusal(await lastWord(main.port, good(STATS, [`Expect: ${value}`])), 417, "Expectation failed");
    }
  });

  test("417 has no body for a HEAD, and waits its turn", async () => {
    const wire = await dial(main.port);
    void wire.send(good(SEARCH) + good(STATS, ["Expect: x"], "HEAD") + good(STATS));
    assert.equal((await wire.response()).status, 200);
    assert.equal((await wire.response("HEAD")).status, 417);
    await wire.closed();
  });

  test("a malformed request is that first", async () => {
    isBadRequest(await lastWord(main.port, `GET ${STATS} HTTP/1.1\r\nExpect: x\r\n\r\n`));
    isBadRequest(await lastWord(main.port, `${OK}Host: b\r\nExpect: x\r\n\r\n`));
  });
});

describe("versions and connections", AT_ONCE, () => {
  const old = (target: string, ...headers: string[]): string =>
    [`GET ${target} HTTP/1.0`, bearer("cli"), ...headers, "", ""].join("\r\n");

  for (const target of [STATS, SEARCH]) {
    test(`HTTP/1.0 ends the connection: ${target}`, async () => {
      const response = await lastWord(main.port, old(target));
      assert.equal(response.status, 200);
      assert.equal(header(response, "Connection"), "close");
    });

    test(`HTTP/1.0 with keep-alive does not: ${target}`, async () => {
      const wire = await dial(main.port);
      for (let at = 0; at < 3; at++) {
        void wire.send(old(target, "Connection: keep-alive"));
        const response = await wire.response();
        assert.equal(response.status, 200);
        assert.equal(header(response, "Connection"), "keep-alive");
      }
      void wire.send(old(target));
      assert.equal((await wire.response()).status, 200);
      await wire.closed();
    });

    test(`Connection: close before a pipelined request: one response, FIN: ${target}`, async () => {
      const response = await lastWord(main.port, good(target, ["Connection: close"]) + good(STATS));
      assert.equal(response.status, 200);
      assert.equal(header(response, "Connection"), "close");
    });

    test(`Connection: close before a flood: one response, FIN: ${target}`, async () => {
      const wire = await dial(main.port);
      wire.socket.pause();
      await wire.send(good(target, ["Connection: close"]));
      await within(wire.send(good(STATS).repeat(50_000)), "the flood to be taken");
      wire.socket.resume();
      assert.equal((await wire.response()).status, 200);
      await wire.closed();
    });

    test(`Connection: close, and the peer goes on sending after the answer: ${target}`, async () => {
      const wire = await dial(main.port);
      void wire.send(good(target, ["Connection: close"]));
      assert.equal((await wire.response()).status, 200);
      await wire.sendSlowly(Array.from({ length: 8 }, () => good(STATS).repeat(500)));
      await wire.closed();
    });

    test(`a client that half-closes behind its requests gets all answers: ${target}`, async () => {
      const wire = await dial(main.port);
      void wire.send(good(target) + good(STATS) + good(PAGE) + good(target) + good(STATS));
      wire.end();
      const statuses: number[] = [];
      for (let at = 0; at < 5; at++) statuses.push((await wire.response()).status);
      assert.deepEqual(statuses, [200, 200, 200, 200, 200]);
      await wire.closed();
    });
  }

  test("a client that half-closes before its search is done gets its answer", async () => {
    const { later, finish, finishAll } = slowSearches();
    const server = await serveOpen({}, { users: later, worlds: later });
    const wire = await dial(server.port);
    void wire.send(good(SEARCH) + good(STATS) + good(SEARCH));
    wire.end();
    // Connections are read in turn: when others were served, the end of this one was seen.
    for (let at = 0; at < 3; at++) isStats(await ask(STATS, [bearer("cli")], "GET", server));
    assert.equal(finish.length, 2);
    finishAll();
    assert.equal(JSON.parse((await wire.response()).body).pagination.total, 3);
    isStats(await wire.response());
    assert.equal(JSON.parse((await wire.response()).body).pagination.total, 3);
    await wire.closed();
  });

  test("a client that half-closes and reads slowly gets all it asked for", async () => {
    const wire = await dial(main.port);
    wire.socket.pause();
    await wire.send(good(PAGE).repeat(100));
    wire.end();
    for (let at = 0; at < 3; at++) isStats(await ask(STATS, [bearer("cli")]));
    wire.socket.resume();
    for (let at = 0; at < 100; at++) assert.equal(JSON.parse((await wire.response()).body).data.length, 50);
    await wire.closed();
  });

  test("a large reply arrives whole although its request closes the connection", async () => {
    const response = await lastWord(main.port, good(PAGE, ["Connection: close"]));
    assert.equal(JSON.parse(response.body).data.length, 50);
  });

  test("Upgrade is ignored", async () => {
    isStats(await ask(STATS, [bearer("cli"), "Upgrade: websocket"]));
    const h2c = [
      "Connection: Upgrade, HTTP2-Settings",
      "Upgrade: h2c",
      "HTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA",
    ];
    isStats(await ask(STATS, [bearer("cli"), ...h2c]));
  });

  for (const target of ["orrery.test:443", STATS, "*"]) {
    test(`CONNECT ${target}: 405 and the end`, async () => {
      const bytes = requestHead(target, [], "CONNECT");
      const response = await lastWord(main.port, `${bytes}\x16\x03\x01 tunnelled ${good(STATS)}`, "CONNECT");
      isBareRefusal(response, 405, "Method not allowed");
      assert.equal(header(response, "Allow"), "GET, HEAD, OPTIONS");
    });
  }

  test("CONNECT, and the peer goes on sending: no reset", async () => {
    const wire = await dial(main.port);
    void wire.send(requestHead("orrery.test:443", [], "CONNECT"));
    assert.equal((await wire.response("CONNECT")).status, 405);
    await wire.sendSlowly(Array.from({ length: 16 }, () => Buffer.alloc(1_000_000)));
    await wire.closed();
  });

  test("CONNECT behind good requests: 405 in its turn", async () => {
    const wire = await dial(main.port);
    void wire.send(good(SEARCH) + good(PAGE) + requestHead("orrery.test:443", [], "CONNECT") + good(STATS));
    assert.equal((await wire.response()).status, 200);
    assert.equal(JSON.parse((await wire.response()).body).data.length, 50);
    assert.equal((await wire.response("CONNECT")).status, 405);
    await wire.closed();
  });

  test("peers that reset harm nobody", async () => {
    const server = await alone.plain;
    const beginnings = [
      "",
      OK,
      good(PAGE).repeat(20),
      good(SEARCH).repeat(20),
      requestHead("orrery.test:443", [], "CONNECT"),
      good(PAGE).repeat(20) + requestHead("orrery.test:443", [], "CONNECT"),
      "BREW / HTTP/1.1\r\n\r\n",
      `${good(PAGE).repeat(20)}BREW / HTTP/1.1\r\n\r\n`,
      requestHead(STATS, ["Content-Length: 100"], "POST"),
    ];
    await Promise.all(
      beginnings.map(async (bytes) => {
        const wire = await dial(server.port);
        wire.socket.pause();
        await wire.send(bytes);
        wire.socket.resetAndDestroy();
        await wire.gone;
      }),
    );
    // A reset behind an answer meets a server that waits for the end of the connection.
    for (const bytes of beginnings.slice(4)) {
      const wire = await dial(server.port);
      void wire.send(bytes);
      await wire.response();
      wire.socket.resetAndDestroy();
      await wire.gone;
    }
    isStats(await ask(STATS, [bearer("cli")], "GET", server));
    assert.equal((await server.stop()).status, 0);
  });

  test("requests a connection are limited, the last answer says so", async () => {
    const three = await serve({ http: { maxRequestsPerSocket: 3 } });
    for (const target of [STATS, SEARCH]) {
      for (const pipelined of [true, false]) {
        const wire = await dial(three.port);
        if (pipelined) void wire.send(good(target).repeat(5));
        for (let at = 1; at <= 3; at++) {
          if (!pipelined) void wire.send(good(target));
          const response = await wire.response();
          assert.equal(response.status, 200);
          assert.equal(header(response, "Connection"), at < 3 ? "keep-alive" : "close");
        }
        await wire.closed();
      }
    }
  });
});

/** Searches that wait until the test lets them finish. */
function slowSearches() {
  const finish: (() => void)[] = [];
  let slow = true;
  return {
    finish,
    later(_term: string, { limit, offset }: PageOf): Found | Promise<Found> {
      const found = { total: 3, rows: Uint32Array.of(1, 2, 3).subarray(offset, offset + limit) };
      return slow ? new Promise((resolve) => finish.push(() => resolve(found))) : found;
    },
    finishAll() {
      slow = false;
      for (const done of finish) done();
    },
  };
}

describe("pipelining", AT_ONCE, () => {
  const MIX = [
    ["GET", STATS],
    ["GET", SEARCH],
    ["HEAD", SEARCH],
    ["GET", `${BASE}/worlds/${WORLD}`],
    ["GET", `${BASE}/worlds/search`],
    ["HEAD", PAGE],
    ["GET", `${BASE}/users/search?q=user&limit=1`],
    ["OPTIONS", STATS],
    ["GET", PAGE],
    ["GET", "/nowhere"],
    ["POST", STATS],
    ["GET", `${BASE}/instances/${INSTANCE}`],
  ] as const;

  test("20 requests with HEAD and searches among them are answered in order", async () => {
    const asks = Array.from({ length: 20 }, (_, at) => MIX[at % MIX.length]!);
    const alone = await Promise.all(asks.map(([method, target]) => ask(target, [bearer("cli")], method)));
    const wire = await dial(main.port);
    void wire.send(asks.map(([method, target]) => good(target, [], method)).join(""));
    for (const [at, [method, target]] of asks.entries()) {
      const response = await wire.response(method);
      const what = `${at}: ${method} ${target}`;
      assert.equal(response.status, alone[at]!.status, what);
      assert.equal(header(response, "Content-Length"), header(alone[at]!, "Content-Length"), what);
      assert.equal(response.body, alone[at]!.body, what);
    }
    wire.end();
    await wire.closed();
  });

  test("searches that are answered in reverse are sent in order", async () => {
    const waiting: (() => void)[] = [];
    const later = (): Promise<Found> =>
      new Promise((resolve) => {
        waiting.push(() => resolve({ total: 1, rows: Uint32Array.of(waiting.length % 60) }));
        // Once all three wait, the newest is answered first.
        if (waiting.length === 3) for (const go of waiting.toReversed()) void setImmediate().then(go);
      });
    const server = await serveOpen({}, { users: later, worlds: later });
    const wire = await dial(server.port);
    const one = good(`${SEARCH}&limit=1`);
    const two = good(`${BASE}/users/search?q=a&limit=2`);
    const three = good(`${SEARCH}&limit=3`, [], "HEAD");
    void wire.send(`${one}${good(STATS)}${two}${three}${good(STATS)}BREW / HTTP/1.1\r\n\r\n`);
    assert.equal(JSON.parse((await wire.response()).body).pagination.limit, 1);
    isStats(await wire.response());
    assert.equal(JSON.parse((await wire.response()).body).pagination.limit, 2);
    assert.equal((await wire.response("HEAD")).status, 200);
    isStats(await wire.response());
    isBadRequest(await wire.response());
    await wire.closed();
    assert.equal(waiting.length, 3);
  });

  test("1,000 requests in one write", async () => {
    const wire = await dial(main.port);
    void wire.send(good(STATS).repeat(1000));
    for (let at = 0; at < 1000; at++) isStats(await wire.response());
    wire.end();
    await wire.closed();
  });

  test("garbage behind more requests than are taken at once: all answered, then one 400", async () => {
    const wire = await dial(main.port);
    void wire.send(`${good(SEARCH).repeat(100)}BREW / HTTP/1.1\r\n\r\n`);
    for (let at = 0; at < 100; at++) assert.equal((await wire.response()).status, 200);
    isBadRequest(await wire.response());
    await wire.closed();
  });

  test("requests behind slow ones are not even read, and answered in the end", async () => {
    const { later, finish, finishAll } = slowSearches();
    const server = await serveOpen({}, { users: later, worlds: later });
    const wire = await dial(server.port);
    const bytes = good(`${SEARCH}&limit=1`).repeat(5000);
    const sent = wire.send(bytes);
    while (finish.length === 0) isStats(await ask(STATS, [bearer("cli")], "GET", server));
    const taken = finish.length;
    // Each answer that is out could let more in.
    for (const done of finish.slice(0, taken - 1)) {
      done();
      assert.equal((await wire.response()).status, 200);
      isStats(await ask(STATS, [bearer("cli")], "GET", server));
    }
    assert.equal(finish.length, taken);
    const read = server.sockets().map(({ bytesRead }) => bytesRead);
    assert.ok(Math.max(...read) < 200_000 && bytes.length > 500_000, `${read} bytes were read`);
    finishAll();
    for (let at = taken - 1; at < 5000; at++) assert.equal((await wire.response()).status, 200);
    await sent;
    wire.end();
    await wire.closed();
  });

  test("a search that fails is a 500 that says nothing; its neighbours are answered", async () => {
    const secret = "the disk is on fire";
    const server = await serveOpen(
      {},
      {
        users: () => {
          throw new Error(secret);
        },
        worlds: () => Promise.reject(new Error(secret)),
      },
    );
    const wire = await dial(server.port);
    void wire.send(good(STATS) + good(SEARCH) + good(`${BASE}/users/search?q=a`) + good(STATS));
    isStats(await wire.response());
    for (let at = 0; at < 2; at++) {
      const response = await wire.response();
      assert.equal(response.status, 500);
      assert.equal(errorOf(response), "Internal server error");
      assert.equal(header(response, "Access-Control-Allow-Origin"), "*");
    }
    isStats(await wire.response());
    wire.end();
    await wire.closed();
    const defects = server.observations.filter(({ kind }) => kind === "defect");
    assert.equal(defects.length, 2);
  });
});

describe("targets", AT_ONCE, () => {
  for (const target of [
    `http://anything${STATS}`,
    `HTTP://anything:99${STATS}?x=1`,
    `https://user:word@[::1]:8${STATS}`,
    `${STATS}?`,
    `${STATS}?limit=5&limit=6#x`,
  ]) {
    test(`${target} is served as its path`, async () => {
      isStats(await ask(target, [bearer("cli")]));
    });
  }

  for (const target of [
    "/",
    "//",
    "///x",
    "//[",
    "/%",
    "/\\",
    "/__proto__",
    "/api/public/v1",
    `${BASE}/`,
    `${STATS}/`,
    `/${STATS}`,
    `//evil.test${STATS}`,
    `/API/public/v1/stats`,
    `${BASE}/Stats`,
    `${BASE}/st%61ts`,
    `${BASE}/./stats`,
    `${BASE}/../v1/stats`,
    `${BASE}//stats`,
    `${STATS}#x`,
    `${STATS};x`,
    `${BASE}/worlds/`,
    `${BASE}/worlds//stats`,
    `${BASE}/worlds/%2e%2e/users/1`,
    `${BASE}/worlds/../users/${USER}`,
    `${BASE}/constructor`,
    `${BASE}/toString`,
    "http://anything",
    "http://[",
    "http:///",
    `http://anything/${STATS}`,
    `ftp://anything${STATS}`,
  ]) {
    test(`${target} is no path`, async () => {
      const response = await ask(target, [bearer("cli")]);
      assert.equal(response.status, 404);
      assert.equal(errorOf(response), "Not found");
    });
  }

  const MISSING = {
    worlds: "World not found",
    users: "User not found",
    instances: "Instance not found",
  };
  for (const id of [
    "__proto__",
    "constructor",
    "hasOwnProperty",
    "%zz",
    "%2e%2e",
    "..",
    ".",
    "0",
    HIDDEN_WORLD,
    "%00",
    "x".repeat(4000),
  ]) {
    test(`${id.slice(0, 20)} is nobody's id`, async () => {
      for (const [table, message] of Object.entries(MISSING)) {
        const response = await ask(`${BASE}/${table}/${id}`, [bearer("api")]);
        assert.equal(response.status, 404);
        assert.equal(errorOf(response), message);
      }
      for (const path of [`worlds/${id}/stats`, `worlds/${id}/instances`]) {
        assert.equal(errorOf(await ask(`${BASE}/${path}`, [bearer("api")])), "World not found");
      }
      assert.equal(errorOf(await ask(`${BASE}/users/${id}/worlds`, [bearer("api")])), "User not found");
    });
  }

  test("bytes above ASCII in a target are no way in", async () => {
    for (const text of ["\xff", "\xc3\xa4", "\x80"]) {
      const wire = await dial(main.port);
      void wire.send(good(`${STATS}${text}`) + good(`${BASE}/worlds/search?q=${text}`));
      const response = await wire.response();
      assert.ok([400, 404].includes(response.status));
      if (response.status === 400) await wire.closed();
      else assert.equal((await wire.response()).status, 200);
    }
  });

  test("names that every object has are parameters and headers like others", async () => {
    const names = ["__proto__", "constructor", "toString", "hasOwnProperty", "__defineGetter__", "valueOf"];
    const query = names.map((name) => `${name}=1&${name}[limit]=3`).join("&");
    const headers = names.map((name) => `${name}: 1`);
    const response = await ask(`${BASE}/users?`.replace("users?", `worlds?${query}&limit=2`), [
      ...headers,
      bearer("cli"),
    ]);
    assert.equal(response.status, 200);
    assert.deepEqual(JSON.parse(response.body).pagination, { total: 60, limit: 2, offset: 0 });
    const nobody = await ask(STATS, ["__proto__: x", "constructor: x"]);
    assert.equal(errorOf(nobody), "Authentication required");
  });
});

describe("headers that matter", AT_ONCE, () => {
  test("names in any case", async () => {
    isStats(await ask(STATS, [`aUTHORIZATION: Bearer ${TOKENS.cli}`, "hOsT: x"]));
    const known = [`AUTHORIZATION:Bearer ${TOKENS.cli}`, `IF-NONE-MATCH:\t${main.etag}  `];
    assert.equal((await ask(STATS, known)).status, 304);
    const other = [bearer("cli"), 'if-MATCH: "other"'];
    assert.equal((await ask(STATS, other)).status, 412);
  });

  test("of two Authorization headers the first counts", async () => {
    isStats(await ask(STATS, [bearer("cli"), bearer("disabled")]));
    isStats(await ask(STATS, [bearer("cli"), "Authorization: "]));
    assert.equal(errorOf(await ask(STATS, [bearer("disabled"), bearer("cli")])), "API key is deactivated");
    assert.equal(errorOf(await ask(STATS, ["Authorization:", bearer("cli")])), "Invalid token format");
    assert.equal(
      errorOf(await ask(STATS, ["authorization: Basic eDp5", bearer("cli")])),
      "Invalid token format",
    );
  });

  test("conditions in several headers count together", async () => {
    const none = [bearer("cli"), 'If-None-Match: "a"', `if-none-match: W/${main.etag}, "b"`];
    assert.equal((await ask(STATS, none)).status, 304);
    assert.equal((await ask(STATS, [bearer("cli"), 'If-None-Match: "a"', 'If-None-Match: "b"'])).status, 200);
    const match = [bearer("cli"), 'If-Match: "a"', `If-Match: ${main.etag}`];
    assert.equal((await ask(STATS, match)).status, 200);
  });

  test("an empty Host is a Host, and HTTP/1.0 needs none", async () => {
    isStats(await ask(STATS, [bearer("cli"), "Host:"]));
    isStats(await lastWord(main.port, `GET ${STATS} HTTP/1.0\r\n${AUTH}\r\n`));
  });

  const FORMAT = "Invalid token format";
  const TRIES: readonly (readonly [value: string | undefined, error: string | undefined])[] = [
    [undefined, "Authentication required"],
    ["", FORMAT],
    ["Bearer", FORMAT],
    [TOKENS.cli, FORMAT],
    [`Basic ${TOKENS.cli}`, FORMAT],
    [`Bearer\t${TOKENS.cli}`, FORMAT],
    [`Bearer${TOKENS.cli}`, FORMAT],
    [`Bearer "${TOKENS.cli}"`, FORMAT],
    ["Bearer svc_sk_", FORMAT],
    ["Bearer svcx_", FORMAT],
    ["Bearer SVCX_tool", FORMAT],
    [`bearer ${TOKENS.cli}`, undefined],
    [`BEARER    ${TOKENS.api}`, undefined],
    [`Bearer ${TOKENS.cli} more`, "Invalid CLI token"],
    [`Bearer ${TOKENS.api} more`, "Invalid API key"],
    [`Bearer ${TOKENS.api},`, "Invalid API key"],
    ["Bearer svc_sk_nobody", "Invalid API key"],
    [`Bearer ${TOKENS.disabled}`, "API key is deactivated"],
    [`Bearer ${TOKENS.expired}`, "API key has expired"],
    ["Bearer svcx_nobody", "Invalid CLI token"],
    [`Bearer ${TOKENS.cliDisabled}`, "Invalid CLI token"],
    [`Bearer ${TOKENS.cliExpired}`, "CLI token has expired"],
  ];
  test("tokens", async () => {
    for (const [value, error] of TRIES) {
      const response = await ask(STATS, value === undefined ? [] : [`Authorization: ${value}`]);
      const what = `Authorization: ${value}`;
      assert.equal(response.status, error === undefined ? 200 : 401, what);
      if (error === undefined) continue;
      assert.equal(errorOf(response), error, what);
      assert.equal(header(response, "WWW-Authenticate"), "Bearer", what);
      assert.deepEqual(rateOf(response), [undefined, undefined, undefined], what);
    }
  });
});

function rateOf(response: RawResponse): (string | undefined)[] {
  return ["Limit", "Remaining", "Reset"].map((name) => header(response, `X-RateLimit-${name}`));
}

describe("order of checks", AT_ONCE, () => {
  const OTHER = 'If-Match: "other"';
  const known = `If-None-Match: ${main.etag}`;
  const missing = `${BASE}/worlds/${HIDDEN_WORLD}`;

  const STEPS: readonly (readonly [
    status: number,
    error: string,
    target: string,
    headers: string[],
    method?: string,
  ])[] = [
    [404, "Not found", "/nowhere", [OTHER]],
    [404, "Not found", "/nowhere", [bearer("disabled")], "POST"],
    [405, "Method not allowed", STATS, [OTHER], "POST"],
    [401, "Authentication required", `${BASE}/worlds/search`, [OTHER]],
    [403, "Insufficient scope. Required: read:worlds", `${BASE}/worlds/search`, [bearer("narrow"), OTHER]],
    [403, "Insufficient scope. Required: read:worlds", missing, [bearer("narrow"), OTHER]],
    [403, "Insufficient scope. Required: read:users", `${BASE}/users/${USER}`, [bearer("narrow"), known]],
    [400, 'Query parameter "q" is required', `${BASE}/worlds/search`, [bearer("api"), OTHER]],
    [400, 'Query parameter "q" is required', `${BASE}/users/search?q=%20`, [bearer("api"), known]],
    [404, "World not found", missing, [bearer("api"), OTHER]],
    [404, "World not found", missing, [bearer("api"), known]],
    [412, "Snapshot has changed", STATS, [bearer("api"), OTHER, known]],
    [412, "Snapshot has changed", SEARCH, [bearer("api"), OTHER, known]],
  ];
  for (const [status, error, target, headers, method = "GET"] of STEPS) {
    test(`${method} ${target} ${headers.join(", ")}: ${status}`, async () => {
      const response = await ask(target, headers, method);
      assert.equal(response.status, status);
      assert.equal(errorOf(response), error);
      assert.equal(header(response, "Cache-Control"), "no-store");
      assert.equal(header(response, "Access-Control-Allow-Origin"), "*");
      assert.equal(header(response, "ETag"), status === 412 ? main.etag : undefined);
      assert.equal(header(response, "Allow"), status === 405 ? "GET, HEAD, OPTIONS" : undefined);
      const counted = [400, 403, 412].includes(status) || error === "World not found";
      assert.equal(
        rateOf(response).every((value) => value !== undefined),
        counted,
      );
      assert.equal(
        rateOf(response).some((value) => value !== undefined),
        counted,
      );
    });
  }

  test("429 comes before 403, 400 and 404, and behind 401, 405 and the unknown path", async () => {
    for (let at = 1; at <= FEW; at++) {
      const response = await ask(`${BASE}/worlds/search`, [bearer("fewNarrow")]);
      assert.equal(response.status, 403);
      assert.deepEqual(rateOf(response).slice(0, 2), [String(FEW), String(FEW - at)]);
    }
    for (const target of [`${BASE}/worlds/search`, missing, STATS]) {
      const response = await ask(target, [bearer("fewNarrow"), OTHER]);
      assert.equal(response.status, 429);
      assert.equal(errorOf(response), "Rate limit exceeded");
      assert.deepEqual(rateOf(response).slice(0, 2), [String(FEW), "0"]);
      assert.equal(header(response, "Cache-Control"), "no-store");
      const wait = Number(header(response, "Retry-After"));
      const reset = Number(header(response, "X-RateLimit-Reset"));
      assert.ok(Number.isInteger(wait) && wait >= 1);
      assert.ok(Math.abs(reset - Date.now() / 1000 - wait) < 5, "Retry-After is the time to the reset");
    }
    assert.equal((await ask("/nowhere", [bearer("fewNarrow")])).status, 404);
    assert.equal((await ask(STATS, [bearer("fewNarrow")], "POST")).status, 405);
    assert.equal((await ask(STATS, [bearer("fewNarrow")], "OPTIONS")).status, 204);
  });
});

describe("methods, CORS and the limit", AT_ONCE, () => {
  const headersOf = (response: RawResponse): string[] =>
    response.headers
      .filter(([name]) => !/^(date|x-ratelimit-remaining)$/i.test(name))
      .map((pair) => pair.join(": "));

  for (const target of [
    STATS,
    SEARCH,
    PAGE,
    `${BASE}/worlds/${HIDDEN_WORLD}`,
    `${BASE}/worlds/search`,
    "/nowhere",
  ]) {
    for (const token of ["api", "cli", "narrow", "expired"] as const) {
      test(`HEAD answers as GET without a body: ${target} as ${token}`, async () => {
        const get = await ask(target, [bearer(token)]);
        const head = await ask(target, [bearer(token)], "HEAD");
        assert.equal(head.status, get.status);
        assert.deepEqual(headersOf(head), headersOf(get));
        assert.ok(get.body.length > 0);
        assert.equal(Buffer.byteLength(get.body), Number(header(get, "Content-Length")));
      });
    }
  }

  test("304: tag, no body, counted", async () => {
    for (const target of [STATS, SEARCH]) {
      const response = await ask(target, [bearer("api"), "If-None-Match: *"]);
      assert.equal(response.status, 304);
      assert.equal(header(response, "ETag"), main.etag);
      assert.equal(header(response, "Cache-Control"), "private, no-cache");
      assert.equal(header(response, "Access-Control-Allow-Origin"), "*");
      assert.ok(rateOf(response).every((value) => value !== undefined));
    }
  });

  const PREFLIGHT = [
    "Origin: https://app.test",
    "Access-Control-Request-Method: GET",
    "Access-Control-Request-Headers: authorization",
  ];

  test("OPTIONS: 204, no token needed, the preflight answered", async () => {
    const response = await ask(SEARCH, PREFLIGHT, "OPTIONS");
    assert.equal(response.status, 204);
    assert.equal(header(response, "Allow"), "GET, HEAD, OPTIONS");
    assert.equal(header(response, "Access-Control-Allow-Origin"), "*");
    assert.equal(header(response, "Access-Control-Allow-Credentials"), undefined);
    assert.match(header(response, "Access-Control-Allow-Methods") ?? "", /\bGET\b.*\bHEAD\b/);
    const allowed = (header(response, "Access-Control-Allow-Headers") ?? "").toLowerCase().split(/, */);
    assert.deepEqual(allowed.toSorted(), ["authorization", "if-match", "if-none-match"]);
    assert.equal((await ask("/nowhere", PREFLIGHT, "OPTIONS")).status, 404);
  });

  test("OPTIONS *: no such path", async () => {
    assert.equal((await ask("*", [], "OPTIONS")).status, 404);
  });

  test("web pages may read what they need", async () => {
    const response = await ask(STATS, [bearer("api")]);
    const exposed = (header(response, "Access-Control-Expose-Headers") ?? "").toLowerCase().split(/, */);
    assert.deepEqual(exposed.toSorted(), [
      "etag",
      "retry-after",
      "x-ratelimit-limit",
      "x-ratelimit-remaining",
      "x-ratelimit-reset",
    ]);
  });

  test("with CORS off no such header is sent, and OPTIONS still answers", async () => {
    const off = await serve({ cors: false });
    const origin = "Origin: https://app.test";
    const responses = [
      await ask(STATS, [bearer("cli"), origin], "GET", off),
      await ask(STATS, [bearer("cli"), origin, "If-None-Match: *"], "GET", off),
      await ask(STATS, [origin], "GET", off),
      await ask("/nowhere", [origin], "GET", off),
      await ask(STATS, PREFLIGHT, "OPTIONS", off),
    ];
    assert.deepEqual(
      responses.map(({ status }) => status),
      [200, 304, 401, 404, 204],
    );
    assert.equal(header(responses[4]!, "Allow"), "GET, HEAD, OPTIONS");
    for (const { headers } of responses) {
      assert.deepEqual(
        headers.filter(([name]) => /^access-control-/i.test(name)),
        [],
      );
    }
  });

  test("a CLI token carries no rate headers", async () => {
    assert.deepEqual(rateOf(await ask(STATS, [bearer("cli")])), [undefined, undefined, undefined]);
  });

  test("every status of an authenticated key counts, and of many at once exactly the limit pass", async () => {
    // What does not count comes first.
    await ask("/nowhere", [bearer("few")]);
    await ask(STATS, [bearer("few")], "POST");
    await ask(STATS, [bearer("few")], "OPTIONS");
    const first = await ask(STATS, [bearer("few"), "If-None-Match: *"]);
    assert.equal(first.status, 304);
    assert.deepEqual(rateOf(first).slice(0, 2), [String(FEW), String(FEW - 1)]);
    const all = await Promise.all(
      Array.from({ length: 40 }, (_, at) =>
        ask(at % 2 ? SEARCH : STATS, [bearer("few")], at % 3 ? "GET" : "HEAD"),
      ),
    );
    const passed = all.filter(({ status }) => status === 200);
    assert.equal(passed.length, FEW - 1);
    assert.equal(all.filter(({ status }) => status === 429).length, 40 - passed.length);
    const left = passed.map((response) => header(response, "X-RateLimit-Remaining")).toSorted();
    assert.deepEqual(left, ["0", "1", "2", "3"]);
    for (const response of all) {
      assert.equal(headerValues(response, "Retry-After").length, response.status === 429 ? 1 : 0);
    }
  });
});

describe("many peers", AT_ONCE, () => {
  test("peers that never read cost little memory and are cut off", async () => {
    const server = await serveOpen({ accessLog: true, http: { socketTimeout: 1500, checkInterval: 100 } });
    const size = (await ask(PAGE, [bearer("cli")], "GET", server)).body.length;
    assert.ok(size > 100_000);
    const before = server.observations.length;
    const deaf = await Promise.all(Array.from({ length: 4 }, () => dial(server.port)));
    for (const [who, wire] of deaf.entries()) {
      wire.socket.pause();
      // Behind a CONNECT node:http watches no longer.
      if (who === 0) void wire.send(good(PAGE).repeat(40) + requestHead("orrery.test:443", [], "CONNECT"));
      // More than the system's buffers hold: a write still waits when the server lets go, and tells of it.
      void wire.send(good(PAGE).repeat(100_000));
    }
    // What was made and has not left the process; what the system's buffers took is not counted.
    let most = 0;
    const stalled = new Set<unknown>();
    let made = 0;
    const look = setInterval(() => {
      for (const socket of server.sockets()) if (socket.writableLength > 0) stalled.add(socket);
      if (server.sockets().length !== deaf.length) return;
      made = server.observations.length - before;
      let held = made * size;
      for (const socket of server.sockets()) held -= socket.bytesWritten - socket.writableLength;
      most = Math.max(most, held);
    }, 10).unref();
    const broken = await within(Promise.all(deaf.map(({ gone }) => gone)), "the peers to be cut off");
    clearInterval(look);
    while (server.sockets().length > 0) await setImmediate();
    for (const error of broken) assert.match(error ?? "none", /^(ECONNRESET|EPIPE)$/);
    assert.equal(stalled.size, deaf.length);
    assert.ok(most > 0 && most < deaf.length * 2_000_000, `${most} bytes of replies were kept`);
    const late = server.observations.length - before - made;
    assert.ok(late < deaf.length * 32, `${late} replies were made for connections that were gone`);
  });

  test("others are served beside peers that never read", async () => {
    const deaf = await Promise.all(Array.from({ length: 20 }, () => dial(main.port)));
    for (const wire of deaf) {
      wire.socket.pause();
      void wire.send(good(PAGE).repeat(5000));
    }
    for (let at = 0; at < 50; at++) isStats(await ask(STATS, [bearer("cli")]));
    for (const wire of deaf) wire.destroy();
  });

  test("1,000 idle connections: others are served beside them, and so are they", async () => {
    const idle = await Promise.all(Array.from({ length: 1000 }, () => dial(main.port)));
    for (let at = 0; at < 100; at++) isStats(await ask(STATS, [bearer("cli")]));
    for (const wire of idle) void wire.send(good(STATS));
    for (const wire of idle) isStats(await wire.response());
    for (let at = 0; at < 100; at++) assert.equal((await ask(SEARCH, [bearer("cli")])).status, 200);
    for (const wire of idle) wire.end();
    await Promise.all(idle.map((wire) => wire.closed()));
  });

  test("file descriptors run out: connections that stand are served, and new ones again later", async () => {
    const server = await alone.narrow;
    const wire = await dial(server.port);
    const stands = async (): Promise<void> => {
      void wire.send(good(STATS));
      isStats(await wire.response());
    };
    await stands();
    const crowd = await Promise.all(
      Array.from({ length: 300 }, async () => {
        const one = await dial(server.port);
        void one.send(good(STATS));
        const served = await one.response().then(isStats, () => "refused");
        return { one, refused: served === "refused" };
      }),
    );
    const refused = crowd.filter((each) => each.refused).length;
    assert.ok(refused > 0 && refused < crowd.length, `${refused} were refused`);
    await stands();
    for (const { one } of crowd) one.destroy();
    await Promise.all(crowd.map(({ one }) => one.gone));
    const again = async (): Promise<void> => {
      const one = await dial(server.port);
      void one.send(good(STATS));
      const served = await one.response().then(isStats, () => "refused");
      one.destroy();
      if (served === "refused") await again();
    };
    await within(again(), "new connections to be accepted");
    await stands();
    wire.end();
    await wire.closed();
    assert.equal((await server.stop()).status, 0);
  });
});

describe("a graceful stop", AT_ONCE, () => {
  /** Asks again and again, until the server says that it is over. */
  async function busy(wire: Wire, turns: number[], who: number): Promise<void> {
    for (let at = 0; ; at++) {
      const method = at % 5 === 4 ? "HEAD" : "GET";
      void wire.send(good([STATS, SEARCH, PAGE][at % 3]!, [], method));
      const response = await wire.response(method);
      assert.equal(response.status, 200);
      turns[who]!++;
      if (header(response, "Connection") === "close") break;
    }
    await wire.closed();
  }

  /** Resolves when nobody listens. For a moment the system still lets some in, and they may be reset: nothing was asked. */
  async function refused(port: number): Promise<void> {
    const late = await dial(port).catch((error: NodeJS.ErrnoException) => error.code);
    if (late instanceof Wire) late.destroy();
    if (late !== "ECONNREFUSED") await refused(port);
  }

  test("40 busy clients: no request is lost, no connection reset, idle ones are ended, new ones refused", async () => {
    const server = await serve({ threads: true });
    const idle = await Promise.all(Array.from({ length: 5 }, () => dial(server.port)));
    const used = await dial(server.port);
    void used.send(good(STATS));
    isStats(await used.response());
    const wires = await Promise.all(Array.from({ length: 40 }, () => dial(server.port)));
    const turns = wires.map(() => 0);
    const all = wires.map((wire, who) => busy(wire, turns, who));
    while (turns.some((count) => count < 10)) isStats(await ask(STATS, [bearer("cli")], "GET", server));

    const began = performance.now();
    const stopped = server.stop();
    await within(refused(server.port), "new connections to be refused");
    const before = [...turns];
    await Promise.all(all);
    // The answer that was on its way, and the one that says that it is the last.
    for (const [who, count] of turns.entries()) assert.ok(count - before[who]! <= 2);
    for (const wire of [...idle, used]) {
      await wire.closed();
      assert.ok(performance.now() - began > 1400, "idle connections are still served for a moment");
      assertInTime(began, 8000, "the end of idle connections");
    }
    await within(stopped, "the stop", 10_000);
    const kinds = server.observations.map(({ kind }) => kind);
    // Each serving thread tells what became of its searches.
    const last = kinds.slice(kinds.indexOf("stopping"));
    assert.deepEqual([...new Set(last)], ["stopping", "search-cache", "stopped"]);
    assert.ok(!kinds.includes("defect"));
  });

  test("what is in flight is answered, however long it takes within reason", async () => {
    const { later, finish, finishAll } = slowSearches();
    const server = await serveOpen({}, { users: later, worlds: later });
    const wire = await dial(server.port);
    const piped = await dial(server.port);
    const crowded = await dial(server.port);
    const garbled = await dial(server.port);
    const idle = await dial(server.port);
    void wire.send(good(SEARCH));
    void piped.send(good(SEARCH) + good(STATS) + good(SEARCH) + good(PAGE));
    void garbled.send(`${good(SEARCH)}BREW / HTTP/1.1\r\n\r\n`);
    void crowded.send(good(SEARCH).repeat(50));
    // Those of the first three, and one at least of the crowd.
    while (finish.length < 5) isStats(await ask(STATS, [bearer("cli")], "GET", server));
    const stopped = server.stop();
    // The idle one goes when the grace is over; only then the searches are done.
    await idle.closed();
    finishAll();
    const response = await wire.response();
    assert.equal(JSON.parse(response.body).pagination.total, 3);
    assert.equal(header(response, "Connection"), "close");
    await wire.closed();
    for (let at = 0; at < 4; at++) assert.equal((await piped.response()).status, 200);
    await piped.closed();
    for (let at = 1; at <= 50; at++) {
      assert.equal(header(await crowded.response(), "Connection"), at < 50 ? "keep-alive" : "close");
    }
    await crowded.closed();
    assert.equal((await garbled.response()).status, 200);
    isBadRequest(await garbled.response());
    await garbled.closed();
    await within(stopped, "the stop");
  });

  test("what arrives within the grace is answered; what crosses the end meets an end of file", async () => {
    const server = await serve();
    const [fresh, used, half, crossing] = [
      await dial(server.port),
      await dial(server.port),
      await dial(server.port),
      await dial(server.port),
    ];
    void used.send(good(STATS));
    isStats(await used.response());
    // One write: when the first answer is here, the beginning of the next request is there.
    void half.send(good(STATS) + OK);
    isStats(await half.response());
    // Served and idle: the connection is accepted.
    isStats(await ask(STATS, [bearer("cli")], "GET", server));
    const stopped = server.stop();
    await within(refused(server.port), "new connections to be refused");
    for (const [wire, bytes] of [
      [fresh, good(STATS)],
      [used, good(SEARCH) + good(STATS)],
      [half, "\r\n"],
    ] as const) {
      void wire.send(bytes);
      const response = await wire.response();
      assert.equal(response.status, 200);
      if (wire === used && header(response, "Connection") !== "close") isStats(await wire.response());
      await wire.closed();
    }
    await crossing.fin();
    await crossing.sendSlowly([good(STATS), good(STATS)]);
    await crossing.closed();
    await within(stopped, "the stop");
  });

  test("malformed requests are refused to the last", async () => {
    const server = await serve();
    const wire = await dial(server.port);
    isStats(await ask(STATS, [bearer("cli")], "GET", server));
    const stopped = server.stop();
    void wire.send("BREW / HTTP/1.1\r\n\r\n");
    isBadRequest(await wire.response());
    await wire.closed();
    await within(stopped, "the stop");
  });

  test("peers that never finish or never read do not hold it up for 10 s", async () => {
    const { status, ms } = await stuck;
    assert.equal(status, 0);
    // Had nobody been stuck, it would have been over after the grace.
    assert.ok(ms > 4000, `${ms} ms`);
    assertInTime(performance.now() - ms, 9900, "the stop");
  });
});

// By itself: tests beside it would take the turns in which connections are taken.
test("connections that are on their way when a stop begins are taken, and their requests answered", async () => {
  const server = await serve();
  const wires = Array.from({ length: 20 }, () => new Wire(server.port));
  for (const wire of wires) void wire.send(good(STATS));
  const stopped = server.stop();
  for (const wire of wires) {
    const response = await wire.response();
    isStats(response);
    await wire.closed();
  }
  await within(stopped, "the stop");
});
