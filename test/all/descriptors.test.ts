/** A server with few descriptors and many clients refuses some, and still reads keys and snapshots. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { connect } from "node:net";
import { describe, test } from "node:test";
import { user, writeSnapshot } from "../support/folders.ts";
import { keyRecord, place, TOKEN, writeKeys } from "../support/place.ts";
import { get, keepAlive, serve, until, withOpenFiles } from "../support/process.ts";
import { LIBRARY, LIBRARY_RUNNER } from "../support/program.ts";
import { findNode, programOn } from "../support/runtimes.ts";

const OTHER = "svc_sk_in_the_flood";
const CROWD = 200;

/** Opens every available descriptor, and closes them when it is told to. */
const GREEDY = `
import { closeSync, openSync } from "node:fs";
const { openOrrery } = await import("${LIBRARY.href}");
const [snapshot, keys] = process.argv.slice(1);
const seen = [];
const orrery = await openOrrery({ snapshot, keys, watch: 0.2, observe: ({ kind, problems }) => seen.push([kind, problems].flat().join(" ").trim()) });
const taken = [];
try {
  for (;;) taken.push(openSync("/dev/null"));
} catch {}
process.on("message", (say) => {
  if (say === "release") for (const one of taken.splice(0)) closeSync(one);
  if (say === "look") process.send(seen);
  if (say === "end") {
    orrery.close();
    process.disconnect();
  }
});
process.send(seen);
`;

test("a program has none left: keys and snapshot come into force when there are some again", async (t) => {
  const { snapshot, keys } = place(t);
  writeKeys(keys, keyRecord(TOKEN));
  const [shell, ...args] = withOpenFiles(64, [process.execPath, ...LIBRARY_RUNNER]);
  const child = spawn(shell, [...args, "--input-type=module", "-e", GREEDY, snapshot, keys], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  t.after(() => child.kill("SIGKILL"));
  let seen: string[] = [];
  child.on("message", (message) => {
    seen = message as string[];
  });
  const count = (kind: string): number => {
    if (child.connected) child.send("look");
    return seen.filter((each) => each.split(" ")[0] === kind).length;
  };
  await until(() => count("keys-loaded") === 1, "the program");
  writeKeys(keys, keyRecord(TOKEN), keyRecord(OTHER));
  await until(() => count("keys-refused") > 0, "the refused keys");
  writeSnapshot(snapshot, { "users.ndjson": [user(1), user(2)] });
  await until(() => count("snapshot-refused") > 0, "the refused load");
  child.send("release");
  await until(
    () => count("keys-loaded") === 2 && count("snapshot-loaded") === 2,
    () => `the keys and the new generation; it saw:\n${seen.join("\n")}`,
  );
  child.send("end");
  await until(() => child.exitCode !== null, "its end");
  assert.equal(child.exitCode, 0);
});

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
