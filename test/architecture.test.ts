/** The shape of the code: rooms, sole importers, dependencies. */

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, it } from "node:test";
import { documentOf } from "./support/documents.ts";
import { ROOT } from "./support/program.ts";

const SRC = join(ROOT, "src");

/** Paths of the files, from `src`. */
const sources = readdirSync(SRC, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => relative(SRC, join(entry.parentPath, entry.name)));

const files = sources.filter((file) => file.endsWith(".ts"));
const textOf = (file: string): string => readFileSync(join(SRC, file), "utf8");

/** What a file imports or exports from, types included. */
function importsOf(file: string): string[] {
  const found = textOf(file).matchAll(/^(?:import|export)\b[^;]*?from "([^"]+)"|\bimport\("([^"]+)"\)/gm);
  return Array.from(found, ([, first, later]) => first ?? later!);
}

/** Our own modules among them. */
function modulesOf(file: string): string[] {
  const own = importsOf(file).filter((name) => name.startsWith("."));
  return own.map((name) => relative(SRC, resolve(SRC, dirname(file), name)));
}

/** The rooms of the core, lowest first. A file may import from its own room and from earlier ones. */
const CORE = "install util files model settings observe store search auth snapshot api http server cli".split(
  " ",
);

/** Each room can be deleted together with its line in `features.ts`. A feature imports the core, but no other feature. */
const FEATURES = "admin client docs-page generate shared-limits similar sources".split(" ");

/** Files of the root: the command line, the library, and the list of features. */
const ROOT_FILES = ["main.ts", "mod.ts", "features.ts"];

/** Entry points of the core's threads. Like `main.ts` they may import everything, and nothing imports them. */
const ENTRIES = "threads";

/** Imports that break the rule, from room to room, with the files that hold one. This list only shrinks. */
const EXCEPTIONS = { "root → client": ["mod.ts"] };

const roomOf = (file: string): string => (file.includes("/") ? file.slice(0, file.indexOf("/")) : "root");

const isFeature = (room: string): boolean => FEATURES.includes(room);

/** Whether the rule allows a file of one room to import a file of another. */
function mayImport(from: string, to: string): boolean {
  if (from === to) return true;
  if (to === ENTRIES) return false;
  if (from === ENTRIES) return !isFeature(to) && to !== "root";
  if (isFeature(from)) return !isFeature(to) && to !== "root";
  if (isFeature(to)) return false;
  if (from === "root") return true;
  return CORE.indexOf(to) < CORE.indexOf(from) && to !== "root";
}

describe("rooms", () => {
  it("hold every file", () => {
    assert.ok(files.length > 40);
    for (const file of sources) {
      const room = roomOf(file);
      const known = [...ROOT_FILES, ...FEATURES, ENTRIES, ...CORE];
      assert.ok(known.includes(room === "root" ? file : room), `${file} is in no room of the list`);
    }
  });

  it("are imported downwards only, and features by features.ts alone", () => {
    const found: Record<string, string[]> = {};
    for (const file of files) {
      if (file === "features.ts") continue;
      for (const target of modulesOf(file)) {
        if (mayImport(roomOf(file), roomOf(target))) continue;
        if (target === "features.ts" && roomOf(file) === ENTRIES) continue;
        const pair = `${roomOf(file)} → ${roomOf(target)}`;
        found[pair] ??= [];
        if (!found[pair].includes(file)) found[pair].push(file);
      }
    }
    assert.deepEqual(found, EXCEPTIONS);
  });
});

/** The modules of circles, and those that import them. */
function findCircles(modules: ReadonlyMap<string, readonly string[]>): string[] {
  const left = new Map(modules);
  for (let size = -1; size !== left.size; ) {
    size = left.size;
    for (const [file, imports] of left) if (!imports.some((one) => left.has(one))) left.delete(file);
  }
  return [...left.keys()];
}

it("the client imports nothing but types of the model", () => {
  const clients = files.filter((file) => file.startsWith("client/"));
  assert.ok(clients.length > 2);
  for (const file of clients) {
    const statements = textOf(file).matchAll(/^(?:import|export)\b[^;]*?from "([^"]+)"/gm);
    for (const [statement, specifier] of statements) {
      if (/^\.\/[a-z]+\.ts$/.test(specifier!)) continue;
      assert.match(statement, /^(import|export) type [^;]* from "\.\.\/model\/model\.ts"$/, file);
    }
  }
});

describe("imports", () => {
  it("go in no circle, not even for a type or later", () => {
    const modules = new Map(files.map((file) => [file, modulesOf(file)]));
    assert.ok([...modules.values()].flat().length > 300);
    assert.deepEqual(findCircles(modules), []);
  });
});

it("exported names mean one thing each", () => {
  const exporters = new Map<string, Set<string>>();
  for (const file of files) {
    // Replaces `package.ts` in the one-file program.
    if (file === "install/package-embedded.ts") continue;
    const exported = textOf(file).matchAll(
      /^export (?:declare )?(?:async )?(?:function\*?|class|const|let|interface|type) ([A-Za-z_$][\w$]*)/gm,
    );
    for (const [, name] of exported) exporters.set(name!, (exporters.get(name!) ?? new Set()).add(file));
  }
  const twice = [...exporters].filter(([, from]) => from.size > 1).map(([name]) => name);
  assert.deepEqual(twice, []);
});

describe("packages", () => {
  it("are imported where they are listed", () => {
    const importers = {
      esbuild: "api/pages/make.ts",
      "fast-json-stringify": "store/encoders.ts",
      flexsearch: "similar/names.ts",
      "lru-cache": ["auth/notices.ts", "search/cache.ts"],
      pg: "sources/postgres/postgres.ts",
      "@redis/client": "shared-limits/redis-server.ts",
      "pg-copy-streams": "sources/postgres/postgres.ts",
      "proxy-agent": "sources/url/proxy.ts",
      uplot: "admin/dashboard/charts.ts",
    };
    for (const [name, importing] of Object.entries(importers)) {
      const found = files.filter((file) => importsOf(file).includes(name));
      assert.deepEqual(found, [importing].flat(), name);
    }
  });

  it("are few", () => {
    const { dependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
    assert.ok(Object.keys(dependencies).length <= 6);
    const architecture = readFileSync(join(ROOT, "ARCHITECTURE.md"), "utf8");
    const used = files.flatMap(importsOf).filter((name) => !/^(\.|node:)/.test(name));
    const packageOf = (name: string): string => /^(?:@[^/]+\/)?[^/]+/.exec(name)![0];
    for (const name of new Set([...Object.keys(dependencies), ...used.map(packageOf)])) {
      assert.match(architecture, new RegExp(`^\\| ${name} \\| \\w`, "m"));
    }
    const { packages } = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")) as {
      packages: Record<string, { dev?: boolean; os?: string[]; cpu?: string[] }>;
    };
    const installed = Object.entries(packages).filter(
      ([path, { dev, os = ["linux"], cpu = ["x64"] }]) =>
        path !== "" && !dev && os.includes("linux") && cpu.includes("x64"),
    );
    assert.ok(Object.keys(packages).length > 40, "the lock file is read");
    assert.ok(installed.length <= 40, `${installed.length} packages`);
  });

  it("come from no fixed registry, and none reports its installation", () => {
    for (const folder of ["", "tools/openapi", "bench"]) {
      const text = readFileSync(join(ROOT, folder, "package-lock.json"), "utf8");
      assert.doesNotMatch(text, /"resolved"|https?:[^"]*registry|@scarf\/scarf/, folder);
    }
  });
});

it("the process is read by main.ts alone, but for the user's cache folder and the proxies, which the library asks for as well", () => {
  for (const file of files) {
    if (file === "main.ts" || file === "sources/url/proxy.ts") continue;
    const text = file === "mod.ts" ? textOf(file).replace("process.env.XDG_CACHE_HOME", "") : textOf(file);
    assert.doesNotMatch(text, /process\.(argv|env|exit)\b/, file);
  }
});

it("modes and owners are set on open files alone, never by path", () => {
  let found = 0;
  for (const file of files) {
    for (const [, object] of textOf(file).matchAll(/(\w+\.)?\bl?ch(?:mod|own)(?:Sync)?\b/g)) {
      assert.equal(object, "handle.", file);
      found++;
    }
  }
  assert.ok(found > 0);
});

it(".dockerignore lets through what the Containerfile copies", () => {
  const text = readFileSync(join(ROOT, "deploy/Containerfile"), "utf8");
  const copied = [...text.matchAll(/^COPY (?!--)(.+) \S+$/gm)].flatMap(([, names]) => names!.split(" "));
  const passed = readFileSync(join(ROOT, ".dockerignore"), "utf8").matchAll(/^!(.+)$/gm);
  assert.deepEqual([...new Set(copied)].sort(), Array.from(passed, ([, name]) => name!).sort());
});

it("the tests that .ci/run names exist", () => {
  const text = readFileSync(join(ROOT, ".ci/run"), "utf8");
  const names = /run\.mjs test\/all \\\n +(.*)/.exec(text)![1]!.split(" ");
  for (const name of names) assert.ok(existsSync(join(ROOT, `test/all/${name}.test.ts`)), name);
});

it("paths in ARCHITECTURE.md and CONTRIBUTING.md exist", () => {
  let seen = 0;
  for (const name of ["ARCHITECTURE.md", "CONTRIBUTING.md"]) {
    // A path has a folder or is a file of code; build output and names that stand for several files are left out.
    const PATH = /[`\s]((?:[\w-]+\/)+(?:[\w.-]+\.m?ts)?|[\w-]+\.m?ts)(?=[`\s])/g;
    for (const [, path] of documentOf(name).text.matchAll(PATH)) {
      if (path === "dist/") continue;
      assert.ok(existsSync(join(ROOT, path!)) || existsSync(join(SRC, path!)), `${name}: ${path}`);
      seen++;
    }
  }
  assert.ok(seen > 100, `only ${seen} paths`);
});
