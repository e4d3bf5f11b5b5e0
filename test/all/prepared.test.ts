/** `orrery build` as a process: killed at its system calls, on a full disk; and every command that reads its output. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { PREPARED_VERSION } from "../../src/snapshot/prepared/layout.ts";
import { temporaryFolder, user, world, writeSnapshot } from "../support/folders.ts";
import { needStrace } from "../support/need.ts";
import { place } from "../support/place.ts";
import { run, runWell } from "../support/process.ts";
import { COMMAND } from "../support/program.ts";
import { generationIn } from "../support/source-server.ts";
import { fill, smallDisk } from "./support/small-disk.ts";

const FILE = "generation.orrery";

/** Writes one more row than the snapshot of {@link place} has. */
function writeNext(folder: string): string {
  return writeSnapshot(folder, {
    "users.ndjson": [user(1), user(2, { displayName: "next" })],
    "worlds.ndjson": [world(1)],
  });
}

describe("a build that is killed", { skip: needStrace() }, () => {
  const calls: readonly (readonly [call: string, times: readonly number[]])[] = [
    ["openat", [1]],
    // Most happen while the files are read; the first ones while the program starts.
    ["write", [100, 150, 200, 250]],
    ["fsync", [1, 2, 3]],
    ["unlink", [1, 2]],
    ["rename", [1, 2]],
  ];

  for (const manifest of [false, true]) {
    it(`${manifest ? "with" : "without"} a manifest leaves the old file or the new one, and the next build what it should`, async (t) => {
      const root = temporaryFolder(t);
      const [old, next] = [writeSnapshot(join(root, "old")), writeNext(join(root, "next"))];
      const to = join(root, "to");
      const known = [await generationIn(old), await generationIn(next)];
      const before = join(root, "before");
      await runWell(["build", old, "--out", before, ...(manifest ? ["--manifest"] : [])]);
      const seen = new Set<string>();
      let kills = 0;
      for (const [call, times] of calls) {
        for (const nth of times) {
          rmSync(to, { recursive: true, force: true });
          cpSync(before, to, { recursive: true });
          // Counts only calls on the target, since the start of the program opens very many files.
          const filter = ["openat", "unlink", "rename"].includes(call) ? ["-P", to] : [];
          const kill = ["-e", `trace=${call}`, "-e", `inject=${call}:signal=KILL:when=${nth}`];
          const args = ["-f", "-qq", "-o", "/dev/null", ...filter, ...kill, ...COMMAND, "build", next];
          const env = { ...process.env, UV_THREADPOOL_SIZE: "1" };
          const { signal } = spawnSync("strace", [...args, "--out", to], { env });
          if (signal !== null) kills++;
          const found = await generationIn(to);
          assert.ok(known.includes(found), `${call} ${nth}: ${found}`);
          seen.add(found);
          await runWell(["build", next, "--out", to]);
          assert.equal(await generationIn(to), known[1], `${call} ${nth}`);
          assert.deepEqual(readdirSync(to), manifest ? [FILE, "manifest.json"] : [FILE], `${call} ${nth}`);
        }
      }
      assert.ok(kills >= 6, `only ${kills} kills`);
      assert.ok(seen.has(known[0]!));
    });
  }
});

it("a full disk is told in one line and leaves the old file alone; with space again a build goes well", async (t) => {
  const disk = smallDisk(t);
  if (disk === undefined) return t.skip("no file system may be mounted here");
  const root = temporaryFolder(t);
  const to = join(disk, "to");
  await runWell(["build", writeSnapshot(join(root, "old")), "--out", to, "--manifest"]);
  const bytes = (): Buffer[] => [FILE, "manifest.json"].map((name) => readFileSync(join(to, name)));
  const before = bytes();
  const next = writeNext(join(root, "next"));
  for (const spare of [0, 4096]) {
    fill(disk, spare);
    const { status, stdout, stderr } = await run(["build", next, "--out", to]);
    assert.equal(status, 1, stderr);
    assert.match(stderr, /^orrery: [^\n]*: no space left on device \(ENOSPC\)\n$/);
    assert.equal(stdout, "");
    assert.deepEqual(readdirSync(to), [FILE, "manifest.json"], `${spare} bytes`);
    assert.deepEqual(bytes(), before);
    rmSync(join(disk, "ballast"));
  }
  await runWell(["build", next, "--out", to]);
  assert.equal(await generationIn(to), await generationIn(next));
});

describe("a prepared snapshot", () => {
  it("is taken by every command that takes a folder", async (t) => {
    const { folder, snapshot } = place(t);
    const to = join(folder, "to");
    const built = await runWell(["build", snapshot, "--out", to]);
    assert.equal(built.stdout, "");
    assert.match(
      built.stderr,
      /^orrery: wrote [^\n]*\/generation\.orrery, generation [0-9a-f]{16}, \d+ bytes\n$/,
    );
    const id = await generationIn(snapshot);
    const check = await runWell(["check", to]);
    const form = `prepared from these files, format version ${PREPARED_VERSION}`;
    assert.match(check.stdout, new RegExp(`^generation ${id}\n[^]*\n${form}\n`));
    const json = JSON.parse((await runWell(["check", to, "--json", "--no-index"])).stdout);
    const rows = JSON.parse((await runWell(["check", snapshot, "--json"])).stdout);
    assert.deepEqual(json.files, rows.files);
    writeFileSync(join(to, FILE), readFileSync(join(to, FILE)).subarray(0, -1));
    for (const command of [["check"], ["check", "--no-index"], ["build", "--out", join(folder, "more")]]) {
      const { status, stderr } = await run([...command, to]);
      assert.equal(status, 1);
      assert.match(stderr, /^(orrery: )?generation\.orrery: is truncated[^\n]*\n$/);
    }
  });
});
