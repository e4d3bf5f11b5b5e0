/** Peers that half-close, read slowly, or are still reading when a server stops. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { GRACE_MS } from "../src/http/server.ts";
import { good, PAGE, SEARCH, STATS, slowSearches } from "./support/hostile.ts";
import { serve, serveOpen } from "./support/http-server.ts";
import { until } from "./support/process.ts";
import { dial, header } from "./support/raw.ts";

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
