/** Single requests over raw sockets, with every answer read byte by byte. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  AT_ONCE,
  AUTH,
  ask,
  bearer,
  good,
  isBadRequest,
  isBareRefusal,
  isStats,
  main,
  OK,
  SEARCH,
  STATS,
} from "./support/hostile.ts";
import { BASE, exceptOverNodeHttp, WORLD } from "./support/http-server.ts";
import { within } from "./support/patience.ts";
import { dial, errorOf, header, lastWord, requestHead } from "./support/raw.ts";
import { MALFORMED } from "./support/requests.ts";

/** With node:http the connection may be reset while the peer still sends after the answer that ends it. */
const GOES_ON = { skip: exceptOverNodeHttp("resets while the peer sends") };

/** Neither is HTTP/1; node:http serves one and swallows the other. */
const NO_HTTP_1 = new Set(["RTSP", "half of the preface of HTTP/2"]);

describe("malformed requests", AT_ONCE, () => {
  for (const [name, bytes] of Object.entries(MALFORMED)) {
    const known = { skip: NO_HTTP_1.has(name) && exceptOverNodeHttp("takes what is no HTTP/1") };
    test(`${name}: one 400, then the end`, known, async () => {
      isBadRequest(await lastWord(main.port, bytes));
    });

    test(`${name}: no reset although the peer goes on sending`, GOES_ON, async () => {
      const wire = await dial(main.port);
      void wire.send(bytes);
      isBadRequest(await wire.response());
      // These bytes arrive in several reads, after the server closed its side.
      for (let at = 0; at < 8; at++) await wire.sendSlowly([Buffer.alloc(65_536, at % 2 ? "\r\n" : 0xfe)]);
      await wire.closed();
    });
  }
});

describe("size of the head", AT_ONCE, () => {
  const TOO_LARGE = "Request header fields too large";
  const many = (count: number): string[] => Array.from({ length: count }, (_, at) => `X-${at}: `);

  const refused: Readonly<Record<string, string>> = {
    "above 16 KiB in the target": good(`${STATS}?${"x".repeat(17_000)}`),
    // Host and Authorization are two of them.
    "129 headers": good(STATS, many(127)),
    "2,000 short headers": requestHead(STATS, [...Array.from({ length: 2000 }, () => "a:"), bearer("cli")]),
  };
  for (const [name, bytes] of Object.entries(refused)) {
    test(`${name}: 431`, async () => {
      isBareRefusal(await lastWord(main.port, bytes), 431, TOO_LARGE);
    });
  }

  test("a head that never ends: 431, and no reset", async () => {
    const wire = await dial(main.port);
    void wire.send(OK);
    for (let at = 0; at < 64; at++) void wire.send(`X-${at}: ${"x".repeat(16_000)}\r\n`);
    isBareRefusal(await wire.response(), 431, TOO_LARGE);
    await wire.closed();
  });

  test("128 headers, and a URL of 8 KiB: served", async () => {
    isStats(await ask(STATS, [...many(126), bearer("cli")]));
    isStats(await ask(`${STATS}?x=${"y".repeat(8189 - STATS.length)}`, [bearer("cli")]));
  });
});

describe("bodies that are refused", AT_ONCE, () => {
  const LONG = "x".repeat(65_536);
  const CHUNKED = "Transfer-Encoding: chunked";
  const FRAMES: Readonly<Record<string, [header: string, body: string]>> = {
    "a length above 64 KiB": ["Content-Length: 65537", good(STATS)],
    "a body that never comes": ["Content-Length: 1000000", ""],
    chunks: [CHUNKED, "5\r\nhello\r\n0\r\n\r\n"],
    "a chunk that is too long": [CHUNKED, "5\r\nhello, world\r\n0\r\n\r\n"],
    "a bad chunk size": [CHUNKED, "zz\r\nhello\r\n0\r\n\r\n"],
    "a huge chunk size": [CHUNKED, "fffffffffffffffffff\r\n"],
    "a chunk extension of 64 KB": [CHUNKED, `5;${LONG}\r\nhello\r\n0\r\n\r\n`],
    "trailers of 64 KB": [CHUNKED, `0\r\nX-Long: ${LONG}\r\n\r\n`],
    "an unknown coding": ["Transfer-Encoding: xchunked", "5\r\nhello\r\n0\r\n\r\n"],
  };
  const ASKED = [
    ...["GET", "HEAD", "POST", "OPTIONS"].map((method) => `${method} ${STATS}`),
    ...["GET /nowhere", "POST /nowhere", `PUT ${BASE}/worlds/${WORLD}`],
  ];

  for (const [frame, [framing, body]] of Object.entries(FRAMES)) {
    // Its parser judges chunks and codings itself, in its own words.
    const isOwn = framing.startsWith("Transfer") && frame !== "chunks";
    for (const asked of ASKED) {
      const [method, target] = asked.split(" ") as [string, string];
      for (const apart of [false, true]) {
        const name = `${asked} with ${frame}${apart ? ", sent later" : ""}`;
        const skip = (apart || isOwn) && exceptOverNodeHttp("resets while the peer sends");
        test(`${name}: one 400, then the end`, { skip }, async () => {
          const wire = await dial(main.port);
          const head = requestHead(target, [bearer("cli"), framing], method);
          void wire.send(apart ? head : head + body);
          // Awaited below, at the end of what is sent.
          const answer = wire.response(method);
          if (apart) await wire.sendSlowly(body.match(/[\s\S]{1,8000}/g) ?? []);
          const response = await answer;
          assert.equal(response.status, 400);
          assert.equal(header(response, "Connection"), "close");
          if (method !== "HEAD") assert.equal(errorOf(response), "Request body not allowed");
          assert.equal(header(response, "Access-Control-Allow-Origin"), undefined);
          await wire.closed();
        });
      }
    }
  }

  for (const method of ["GET", "HEAD", "POST"]) {
    const name = `${method} with 8 MB that are sent before the answer is read: the answer is there`;
    test(name, GOES_ON, async () => {
      const wire = await dial(main.port);
      wire.socket.pause();
      const bytes = Buffer.alloc(8_000_000, "GET / HTTP/1.1\r\n\r\n");
      await wire.send(requestHead(STATS, [`Content-Length: ${bytes.length}`], method));
      await within(wire.send(bytes), "the body to be taken");
      wire.socket.resume();
      assert.equal((await wire.response(method)).status, 400);
      await wire.closed();
    });
  }
});

describe("input that cannot begin a request", AT_ONCE, () => {
  for (const start of ["{", "a", "5", "\0", "\n", "\x16", " ", "GX", "GETS", "get"]) {
    const skip = start === "\n" && exceptOverNodeHttp("takes what is no HTTP/1");
    test(`${JSON.stringify(start)}: refused without waiting for more`, { skip }, async () => {
      isBadRequest(await lastWord(main.port, start));
    });
  }

  for (const method of ["DELETE", "GET", "OPTIONS"]) {
    for (const apart of [false, true]) {
      test(`a body that ${method} does not announce${apart ? ", sent later" : ""}: its own 400`, async () => {
        const wire = await dial(main.port);
        const head = requestHead(STATS, [bearer("cli")], method);
        void wire.send(apart ? head : `${head}{"a":1}`);
        assert.notEqual((await wire.response(method)).status, 400);
        if (apart) void wire.send('{"a":1}');
        isBadRequest(await wire.response());
        await wire.closed();
      });
    }
  }

  test("starts of a request and empty lines before it are no such input", async () => {
    const wire = await dial(main.port);
    await wire.sendSlowly(["\r", "\n", "\r\n\r", "\n", "G", "E", "T", " ", good(STATS).slice(4), "\r\n"]);
    isStats(await wire.response());
    void wire.send(`\r\n${good(STATS)}`);
    isStats(await wire.response());
    await wire.hangUp();
  });
});

describe("Expect", AT_ONCE, () => {
  test("100-continue, with a body or without: answered without a 100, then the end", async () => {
    isStats(await lastWord(main.port, good(STATS, ["Expect: 100-continue"])));
    const headers = ["Expect: 100-Continue", "Content-Length: 5"];
    const response = await lastWord(main.port, requestHead(STATS, headers, "POST"), "POST");
    assert.equal(response.status, 405);
    isStats(await lastWord(main.port, good(STATS, headers)));
    const long = ["Expect: 100-continue", "Content-Length: 65537"];
    isBareRefusal(await lastWord(main.port, good(STATS, long)), 400, "Request body not allowed");
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

describe("targets and hosts", AT_ONCE, () => {
  test("names that every object has are parameters and headers like others", async () => {
    const names = ["__proto__", "constructor", "toString", "hasOwnProperty", "__defineGetter__", "valueOf"];
    const query = names.map((name) => `${name}=1&${name}[limit]=3`).join("&");
    const headers = names.map((name) => `${name}: 1`);
    const response = await ask(`${BASE}/worlds?${query}&limit=2`, [...headers, bearer("cli")]);
    assert.equal(response.status, 200);
    assert.deepEqual(JSON.parse(response.body).pagination, { total: 60, limit: 2, offset: 0 });
    const nobody = await ask(STATS, ["__proto__: x", "constructor: x"]);
    assert.equal(errorOf(nobody), "Authentication required");
  });

  test("an empty Host is a Host, and HTTP/1.0 needs none", async () => {
    isStats(await ask(STATS, [bearer("cli"), "Host:"]));
    isStats(await lastWord(main.port, `GET ${STATS} HTTP/1.0\r\n${AUTH}\r\n`));
  });

  test("OPTIONS *: no such path", async () => {
    assert.equal((await ask("*", [], "OPTIONS")).status, 404);
  });
});
