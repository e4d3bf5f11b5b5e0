/**
 * The examples of `docs/examples`, each in its real program, with the published form of the package.
 *
 * Those programs are installed separately: `npm install --no-save --prefix tools/recipes`.
 */

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { temporaryFolder } from "../support/folders.ts";
import { unavailable } from "../support/need.ts";
import { freePort } from "../support/ports.ts";
import { until } from "../support/process.ts";
import { packInto, ROOT } from "../support/program.ts";

const TOOLS = join(ROOT, "tools/recipes");
const EXAMPLES = join(ROOT, "docs/examples");
const SNAPSHOT = join(ROOT, "data/sample");
const skip =
  !existsSync(join(TOOLS, "node_modules")) &&
  unavailable("tools/recipes is not installed: npm install --no-save --prefix tools/recipes");

const folder = temporaryFolder();
const place = join(folder, "project");
const at = (...path: string[]): string => join(place, "examples", ...path);
const run = promisify(execFile);
const env = { ...process.env, SNAPSHOT, NODE_TEST_CONTEXT: undefined };

async function printed(cwd: string, args: readonly string[], more: object = {}): Promise<string> {
  return (await run(process.execPath, args, { cwd, env: { ...env, ...more } })).stdout;
}

/** Path of a program in an installed package. */
const programOf = (path: string): string => join(place, "node_modules", path);

describe("examples", { skip }, () => {
  before(async () => {
    cpSync(TOOLS, place, { recursive: true, verbatimSymlinks: true });
    cpSync(EXAMPLES, join(place, "examples"), { recursive: true });
    const quiet = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"];
    const packed = await packInto(folder);
    await run("npm", ["install", "--no-save", "--prefer-offline", ...quiet, packed], { cwd: place });
  });

  it("are at most 15 lines each, and the embedding page shows them", () => {
    const page = readFileSync(join(ROOT, "docs/embedding.md"), "utf8");
    const files = readdirSync(EXAMPLES, { recursive: true, encoding: "utf8" }).filter((name) =>
      name.endsWith(".mjs"),
    );
    assert.ok(files.length >= 14, files.join());
    for (const file of files) {
      const text = readFileSync(join(EXAMPLES, file), "utf8");
      assert.ok(text.split("\n").length - 1 <= 15, file);
      assert.ok(page.includes(text.trim()), `docs/embedding.md does not show ${file}: npm run docs`);
    }
  });

  for (const name of ["node-http", "express", "fastify", "hono"]) {
    it(`${name}: answers under keys, and leaves other paths to the host`, async (t) => {
      const PORT = String(await freePort());
      const child = spawn(process.execPath, [at(name, "app.mjs")], {
        env: { ...env, PORT },
        stdio: "inherit",
      });
      t.after(async () => {
        child.kill();
        if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
      });
      const base = `http://127.0.0.1:${PORT}`;
      const own = await until(() => fetch(base).catch(() => undefined), "the example listens");
      assert.equal(await own.text(), "my own page\n");
      const stats = `${base}/api/public/v1/stats`;
      assert.equal((await fetch(stats)).status, 401);
      const reply = await fetch(stats, { headers: { authorization: "Bearer svcx_secret" } });
      assert.equal(reply.status, 200);
      assert.match(await reply.text(), /"totalUsers":2000/);
      if (name === "express") assert.equal((await fetch(`${base}/mine`)).status, 200);
    });
  }

  it("a route of a framework with fetch handlers", async () => {
    const program = `
      const { GET, HEAD } = await import(${JSON.stringify(pathToFileURL(at("fetch-route/route.mjs")).href)});
      const url = "http://a/api/public/v1/stats", headers = { authorization: "Bearer svcx_secret" };
      console.log((await GET(new Request(url))).status, (await GET(new Request(url, { headers }))).status,
        (await HEAD(new Request(url, { headers, method: "HEAD" }))).status);
      process.exit();`;
    assert.equal(await printed(place, ["--input-type=module", "-e", program]), "401 200 200\n");
  });

  it("a worker thread", async () => {
    assert.match(await printed(at("worker-thread"), ["app.mjs"]), /^200 \{"data":\{"totalUsers":2000,/);
  });

  it("Vitest", async () => {
    const said = await printed(at("vitest"), [programOf("vitest/vitest.mjs"), "run", "--reporter=json"]);
    assert.equal((JSON.parse(said) as { numPassedTests: number }).numPassedTests, 1);
  });

  it("Jest", async () => {
    const said = await printed(at("jest"), [programOf("jest/bin/jest.js"), "--json"], {
      NODE_OPTIONS: "--experimental-vm-modules",
    });
    assert.equal((JSON.parse(said) as { numPassedTests: number }).numPassedTests, 1);
  });

  const bundlers: Readonly<Record<string, readonly string[]>> = {
    "esbuild esm": ["esbuild", "out-esm", "build.mjs", "esm"],
    "esbuild cjs": ["esbuild", "out-cjs", "build.mjs", "cjs"],
    rollup: ["rollup", "out", programOf("rollup/dist/bin/rollup"), "-c", "rollup.config.mjs", "--silent"],
    webpack: ["webpack", "out", "build.mjs"],
  };
  for (const [name, [example, out, ...args]] of Object.entries(bundlers)) {
    it(`${name}: the bundle runs where no package is installed`, async () => {
      await printed(at(example!), args);
      const moved = join(folder, name);
      cpSync(at(example!, out!), moved, { recursive: true });
      const type = out === "out-cjs" ? "commonjs" : "module";
      writeFileSync(join(moved, "package.json"), JSON.stringify({ type }));
      assert.equal(await printed(moved, ["app.js"]), "2000\n");
    });
  }
});
