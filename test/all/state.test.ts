/** `--state` in real processes: kills, stops, threads, and disks that accept no writes. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { place, TOKEN } from "../support/place.ts";
import { get, type Served, serve, until } from "../support/process.ts";
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

describe("--state", { concurrency: 4 }, () => {
  test("keeps counts over a kill, which loses what was not saved yet, and over a stop", async (t) => {
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
    const third = await serve(snapshot, keys, settings);
    assert.equal(await ask(third), LIMIT - 41);
    assert.deepEqual(third.logs("state-failed"), []);
    await third.stop();
  });

  test("a full disk and one that is read-only are a line each, and the server goes on", async (t) => {
    const disk = smallDisk(t);
    if (disk === undefined) return t.skip("no file system may be mounted here");
    const { snapshot, keys } = place(t);
    const file = join(disk, "state");
    fill(disk, 0);
    const server = await serve(snapshot, keys, [...SETTINGS, "--state", file]);
    assert.match(String((await server.logged("state-failed")).problem), /ENOSPC/);
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
    await server.stop();
    assert.deepEqual(readdirSync(disk), ["state"]);
  });

  const node = findNode(24);
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
