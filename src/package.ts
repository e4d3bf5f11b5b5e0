/**
 * Where the package's own files are. In a checkout this file lies in `src/`; the
 * build puts all of the program side by side into `dist/`. Both are one folder
 * below the root.
 */

const IS_SOURCE = import.meta.url.endsWith(".ts");

/** A file of the package, by its path from the root. */
export function packageFile(path: string): URL {
  return new URL(`../${path}`, import.meta.url);
}

/** The file that a worker is started from. Node 20 cannot start one from a `.ts` file, so sources have an `.mjs` beside it. */
export function workerEntry(name: "generation-thread" | "serving-thread"): URL {
  return new URL(IS_SOURCE ? `./serve/${name}.mjs` : `./${name}.js`, import.meta.url);
}
