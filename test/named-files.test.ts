/** Files named by settings: unusable ones, and foreign ones that a command must not overwrite. */

import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { readAdminSettings } from "../src/admin/admin.ts";
import { type Environment, nameSetting, type Options } from "../src/cli/options.ts";
import { readToken } from "../src/files/given.ts";
import { openOrrery } from "../src/mod.ts";
import { observeNothing } from "../src/observe/events.ts";
import { shareLimits } from "../src/shared-limits/feature.ts";
import { findSourceByAddress as findSource } from "../src/sources/feature.ts";
import { temporaryFolder, writeSnapshot } from "./support/folders.ts";
import { optionsOf } from "./support/options.ts";
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

const SAMPLE = { snapshot: "data/sample", keys: [], watch: 0 };
/** Uses the file of an option of the library. */
const IN_LIBRARY: Readonly<Record<string, (file: string, folder: string) => Promise<unknown>>> = {
  snapshotTokenFile: (snapshotTokenFile, cache) =>
    openOrrery({ ...SAMPLE, snapshot: NOWHERE, cache, snapshotTokenFile }),
  sharedLimitsPasswordFile: (sharedLimitsPasswordFile) =>
    openOrrery({ ...SAMPLE, sharedLimits: "redis://a.example", sharedLimitsPasswordFile }),
};

/** Checks the problems of a missing file, an empty one, and one with two words. */
async function checkFiles(folder: string, name: string, use: (file: string) => Promise<unknown>) {
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

  for (const [name, use] of Object.entries(IN_LIBRARY)) {
    it(`option ${name} of the library`, async (t) => {
      const folder = temporaryFolder(t);
      await checkFiles(folder, `option "${name}"`, (file) => use(file, folder));
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

it("build leaves alone a manifest and a prepared file of something else where it would write", async (t) => {
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
