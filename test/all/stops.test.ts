/** Upgrades of real processes under clients that reconnect at once; a log on a full disk. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Status } from "../../src/admin/status.ts";
import { place, TOKEN } from "../support/place.ts";
import { freePort } from "../support/ports.ts";
import {
  type Command,
  get,
  jsonLines,
  type LogLine,
  type Served,
  serve,
  startClients,
  until,
} from "../support/process.ts";
import { COMMAND } from "../support/program.ts";
import { findNode, lacking, programOn } from "../support/runtimes.ts";
import { fill, smallDisk } from "./support/small-disk.ts";

const node = findNode(24);

/** Runs the program with its log in a file, as a shell's `2>FILE` does. */
const loggingTo = (file: string): Command => ["sh", "-c", 'exec 2>"$0"; exec "$@"', file, ...COMMAND];

test("a log on a full disk is a problem at once, lost lines are counted at once, and both end", async (t) => {
  const disk = smallDisk(t, "1m");
  if (disk === undefined) return t.skip("no file system may be mounted here");
  const { snapshot, keys } = place(t);
  const log = join(disk, "log");
  const adminPort = await freePort();
  fill(disk, 0);
  const settings = ["--admin", String(adminPort), "--access-log"];
  const server = await serve(snapshot, keys, settings, {}, loggingTo(log));
  const admin = (path: string) => get(`http://127.0.0.1:${adminPort}${path}`);
  const kinds = async (): Promise<string[]> =>
    (JSON.parse((await admin("/status")).text) as Status).problems.map(({ kind }) => kind);
  const dropped = async (): Promise<number> =>
    Number(/^orrery_log_lines_dropped_total (\d+)$/m.exec((await admin("/metrics")).text)?.[1]);
  assert.deepEqual(await kinds(), ["log-failed"]);
  assert.equal(await dropped(), 0);
  const path = `/${"x".repeat(4000)}`;
  await until(async () => {
    for (let n = 0; n < 200; n++) await get(server.url + path);
    return (await dropped()) > 0;
  }, "lost lines");
  assert.deepEqual(await kinds(), ["log-failed", "log-lines-dropped"]);
  execFileSync("mount", ["-o", "remount,size=64m", disk]);
  const lines = (event: string): LogLine[] =>
    jsonLines(readFileSync(log, "utf8")).filter((line) => line.event === event);
  await until(() => lines("log-lines-dropped").length > 0, "the count in the log");
  assert.equal(lines("log-failed").length, 1);
  assert.equal(lines("log-recovered").length, 1);
  assert.equal(lines("log-lines-dropped")[0]!.count, await dropped());
  // For ten minutes. Requests within a moment share a reply.
  await until(async () => (await kinds()).join() === "log-lines-dropped", "the end of log-failed");
  await server.stop();
});

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
