/** Upgrades of real processes under clients that reconnect at once. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { place, TOKEN } from "../support/place.ts";
import { freePort } from "../support/ports.ts";
import { type LogLine, type Served, serve, startClients } from "../support/process.ts";
import { findNode, lacking, programOn } from "../support/runtimes.ts";

const node = findNode(24);

const UPGRADES = 2;

test("upgrades under load lose no answer and no line", {
  skip: lacking(node),
}, async (t) => {
  const { snapshot, keys } = place(t);
  const port = await freePort();
  const settings = ["--port", String(port), "--share-port"];
  const files = ["--admin", "0", "--access-log"];
  const limits = ["--rate-limit", "1000000000", "--rate-window", "315360000"];
  const servers: Served[] = [];
  const launch = async (): Promise<Served> => {
    const all = [...settings, ...files, ...limits];
    const server = await serve(snapshot, keys, all, {}, programOn(node));
    servers.push(server);
    return server;
  };
  const lines = (event: string): LogLine[] => servers.flatMap((server) => server.logs(event));

  let running = await launch();
  const clients = startClients(running.url, TOKEN, 16);
  for (let upgrade = 0; upgrade < UPGRADES; upgrade++) {
    const next = await launch();
    await next.logged("admin-listening");
    assert.equal((await next.askAdmin("readyz")).status, 200);
    // Both serve.
    await running.stop();
    running = next;
  }
  await clients.leave();
  assert.equal(clients.refused(), 0, "somebody always listens");
  const answered = clients.answered();
  assert.ok(answered > 100, `${answered} answers`);
  await running.stop();
  // A reader that is too slow costs log lines, which are counted.
  const dropped = lines("log-lines-dropped").reduce((sum, { count }) => sum + Number(count), 0);
  assert.equal(lines("request").length + dropped, answered);
  assert.deepEqual(lines("defect"), []);
});
