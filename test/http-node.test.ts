/** Connections of a server over node:http. */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { cleanUp, serve } from "./support/http-server.ts";
import { closeWires, dial } from "./support/raw.ts";
import { good, SEARCH, STATS } from "./support/requests.ts";

after(async () => {
  closeWires();
  await cleanUp();
});

test("a client that half-closes before its searches are done gets all answers", async () => {
  const { port } = await serve({ http: { kind: "node" }, threads: true, searchCacheBytes: 0 });
  for (let round = 0; round < 60; round++) {
    const wire = await dial(port);
    void wire.send(good(STATS) + good(`${SEARCH}%20${round}`).repeat(3));
    wire.end();
    for (let at = 0; at < 4; at++) assert.equal((await wire.response()).status, 200);
    await wire.closed();
  }
});
