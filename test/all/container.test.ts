/** The Containerfile of `deploy/`: its steps and their result, run in plain folders of Debian. */

import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, cpSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { commandIn, environmentOf, type Image, runContainerfile } from "../../tools/containerfile.ts";
import { temporaryFolder } from "../support/folders.ts";
import { need, unavailable } from "../support/need.ts";
import { keyRecord, TOKEN, writeKeys } from "../support/place.ts";
import { freePort } from "../support/ports.ts";
import { get, until } from "../support/process.ts";
import { ROOT } from "../support/program.ts";

const isRoot = process.getuid?.() === 0;
const skip = isRoot ? need("chroot", "dpkg-query", "tar", "npm") : unavailable("chroot is for root alone");

const folder = temporaryFolder();

describe("the container", { skip }, () => {
  const started: ChildProcess[] = [];
  let image: Image;
  let port = 0;

  before(async () => {
    image = runContainerfile(folder, join(ROOT, "deploy/Containerfile"));
    port = await freePort();
  });
  after(() => {
    for (const child of started) child.kill("SIGKILL");
  });

  const environment = (): Record<string, string> => ({
    ...environmentOf(image),
    ...{ ORRERY_HOST: "127.0.0.1", ORRERY_PORT: String(port) },
  });

  function run(...command: readonly string[]) {
    const [program, ...args] = commandIn(image, command);
    return spawnSync(program!, args, { encoding: "utf8", env: environment() });
  }

  function start(...command: readonly string[]): ChildProcess {
    const [program, ...args] = commandIn(image, [...image.entrypoint, ...command]);
    const child = spawn(program!, args, { env: environment(), stdio: "ignore" });
    started.push(child);
    return child;
  }

  const isHealthy = (): boolean => run(...image.health).status === 0;

  it("has what runs and nothing that builds, and no user of it can change that", () => {
    assert.match(image.user, /^[1-9]\d*:[1-9]\d*$/);
    const packages = ["typescript", "tsx", "esbuild"].map((name) => `node_modules/${name}`);
    for (const name of ["src", "tools", ...packages])
      assert.equal(existsSync(join(image.root, "opt/orrery", name)), false, name);
    const version = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")).version as string;
    assert.equal(run("orrery", "--version").stdout, `${version}\n`);
    assert.notEqual(run("sh", "-c", "echo > /opt/orrery/package.json").status, 0);
    assert.notEqual(run("sh", "-c", "command -v curl wget").status, 0, "health needs no client");
  });

  it("serves as its user, is healthy while it does, and stops on SIGTERM", async () => {
    cpSync(join(ROOT, "data/sample"), join(image.root, "srv/snapshot"), { recursive: true });
    const keys = writeKeys(join(image.root, "srv/keys/keys.json"), keyRecord(TOKEN));
    chmodSync(keys, 0o600);
    const [uid, gid] = image.user.split(":").map(Number);
    chownSync(keys, uid!, gid!);
    assert.equal(isHealthy(), false, "nobody serves yet");
    // A missing counter server is no reason to refuse to start; a missing client of it would be.
    const child = start(...image.command, "--shared-limits", "redis://127.0.0.1:1");
    const exited = once(child, "exit");
    const url = `http://127.0.0.1:${port}/api/public/v1`;
    await until(async () => {
      assert.equal(child.exitCode, null);
      return (await get(`${url}/stats`, { token: TOKEN }).catch(() => undefined))?.status === 200;
    }, "the answer");
    const status = readFileSync(`/proc/${child.pid}/status`, "utf8");
    assert.match(status, new RegExp(`^Uid:(\\s+${uid}){4}$`, "m"));
    assert.match(status, new RegExp(`^Groups:\\s+${gid}\\s*$`, "m"));
    assert.equal(isHealthy(), true);
    child.kill("SIGTERM");
    assert.deepEqual(await exited, [0, null]);
    assert.equal(isHealthy(), false);
  });

  it("shows the sample", async () => {
    const child = start("demo");
    const exited = once(child, "exit");
    await until(isHealthy, "the demo");
    child.kill("SIGTERM");
    assert.deepEqual(await exited, [0, null]);
  });
});
