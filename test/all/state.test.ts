/** `--state` in real processes: kills, stops, threads, and disks that take nothing. */

import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { temporaryFolder } from "../support/folders.ts";
import { place, TOKEN } from "../support/place.ts";
import { get, killAll, type Served, serve, served, start, until } from "../support/process.ts";
import { testArguments } from "../support/program.ts";
import { findNode, lacking, programOn } from "../support/runtimes.ts";
import { smallDisk } from "../support/small-disk.ts";

const children = new Set<ChildProcess>();
after(async () => {
  for (const child of children) child.kill("SIGKILL");
  await killAll();
});

const LIMIT = 100;
/** One window for all of a test, whenever it begins. */
const SETTINGS = ["--rate-limit", String(LIMIT), "--rate-window", "315360000"];
const ID = `key_${TOKEN.slice(-6)}`;

async function ask(server: Pick<Served, "url">): Promise<number> {
  const { status, headers } = await get(`${server.url}/stats`, { token: TOKEN });
  assert.equal(status, 200);
  return Number(headers["x-ratelimit-remaining"]);
}

async function askTimes(server: Pick<Served, "url">, times: number): Promise<void> {
  for (let n = 0; n < times; n++) await ask(server);
}

async function kill({ child, ended }: Pick<Served, "child" | "ended">): Promise<void> {
  child.kill("SIGKILL");
  await ended;
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
    await kill(first);
    const second = await serve(snapshot, keys, settings);
    assert.equal(second.logs("state-restored")[0]!.keys, 1);
    assert.equal(await ask(second), LIMIT - 31);
    await askTimes(second, 9);
    // At once, and to the last request.
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
    writeFileSync(join(disk, "rest"), Buffer.alloc(1));
    assert.throws(() => {
      for (;;) writeFileSync(join(disk, "rest"), Buffer.alloc(4096), { flag: "a" });
    }, /ENOSPC/);
    const server = await serve(snapshot, keys, [...SETTINGS, "--state", file]);
    assert.match(String((await server.logged("state-failed")).problem), /ENOSPC/);
    await askTimes(server, 3);
    execFileSync("mount", ["-o", "remount,ro", disk]);
    assert.match(String((await server.logged("state-failed", 2)).problem), /EROFS/);
    // Some more attempts.
    await new Promise((resolve) => setTimeout(resolve, 10_000));
    await askTimes(server, 3);
    assert.equal(server.logs("state-failed").length, 2);
    execFileSync("mount", ["-o", "remount,rw", disk]);
    rmSync(join(disk, "rest"));
    await server.logged("state-recovered");
    await until(holds(file, 6), "the counts in the file");
    await server.stop();
    assert.deepEqual(readdirSync(disk), ["state"]);
  });

  const node = findNode(24);
  test("counts of several threads are kept together", {
    skip: lacking(node),
  }, async (t) => {
    const { snapshot, keys, folder } = place(t);
    const file = join(folder, "state");
    const settings = ["serve", "--snapshot", snapshot, "--keys", keys, "--port", "0", "--threads", "2"];
    const launch = (): Promise<Served> =>
      served(start([...settings, ...SETTINGS, "--state", file], {}, programOn(node)));
    const first = await launch();
    await askTimes(first, 20);
    await until(holds(file, 20), "the counts in the file");
    await kill(first);
    const second = await launch();
    assert.equal(await ask(second), LIMIT - 21);
    await second.stop();
    assert.ok(holds(file, 21)());
  });

  test("a kill at any moment leaves a whole file, with no count twice", async (t) => {
    const folder = temporaryFolder(t);
    const file = join(folder, "state");
    const program = fileURLToPath(new URL("../support/counts-child.ts", import.meta.url));
    const countIn = (): number => Number(/\["key_1",(\d+)\]/.exec(readFileSync(file, "utf8"))?.[1] ?? 0);
    let kept = 0;
    for (let round = 0; round < 8; round++) {
      const child = spawn(process.execPath, [...testArguments(program), file], {
        stdio: ["ignore", "pipe", "pipe"],
      });
      children.add(child);
      let said = "";
      let told = "";
      child.stdout!.on("data", (text: Buffer) => (said += text));
      child.stderr!.on("data", (text: Buffer) => (told += text));
      await until(() => existsSync(file) && countIn() > kept, `a count above ${kept}; it said: ${told}`);
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 30));
      const before = countIn();
      child.kill("SIGKILL");
      await once(child, "close");
      children.delete(child);
      const most = Number(said.trimEnd().split("\n").at(-1));
      assert.doesNotMatch(told, /refused|failed|defect/);
      if (round > 0) assert.match(told, /"kind":"state-restored"/);
      kept = countIn();
      assert.ok(kept >= before && kept <= most, `${before} ${kept} ${most}`);
      // It began with all that was kept.
      assert.ok(Number(said.slice(0, said.indexOf("\n"))) >= 10);
    }
    assert.ok(readdirSync(folder).length <= 9, readdirSync(folder).join());
  });
});
