/** The package as it is published: packed, installed into an empty project, and used there by plain JavaScript. */

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "orrery-package-"));

function npm(args: readonly string[], cwd: string): string {
  return execFileSync("npm", [...args, "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
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

const TYPED = `
import { openOrrery, type Orrery, type User } from "orrery";
const open: Promise<Orrery> = openOrrery({ snapshot: "x", keys: [{ id: "me", kind: "cli", token: "svcx_secret" }] });
export const name = (user: User): string => user.displayName;
void open;
`;

describe("the package, installed", () => {
  const installed = join(folder, "node_modules/orrery");

  before(() => {
    writeFileSync(join(folder, "package.json"), '{ "type": "module", "private": true }\n');
    const packed = npm(["pack", "--pack-destination", folder], ROOT).trim().split("\n").at(-1)!;
    npm(["install", `./${packed}`], folder);
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  it("holds what was built, no sources, and needs nothing that runs TypeScript", () => {
    assert.deepEqual(readdirSync(installed).sort(), [
      ...["ARCHITECTURE.md", "CHANGELOG.md", "LICENSE", "README.md", "bin", "data", "dist", "package.json"],
    ]);
    assert.equal(existsSync(join(folder, "node_modules/tsx")), false);
    assert.equal(existsSync(join(folder, "node_modules/typescript")), false);
  });

  it("is a library for JavaScript, with its threads", () => {
    writeFileSync(join(folder, "program.js"), PROGRAM);
    const printed = execFileSync(process.execPath, ["program.js"], { cwd: folder, encoding: "utf8" });
    assert.equal(printed, "200 true\n200 true\n");
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
