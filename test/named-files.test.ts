/** Files that a command writes: none is one that another setting names, and none is somebody else's. */

import assert from "node:assert/strict";
import { existsSync, linkSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { after, describe, it, type TestContext } from "node:test";
import type { CommandRow } from "../src/cli/command.ts";
import { refuseSameFiles } from "../src/cli/named-files.ts";
import { positionalsOf, UsageError } from "../src/cli/options.ts";
import { PROGRAM } from "../src/features.ts";
import { temporaryFolder, writeSnapshot } from "./support/folders.ts";
import { optionsOf } from "./support/options.ts";
import { place } from "./support/place.ts";
import { killAll, run } from "./support/process.ts";

after(killAll);

const rowOf = (name: string): CommandRow => PROGRAM.commands.find((row) => row.name === name)!;

/** Other settings that must be given; their paths are nobody's. */
const REQUIRED: Readonly<Record<string, string>> = {
  snapshot: "http://127.0.0.1:1/",
  keys: "/nowhere/keys",
  out: "/nowhere/out",
  postgres: "postgres://a.example/b",
  from: "http://127.0.0.1:1",
  "token-file": "/nowhere/token",
};

/** Refuses two settings of a command, or does not. */
async function check(row: CommandRow, given: Readonly<Record<string, string>>): Promise<void> {
  const { DIR = "/nowhere/dir", ...flags } = given;
  const own = PROGRAM.settings.filter(({ commands, required }) => required && commands.includes(row.name));
  const values = { ...Object.fromEntries(own.map(({ flag }) => [flag, REQUIRED[flag]!])), ...flags };
  const args = Object.entries(values).flatMap(([flag, value]) => [`--${flag}`, value]);
  const words = positionalsOf(row).map(() => DIR);
  await refuseSameFiles(row, optionsOf(row.name, [...args, ...words]), PROGRAM.settings);
}

/** Ways to spell the path of a file that is there; of one that is not, the first two. */
const SPELLINGS: Readonly<Record<string, (file: string) => string>> = {
  plainly: (file) => file,
  relatively: (file) => relative(process.cwd(), join(dirname(file), "x", "..", basename(file))),
  "by a symbolic link": (file) => {
    symlinkSync(file, `${file}.link`);
    return `${file}.link`;
  },
  "by a link to its folder": (file) => {
    const link = `${dirname(file)}.link`;
    if (!existsSync(link)) symlinkSync(dirname(file), link);
    return join(link, basename(file));
  },
  "by a hard link": (file) => {
    linkSync(file, `${file}.hard`);
    return `${file}.hard`;
  },
};

function folderIn(t: TestContext): string {
  const folder = join(temporaryFolder(t), "folder");
  mkdirSync(folder);
  return folder;
}

describe("a file that a setting has written", () => {
  for (const row of PROGRAM.commands) {
    const own = PROGRAM.settings.filter(({ commands, path }) => path && commands.includes(row.name));
    const others = [...own.map(({ flag }) => flag), ...positionalsOf(row).filter((name) => name === "DIR")];
    for (const { flag } of own.filter(({ path }) => path === "written")) {
      for (const other of others.filter((name) => name !== flag)) {
        it(`${row.name}: --${flag} cannot be that of ${other}, however it is spelt`, async (t) => {
          const folder = folderIn(t);
          for (const [at, [how, spell]] of Object.entries(SPELLINGS).entries()) {
            const file = join(folder, `file-${at}`);
            writeFileSync(file, "{}");
            const given = { [flag]: spell(file), [other]: file };
            await assert.rejects(check(row, given), (error: Error) => {
              assert.ok(error instanceof UsageError, how);
              assert.match(error.message, / is the same file as /);
              for (const name of [`--${flag}`, other]) assert.ok(error.message.includes(name), name);
              return true;
            });
          }
          for (const spell of Object.values(SPELLINGS).slice(0, 4)) {
            const missing = join(folder, `missing-${Math.random()}`);
            await assert.rejects(check(row, { [flag]: spell(missing), [other]: missing }), UsageError);
          }
          await check(row, { [flag]: join(folder, "one"), [other]: join(folder, "another") });
        });
      }
    }
  }

  it("is none of the snapshot's, even if it is not there yet", async (t) => {
    const folder = writeSnapshot(join(temporaryFolder(t), "snapshot"));
    for (const name of ["instances.ndjson", "users.ndjson.gz", "manifest.json", "generation.orrery"]) {
      await assert.rejects(
        check(rowOf("serve"), { state: join(folder, name), snapshot: folder }),
        /--state: would be a file of the snapshot in --snapshot/,
      );
    }
    await check(rowOf("serve"), { state: join(folder, "counts"), snapshot: folder });
  });

  it("may be a terminal or the null device that others name, too", async () => {
    await check(rowOf("serve"), { "log-file": "/dev/null", keys: "/dev/null" });
  });

  it("is told of with the variable that named it", async (t) => {
    const { snapshot, keys } = place(t);
    const options = optionsOf("serve", ["--snapshot", snapshot], { ORRERY_KEYS: keys, ORRERY_STATE: keys });
    await assert.rejects(
      refuseSameFiles(rowOf("serve"), options, PROGRAM.settings),
      /^UsageError: ORRERY_STATE: is the same file as ORRERY_KEYS: /,
    );
  });
});

it("every setting of a file or folder says what the command does there", () => {
  for (const { flag, value, path } of PROGRAM.settings)
    assert.equal(path !== undefined, /^(FILE|DIR)/.test(value ?? ""), flag);
});

describe("a command leaves alone", () => {
  const started = (snapshot: string, keys: string, ...args: string[]) =>
    run(["serve", "--port", "0", "--snapshot", snapshot, "--keys", keys, ...args]);

  it("the keys file that --state names, and says so in a line", async (t) => {
    const { snapshot, keys } = place(t);
    const before = readFileSync(keys);
    const { status, stderr } = await started(snapshot, keys, "--state", relative(process.cwd(), keys));
    assert.equal(status, 2);
    assert.match(stderr, /^orrery: --state: is the same file as --keys: [^\n]+\n$/);
    assert.deepEqual(readFileSync(keys), before);
  });

  it("a file of something else that --state or --log-file names", async (t) => {
    const { snapshot, keys, folder } = place(t);
    const file = join(folder, "foreign.json");
    writeFileSync(file, '{"mine":1}\n');
    const state = await started(snapshot, keys, "--state", file);
    assert.equal(state.status, 1);
    assert.match(state.stderr, /^orrery: --state: \S+: is no file of counts, and is not replaced; [^\n]+\n$/);
    const log = await started(snapshot, keys, "--log-file", file);
    assert.equal(log.status, 1);
    assert.match(log.stderr, /^orrery: cannot open the log file \S+: is no log of orrery[^\n]+\n$/);
    assert.equal(readFileSync(file, "utf8"), '{"mine":1}\n');
  });

  it("a manifest and a prepared file of something else where build would write", async (t) => {
    const folder = temporaryFolder(t);
    const snapshot = writeSnapshot(join(folder, "snapshot"));
    for (const name of ["manifest.json", "generation.orrery"]) {
      const out = join(folder, name);
      mkdirSync(out);
      writeFileSync(join(out, name), '{"name":"a web app"}');
      const { status, stderr } = await run(["build", snapshot, "--out", out]);
      assert.equal(status, 1);
      assert.match(stderr, new RegExp(`holds ${name}, which is none of orrery's and is not replaced`));
      assert.equal(readFileSync(join(out, name), "utf8"), '{"name":"a web app"}');
    }
  });
});
