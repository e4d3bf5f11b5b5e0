/** Files that settings name and that will not do: which setting, which file, what is wrong, and nothing of what is in it. */

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { readAdminSettings } from "../src/admin/admin-settings.ts";
import type { CommandIo } from "../src/cli/command.ts";
import { type Environment, nameSetting, type Options } from "../src/cli/options.ts";
import { fetchSnapshot } from "../src/cli/source.ts";
import { PROGRAM } from "../src/features.ts";
import { openOrrery } from "../src/mod.ts";
import { observeNothing } from "../src/observe/events.ts";
import { shareLimits } from "../src/shared-limits/settings.ts";
import { findUrlSource as findSource } from "../src/sources/find-source.ts";
import { mirror } from "../src/sources/mirror/command.ts";
import { verify } from "../src/verify/command.ts";
import { temporaryFolder } from "./support/folders.ts";
import { optionsOf } from "./support/options.ts";

const CANARY = "canary-0815";
/** Nobody is ever asked at it. */
const NOWHERE = "http://127.0.0.1:1/";

const WORLD: CommandIo = {
  ...{ environment: {}, print: () => true, deliver: async () => {}, complain: () => {}, isTerminal: false },
  exit: () => assert.fail("it ended the process"),
};

/** Uses the file of a setting, given by its flag or else by a variable; `folder` is for whatever else is needed. */
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
    const open = await findSource({
      ...{ snapshot: NOWHERE, settings, nameOf: () => names.snapshotTokenFile, cacheHome: () => undefined },
    });
    return open({ observe: observeNothing }).refresh("start", new AbortController().signal);
  },
};

const ELSEWHERE: Readonly<Record<string, readonly [name: string, use: Use]>> = {
  check: [
    "--snapshot-token-file",
    (args, environment, folder) => {
      const options = optionsOf("check", ["--cache", folder, ...args, NOWHERE], environment);
      return fetchSnapshot(options, WORLD, PROGRAM);
    },
  ],
  mirror: [
    "--token-file",
    (args, environment, folder) =>
      mirror(
        optionsOf("mirror", ["--from", NOWHERE, "--out", join(folder, "out"), ...args], environment),
        WORLD,
      ),
  ],
  verify: [
    "--token-file",
    (args, environment) =>
      verify(
        optionsOf("verify", ["--against", NOWHERE, ...args, "data/sample"], environment),
        WORLD,
        PROGRAM,
      ),
  ],
  "the library": [
    'option "snapshotTokenFile"',
    ([, file = ""], _environment, folder) =>
      openOrrery({ snapshot: NOWHERE, cache: folder, snapshotTokenFile: file, keys: [], watch: 0 }),
  ],
  "the library's shared limits": [
    'option "sharedLimitsPasswordFile"',
    ([, file = ""]) =>
      openOrrery({
        ...{ snapshot: "data/sample", keys: [], watch: 0 },
        ...{ sharedLimits: "redis://a.example", sharedLimitsPasswordFile: file },
      }),
  ],
};

async function problemOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => assert.fail("it was taken"),
    (found: Error) => found,
  );
  return error.message;
}

/** What is wrong with a file that is missing, one that is empty, and one with too much in it. */
async function checkFiles(
  folder: string,
  name: string,
  use: (file: string) => Promise<unknown>,
): Promise<void> {
  const file = join(folder, "secret");
  const missing = `${name}: ${file}-none: cannot be read: no such file or directory (ENOENT)`;
  assert.ok((await problemOf(use(`${file}-none`))).startsWith(missing), missing);
  for (const contents of ["", `\n${CANARY} of two words\n`]) {
    writeFileSync(file, contents);
    const problem = await problemOf(use(file));
    assert.ok(problem.startsWith(`${name}: ${file}: `), problem);
    assert.match(
      problem.slice(name.length + file.length + 4),
      /^(must hold one token|the first line must be)/,
    );
    assert.doesNotMatch(problem, /canary/);
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

it("--admin where the API listens is a usage error that says so", async () => {
  for (const args of [
    ["--admin", "8787"],
    ["--port", "9000", "--admin", "127.0.0.1:9000"],
  ]) {
    await assert.rejects(
      readAdminSettings(serving(args)),
      /--admin: 127\.0\.0\.1 port \d+ is where the API listens; choose another port$/,
    );
  }
  assert.equal((await readAdminSettings(serving(["--port", "0", "--admin", "0"])))!.address.port, 0);
});
