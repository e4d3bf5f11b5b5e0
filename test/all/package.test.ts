/** The package as it is published: packed, installed into an empty project, and used there by plain JavaScript. */

import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";
import { findNode } from "../support/runtimes.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "orrery-package-"));

function npm(args: readonly string[], cwd: string): string {
  return execFileSync("npm", [...args, "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
}

/** The oldest that is supported, and what is current. */
const VERSIONS = ["20.19.0", "22", "24", "latest"];

function runProgram(file: string, node = process.execPath): string {
  return execFileSync(node, [file], { cwd: folder, encoding: "utf8" });
}

const PROGRAM = `
import { openOrrery } from "orrery";
const orrery = await openOrrery({
  snapshot: "node_modules/orrery/data/sample",
  keys: [{ id: "me", kind: "cli", token: "svcx_secret" }],
});
const authorization = "Bearer svcx_secret";
for (const target of ["/stats", "/users/search?q=a&limit=1"]) {
  const { status, body } = await orrery.ask({ target: "/api/public/v1" + target, authorization });
  console.log(status, body.length > 20);
}
orrery.close();
`;

/** What esbuild needs to put CommonJS packages into an ES module: they call `require`. */
const REQUIRE =
  'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);';

const TYPED = `
import { openOrrery, type Orrery, type User } from "orrery";
const open: Promise<Orrery> = openOrrery({ snapshot: "x", keys: [{ id: "me", kind: "cli", token: "svcx_secret" }] });
export const name = (user: User): string => user.displayName;
void open;
`;

describe("the package, installed", () => {
  const installed = join(folder, "node_modules/orrery");

  let packed = "";

  before(() => {
    writeFileSync(join(folder, "package.json"), '{ "type": "module", "private": true }\n');
    packed = join(folder, npm(["pack", "--pack-destination", folder], ROOT).trim().split("\n").at(-1)!);
    npm(["install", packed], folder);
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  it("holds what was built, no sources, and needs nothing that runs TypeScript", () => {
    assert.deepEqual(readdirSync(installed).sort(), [
      ...["ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "README.md"],
      ...["bench", "bin", "data", "deploy", "dist", "docs", "package.json"],
    ]);
    assert.equal(existsSync(join(folder, "node_modules/tsx")), false);
    assert.equal(existsSync(join(folder, "node_modules/typescript")), false);
  });

  it("is sound to publint and to Are The Types Wrong", () => {
    for (const command of [
      ["publint", "--strict", packed],
      ["attw", "--profile", "esm-only", packed],
    ]) {
      const ran = spawnSync(join(ROOT, "node_modules/.bin", command[0]!), command.slice(1), {
        encoding: "utf8",
      });
      assert.equal(ran.status, 0, ran.stdout + ran.stderr);
    }
  });

  for (const version of VERSIONS) {
    const node = findNode(version);
    it(`is a library on Node ${version}, with its threads`, {
      skip: "missing" in node && node.missing,
    }, () => {
      assert.ok("path" in node);
      writeFileSync(join(folder, "program.js"), PROGRAM);
      assert.equal(runProgram("program.js", node.path), "200 true\n200 true\n");
    });
  }

  it("can be required where Node can require ES modules", () => {
    const code = 'console.log(typeof require("orrery").openOrrery)';
    writeFileSync(join(folder, "program.cjs"), code);
    const node = findNode(24);
    if ("path" in node) assert.equal(runProgram("program.cjs", node.path), "function\n");
  });

  it("can be bundled with a program, with threads where their file is bundled beside it", () => {
    writeFileSync(join(folder, "program.js"), PROGRAM);
    buildSync({
      absWorkingDir: folder,
      entryPoints: {
        app: "program.js",
        "generation-thread": "node_modules/orrery/dist/generation-thread.js",
      },
      bundle: true,
      format: "esm",
      platform: "node",
      outdir: "bundled",
      banner: { js: REQUIRE },
    });
    rmSync(join(folder, "alone"), { recursive: true, force: true });
    mkdirSync(join(folder, "alone"));
    for (const file of ["app.js", "generation-thread.js"]) {
      cpSync(join(folder, "bundled", file), join(folder, "alone", file));
    }
    assert.equal(runProgram("alone/app.js"), "200 true\n200 true\n");
  });

  it("has types for strict programs of both kinds of module resolution", () => {
    writeFileSync(join(folder, "typed.ts"), TYPED);
    for (const [module, moduleResolution] of [
      ["nodenext", "nodenext"],
      ["esnext", "bundler"],
    ]) {
      const options = ["--module", module!, "--moduleResolution", moduleResolution!];
      const types = ["--typeRoots", join(ROOT, "node_modules/@types"), "--types", "node"];
      // FlexSearch's declarations, which ours lead to, do not hold under a strict check of libraries.
      const strict = ["--strict", "--noEmit", "--skipLibCheck", "--target", "es2023"];
      execFileSync(
        join(ROOT, "node_modules/.bin/tsc"),
        ["--ignoreConfig", ...strict, ...options, ...types, "typed.ts"],
        { cwd: folder, stdio: ["ignore", "inherit", "inherit"] },
      );
    }
  });

  it("brings the command, which serves the sample", async () => {
    const command = join(folder, "node_modules/.bin/orrery");
    const child = spawn(command, ["demo", "--port", "0"], {
      cwd: folder,
      stdio: ["ignore", "pipe", "ignore"],
    });
    const [first] = (await once(child.stdout, "data")) as [Buffer];
    assert.match(String(first), /^orrery listening on http:/);
    const exited = once(child, "exit");
    child.kill("SIGTERM");
    assert.deepEqual(await exited, [0, null]);
  });
});
