/** Scarce means: few descriptors and many clients; and a thread whose heap runs out. */

import assert from "node:assert/strict";
import { appendFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { describe, test } from "node:test";
import { id, user, writeSnapshot } from "../support/folders.ts";
import { keyRecord, place, TOKEN, writeKeys } from "../support/place.ts";
import { get, keepAlive, serve, until, withOpenFiles } from "../support/process.ts";
import { findNode, programOn } from "../support/runtimes.ts";

const OTHER = "svc_sk_in_the_flood";
const CROWD = 200;

// Two at once: they mostly wait.
describe("descriptors run out", {
  skip: process.platform !== "linux" && "needs /proc",
  concurrency: 2,
}, () => {
  for (const [threads, limit] of [
    [1, 64],
    [2, 100],
  ] as const) {
    test(`new keys and snapshots come into force all the same, ${threads} serving`, async (t) => {
      const node = findNode(threads > 1 ? 24 : Number(process.versions.node.split(".")[0]));
      const { snapshot, keys } = place(t);
      writeKeys(keys, keyRecord(TOKEN));
      const options = ["--watch", "0.2", "--threads", `${threads}`];
      const server = await serve(snapshot, keys, options, {}, withOpenFiles(limit, programOn(node)));
      const { url, port } = server;
      const count = (event: string): number => server.logs(event).length;

      // A connection opened before the crowd; only some of the later ones find room.
      const agent = keepAlive(1);
      t.after(() => agent.destroy());
      const status = async (token: string): Promise<number> =>
        (await get(`${url}/stats`, { token, agent })).status;
      assert.equal(await status(TOKEN), 200);
      let refused = 0;
      const sockets = Array.from({ length: CROWD }, () => {
        const socket = connect(port, "127.0.0.1").on("error", () => {});
        t.after(() => socket.destroy());
        return socket.once("close", () => refused++);
      });
      await until(() => sockets.every(({ connecting }) => !connecting), "the connections");
      await until(() => refused > CROWD / 2, "most to be refused");
      assert.ok(refused < CROWD, "some are let in");
      await until(() => count("connections-refused") > 0, "the log to tell of it");

      writeKeys(keys, keyRecord(TOKEN), keyRecord(OTHER));
      await until(async () => (await status(OTHER)) === 200, "the new key");
      writeSnapshot(snapshot, { "users.ndjson": [user(1), user(2)] });
      await until(() => count("snapshot-loaded") === 2, "the new generation");
      assert.equal(count("keys-refused") + count("defect"), 0, server.stderr());

      for (const socket of sockets) socket.destroy();
      await until(
        async () => (await get(`${url}/stats`, { token: OTHER }).catch(() => undefined))?.status === 200,
        "new connections to be let in",
      );
      await server.stop();
    });
  }
});

/** A row with as many object shapes as fit in a line: it takes far more heap than bytes. */
function heavyRow(): string {
  const shapes = Array.from({ length: 85_000 }, (_, at) => `{"k${at.toString(36)}":0}`).join();
  return `${JSON.stringify({ ...user(9), id: id("a", 9) }).slice(0, -1)},"x":[${shapes}]}\n`;
}

test("a thread whose heap runs out ends alone: the load is refused, the old generation is served", async (t) => {
  const { snapshot, keys } = place(t);
  writeKeys(keys, keyRecord(TOKEN));
  const server = await serve(snapshot, keys, ["--watch", "0.2"], { NODE_OPTIONS: "--max-old-space-size=18" });
  appendFileSync(join(snapshot, "users.ndjson"), heavyRow());
  const refused = await server.logged("snapshot-refused");
  assert.match(String(refused.problems), /the loading thread died: its heap of \d+ MiB is full/);
  assert.equal(refused.retryMs, 5000);
  assert.equal((await get(`${server.url}/stats`, { token: TOKEN })).status, 200);
  // Removes the row that killed the thread.
  writeSnapshot(snapshot, { "users.ndjson": [user(1), user(2)] });
  await server.logged("snapshot-loaded", 2);
  await server.stop();
});
