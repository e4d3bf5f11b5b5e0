/**
 * Makes `dist/`, the contents of the package: the program as JavaScript with source maps, bundled for a quick start, and
 * the declarations of the library and the client.
 *
 *     npm run build               all of it
 *     npm run build -- --program  without declarations, which take a second; for tests and benches
 */

import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type BuildOptions, build } from "esbuild";
import { makePages } from "../src/api/pages/make.ts";
import { PAGES, THREADS } from "../src/features.ts";
import { GENERATION_THREAD, SERVING_THREAD } from "../src/util/process/worker-options.ts";
import { copyDeclarations } from "./declarations.ts";
import { checkLocked, licencesOf, OPTIONAL_PEERS, packagesIn } from "./licences.ts";
import { leanHttp, madeEncoders, startsProgram, withoutCommands } from "./plugins.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const DIST = join(ROOT, "dist");
/** A temporary name, so that a failed or killed build leaves the old folder. */
const NEW = join(ROOT, `.dist-${process.pid}`);
const OLD = `${NEW}-old`;
const ALL_THREADS = [GENERATION_THREAD, SERVING_THREAD, ...THREADS];
const ALL_TYPES = join(NEW, "all-types");

const OPTIONS: BuildOptions = {
  absWorkingDir: ROOT,
  outdir: NEW,
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node20.19",
  sourcemap: true,
  // The maps hold positions alone: the sources would double the package.
  sourcesContent: false,
  define: { IS_BUILT: "true" },
  logLevel: "warning",
};

try {
  // The library and all threads import the installed packages, so that audits and licence tools can see them.
  // All files lie in one folder; `src/install/package.ts` relies on that.
  await build({
    ...OPTIONS,
    entryPoints: {
      mod: "src/mod.ts",
      ...Object.fromEntries(ALL_THREADS.map((path) => [basename(path), `src/${path}.ts`])),
    },
    splitting: true,
    packages: "external",
    plugins: [withoutCommands, madeEncoders, leanHttp],
  });
  // The command is one file with its packages: to find, read and link many files takes a good part of a start.
  const { metafile } = await build({
    ...OPTIONS,
    entryPoints: { program: "src/main.ts" },
    external: OPTIONAL_PEERS,
    metafile: true,
    plugins: [madeEncoders, leanHttp],
    // For CommonJS packages.
    banner: {
      js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);',
    },
  });
  // A separate file: its message about missing files must not depend on any of them.
  await build({
    ...OPTIONS,
    entryPoints: { main: "src/install/launch.mjs" },
    plugins: [startsProgram],
  });
  // The client also runs in browsers: one file without imports.
  await build({
    ...OPTIONS,
    entryPoints: { client: "src/client/mod.ts" },
    platform: "neutral",
    target: "es2022",
  });
  for (const source of PAGES) {
    writeFileSync(join(NEW, `pages-${source.name}.json`), JSON.stringify(await makePages(source)));
  }
  checkLocked(metafile);
  writeFileSync(join(NEW, "THIRD-PARTY-LICENSES.txt"), licencesOf(metafile, packagesIn(PAGES)));
  if (!process.argv.includes("--program")) {
    const tsc = join(ROOT, "node_modules/.bin/tsc");
    execFileSync(tsc, ["-p", "tsconfig.build.json", "--outDir", ALL_TYPES], {
      cwd: ROOT,
      stdio: "inherit",
    });
    for (const entry of ["mod.d.ts", "client/mod.d.ts"])
      copyDeclarations(ALL_TYPES, join(NEW, "types"), entry);
    rmSync(ALL_TYPES, { recursive: true });
    // The threads export nothing: bundlers only need their files.
    writeFileSync(join(NEW, "types/thread.d.ts"), "export {};\n");
  }
  // Keeps the output of `npm run build:binary`.
  for (const name of ["orrery", "orrery.LICENSES.txt"]) {
    if (existsSync(join(DIST, name))) renameSync(join(DIST, name), join(NEW, name));
  }
  // The old folder stays until the new one replaces it: it may be in use.
  if (existsSync(DIST)) renameSync(DIST, OLD);
  renameSync(NEW, DIST);
} finally {
  for (const folder of [NEW, OLD]) rmSync(folder, { recursive: true, force: true });
}

const files = readdirSync(DIST, { recursive: true });
console.log(`dist/: ${files.length} files`);
