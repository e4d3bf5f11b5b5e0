/** Peers that read slowly, and those that are still reading when a server stops. */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { cleanUp, serve } from "./support/http-server.ts";
import { closeWires, dial } from "./support/raw.ts";
import { good, PAGE } from "./support/requests.ts";

after(async () => {
  closeWires();
  await cleanUp();
});

test("a steady reader of a long pipeline is not cut, though as many bytes wait at each look", async () => {
  const { port } = await serve({ http: { socketTimeout: 1000, checkInterval: 100 } });
  const { socket } = await dial(port);
  socket.removeAllListeners("data");
  socket.pause();
  socket.write(good(PAGE).repeat(400));
  let taken = 0;
  socket.on("data", (bytes) => {
    taken += bytes.length;
    if (taken > 120_000) socket.pause();
  });
  // For longer than a peer that takes nothing has.
  for (let reads = 0; reads < 80; reads++) {
    await sleep(100);
    taken = 0;
    socket.resume();
    assert.equal(socket.readableEnded || socket.destroyed, false, `the end after ${reads} reads`);
  }
});
