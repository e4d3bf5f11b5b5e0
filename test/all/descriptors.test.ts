/** A server whose descriptors run out: what cannot be read meanwhile is read when there are some again. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { connect, type Socket } from "node:net";
import { after, test } from "node:test";
import { user, writeSnapshot } from "../support/folders.ts";
import { keyRecord, place, TOKEN, writeKeys } from "../support/place.ts";
import { get, until } from "../support/process.ts";

const OTHER = "svc_sk_after_the_flood";
const sockets: Socket[] = [];
after(() => {
  for (const socket of sockets) socket.destroy();
});

test("new keys and snapshots come into force when descriptors are free again", {
  skip: process.platform === "win32" ? "there is no ulimit" : false,
}, async (t) => {
  const { snapshot, keys } = place(t);
  writeKeys(keys, keyRecord(TOKEN));
  const command = `ulimit -n 64; exec "$0" --import tsx src/main.ts serve --port 0 --watch 0.2 --snapshot "$1" --keys "$2"`;
  const child = spawn("sh", ["-c", command, process.execPath, snapshot, keys], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  t.after(() => child.kill("SIGKILL"));
  let out = "";
  let log = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    log += text;
  });
  const count = (event: string): number => log.split(`"event":"${event}"`).length - 1;
  const [, url, port] = await until(
    () => /(http:\/\/127\.0\.0\.1:(\d+)\S*)/.exec(out),
    "the listening line",
    60_000,
  );
  for (let at = 0; at < 80; at++) {
    const socket = connect(Number(port), "127.0.0.1");
    socket.on("error", () => {});
    sockets.push(socket);
  }
  await until(() => sockets.every(({ connecting }) => !connecting), "the connections");
  writeKeys(keys, keyRecord(TOKEN), keyRecord(OTHER));
  await until(() => count("keys-refused") === 1, "the refused keys");
  writeSnapshot(snapshot, { "users.ndjson": [user(1), user(2)] });
  await until(() => count("snapshot-refused") > 0, "the refused load");
  for (const socket of sockets) socket.destroy();
  await until(
    async () => (await get(`${url}/stats`, { token: OTHER }).catch(() => undefined))?.status === 200,
    "the key",
  );
  assert.equal(count("keys-loaded"), 2);
  await until(() => count("snapshot-loaded") === 2, "the new generation", 60_000);
  child.kill("SIGTERM");
  await until(() => child.exitCode !== null, "its end");
  assert.equal(child.exitCode, 0, log);
});
