/**
 * Makes `dist/`, which is what the package installs: the program as JavaScript with source maps, bundled so that it
 * starts quickly, and the declarations of the library and the client.
 *
 *     npm run build               all of it
 *     npm run build -- --program  without declarations, which take a second; for tests and benches
 */

import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type BuildOptions, build } from "esbuild";
import { makePages, packagesIn } from "../src/api/pages/make.ts";
import { PAGES, THREADS } from "../src/features.ts";
import { GENERATION_THREAD, SERVING_THREAD } from "../src/util/process/worker-options.ts";
import { copyDeclarations } from "./declarations.ts";
import { checkLocked, licencesOf, OPTIONAL_PEERS } from "./licences.ts";
import {
  leanHttp,
  madeEncoders,
  othersAlone,
  serverAlone,
  startsServer,
  withoutCommands,
} from "./plugins.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const DIST = join(ROOT, "dist");
/** Beside its place, so that a build that fails or is ended leaves the old one. */
const NEW = join(ROOT, `.dist-${process.pid}`);
const OLD = `${NEW}-old`;
/** Threads that the library starts. */
const LIBRARY_THREADS = [GENERATION_THREAD, ...THREADS];
const ALL_TYPES = join(NEW, "all-types");

const OPTIONS: BuildOptions = {
  absWorkingDir: ROOT,
  outdir: NEW,
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node20.19",
  sourcemap: true,
  // The map alone says where a line comes from: the sources would double the package.
  sourcesContent: false,
  define: { IS_BUILT: "true" },
  logLevel: "warning",
};

try {
  // The library and its threads import the packages of an installation, which audits and licence tools can see.
  // All of it lies side by side in one folder; `src/install/package.ts` counts on that.
  await build({
    ...OPTIONS,
    entryPoints: {
      mod: "src/mod.ts",
      ...Object.fromEntries(LIBRARY_THREADS.map((path) => [basename(path), `src/${path}.ts`])),
    },
    splitting: true,
    packages: "external",
    plugins: [withoutCommands, madeEncoders, leanHttp],
  });
  // The command takes the same packages into itself, so that it starts quickly.
  const { metafile } = await build({
    ...OPTIONS,
    entryPoints: { program: "src/main.ts", "serving-thread": `src/${SERVING_THREAD}.ts` },
    splitting: true,
    external: OPTIONAL_PEERS,
    metafile: true,
    plugins: [othersAlone, madeEncoders, leanHttp],
  });
  // Once more for what serves, all in one file: to find, read and link forty of them takes a good part of a start.
  const server = await build({
    ...OPTIONS,
    entryPoints: { server: "src/main.ts" },
    chunkNames: "server-[name]-[hash]",
    splitting: true,
    external: OPTIONAL_PEERS,
    metafile: true,
    plugins: [serverAlone, madeEncoders, leanHttp],
    // For packages of CommonJS.
    banner: {
      js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);',
    },
  });
  // By itself, since what it says of missing files must not depend on any.
  await build({
    ...OPTIONS,
    entryPoints: { main: "src/install/launch.mjs" },
    external: ["./program.js", "./server.js"],
    plugins: [startsServer],
  });
  // For browsers, too: one file that imports nothing.
  await build({
    ...OPTIONS,
    entryPoints: { client: "src/client/mod.ts" },
    platform: "neutral",
    target: "es2022",
  });
  for (const source of PAGES) {
    writeFileSync(join(NEW, `pages-${source.name}.json`), JSON.stringify(await makePages(source)));
  }
  const inputs = { ...metafile.inputs, ...server.metafile.inputs };
  checkLocked({ inputs });
  writeFileSync(join(NEW, "THIRD-PARTY-LICENSES.txt"), licencesOf({ inputs }, packagesIn(PAGES)));
  if (!process.argv.includes("--program")) {
    const tsc = join(ROOT, "node_modules/.bin/tsc");
    execFileSync(tsc, ["-p", "tsconfig.build.json", "--outDir", ALL_TYPES], {
      cwd: ROOT,
      stdio: "inherit",
    });
    for (const entry of ["mod.d.ts", "client/mod.d.ts"])
      copyDeclarations(ALL_TYPES, join(NEW, "types"), entry);
    rmSync(ALL_TYPES, { recursive: true });
    // The threads export nothing: bundlers take their files.
    writeFileSync(join(NEW, "types/thread.d.ts"), "export {};\n");
  }
  // What `npm run build:binary` made is that command's.
  for (const name of ["orrery", "orrery.LICENSES.txt"]) {
    if (existsSync(join(DIST, name))) renameSync(join(DIST, name), join(NEW, name));
  }
  // The old one stays until the new one takes its place: it may be in use.
  if (existsSync(DIST)) renameSync(DIST, OLD);
  renameSync(NEW, DIST);
} finally {
  for (const folder of [NEW, OLD]) rmSync(folder, { recursive: true, force: true });
}

const files = readdirSync(DIST, { recursive: true });
console.log(`dist/: ${files.length} files`);
