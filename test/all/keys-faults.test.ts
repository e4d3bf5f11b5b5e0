/** The keys file under kills at every system call, and on a full disk. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { hashToken } from "../../src/auth/keys.ts";
import { temporaryFolder } from "../support/folders.ts";
import { needStrace } from "../support/need.ts";
import { keyRecord, readKeys, writeKeys } from "../support/place.ts";
import { run, runWell } from "../support/process.ts";
import { COMMAND } from "../support/program.ts";
import { fill, smallDisk } from "./support/small-disk.ts";

const CREATE = ["keys", "create", "--name", "n", "--keys"];

/** Ages the lock of a dead holder, so that no command has to wait for it. */
function letTimePass(keys: string): void {
  if (existsSync(`${keys}.lock`)) utimesSync(`${keys}.lock`, 1, 1);
}

describe("a kill", { skip: needStrace() }, () => {
  /** Calls that change the folder of the keys file, and calls between them. */
  const calls = [
    ...["mkdir", "rmdir", "rename", "unlink", "fsync", "fchmod", "fchown", "chown", "utimensat"],
    "readlink",
  ];

  function trace(how: readonly string[], args: readonly string[]) {
    return spawnSync(
      "strace",
      ["-f", "-qq", ...how, ...COMMAND, ...args],
      // strace counts calls per thread; with one file-system thread that covers all.
      { encoding: "utf8", env: { ...process.env, UV_THREADPOOL_SIZE: "1" }, timeout: 60_000 },
    );
  }

  /** Runs a command and kills it just before its nth call of a kind. */
  function runKilled(call: string, nth: number, args: readonly string[]) {
    const inject = `inject=${call}:signal=KILL:when=${nth}`;
    return trace(["-o", "/dev/null", "-e", `trace=${call}`, "-e", inject], args);
  }

  /** Number of each of the calls that a command makes, in the thread with the most. */
  function countCalls(folder: string, args: readonly string[]): Map<string, number> {
    const file = join(folder, "calls");
    assert.equal(trace(["-o", file, "-e", `trace=${calls}`], args).status, 0);
    const ofThreads = new Map<string, number>();
    const most = new Map<string, number>();
    for (const [key, , call] of readFileSync(file, "utf8").matchAll(/^(\d+) +(\w+)(?=\()/gm)) {
      const count = (ofThreads.get(key) ?? 0) + 1;
      ofThreads.set(key, count);
      most.set(call!, Math.max(most.get(call!) ?? 0, count));
    }
    return most;
  }

  function fresh(t: TestContext) {
    const folder = temporaryFolder(t);
    return { folder, keys: writeKeys(join(folder, "keys.json"), keyRecord("svc_sk_1")) };
  }

  /**
   * Kills `keys create` at each of its calls.
   *
   * @param check gets the keys file and the command's output after each kill
   */
  async function killEverywhere(
    t: TestContext,
    prepare: (keys: string) => void,
    check: (keys: string, killed: { stdout: string }, at: string) => Promise<unknown>,
  ): Promise<void> {
    const make = () => {
      const { folder, keys } = fresh(t);
      prepare(keys);
      letTimePass(keys);
      return { folder, keys };
    };
    let kills = 0;
    for (const [call, count] of countCalls(temporaryFolder(t), [...CREATE, make().keys])) {
      assert.ok(count < 20, call);
      for (let nth = 1; nth <= count; nth++) {
        const { folder, keys } = make();
        const killed = runKilled(call, nth, [...CREATE, keys]);
        const at = `${call} ${nth}: ${killed.status} ${killed.signal}`;
        if (killed.status !== 0) kills++;
        letTimePass(keys);
        await check(keys, killed, at);
        assert.deepEqual(readdirSync(folder), ["keys.json"], at);
      }
    }
    assert.ok(kills >= 6, `only ${kills} kills`);
  }

  for (const [what, prepare] of [
    ["of keys create", () => {}],
    ["of a command that takes over from a killed one", (keys: string) => writeFileSync(`${keys}.lock`, "")],
  ] as const) {
    it(`${what}, at any call, leaves a good file, no key without its token, and nothing to be deleted by hand`, async (t) => {
      await killEverywhere(t, prepare, async (keys, { stdout }, at) => {
        const [, made, ...more] = readKeys(keys);
        assert.equal(more.length, 0, at);
        if (made !== undefined) assert.equal(made.sha256, hashToken(stdout.trim()), at);
        await runWell(["keys", "disable", "key_c_sk_1", "--keys", keys]);
        assert.equal(readKeys(keys)[0]!.active, false, at);
      });
    });
  }
});

it("a full disk leaves the old keys, no temporary file and no lock; with space again all works", async (t) => {
  const disk = smallDisk(t);
  if (disk === undefined) return t.skip("no file system may be mounted here");
  // Several pages long, so that a part of the new file fits where the whole does not.
  const many = Array.from({ length: 60 }, (_, n) => keyRecord(`svc_sk_${String(n).padStart(6, "0")}`));
  const keys = writeKeys(join(disk, "keys.json"), ...many);
  const before = readFileSync(keys);
  assert.ok(before.length > 12_000);
  for (const spare of [0, 4096, 8192]) {
    fill(disk, spare);
    for (const args of [
      [...CREATE, keys],
      ["keys", "disable", many[0]!.id, "--keys", keys],
    ]) {
      const { status, stdout, stderr } = await run(args);
      assert.equal(status, 1, stderr);
      assert.match(stderr, /^orrery: [^\n]*keys\.json: no space left on device \(ENOSPC\)\n$/);
      assert.equal(stdout, "");
      assert.deepEqual(readdirSync(disk).sort(), ["ballast", "keys.json"], `${spare} bytes`);
      assert.deepEqual(readFileSync(keys), before);
    }
    rmSync(join(disk, "ballast"));
  }
  await runWell(["keys", "disable", many[0]!.id, "--keys", keys]);
  await runWell([...CREATE, keys]);
  assert.deepEqual([readKeys(keys).length, readKeys(keys)[0]!.active], [61, false]);
});
