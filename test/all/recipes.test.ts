/** The examples of `docs/examples`, each in its real program, with the published form of the package. `next.test.ts` has Next's. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import { temporaryFolder } from "../support/folders.ts";
import { freePort } from "../support/ports.ts";
import { until } from "../support/process.ts";
import { ROOT } from "../support/program.ts";
import { findRuntime } from "../support/runtimes.ts";
import { EXAMPLES, installRecipes, lacksRecipes, run } from "./support/recipes.ts";

const SNAPSHOT = join(ROOT, "data/sample");

const folder = temporaryFolder();
const place = join(folder, "project");
const at = (...path: string[]): string => join(place, "examples", ...path);
const env = { ...process.env, SNAPSHOT, NODE_TEST_CONTEXT: undefined };

async function printed(cwd: string, args: readonly string[], more: object = {}): Promise<string> {
  return (await run(process.execPath, args, { cwd, env: { ...env, ...more } })).stdout;
}

/** Path of a program in an installed package. */
const programOf = (path: string): string => join(place, "node_modules", path);

/** A hook that takes longer on a busy machine leaves an open replica behind, with which the runner never ends. */
const PATIENT = ["--testTimeout=60000"];
const JEST = [programOf("jest/bin/jest.js"), "--json", ...PATIENT];
const ESM = { NODE_OPTIONS: "--experimental-vm-modules" };
const passedIn = (report: string): unknown => JSON.parse(report).numPassedTests;

describe("examples", { skip: lacksRecipes }, () => {
  before(() => installRecipes(folder));

  it("are at most 24 lines of code each, and the embedding page links them", () => {
    const page = readFileSync(join(ROOT, "docs/embedding.md"), "utf8");
    // Those of docs/replica.md are programs of their own.
    const files = readdirSync(EXAMPLES, { recursive: true, encoding: "utf8" }).filter(
      (name) => /\.(mjs|ts)$/.test(name) && !["mirror.mjs", "compare.mjs"].includes(name),
    );
    assert.ok(files.length >= 14, files.join());
    for (const file of files) {
      const text = readFileSync(join(EXAMPLES, file), "utf8");
      const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("//"));
      assert.ok(lines.length <= 24, file);
      assert.ok(page.includes(`(examples/${file})`), `docs/embedding.md does not link ${file}`);
    }
  });

  for (const name of ["node-http", "express", "fastify", "hono"]) {
    it(`${name}: answers under keys, and leaves other paths to the host`, async (t) => {
      const PORT = String(await freePort());
      const app = [at(name, "app.mjs")];
      const child = spawn(process.execPath, app, { env: { ...env, PORT }, stdio: "inherit" });
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

  it("a worker thread", async () => {
    assert.match(await printed(at("worker-thread"), ["app.mjs"]), /^200 \{"data":\{"totalUsers":2000,/);
  });

  it("Vitest", async () => {
    const args = ["run", "--reporter=json", ...PATIENT, "--hookTimeout=60000"];
    assert.equal(passedIn(await printed(at("vitest"), [programOf("vitest/vitest.mjs"), ...args])), 1);
  });

  it("Jest", async () => assert.equal(passedIn(await printed(at("jest"), JEST, ESM)), 1));

  it("node:cluster: each process has a replica", async () => {
    const file = at("node-http", "cluster.mjs");
    writeFileSync(
      file,
      `import cluster from "node:cluster";
      if (!cluster.isPrimary) {
        const { openOrrery } = await import("orrery");
        const { options } = await import("../options.mjs");
        const orrery = await openOrrery(options);
        process.send(\`\${(await orrery.client().stats()).data.totalUsers}\\n\`);
        orrery.close();
        process.disconnect();
      } else for (let n = 0; n < 2; n++) cluster.fork().on("message", (text) => process.stdout.write(text));`,
    );
    assert.equal(await printed(place, [file]), "2000\n2000\n");
  });

  const { runtime: bun, missing: noBun } = findRuntime("bun");
  it("bun build --compile, with `threads: false`", { skip: noBun }, async () => {
    const program = readFileSync(at("bundled.mjs"), "utf8");
    assert.ok(program.includes("openOrrery(options)"));
    const compiled = program.replace("openOrrery(options)", "openOrrery({ ...options, threads: false })");
    writeFileSync(at("compiled.mjs"), compiled);
    const file = join(folder, "compiled");
    await run(bun[0], ["build", "--compile", `--outfile=${file}`, at("compiled.mjs")], { env });
    assert.equal((await run(file, { cwd: folder, env })).stdout, "2000\n");
  });

  const bundlers: Readonly<Record<string, readonly string[]>> = {
    "esbuild esm": ["esbuild", "out-esm", "build.mjs", "esm"],
    "esbuild cjs": ["esbuild", "out-cjs", "build.mjs", "cjs"],
    tsup: ["tsup", "out", programOf("tsup/dist/cli-default.js"), "--silent"],
    rollup: ["rollup", "out", programOf("rollup/dist/bin/rollup"), "-c", "rollup.config.mjs", "--silent"],
    webpack: ["webpack", "out", "build.mjs"],
  };
  for (const [name, [example, out, ...args]] of Object.entries(bundlers)) {
    it(`${name}: the bundle runs where no package is installed`, async () => {
      await printed(at(example!), args);
      const moved = join(folder, name);
      cpSync(at(example!, out!), moved, { recursive: true });
      writeFileSync(join(moved, "package.json"), JSON.stringify({ type: "module" }));
      const app = readdirSync(moved).find((file) => /^app\.[cm]?js$/.test(file))!;
      assert.equal(await printed(moved, [app]), "2000\n");
    });
  }
});
