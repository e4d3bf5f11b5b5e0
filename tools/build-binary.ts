/**
 * Makes `dist/orrery`: the whole program as one executable file, for machines without Node. It is a Node that contains
 * the program, its threads and the sample ("single executable application").
 *
 *     npm run build:binary
 *     npm run build:binary -- --out FILE
 *
 * Writes the licences of the contents beside it.
 *
 * Uses the Node that runs this script if that is of NODE_MAJOR, else the newest of NODE_MAJOR from npm.
 */

import { execFileSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { builtinModules } from "node:module";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { build, type Plugin } from "esbuild";
import { inject } from "postject";
import { makePages } from "../src/api/pages/make.ts";
import { PAGES, THREADS } from "../src/features.ts";
import { GENERATION_THREAD, SERVING_THREAD } from "../src/util/process/worker-options.ts";
import { licencesOf, packagesIn } from "./licences.ts";
import { madeEncoders } from "./plugins.ts";

/** The long-term support version: such an executable can hold flags for Node, and its threads can share a port. */
const NODE_MAJOR = 24;

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const { values } = parseArgs({ options: { out: { type: "string", default: join(ROOT, "dist/orrery") } } });
const OUT = resolve(values.out);

/** Paths of the threads; their last parts are the names of assets. */
const ALL_THREADS = [GENERATION_THREAD, SERVING_THREAD, ...THREADS];

const embedded: Plugin = {
  name: "embedded",
  setup: ({ onResolve }) =>
    onResolve({ filter: /\/package\.ts$/, namespace: "file" }, () => ({
      path: join(ROOT, "src/install/package-embedded.ts"),
    })),
};

/** Leaves out optional native packages, which cannot go into one file, and unused ones: this Node reads `HTTPS_PROXY` itself. */
const withoutNative: Plugin = {
  name: "without-native",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(pg-native|proxy-agent|@node-rs\/xxhash|@opentelemetry\/api)$/ }, ({ path }) => ({
      path,
      namespace: "without",
    }));
    onLoad({ filter: /./, namespace: "without" }, () => ({ contents: "" }));
  },
};

/**
 * Bundles the whole program with its packages as CommonJS, the format that a single executable starts.
 *
 * @returns the licences of the contents
 */
async function bundle(folder: string): Promise<string> {
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: {
      main: "src/install/launch.mjs",
      ...Object.fromEntries(ALL_THREADS.map((path) => [basename(path), `src/${path}.ts`])),
    },
    outdir: folder,
    bundle: true,
    format: "cjs",
    platform: "node",
    target: `node${NODE_MAJOR}`,
    define: { IS_BUILT: "true" },
    minify: true,
    keepNames: true,
    metafile: true,
    logLevel: "warning",
    plugins: [embedded, madeEncoders, withoutNative],
  });
  for (const { imports } of Object.values(metafile.outputs)) {
    for (const { path, external } of imports) {
      if (external && !builtinModules.includes(path.replace(/^node:/, "")) && path !== "node:sea") {
        throw new Error(`${path} would have to be installed beside the executable`);
      }
    }
  }
  for (const source of PAGES) {
    writeFileSync(join(folder, `pages-${source.name}.json`), JSON.stringify(await makePages(source)));
  }
  return licencesOf(metafile, packagesIn(PAGES));
}

/** The path of the Node to put the program into. */
function findNode(): string {
  if (process.versions.node.startsWith(`${NODE_MAJOR}.`)) return process.execPath;
  const command = ["-y", "-p", `node@${NODE_MAJOR}`, "node", "-p", "process.execPath"];
  return execFileSync("npx", command, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] }).trim();
}

/** The licences of a Node and its contents; npm's package of Node has none. */
function licenceOf(node: string): string {
  const file = join(dirname(node), "../LICENSE");
  if (existsSync(file)) return readFileSync(file, "utf8");
  return "Node.js: https://github.com/nodejs/node/blob/main/LICENSE\n";
}

/**
 * Removes symbols and debugging information (a fifth of the file) if binutils are installed. Postject would make a
 * section of each of the compiler's notes, and warn that it has no name.
 */
function strip(file: string): void {
  try {
    execFileSync("strip", ["--strip-all", "--remove-section=.gnu.build.attributes", file], {
      stdio: "ignore",
    });
  } catch {
    console.log("without `strip` the file keeps its symbols");
  }
}

/** The note with the blob has no name and needs none: Node finds it by its contents. */
const NAMELESS_NOTE = "warning: Can't find string offset for section name '.note'";

/** Puts the blob into a Node. */
async function injectBlob(file: string, blob: Buffer): Promise<void> {
  const { warn } = console;
  console.warn = (text: unknown) => {
    if (text !== NAMELESS_NOTE) warn(text);
  };
  try {
    const sentinelFuse = "NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2";
    await inject(file, "NODE_SEA_BLOB", blob, { sentinelFuse });
  } finally {
    console.warn = warn;
  }
}

/** Node's configuration of the blob: its contents and start options. */
function configuration(folder: string): string {
  const sample = join(ROOT, "data/sample");
  const names = readdirSync(sample).sort();
  writeFileSync(join(folder, "sample-files"), names.join("\n"));
  const file = join(folder, "sea.json");
  const settings = {
    main: join(folder, "main.js"),
    output: join(folder, "blob"),
    disableExperimentalSEAWarning: true,
    useCodeCache: true,
    // As in the first line of bin/orrery.mjs; see the reason there.
    execArgv: ["--v8-pool-size=1"],
    assets: {
      "package.json": join(ROOT, "package.json"),
      "sample-files": join(folder, "sample-files"),
      ...Object.fromEntries(
        ALL_THREADS.map((path) => [basename(path), join(folder, `${basename(path)}.js`)]),
      ),
      ...Object.fromEntries(
        PAGES.map(({ name }) => [`pages-${name}.json`, join(folder, `pages-${name}.json`)]),
      ),
      ...Object.fromEntries(names.map((name) => [`sample/${name}`, join(sample, name)])),
    },
  };
  writeFileSync(file, JSON.stringify(settings));
  return file;
}

if (process.platform !== "linux") throw new Error("the executable is made on Linux only");
const folder = mkdtempSync(join(tmpdir(), "orrery-binary-"));
/** A temporary name, so that a failed or killed build leaves the old file. */
const next = `${OUT}.${process.pid}`;
try {
  const licences = await bundle(folder);
  const node = findNode();
  execFileSync(node, ["--experimental-sea-config", configuration(folder)], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  mkdirSync(dirname(OUT), { recursive: true });
  copyFileSync(node, next);
  chmodSync(next, 0o755);
  strip(next);
  await injectBlob(next, readFileSync(join(folder, "blob")));
  writeFileSync(`${OUT}.LICENSES.txt`, `${licenceOf(node)}\n${"-".repeat(80)}\n\n${licences}`);
  renameSync(next, OUT);
} finally {
  rmSync(folder, { recursive: true, force: true });
  rmSync(next, { force: true });
}
console.log(`${OUT}: ${(statSync(OUT).size / 1e6).toFixed(0)} MB`);
