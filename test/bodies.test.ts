/** Bodies, which no operation takes: short ones and empty chunked ones are dropped, all others end the connection. */

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { cleanUp, serve, USER } from "./support/http-server.ts";
import { dial, errorOf, header, lastWord } from "./support/raw.ts";
import { good, PAGE, STATS } from "./support/requests.ts";

after(cleanUp);

const MOST = 65_536;
const CHUNKED = "Transfer-Encoding: chunked";
/** A request for a body in chunks. */
const chunked = (bytes: string, method = "GET"): string => good(STATS, [CHUNKED], method) + bytes;
/** Looks like a request. */
const TRAP = good(STATS);

const ALLOWED: Readonly<Record<string, [status: number, request: string]>> = {
  "JSON of a GET": [200, `${good(STATS, ["Content-Length: 2"])}{}`],
  "no chunk of a GET": [200, chunked("0\r\n\r\n")],
  "no chunk in upper case": [200, `${good(STATS, ["transfer-encoding:  CHUNKED "])}0\r\n\r\n`],
  "a request in a body": [200, good(STATS, [`Content-Length: ${TRAP.length}`]) + TRAP],
  "a POST": [405, `${good(STATS, ["Content-Length: 5"], "POST")}hello`],
  "no chunk, its size in five digits": [200, chunked("00000\r\n\r\n")],
  "no chunk with extensions": [200, chunked('0;a=b;c="d;e"\r\n\r\n')],
  "no chunk with trailers": [200, chunked("0;x\r\nDigest: a=b\r\nX-Other:\r\n\r\n")],
  "no chunk of a POST": [405, chunked("0\r\n\r\n", "POST")],
  "an unknown path": [404, `${good("/nowhere", ["Content-Length: 5"], "PUT")}hello`],
  "no byte": [200, good(STATS, ["Content-Length: 0"])],
};

const REFUSED: Readonly<Record<string, string>> = {
  "a byte too much": good(STATS, [`Content-Length: ${MOST + 1}`]),
  "a chunk": chunked("1\r\na\r\n0\r\n\r\n"),
  "a bad chunk size": chunked("zz\r\na\r\n0\r\n\r\n"),
  "no chunk size": chunked("\r\n\r\n"),
  "a chunk size of words": chunked("0x0\r\n\r\n"),
  "an endless chunk size": chunked("0".repeat(100_000)),
  "a chunk extension of 64 KiB": chunked(`0;${"x".repeat(65_536)}\r\n\r\n`),
  "a trailer of 64 KiB": chunked(`0\r\nA: ${"b".repeat(65_536)}\r\n\r\n`),
  "a bad trailer": chunked("0\r\nA b\r\n\r\n"),
  "another coding": good(STATS, ["Transfer-Encoding: gzip, chunked"]),
};

for (const http of ["direct", "node"] as const) {
  describe(`over ${http}`, async () => {
    const server = await serve({ http });
    const hasty = await serve({ http, headersTimeout: 0.2, requestTimeout: 0.2, timeoutCheckInterval: 0.05 });

    for (const [name, [status, request]] of Object.entries(ALLOWED)) {
      test(`${name}: answered as without it, wherever it is split, in a pipeline`, async () => {
        for (let at = 0; at < request.length; at += at < request.length - 14 ? 7 : 1) {
          const wire = await dial(server.port);
          await wire.send(good(PAGE) + request.slice(0, at));
          for (let turn = 0; turn < 3; turn++) await setImmediate();
          await wire.send(request.slice(at) + good(STATS));
          const statuses: number[] = [];
          for (let response = 0; response < 3; response++) statuses.push((await wire.response()).status);
          assert.deepEqual(statuses, [200, status, 200], `split at ${at}`);
          await wire.hangUp();
        }
      });
    }

    test("the largest is dropped, however small its pieces", async () => {
      const wire = await dial(server.port);
      await wire.send(good(STATS, [`Content-Length: ${MOST}`]));
      for (let sent = 0; sent < MOST; sent += 4096) await wire.send(TRAP.padEnd(4096, "\r\n").slice(0, 4096));
      await wire.send(good(PAGE));
      assert.deepEqual([(await wire.response()).status, (await wire.response()).status], [200, 200]);
      await wire.hangUp();
    });

    for (const [name, request] of Object.entries(REFUSED)) {
      // The parser of node:http takes any number of zeros, and refuses trailers and other codings in its own words.
      const skip = http === "node" && /endless|trailer|coding/.test(name);
      test(`${name}: one refusal, and no request is made of it`, { skip }, async () => {
        const wire = await dial(server.port);
        void wire.send(good(STATS) + request + TRAP.repeat(3));
        assert.equal((await wire.response()).status, 200);
        const refusal = await wire.response();
        assert.deepEqual([refusal.status, errorOf(refusal)], [400, "Request body not allowed"]);
        assert.equal(header(refusal, "Connection"), "close");
        await wire.closed();
      });
    }

    test("that never comes: a 408; that ends early: nothing is made of it", async () => {
      for (const head of [good(STATS, ["Content-Length: 9"]), chunked("", "POST")]) {
        const late = await dial(hasty.port);
        void late.send(`${head}0`);
        assert.equal((await late.response()).status, 408);
        await late.closed();
      }
      const wire = await dial(server.port);
      void wire.send(`${good(STATS, ["Content-Length: 9"])}half`);
      wire.end();
      const last = await wire.response();
      assert.deepEqual([last.status, errorOf(last)], [400, "Bad request: incomplete request"]);
      await wire.closed();
    });
  });
}

test("a line of the PROXY protocol is named, in one piece with a request and alone", async () => {
  const { port } = await serve();
  const first = "PROXY TCP4 192.0.2.1 192.0.2.2 56324 443\r\n";
  const second = "\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xc0\0\x02\x01\xc0\0\x02\x02\xdc\x04\x01\xbb";
  for (const line of [first, second]) {
    for (const bytes of [line, line + good(STATS)]) {
      const reply = await lastWord(port, bytes);
      assert.deepEqual([reply.status, errorOf(reply)], [400, "Bad request: a line of the PROXY protocol"]);
    }
  }
});

test("raw bytes of a target count as if they were percent-encoded", async () => {
  const { port } = await serve();
  const target = (q: string): string => `/api/public/v1/users/search?q=${q}`;
  const raw = Buffer.from(target("カフェ")).toString("latin1");
  const close = ["Connection: close"];
  const { status, body } = await lastWord(port, good(raw, close));
  const encoded = await lastWord(port, good(target(encodeURIComponent("カフェ")), close));
  assert.deepEqual([status, body], [200, encoded.body]);
  assert.equal((await lastWord(port, good(`/api/public/v1/users/${USER}\xe9`, close))).status, 404);
});
