/** The package as published: packed, installed into empty projects, and used there on every supported Node. */

import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { before, describe, it } from "node:test";
import { promisify } from "node:util";
import { temporaryFolder } from "../support/folders.ts";
import { keyRecord, TOKEN, writeKeys } from "../support/place.ts";
import { type Command, environment as clean, get, served, start } from "../support/process.ts";
import { packInto, ROOT, runTsc } from "../support/program.ts";
import { type FoundNode, findNode } from "../support/runtimes.ts";

const folder = temporaryFolder();

function project(name: string): string {
  const made = join(folder, name);
  mkdirSync(made);
  writeFileSync(join(made, "package.json"), '{ "type": "module", "private": true }\n');
  return made;
}

const npmProject = project("npm");
const pnpmProject = project("pnpm");
const keys = writeKeys(join(folder, "keys.json"), keyRecord(TOKEN));

/** Runs the installed command, or another program, in the project. */
const runHere = (program: string, args: readonly string[], node?: string) =>
  spawnSync(program, args, { cwd: npmProject, encoding: "utf8", env: environment(node) });

/** Runs a program to its end and returns its output. */
async function run(cwd: string, program: string, args: readonly string[], node?: string): Promise<string> {
  return (await promisify(execFile)(program, args, { cwd, env: environment(node) })).stdout;
}

/** An environment in which `node` is the given one. */
function environment(node?: string): NodeJS.ProcessEnv {
  const { PATH } = process.env;
  return clean({ PATH: node === undefined ? PATH! : `${dirname(node)}${delimiter}${PATH}` });
}

const QUIET = ["--no-audit", "--no-fund", "--loglevel=error"];

const VERSIONS = ["20.19.0", "22", "24", "latest"];
const nodes = new Map<string, FoundNode>();
let packed = "";

before(async () => {
  packed = await packInto(folder);
  const installed = Promise.all([
    run(npmProject, "npm", ["install", packed, ...QUIET]),
    run(pnpmProject, "npx", ["-y", "pnpm", "add", packed]),
  ]);
  // While the packages install.
  for (const version of VERSIONS) nodes.set(version, findNode(version));
  await installed;
});

const PROGRAM = `
import { openOrrery } from "orrery";
const orrery = await openOrrery({
  snapshot: "node_modules/orrery/data/sample",
  keys: [{ id: "me", kind: "cli", token: "svcx_secret" }],
  threads: !process.argv.includes("--no-threads"),
});
const authorization = "Bearer svcx_secret";
for (const target of ["/stats", "/users/search?q=a&limit=1"]) {
  const { status, body } = await orrery.ask({ target: "/api/public/v1" + target, authorization });
  console.log(status, body.length > 20);
}
orrery.close();
`;
for (const made of [npmProject, pnpmProject]) writeFileSync(join(made, "program.js"), PROGRAM);
writeFileSync(join(npmProject, "program.cjs"), 'console.log(typeof require("orrery").openOrrery)');

/** Every type of the library is as strict for its users as for itself: packing turned none into `any`. */
const TYPED = `
import { type CacheCounts, KeysFileError, type Observation, openOrrery, type Orrery, SnapshotError, type User } from "orrery";
const keys = [{ id: "me", kind: "cli", token: "svcx_secret" }] as const;
const open: Promise<Orrery> = openOrrery({ snapshot: "x", keys, observe: (seen: Observation) => void seen.kind });
export const name = (user: User): string => user.displayName;
export const problems = (error: SnapshotError | KeysFileError): string => error.message;
export const hits = async (): Promise<CacheCounts["hits"]> => (await open).searchCache().hits;
// @ts-expect-error
void openOrrery({ snapshot: "x", keys: [{ id: "me", kind: "other", token: "svcx_secret" }] });
// @ts-expect-error
void openOrrery({ snapshot: "x", keys, observe: (seen: number) => void seen });
// @ts-expect-error
void open.then((orrery) => orrery.ask({}));
// @ts-expect-error
void open.then(async (orrery) => (await orrery.fetch(new Request("http://a"))).nothing);
// @ts-expect-error
export const wrong = (user: User): number => user.displayName;
`;

/** Bytes on a disk with blocks of 4 KiB. */
function bytesOnDisk(place: string): number {
  const sizes = readdirSync(place, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => statSync(join(entry.parentPath, entry.name)).size);
  assert.ok(sizes.length > 150);
  return sizes.reduce((sum, size) => sum + Math.ceil(size / 4096) * 4096, 0);
}

/** Starts a server, passes its URL to `ask`, and stops the server and its parent processes. */
async function serving(
  command: Command,
  cwd: string,
  node: string | undefined,
  ask: (url: string) => Promise<void>,
): Promise<void> {
  // A process group of its own: npx, its shell and the server.
  const program = start([], {}, command, { cwd, env: environment(node), detached: true });
  try {
    await ask((await served(program)).url);
  } finally {
    try {
      process.kill(-program.child.pid!, "SIGTERM");
    } catch {
      // The group has already ended, so `ask` fails with the reason.
    }
    // The output ends with the last process of the group.
    await program.ended;
  }
}

async function answers(url: string): Promise<void> {
  for (const target of ["/stats", "/users/search?q=a", "/worlds?limit=50"]) {
    assert.equal((await get(url + target, { token: TOKEN })).status, 200);
  }
  assert.match((await get(new URL("/docs", url).href, {})).text, /<h1>Public read-only API<\/h1>/);
}

const SERVE = ["serve", "--snapshot", "node_modules/orrery/data/sample", "--keys", keys, "--port", "0"];
const QUIETLY = ["--log-level", "error"];

describe("the package", () => {
  const installed = join(npmProject, "node_modules/orrery");
  const command = join(npmProject, "node_modules/.bin/orrery");

  it("holds what was built, no sources, and needs nothing that runs TypeScript", () => {
    assert.deepEqual(readdirSync(installed).sort(), [
      ...["ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "README.md", "SECURITY.md"],
      ...["bench", "bin", "data", "deploy", "dist", "docs", "package.json"],
    ]);
    assert.equal(existsSync(join(npmProject, "node_modules/tsx")), false);
    assert.equal(existsSync(join(npmProject, "node_modules/typescript")), false);
  });

  it("is small: 3 MB packed; installed with all that it needs 25 MB on disk, in at most 40 packages", () => {
    assert.ok(statSync(packed).size <= 3e6, `${statSync(packed).size} bytes packed`);
    const modules = join(npmProject, "node_modules");
    assert.ok(bytesOnDisk(modules) <= 25e6, `${bytesOnDisk(modules)} bytes installed`);
    const lock = JSON.parse(readFileSync(join(modules, ".package-lock.json"), "utf8")) as {
      packages: object;
    };
    const names = Object.keys(lock.packages).map((path) => path.replace("node_modules/", ""));
    assert.ok(names.length <= 40, names.join());
    // As dependencies, the packages are visible to audits, licence tools and deduplication.
    for (const name of ["fast-json-stringify", "flexsearch", "lru-cache"]) {
      assert.ok(names.includes(name), name);
      const importers = readdirSync(join(installed, "dist")).filter(
        (file) =>
          file.endsWith(".js") &&
          readFileSync(join(installed, "dist", file), "utf8").includes(`from "${name}`),
      );
      assert.ok(importers.length > 0, `${name} is imported by its name`);
    }
  });

  it("names the packages that an export needs, which it does not bring", () => {
    const args = ["export", "--postgres", "postgres://127.0.0.1:1/x", "--out", "exported"];
    const why =
      "orrery: export needs packages that are not installed: npm install pg pg-copy-streams (with --global where orrery was)\n";
    const ran = runHere(command, args);
    assert.deepEqual([ran.status, ran.stdout], [1, ""]);
    assert.ok(ran.stderr.endsWith(why), ran.stderr);
    assert.equal(existsSync(join(npmProject, "exported.versions")), false);
  });

  it("names the package that shared limits need, and installs none for those who do not", () => {
    assert.equal(existsSync(join(npmProject, "node_modules/@redis")), false);
    const [line, url] = [
      "npm install @redis/client (with --global where orrery was)\n",
      "redis://:secret@127.0.0.1:1",
    ];
    for (const more of [[], ["--admin", "0"]]) {
      const ran = runHere(command, [...SERVE, ...QUIETLY, "--shared-limits", url, ...more]);
      assert.equal(ran.stderr, `orrery: --shared-limits needs a package that is not installed: ${line}`);
      assert.deepEqual([ran.status, ran.stdout], [1, ""]);
    }
    const options = `{ snapshot: "node_modules/orrery/data/sample", keys: [], sharedLimits: "${url}" }`;
    const program = `import { openOrrery } from "orrery"; await openOrrery(${options}).catch((e) => console.log(e.message));`;
    const ran = runHere(process.execPath, ["--input-type=module", "-e", program]);
    assert.equal(ran.stdout, `option "sharedLimits" needs a package that is not installed: ${line}`);
  });

  it("passes on the licences of what is built in", () => {
    const text = readFileSync(join(installed, "dist/THIRD-PARTY-LICENSES.txt"), "utf8");
    const named = [...text.matchAll(/^(\S+) \d[\d.]+ \(\S+\)$/gm)].map(([, name]) => name!);
    // esbuild names the origin above each part.
    const built = readdirSync(join(installed, "dist"))
      .filter((name) => name.endsWith(".js"))
      .map((name) => readFileSync(join(installed, "dist", name), "utf8"))
      .flatMap((code) => [...code.matchAll(/^\/\/ \S*node_modules\/((?:@[^/]+\/)?[^/]+)/gm)])
      .map(([, name]) => name!);
    // Pages contain their files unchanged.
    assert.deepEqual(named, [...new Set([...built, "swagger-ui-dist", "uplot"])].sort());
    assert.ok(named.includes("flexsearch") && named.includes("lru-cache"), named.join());
    assert.match(text, /Licensed under the Apache License|Apache License\s+Version 2\.0/);
    assert.match(text, /Blue Oak Model License/);
    // Also the packages inside those files.
    assert.match(text, /http:\/\/jedwatson\.github\.io\/classnames/);
  });

  it("is sound to publint and to Are The Types Wrong", () => {
    for (const [program, ...args] of [
      ["publint", "--strict", packed],
      ["attw", "--profile", "esm-only", packed],
    ]) {
      const ran = spawnSync(join(ROOT, "node_modules/.bin", program!), args, { encoding: "utf8" });
      assert.equal(ran.status, 0, ran.stdout + ran.stderr);
    }
  });

  for (const [module, moduleResolution] of [
    ["nodenext", "nodenext"],
    ["esnext", "bundler"],
  ]) {
    it(`has types for strict programs, which check its declarations too: ${moduleResolution}`, () => {
      writeFileSync(join(npmProject, "typed.ts"), TYPED);
      const options = ["--module", module!, "--moduleResolution", moduleResolution!, "--target", "es2023"];
      const types = ["--typeRoots", join(ROOT, "node_modules/@types"), "--types", "node"];
      assert.equal(runTsc(["--ignoreConfig", "--noEmit", ...options, ...types, "typed.ts"], npmProject), "");
    });
  }

  for (const version of VERSIONS) {
    const onNode = (what: string, test: (node: string) => Promise<void>): void => {
      it(`${what}: Node ${version}`, async (t) => {
        const node = nodes.get(version)!;
        if ("missing" in node) return t.skip(node.missing);
        await test(node.path);
      });
    };

    onNode("is a library, with its threads, imported and required", async (node) => {
      assert.equal(await run(npmProject, node, ["program.js"]), "200 true\n200 true\n");
      assert.equal(await run(npmProject, node, ["program.cjs"]), "function\n");
    });

    onNode("brings the command: npx orrery demo", async (node) => {
      const demo: Command = ["npx", "--no-install", "orrery", "demo", "--port", "0", ...QUIETLY];
      await serving(demo, npmProject, node, async (url) => {
        assert.equal((await get(`${url}/stats`, {})).status, 401);
      });
    });

    onNode("serves with two threads, or says which Node can", async (node) => {
      const args = [...SERVE, ...QUIETLY, "--threads", "2"];
      if (version !== "20.19.0") return await serving([command, ...args], npmProject, node, answers);
      const ran = runHere(command, args, node);
      assert.deepEqual([ran.status, ran.stdout], [2, ""]);
      assert.match(
        ran.stderr,
        /^orrery: --threads: more than one requires Node 22\.12 or newer, .*20\.19\.0/,
      );
    });
  }
});

describe("the package in pnpm's layout, where a package sees its own dependencies alone", () => {
  it("is a library, with its threads", async () => {
    assert.equal(await run(pnpmProject, "node", ["program.js"]), "200 true\n200 true\n");
  });

  it("brings the command, which loads in a thread", async () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string };
    const said = await run(pnpmProject, "npx", ["-y", "pnpm", "exec", "orrery", "--version"]);
    assert.equal(said, `${version}\n`);
    const command: Command = ["npx", "-y", "pnpm", "exec", "orrery", ...SERVE, ...QUIETLY];
    await serving(command, pnpmProject, undefined, answers);
  });
});
