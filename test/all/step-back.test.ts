/** Requests that are refused, many at once over many connections: others are answered between them. */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { BASE_PATH } from "../../src/model/model.ts";
import { cleanUp, serveOpen, TOKENS } from "../support/http-server.ts";
import { closeWires, dial, requestHead } from "../support/raw.ts";

after(async () => {
  closeWires();
  await cleanUp();
});

const CONNECTIONS = 60;
const EACH = 100;
const STATS = `${BASE_PATH}/stats`;

test("a request behind a flood without a token does not wait for all of it; the flood is answered whole", async () => {
  const server = await serveOpen({ accessLog: true });
  const flood = await Promise.all(Array.from({ length: CONNECTIONS }, () => dial(server.port)));
  const honest = await dial(server.port);
  // Connections are accepted one a turn of the event loop.
  for (const wire of [...flood, honest]) {
    void wire.send(requestHead(STATS, []));
    assert.equal((await wire.response()).status, 401);
  }
  const asked = server.observations.length;
  for (const wire of flood) void wire.send(requestHead(STATS, []).repeat(EACH));
  void honest.send(requestHead(STATS, [`Authorization: Bearer ${TOKENS.cli}`]));
  assert.equal((await honest.response()).status, 200);
  const requests = server.observations.slice(asked).filter(({ kind }) => kind === "request");
  const before = requests.findIndex((request) => request.kind === "request" && request.status === 200);
  assert.ok(before < (CONNECTIONS * 32) / 2, `${before} were answered before it`);
  for (const wire of flood) {
    for (let at = 0; at < EACH; at++) assert.equal((await wire.response()).status, 401);
    wire.end();
    await wire.closed();
  }
});
