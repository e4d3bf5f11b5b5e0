/**
 * Makes `dist/`, which is what the package installs: the program as JavaScript with source maps, bundled so that it
 * starts quickly, and the declarations of the library.
 *
 *     npm run build               all of it
 *     npm run build -- --program  without declarations, which take a second; for tests and benches
 */

import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, type Metafile } from "esbuild";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const DIST = join(ROOT, "dist");
/** Beside its place, so that a build that fails or is ended leaves the old one. */
const NEW = join(ROOT, `.dist-${process.pid}`);
const ALL_TYPES = join(NEW, "all-types");

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
}

/** The licences of the packages that became part of the program. */
function licencesOf({ inputs }: Metafile): string {
  const folders = Object.keys(inputs).flatMap(
    (file) => /^.*node_modules\/(@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? [],
  );
  const texts = [...new Set(folders)].sort().map((folder) => {
    const { name, version, license } = readManifest(join(ROOT, folder));
    const file = readdirSync(join(ROOT, folder)).find((entry) => /^licen[cs]e/i.test(entry));
    if (file === undefined) throw new Error(`${name} has no licence to be passed on`);
    return `${name} ${version} (${license})\n\n${readFileSync(join(ROOT, folder, file), "utf8").trim()}\n`;
  });
  return texts.join(`\n${"-".repeat(80)}\n\n`);
}

/** Copies the declarations of the library, and those that they lead to. */
function copyDeclarations(from: string, to: string, file = "mod.d.ts"): void {
  if (existsSync(join(to, file))) return;
  mkdirSync(dirname(join(to, file)), { recursive: true });
  copyFileSync(join(from, file), join(to, file));
  for (const [, next] of readFileSync(join(from, file), "utf8").matchAll(/\bfrom "(\.[^"]+)\.ts"/g)) {
    copyDeclarations(from, to, join(dirname(file), `${next}.d.ts`));
  }
}

try {
  const { metafile } = await build({
    absWorkingDir: ROOT,
    // All of it lies side by side in one folder; `src/package.ts` counts on that.
    entryPoints: [
      "src/mod.ts",
      "src/main.ts",
      "src/serve/generation-thread.ts",
      "src/serve/serving-thread.ts",
    ],
    entryNames: "[name]",
    outdir: NEW,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20.19",
    // What an installation brings stays outside. The others become part of the program; see ARCHITECTURE.md.
    external: Object.keys(readManifest(ROOT).dependencies ?? {}),
    metafile: true,
    sourcemap: true,
    // The map alone says where a line comes from: the sources would double the package.
    sourcesContent: false,
    logLevel: "warning",
  });
  writeFileSync(join(NEW, "THIRD-PARTY-LICENSES.txt"), licencesOf(metafile));
  if (!process.argv.includes("--program")) {
    const tsc = join(ROOT, "node_modules/.bin/tsc");
    execFileSync(tsc, ["-p", "tsconfig.build.json", "--outDir", ALL_TYPES], {
      cwd: ROOT,
      stdio: "inherit",
    });
    copyDeclarations(ALL_TYPES, join(NEW, "types"));
    rmSync(ALL_TYPES, { recursive: true });
  }
  rmSync(DIST, { recursive: true, force: true });
  renameSync(NEW, DIST);
} finally {
  rmSync(NEW, { recursive: true, force: true });
}

const files = readdirSync(DIST, { recursive: true });
console.log(`dist/: ${files.length} files`);
