/**
 * Stops under clients that reconnect at once, on a Node whose servers can share a port: of a server with several threads,
 * and in an upgrade: the next server starts on the same port, with the same files, and then the old one stops; the log
 * is rotated meanwhile. No request, line or count is lost.
 */

import assert from "node:assert/strict";
import { readdirSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { describe, it, test } from "node:test";
import { temporaryFolder } from "../support/folders.ts";
import { keyRecord, place, TOKEN, writeKeys } from "../support/place.ts";
import { freePort } from "../support/ports.ts";
import { get, jsonLines, type LogLine, type Served, serve, startClients, until } from "../support/process.ts";
import { findNode, lacking, programOn } from "../support/runtimes.ts";

const STOPS = 4;

const node = findNode(24);
const keys = writeKeys(join(temporaryFolder(), "keys.json"), keyRecord(TOKEN, { limit: 1e9 }));
describe("a stop of threads that serve", { skip: lacking(node) }, () => {
  for (const threads of [2, 4]) {
    it(`loses no request of clients that come back at once: ${threads} threads, ${STOPS} stops`, async () => {
      for (let stop = 0; stop < STOPS; stop++) {
        const server = await serve("data/sample", keys, ["--threads", `${threads}`], {}, programOn(node));
        const clients = startClients(server.url, TOKEN, 32);
        await until(() => clients.answered() > 32, "busy clients");
        await server.stop();
        await clients.over;
      }
    });
  }
});

const UPGRADES = 2;

test("upgrades and rotations under load lose nothing", {
  skip: lacking(node),
}, async (t) => {
  const { folder, snapshot, keys } = place(t);
  const [log, state] = [join(folder, "log"), join(folder, "state")];
  const port = await freePort();
  const settings = ["--port", String(port), "--share-port"];
  const files = ["--admin", "0", "--access-log", "--log-file", log, "--state", state];
  const limits = ["--rate-limit", "1000000000", "--rate-window", "315360000"];
  const launch = (): Promise<Served> =>
    serve(snapshot, keys, [...settings, ...files, ...limits], {}, programOn(node));

  const textOf = (name: string): string => readFileSync(join(folder, name), "utf8");
  const logNames = (): string[] => readdirSync(folder).filter((name) => name.startsWith("log"));
  const lines = (event: string): LogLine[] =>
    logNames()
      .flatMap((name) => jsonLines(textOf(name)))
      .filter((line) => line.event === event);
  const rotate = async (server: Served): Promise<void> => {
    const before = lines("log-reopened").length;
    renameSync(log, `${log}.${logNames().length}`);
    server.child.kill("SIGUSR2");
    await until(() => lines("log-reopened").length > before, "the new log");
  };

  let running = await launch();
  const clients = startClients(running.url, TOKEN, 16);
  for (let upgrade = 0; upgrade < UPGRADES; upgrade++) {
    await rotate(running);
    const next = await launch();
    const ready = await until(
      () => lines("admin-listening").find(({ pid }) => pid === next.child.pid),
      "its port",
    );
    assert.equal((await get(`${String(ready.url)}readyz`)).status, 200);
    // Both serve; the new one learns the counts of the other.
    await rotate(running);
    await running.stop();
    running = next;
  }
  await clients.leave();
  assert.equal(clients.refused(), 0, "somebody always listens");
  const answered = clients.answered();
  assert.ok(answered > 100, `${answered} answers`);
  await running.stop();
  const counted = Number(/\["key_\w+[\w-]*",(\d+)\]/.exec(textOf("state"))?.[1]);
  assert.equal(counted, answered);
  // A disk that is too slow costs log lines, which are counted.
  const dropped = lines("log-lines-dropped").reduce((sum, { count }) => sum + Number(count), 0);
  assert.equal(lines("request").length + dropped, answered);
  assert.deepEqual([...lines("state-failed"), ...lines("defect"), ...lines("log-reopen-failed")], []);
});
