/**
 * `--state` and stops of real processes: kills, threads, disks that accept no writes, a storm of reloads, upgrades under
 * clients that reconnect at once. No request, line or count is lost.
 */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, it, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Status } from "../../src/admin/status.ts";
import { keyRecord, place, TOKEN, writeKeys } from "../support/place.ts";
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
import { fill, smallDisk } from "../support/small-disk.ts";

const LIMIT = 100;
/** One window for a whole test, whenever it begins. */
const SETTINGS = ["--rate-limit", String(LIMIT), "--rate-window", "315360000"];
const ID = `key_${TOKEN.slice(-6)}`;

async function ask(server: Served): Promise<number> {
  const { status, headers } = await get(`${server.url}/stats`, { token: TOKEN });
  assert.equal(status, 200);
  return Number(headers["x-ratelimit-remaining"]);
}

async function askTimes(server: Served, times: number): Promise<void> {
  for (let n = 0; n < times; n++) await ask(server);
}

const holds = (file: string, count: number) => (): boolean =>
  existsSync(file) && readFileSync(file, "utf8").includes(`["${ID}",${count}]`);

async function problemsOf(server: Served): Promise<string[]> {
  const status = JSON.parse((await server.askAdmin("status")).text) as Status;
  return status.problems.map(({ kind }) => kind);
}

const node = findNode(24);

describe("--state", { concurrency: 4 }, () => {
  test("keeps counts over a kill, which loses what was not saved yet, and saves them at a stop", async (t) => {
    const { snapshot, keys, folder } = place(t);
    const file = join(folder, "state");
    const settings = [...SETTINGS, "--state", file];
    const first = await serve(snapshot, keys, settings);
    await askTimes(first, 30);
    await until(holds(file, 30), "the counts in the file");
    await first.kill();
    const second = await serve(snapshot, keys, settings);
    assert.equal(second.logs("state-restored")[0]!.keys, 1);
    assert.equal(await ask(second), LIMIT - 31);
    await askTimes(second, 9);
    // The stop saves at once, up to the last request.
    await second.stop();
    assert.ok(holds(file, 40)());
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.doesNotMatch(readFileSync(file, "utf8"), /svc_|[0-9a-f]{64}/);
  });

  test("a full disk and one that is read-only are a line each, and the server goes on", async (t) => {
    const disk = smallDisk(t);
    if (disk === undefined) return t.skip("no file system may be mounted here");
    const { snapshot, keys } = place(t);
    const file = join(disk, "state");
    fill(disk, 0);
    const server = await serve(snapshot, keys, [...SETTINGS, "--state", file, "--admin", "0"]);
    assert.match(String((await server.logged("state-failed")).problem), /ENOSPC/);
    assert.deepEqual(await problemsOf(server), ["state-failed"]);
    await askTimes(server, 3);
    execFileSync("mount", ["-o", "remount,ro", disk]);
    assert.match(String((await server.logged("state-failed", 2)).problem), /EROFS/);
    // Time for some more attempts.
    await sleep(10_000);
    await askTimes(server, 3);
    assert.equal(server.logs("state-failed").length, 2);
    execFileSync("mount", ["-o", "remount,rw", disk]);
    rmSync(join(disk, "ballast"));
    await server.logged("state-recovered");
    await until(holds(file, 6), "the counts in the file");
    assert.deepEqual(await problemsOf(server), []);
    await server.stop();
    assert.deepEqual(readdirSync(disk), ["state"]);
  });

  test("counts of several threads are kept together", { skip: lacking(node) }, async (t) => {
    const { snapshot, keys, folder } = place(t);
    const file = join(folder, "state");
    const settings = [...SETTINGS, "--threads", "2", "--state", file];
    const launch = (): Promise<Served> => serve(snapshot, keys, settings, {}, programOn(node));
    const first = await launch();
    await askTimes(first, 20);
    await until(holds(file, 20), "the counts in the file");
    await first.kill();
    const second = await launch();
    assert.equal(await ask(second), LIMIT - 21);
    await second.stop();
    assert.ok(holds(file, 21)());
  });
});

it("a stop is not held up by a storm of reloads: what was asked for is not begun, and counts are saved", async (t) => {
  const { snapshot, keys, folder } = place(t);
  const others = Array.from({ length: 5000 }, (_, n) =>
    keyRecord(`svc_sk_other-${n}`, { id: `key_other_${n}`, limit: 1000 }),
  );
  writeKeys(keys, keyRecord(TOKEN), ...others);
  const state = join(folder, "state");
  const settings = ["--state", state, "--watch", "0", "--rate-window", "315360000"];
  const server = await serve(snapshot, keys, settings);
  for (let used = 0; used < 20; used++) await get(`${server.url}/stats`, { token: TOKEN });
  const storm = setInterval(() => server.child.kill("SIGHUP"), 1);
  t.after(() => clearInterval(storm));
  await server.logged("keys-unchanged", 10);
  await server.stop();
  clearInterval(storm);
  const lines = server.logs();
  const behind = lines.slice(lines.findIndex(({ event }) => event === "stopping"));
  const begun = (event: string): LogLine[] => behind.filter((line) => line.event === event);
  assert.ok(behind.at(-1)?.event === "stopped", JSON.stringify(behind));
  // Work in progress may have ended.
  assert.ok(begun("keys-unchanged").length <= 1, `${begun("keys-unchanged").length} readings of the keys`);
  assert.ok(begun("snapshot-unchanged").length <= 1, `${begun("snapshot-unchanged").length} loads`);
  assert.match(readFileSync(state, "utf8"), new RegExp(`\\["key_${TOKEN.slice(-6)}",20\\]`));
});

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
  const { folder, snapshot, keys } = place(t);
  const state = join(folder, "state");
  const port = await freePort();
  const settings = ["--port", String(port), "--share-port"];
  const files = ["--admin", "0", "--access-log", "--state", state];
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
  const counted = Number(/\["key_\w+[\w-]*",(\d+)\]/.exec(readFileSync(state, "utf8"))?.[1]);
  assert.ok(counted > answered / 3 && counted <= answered, `${counted} of ${answered}`);
  // A reader that is too slow costs log lines, which are counted.
  const dropped = lines("log-lines-dropped").reduce((sum, { count }) => sum + Number(count), 0);
  assert.equal(lines("request").length + dropped, answered);
  assert.deepEqual([...lines("state-failed"), ...lines("defect")], []);
});
