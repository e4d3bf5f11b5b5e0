/** Bytes after an answer that ends its connection, the bound on one peer's pending work, and peers that a stop finds reading. */

import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { State } from "../src/api/answer.ts";
import { createNodeListener } from "../src/http/node-server.ts";
import { GRACE_MS } from "../src/http/server.ts";
import { slowSearches } from "./support/hostile.ts";
import { serve, serveHere, serveOpen, type TestOptions } from "./support/http-server.ts";
import { DEFAULTS } from "./support/options.ts";
import { assertInTime, within } from "./support/patience.ts";
import { until } from "./support/process.ts";
import { dial, header, requestHead, type Wire } from "./support/raw.ts";
import { bearer, good, PAGE, SEARCH, STATS } from "./support/requests.ts";

/** Smaller than one read. */
const SMALL = "GET / HTTP/1.1\r\nHost:\r\n\r\n";
const MANY = 1000;
/** Requests that one connection accepts while the first has no answer. */
const MOST_TAKEN = 32;

/** Requests that reached the API in a test. */
let made = 0;
const open = (options?: TestOptions, search?: State["generation"]["search"]) =>
  serveOpen(options, search, () => made++);

beforeEach(() => {
  made = 0;
});

const main = await open();
const single = await open({ maxRequestsPerSocket: 1 });

const CHUNKS = "5\r\nhello\r\n0\r\n\r\n";

const CLOSING: Readonly<Record<string, [status: number, first: string]>> = {
  "no Host": [400, "GET / HTTP/1.1\r\n\r\n"],
  "no Host of a HEAD": [400, "HEAD / HTTP/1.1\r\n\r\n"],
  "a malformed request": [400, "BREW / HTTP/1.1\r\n\r\n"],
  "129 headers": [431, `GET / HTTP/1.1\r\nHost:\r\n${"a:\r\n".repeat(128)}\r\n`],
  "a head of 17 KB": [431, requestHead("/", [`x: ${"x".repeat(17_000)}`])],
  "an expectation": [417, requestHead("/", ["Expect: x"])],
  "Expect: 100-continue": [404, requestHead("/", ["Expect: 100-continue"])],
  "a long body of a GET": [400, `${requestHead("/", ["Content-Length: 65537"])}hello`],
  "a chunk of a POST": [400, requestHead(STATS, ["Transfer-Encoding: chunked"], "POST") + CHUNKS],
  "Connection: close": [404, requestHead("/", ["Connection: close"])],
  "HTTP/1.0": [404, "GET / HTTP/1.0\r\n\r\n"],
  CONNECT: [405, requestHead("a:1", [], "CONNECT")],
  "a search that ends its connection": [200, good(SEARCH, ["Connection: close"])],
  "the most requests of a connection": [404, ""],
};

describe("after an answer that ends its connection", () => {
  for (const [name, [status, first]] of Object.entries(CLOSING)) {
    const { port } = first === "" ? single : main;
    const method = first.startsWith("HEAD") ? "HEAD" : "GET";

    test(`${name}: no request is made of what follows in the same read and in later ones`, async () => {
      const wire = await dial(port);
      void wire.send(first + SMALL.repeat(MANY));
      const response = await wire.response(method);
      assert.equal(response.status, status);
      assert.equal(header(response, "Connection"), "close");
      await wire.sendSlowly(Array.from({ length: 4 }, () => SMALL.repeat(MANY)));
      await wire.closed();
      assert.ok(made <= 1, `${made} requests were made`);
    });

    test(`${name}: answered although the peer says all and half-closes before it reads`, async () => {
      const wire = await dial(port);
      wire.socket.pause();
      void wire.send(first + SMALL.repeat(MANY));
      wire.end();
      wire.socket.resume();
      assert.equal((await wire.response(method)).status, status);
      await wire.closed();
      assert.ok(made <= 1, `${made} requests were made`);
    });
  }

  test("a request that came too slowly: nor of what follows its 408", async () => {
    const { port } = await open({ headersTimeout: 0.1, requestTimeout: 0.2, timeoutCheckInterval: 0.05 });
    const wire = await dial(port);
    void wire.send("GET / HTTP/1.1\r\nHost:\r\n");
    assert.equal((await wire.response()).status, 408);
    await wire.sendSlowly([`\r\n${SMALL.repeat(MANY)}`, SMALL.repeat(MANY)]);
    await wire.closed();
    assert.equal(made, 0);
  });
});

/** A server, and a connection whose search waits until the test lets it finish; `rest` is sent after the search. */
async function openSlow(rest: string, options?: TestOptions) {
  const { later, finish, finishAll } = slowSearches();
  const server = await open(options, later);
  const wire = await dial(server.port);
  void wire.send(good(SEARCH) + rest);
  await until(() => finish.length > 0, "the search");
  return { server, wire, finish: finishAll };
}

/** Asks on another connection, which gives the server some turns. */
async function askBeside(port: number): Promise<void> {
  const other = await dial(port);
  for (let at = 0; at < 3; at++) {
    void other.send(SMALL);
    await other.response();
  }
}

async function isRefused(port: number): Promise<boolean> {
  const wire = await dial(port).catch(() => undefined);
  wire?.destroy();
  return wire === undefined;
}

async function allMissing(wire: Wire, count: number): Promise<void> {
  for (let at = 0; at < count; at++) assert.equal((await wire.response()).status, 404);
}

describe("what a peer can make pending", () => {
  test("of a read full of requests few are made while the first is not answered, and all are answered", async () => {
    const { server, wire, finish } = await openSlow(SMALL.repeat(MANY));
    await askBeside(server.port);
    assert.ok(made <= MOST_TAKEN + 3, `${made} requests were made`);
    finish();
    assert.equal((await wire.response()).status, 200);
    await allMissing(wire, MANY);
    assert.equal(made, MANY + 4);
  });

  test("of many large answers few are made while the first is not sent", async () => {
    const pages = 20;
    const { server, wire, finish } = await openSlow(good(PAGE).repeat(pages), { accessLog: true });
    await askBeside(server.port);
    const answers = server.observations.filter(({ kind }) => kind === "request").length - 3;
    // 150 KB each: at most a quarter of a megabyte stays unsent, and one more page.
    assert.ok(answers <= 2, `${answers} pages were made`);
    finish();
    for (let at = 0; at <= pages; at++) assert.equal((await wire.response()).status, 200);
  });

  test("a stop: all that arrived before it is answered, the last answer says so, and nothing is made of later bytes", async () => {
    const { server, wire, finish } = await openSlow(SMALL.repeat(MANY));
    const stopped = server.stop();
    await until(() => isRefused(server.port), "the listener to close");
    finish();
    assert.equal((await wire.response()).status, 200);
    for (let at = 1; at <= MANY; at++) {
      const response = await wire.response();
      assert.equal(response.status, 404);
      assert.equal(header(response, "Connection"), at < MANY ? "keep-alive" : "close", `answer ${at}`);
    }
    await wire.sendSlowly([SMALL.repeat(MANY), SMALL.repeat(MANY)]);
    await wire.closed();
    await within(stopped, "the stop");
    assert.equal(made, MANY + 1);
  });

  test("a stop: half a request after a slow answer is waited for", async () => {
    const { server, wire, finish } = await openSlow(SMALL.slice(0, 10));
    const stopped = server.stop();
    await isRefused(server.port);
    await sleep(100);
    finish();
    assert.equal(header(await wire.response(), "Connection"), "keep-alive");
    void wire.send(SMALL.slice(10));
    assert.equal(header(await wire.response(), "Connection"), "close");
    await wire.closed();
    await within(stopped, "the stop");
  });

  test("a body in the middle of a full pipeline is never taken for a request", async () => {
    const body = requestHead("/inside", [bearer("cli")]);
    const post = requestHead("/", [`Content-Length: ${body.length}`], "POST");
    // The body is the first that has to wait.
    const { wire, finish } = await openSlow(SMALL.repeat(31) + post + body + SMALL.repeat(5));
    finish();
    const responses = [];
    for (let at = 0; at < 38; at++) responses.push(await wire.response());
    // The slow search, 31 lookups, the POST, and what follows its body.
    assert.deepEqual(new Set(responses.map(({ status }) => status)), new Set([200, 404]));
    await wire.hangUp();
    assert.equal(made, 38);
  });

  test("requests after an Upgrade that is ignored are answered", async () => {
    const wire = await dial(main.port);
    const upgrade = requestHead("/", ["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c"]);
    void wire.send(upgrade.repeat(3) + SMALL.repeat(100) + upgrade + SMALL);
    await allMissing(wire, 105);
    await wire.hangUp();
  });
});

test("a client that half-closes before its searches are done gets all answers", async () => {
  const { port } = await serve({ http: "node", threads: true, searchCacheBytes: 0 });
  for (let round = 0; round < 60; round++) {
    const wire = await dial(port);
    void wire.send(good(STATS) + good(`${SEARCH}%20${round}`).repeat(3));
    wire.end();
    for (let at = 0; at < 4; at++) assert.equal((await wire.response()).status, 200);
    await wire.closed();
  }
});

test("a steady reader of a long pipeline is not cut, though as many bytes wait at each look", async () => {
  const { port } = await serve({ socketTimeout: 1, timeoutCheckInterval: 0.1 });
  const { socket } = await dial(port);
  socket.removeAllListeners("data");
  socket.pause();
  socket.write(good(PAGE).repeat(400));
  let taken = 0;
  socket.on("data", (bytes) => {
    taken += bytes.length;
    if (taken > 120_000) socket.pause();
  });
  // Longer than the timeout of a peer that takes nothing.
  for (let reads = 0; reads < 25; reads++) {
    await sleep(100);
    taken = 0;
    socket.resume();
    assert.equal(socket.readableEnded || socket.destroyed, false, `the end after ${reads} reads`);
  }
});

test("requests that a stop finds unread are answered, though they are read after its grace", async () => {
  const { finish, later, finishAll } = slowSearches();
  const server = await serveOpen({}, later);
  const wire = await dial(server.port);
  // As many as may wait at once, and one that is read with them.
  await wire.send(good(SEARCH).repeat(32) + good(STATS));
  await until(() => finish.length === 32, "the searches to begin");
  await wire.send(good(STATS).repeat(3));
  const stopped = server.stop();
  await sleep(GRACE_MS + 300);
  finishAll();
  for (let at = 0; at < 36; at++) {
    const response = await wire.response();
    assert.equal(response.status, 200);
    assert.equal(header(response, "Connection"), at < 35 ? "keep-alive" : "close", `answer ${at}`);
  }
  await wire.closed();
  await stopped;
});

for (const http of ["direct", "node"] as const) {
  test(`idle connections hold a stop up for less than a second, whether their peers close or not, over ${http}`, async () => {
    const { stop, port } = await serveHere({ http });
    const wires = await Promise.all(Array.from({ length: 20 }, () => dial(port)));
    for (const [at, wire] of wires.entries()) {
      await wire.send(good(STATS));
      assert.equal((await wire.response()).status, 200);
      if (at % 2 === 0) wire.socket.pause();
    }
    const began = performance.now();
    await within(stop(), "the stop");
    assertInTime(began, 1000, "the stop");
    for (const wire of wires) wire.destroy();
  });
}

test("a listener of node:http whose last connection ended long before leaves all the same", async () => {
  const listener = createNodeListener({ observe() {} } as never, DEFAULTS);
  await listener.listen("127.0.0.1", 0, "alone");
  await listener.stopListening();
  await sleep(20);
  await within(listener.leave(), "the end");
});
