/**
 * The package's own files. In a checkout this file lies in `src/install/`; the build puts all of the program side by
 * side into `dist/`. In the one-file program `package-embedded.ts` takes its place.
 */

import { existsSync, readFileSync } from "node:fs";
import { basename, extname } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

/**
 * URL of this file. A CommonJS bundle has `__filename` in place of `import.meta`. In a variable, since webpack would
 * bundle and rename all files that a `new URL` with the expression itself may match.
 */
const HERE = (import.meta.url as string | undefined) ?? pathToFileURL(__filename).href;

const IS_SOURCE = HERE.endsWith(".ts");

function packageFile(path: string): URL {
  return new URL(IS_SOURCE ? `../../${path}` : `../${path}`, HERE);
}

/** The text of package.json. @throws when it cannot be read */
export function packageJson(): string {
  return readFileSync(packageFile("package.json"), "utf8");
}

/** The folder of the sample snapshot. @param _spare a folder of the caller's, for a sample that is in no folder yet */
export function sampleFolder(_spare: string): string {
  return fileURLToPath(packageFile("data/sample"));
}

/** The text of a set of pages, which the build has made. @throws when it cannot be read */
export function pagesText(name: string): string {
  return readFileSync(new URL(`./pages-${name}.json`, HERE), "utf8");
}

/**
 * The entry of a worker: its file, or the text of a program. Node 20 cannot start a worker from a `.ts` file, so sources
 * have an `.mjs` beside it. `thread` is the path of the entry from the folder of sources, without an extension.
 */
export function workerEntry(thread: string): URL | string {
  if (IS_SOURCE) return new URL(`../${thread}.mjs`, HERE);
  // A bundle of CommonJS in a package of modules must have `.cjs`, and so must its threads.
  const alike = new URL(`./${basename(thread)}${extname(HERE)}`, HERE);
  const plain = new URL(`./${basename(thread)}.js`, HERE);
  return existsSync(plain) && !existsSync(alike) ? plain : alike;
}

function isBundled(): boolean {
  try {
    return (JSON.parse(packageJson()) as { name?: unknown }).name !== "orrery";
  } catch {
    return true;
  }
}

/** The worker's file that is missing from an embedder's bundle of the library; undefined in all other cases. */
export function missingFromBundle(thread: string): string | undefined {
  const entry = workerEntry(thread);
  if (typeof entry === "string" || !isBundled()) return undefined;
  const file = fileURLToPath(entry);
  return existsSync(file) ? undefined : file;
}
