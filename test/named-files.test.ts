/** Files named by settings: unusable ones, and ones that a command must not overwrite. */

import assert from "node:assert/strict";
import { existsSync, linkSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { readAdminSettings } from "../src/admin/admin.ts";
import type { CommandRow } from "../src/cli/command.ts";
import { refuseSameFiles } from "../src/cli/named-files.ts";
import {
  type Environment,
  nameSetting,
  type Options,
  positionalsOf,
  UsageError,
} from "../src/cli/options.ts";
import { PROGRAM } from "../src/features.ts";
import { readToken } from "../src/files/token-file.ts";
import { openOrrery } from "../src/mod.ts";
import { observeNothing } from "../src/observe/events.ts";
import { settingsOf } from "../src/settings/settings.ts";
import { shareLimits } from "../src/shared-limits/settings.ts";
import { findUrlSource as findSource } from "../src/sources/feature.ts";
import { temporaryFolder, writeSnapshot } from "./support/folders.ts";
import { optionsOf } from "./support/options.ts";
import { place } from "./support/place.ts";
import { run } from "./support/process.ts";

const CANARY = "canary-0815";

/** A URL to which no request is sent. */
const NOWHERE = "http://127.0.0.1:1/";

/** Uses the file of a setting, given by its flag or else by a variable; `folder` is for other files. */
type Use = (args: readonly string[], environment: Environment, folder: string) => Promise<unknown>;

const serving = (args: readonly string[], environment: Environment = {}) =>
  optionsOf("serve", ["--snapshot", NOWHERE, "--keys", "k", ...args], environment);

const sharing = ({ values, names }: Options<"serve">) =>
  shareLimits(values).catch((error: unknown) => {
    throw nameSetting(error, names);
  });

const ON_SERVE: Readonly<Record<string, Use>> = {
  "admin-token-file": (args, environment) =>
    readAdminSettings(serving(["--admin", "1", ...args], environment)),
  "shared-limits-password-file": (args, environment) =>
    sharing(serving(["--shared-limits", "redis://a.example", ...args], environment)),
  async "snapshot-token-file"(args, environment, folder) {
    const options = serving(["--cache", folder, ...args], environment);
    const { values: settings, names } = options;
    const nameOf = (): string => names.snapshotTokenFile;
    const open = await findSource({ snapshot: NOWHERE, settings, nameOf, cacheHome: () => undefined });
    return open({ observe: observeNothing }).refresh("start", new AbortController().signal);
  },
};

const ELSEWHERE: Readonly<Record<string, readonly [name: string, use: Use]>> = {
  "the library": [
    'option "snapshotTokenFile"',
    ([, file = ""], _environment, folder) =>
      openOrrery({ snapshot: NOWHERE, cache: folder, snapshotTokenFile: file, keys: [], watch: 0 }),
  ],
  "the library's shared limits": [
    'option "sharedLimitsPasswordFile"',
    ([, file = ""]) =>
      openOrrery({
        snapshot: "data/sample",
        keys: [],
        watch: 0,
        sharedLimits: "redis://a.example",
        sharedLimitsPasswordFile: file,
      }),
  ],
};

/** Checks the problems of a missing file, an empty one, and one with two words. */
async function checkFiles(
  folder: string,
  name: string,
  use: (file: string) => Promise<unknown>,
): Promise<void> {
  const file = join(folder, "secret");
  const says = async (named: string, problem: string): Promise<void> => {
    const message = new RegExp(`^${name}: ${named}: ${problem}(?!.*canary)`, "s");
    await assert.rejects(use(named), { message });
  };
  await says(`${file}-none`, "cannot be read: no such file or directory \\(ENOENT\\)");
  for (const contents of ["", `\n${CANARY} of two words\n`]) {
    writeFileSync(file, contents);
    await says(file, "(must hold one token|the first line must be)");
  }
}

describe("a file of a token or password that will not do is named with what named it", () => {
  for (const [flag, use] of Object.entries(ON_SERVE)) {
    it(`--${flag}`, async (t) => {
      const folder = temporaryFolder(t);
      await checkFiles(folder, `--${flag}`, (file) => use([`--${flag}`, file], {}, folder));
      const variable = `ORRERY_${flag.replaceAll("-", "_").toUpperCase()}`;
      await checkFiles(folder, variable, (file) => use([], { [variable]: file }, folder));
    });
  }

  for (const [who, [name, use]] of Object.entries(ELSEWHERE)) {
    it(`${name} of ${who}`, async (t) => {
      const folder = temporaryFolder(t);
      const flag = name.startsWith("--") ? name : "";
      await checkFiles(folder, name, (file) => use([flag, file], {}, folder));
    });
  }
});

it("a token file may begin with a byte order mark", async (t) => {
  const file = join(temporaryFolder(t), "token");
  writeFileSync(file, `\uFEFF${CANARY}\r\n`);
  assert.equal(await readToken(file, "--token-file"), CANARY);
});

it("--admin where the API listens is a usage error that says so", async () => {
  for (const args of [
    ["--admin", "8787"],
    ["--port", "9000", "--admin", "127.0.0.1:9000"],
  ]) {
    const says = /--admin: 127\.0\.0\.1 port \d+ is where the API listens; choose another port$/;
    await assert.rejects(readAdminSettings(serving(args)), says);
  }
  assert.equal((await readAdminSettings(serving(["--port", "0", "--admin", "0"])))!.address.port, 0);
});

const rowOf = (name: string): CommandRow => PROGRAM.commands.find((row) => row.name === name)!;

/** Other required settings, with paths that do not exist. */
const REQUIRED: Readonly<Record<string, string>> = {
  snapshot: "http://127.0.0.1:1/",
  keys: "/nowhere/keys",
  out: "/nowhere/out",
  postgres: "postgres://a.example/b",
  from: "http://127.0.0.1:1",
  name: "n",
  "token-file": "/nowhere/token",
};

/** Rejects if settings of a command name the same file. */
async function check(row: CommandRow, given: Readonly<Record<string, string>>): Promise<void> {
  const { DIR = "/nowhere/dir", ...flags } = given;
  const own = settingsOf(PROGRAM.settings, row.name).filter(({ required }) => required);
  const values = { ...Object.fromEntries(own.map(({ flag }) => [flag, REQUIRED[flag]!])), ...flags };
  const args = Object.entries(values).flatMap(([flag, value]) => [`--${flag}`, value]);
  const words = positionalsOf(row).map(() => DIR);
  await refuseSameFiles(row, optionsOf(row.name, [...args, ...words]), PROGRAM.settings);
}

/** Ways to spell the path of an existing file; the first two work for a missing file, too. */
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
    const own = settingsOf(PROGRAM.settings, row.name).filter(({ path }) => path);
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
      const checked = check(rowOf("serve"), { "log-file": join(folder, name), snapshot: folder });
      await assert.rejects(checked, /--log-file: would be a file of the snapshot in --snapshot/);
    }
    await check(rowOf("serve"), { "log-file": join(folder, "log"), snapshot: folder });
  });

  it("may be a terminal or the null device that others name, too", async () => {
    await check(rowOf("serve"), { state: "/dev/null", keys: "/dev/null" });
  });

  it("is told of with the variable that named it", async (t) => {
    const { snapshot, keys } = place(t);
    const options = optionsOf("serve", ["--snapshot", snapshot], {
      ORRERY_KEYS: keys,
      ORRERY_LOG_FILE: keys,
    });
    const checked = refuseSameFiles(rowOf("serve"), options, PROGRAM.settings);
    await assert.rejects(checked, /^UsageError: ORRERY_LOG_FILE: is the same file as ORRERY_KEYS: /);
  });
});

it("every setting of a file or folder says what the command does there", () => {
  for (const { flag, value, path } of PROGRAM.settings)
    assert.equal(path !== undefined, /^(FILE|DIR)/.test(value ?? ""), flag);
});

describe("a command leaves alone", () => {
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
