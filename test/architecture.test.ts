/** The shape of the code: layers, sole importers, dependencies. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const SRC = join(ROOT, "src");

function sources(folder = SRC): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? sources(join(folder, entry.name)) : [relative(SRC, join(folder, entry.name))],
  );
}

const files = sources().filter((file) => file.endsWith(".ts"));
const textOf = (file: string): string => readFileSync(join(SRC, file), "utf8");

function importsOf(file: string): string[] {
  const text = textOf(file);
  const found = [
    ...text.matchAll(/^(?:import|export)\b[^;]*?from "([^"]+)"/gm),
    ...text.matchAll(/await import\("([^"]+)"\)/g),
  ];
  return found.map((match) => match[1]!);
}

/** Top first. A file may import from its own layer and from those below. */
const LAYERS: readonly (readonly string[])[] = [
  ["launch.mjs", "main.ts"],
  ["cli/"],
  ["verify/"],
  ["client/"],
  ["mod.ts", "open-options.ts", "given-keys.ts"],
  ["serve/server.ts"],
  // What runs in the browser knows the types of what it asks.
  ["pages/dashboard/"],
  ["admin/"],
  ["serve/threads/"],
  ["serve/state/"],
  ["serve/limits/"],
  ["serve/load/"],
  ["serve/search/"],
  ["serve/log/"],
  ["serve/process/"],
  ["http/"],
  ["answer.ts"],
  ["pages/"],
  ["access.ts", "conditions.ts", "headers.ts"],
  ["metrics/"],
  ["derive/"],
  ["routes.ts"],
  ["routes/"],
  ["gate/"],
  ["source/"],
  ["generate/", "snapshot/"],
  ["search/"],
  ["store/"],
  ["files/", "folders.ts", "foreign.ts"],
  [
    "body.ts",
    "model.ts",
    "fault.ts",
    "json.ts",
    "message.ts",
    "nearest.ts",
    "settings.ts",
    "observe.ts",
    "package.ts",
    "package-embedded.ts",
    "request-ids.ts",
    "runtime.mjs",
    "sampling.ts",
    "supported.mjs",
    "system-error.ts",
    "time.ts",
    "uuid.ts",
  ],
];

function layerOf(file: string): number {
  return LAYERS.findIndex((names) =>
    names.some((name) => file === name || (name.endsWith("/") && file.startsWith(name))),
  );
}

describe("layers", () => {
  it("hold every file", () => {
    assert.ok(files.length > 40);
    for (const file of files) assert.ok(layerOf(file) >= 0, `${file} is in no layer`);
  });

  it("are imported downwards only", () => {
    let seen = 0;
    for (const file of files) {
      for (const specifier of importsOf(file)) {
        if (!specifier.startsWith(".")) continue;
        const target = relative(SRC, resolve(SRC, dirname(file), specifier));
        assert.ok(layerOf(target) >= layerOf(file), `${file} imports ${target}, which is above it`);
        seen++;
      }
    }
    assert.ok(seen > 100, `only ${seen} imports found`);
  });

  it("have a ground that imports nothing of ours but ground", () => {
    for (const file of LAYERS.at(-1)!) {
      for (const specifier of importsOf(file))
        assert.match(
          specifier,
          /^(\.\/(body|fault|message|model|package)\.ts|\.\/runtime\.mjs|node:\w+)$/,
          `${file}: ${specifier}`,
        );
    }
  });
});

/** Modules that a file names, types included: those of our own. */
function modulesOf(file: string): string[] {
  const found = textOf(file).matchAll(/^(?:import|export)\b[^;]*?from "(\.[^"]+)"|\bimport\("(\.[^"]+)"\)/gm);
  return Array.from(found, ([, first, later]) => relative(SRC, resolve(SRC, dirname(file), first ?? later!)));
}

/** Files that import each other, however many are between: the first such circle. */
function findCircle(modules: ReadonlyMap<string, readonly string[]>): string[] | undefined {
  const done = new Set<string>();
  function walk(file: string, path: readonly string[]): string[] | undefined {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
    if (done.has(file)) return undefined;
    for (const next of modules.get(file) ?? []) {
      const circle = walk(next, [...path, file]);
      if (circle !== undefined) return circle;
    }
    done.add(file);
    return undefined;
  }
  for (const file of modules.keys()) {
    const circle = walk(file, []);
    if (circle !== undefined) return circle;
  }
  return undefined;
}

describe("the client", () => {
  it("imports nothing but types of the model", () => {
    const clients = files.filter((file) => file.startsWith("client/"));
    assert.ok(clients.length > 2);
    for (const file of clients) {
      for (const [statement, specifier] of textOf(file).matchAll(
        /^(?:import|export)\b[^;]*?from "([^"]+)"/gm,
      )) {
        if (/^\.\/[a-z]+\.ts$/.test(specifier!)) continue;
        assert.match(statement, /^(import|export) type [^;]* from "\.\.\/model\.ts"$/, file);
      }
    }
  });
});

describe("imports", () => {
  it("go in no circle, not even for a type or later", () => {
    const modules = new Map(files.map((file) => [file, modulesOf(file)]));
    assert.ok([...modules.values()].flat().length > 300);
    assert.equal(findCircle(modules)?.join(" → "), undefined);
  });

  it("in a circle would be found", () => {
    const modules = (last: string): Map<string, string[]> =>
      new Map([
        ["a", ["b", "d"]],
        ["b", ["c"]],
        ["c", [last]],
      ]);
    assert.deepEqual(findCircle(modules("b")), ["b", "c", "b"]);
    assert.equal(findCircle(modules("d")), undefined);
  });

  it("of what builds an index and of what answers queries do not meet", () => {
    for (const file of files) {
      const other = file.startsWith("search/index/")
        ? "query/"
        : file.startsWith("search/query/")
          ? "index/"
          : "";
      if (other === "" && !file.startsWith("search/shared/")) continue;
      for (const module of modulesOf(file)) {
        const isOther = other === "" ? /^search\/(index|query)\// : new RegExp(`^search/${other}`);
        assert.doesNotMatch(module, isOther, file);
      }
    }
  });
});

/** Most lines of a file, but for one that says why at its top: "Long: …". */
const MOST_LINES = 260;
const MEDIAN_LINES = 90;

describe("files", () => {
  const linesOf = (file: string): number => textOf(file).split("\n").length - 1;

  it("are short, or say at their top why they are not", () => {
    for (const file of files) {
      if (linesOf(file) <= MOST_LINES) continue;
      const [top = ""] = textOf(file).split("*/");
      assert.match(top, /^\/\*\*[\s\S]*\bLong: \w/, `${file} has ${linesOf(file)} lines`);
    }
  });

  it("have few lines in the median", () => {
    const lines = files.map(linesOf).sort((a, b) => a - b);
    assert.ok(lines[lines.length >> 1]! <= MEDIAN_LINES, `${lines[lines.length >> 1]} lines`);
  });
});

describe("packages", () => {
  const importers = (name: string): string[] => files.filter((file) => importsOf(file).includes(name));

  it("are imported in one place each", () => {
    assert.deepEqual(importers("esbuild"), ["pages/make.ts"]);
    assert.deepEqual(importers("fast-json-stringify"), ["store/encoders.ts"]);
    assert.deepEqual(importers("flexsearch"), ["search/similar/candidates.ts"]);
    assert.deepEqual(importers("lru-cache"), ["search/result-cache.ts"]);
    assert.deepEqual(importers("pg"), ["source/postgres.ts"]);
    assert.deepEqual(importers("@redis/client"), ["serve/limits/connection.ts"]);
    assert.deepEqual(importers("pg-copy-streams"), ["source/postgres.ts"]);
    assert.deepEqual(importers("pino"), ["serve/log/log.ts"]);
    assert.deepEqual(importers("prom-client"), ["metrics/exposition.ts"]);
    assert.deepEqual(importers("uplot"), ["pages/dashboard/charts.ts"]);
  });

  it("of similar search are imported by it alone, not by the exact one", () => {
    for (const file of importers("flexsearch")) assert.match(file, /^search\/similar\//);
  });

  it("are few", () => {
    const { dependencies = {} } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
      dependencies?: Record<string, string>;
    };
    assert.ok(Object.keys(dependencies).length <= 6);
    const architecture = readFileSync(join(ROOT, "ARCHITECTURE.md"), "utf8");
    const used = files.flatMap(importsOf).filter((name) => !/^(\.|node:)/.test(name));
    for (const name of new Set([...Object.keys(dependencies), ...used])) {
      assert.match(
        architecture,
        new RegExp(`^\\| ${name} \\| \\w`, "m"),
        `${name} has no reason in ARCHITECTURE.md`,
      );
    }
    const lock = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")) as {
      packages: Record<string, { dev?: boolean; os?: string[]; cpu?: string[]; resolved?: string }>;
    };
    const installed = Object.entries(lock.packages).filter(
      ([path, entry]) =>
        path !== "" &&
        !entry.dev &&
        (entry.os === undefined || entry.os.includes("linux")) &&
        (entry.cpu === undefined || entry.cpu.includes("x64")),
    );
    assert.ok(Object.keys(lock.packages).length > 40, "the lock file is read");
    assert.ok(installed.length <= 40, `${installed.length} packages`);
    for (const [path, entry] of Object.entries(lock.packages)) assert.equal(entry.resolved, undefined, path);
  });
});

describe("the process", () => {
  it("is read by main.ts alone, but for the user's cache folder, which the library asks for as well", () => {
    for (const file of files) {
      if (file === "main.ts") continue;
      const text = file === "mod.ts" ? textOf(file).replace("process.env.XDG_CACHE_HOME", "") : textOf(file);
      assert.doesNotMatch(text, /process\.(argv|env|exit)\b/, file);
    }
  });
});
