/**
 * Makes `.tests/`: each test file bundled with all modules of ours that it imports, as JavaScript, for `npm test`. On
 * Node 20 a TypeScript loader would cost each of sixty processes, and each of their threads, most of a second.
 *
 *     tsx tools/build-tests.ts [--all]
 *
 * With `--all` also makes `.tests/all/` from `test/all`, for `npm run test:all`.
 *
 * A single file runs without a build: `npx tsx --test test/auth.test.ts`.
 */

import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { type BuildOptions, build, type Plugin, transform } from "esbuild";
import { THREADS } from "../src/features.ts";
import { GENERATION_THREAD, SERVING_THREAD } from "../src/util/process/worker-options.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const OUT = join(ROOT, ".tests");

/** The program's threads become JavaScript, too: each would start its own TypeScript loader. */
const MOVED = { from: /\.\.\/(\$\{thread\})\.mjs/, to: "../../.tests/threads/$1.js" };

/** The text of a module, with the new paths of threads. */
function textOf(path: string): string {
  const text = readFileSync(path, "utf8");
  if (path !== join(ROOT, "src/install/package.ts")) return text;
  if (!MOVED.from.test(text)) throw new Error(`${path}: threads are started in another way`);
  return text.replace(MOVED.from, MOVED.to);
}

/** Keeps the URL of each module as in the tree: the code derives paths from it. */
const places: Plugin = {
  name: "places",
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      const contents = textOf(path);
      if (!contents.includes("import.meta.url")) return { contents, loader: "ts" };
      // Not by text replacement: a test may write these words into a program of its own.
      const { code } = await transform(contents, {
        loader: "ts",
        sourcefile: path,
        sourcemap: "inline",
        sourcesContent: false,
        define: { "import.meta.url": JSON.stringify(pathToFileURL(path).href) },
      });
      return { contents: code, loader: "js" };
    });
  },
};

const options: BuildOptions = {
  absWorkingDir: ROOT,
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node20.19",
  packages: "external",
  sourcemap: true,
  sourcesContent: false,
  logLevel: "warning",
  plugins: [places],
};
const filesOf = (folder: string, ending: string): string[] =>
  readdirSync(join(ROOT, folder))
    .filter((name) => name.endsWith(ending))
    .map((name) => `${folder}/${name}`);
const tests = [
  ...filesOf("test", ".test.ts"),
  ...(process.argv.includes("--all") ? filesOf("test/all", ".test.ts") : []),
  // Child programs of tests.
  ...filesOf("test/support", "-child.ts"),
];
rmSync(OUT, { recursive: true, force: true });
await build({ ...options, entryPoints: tests, outbase: "test", outdir: OUT });
await build({
  ...options,
  entryPoints: [GENERATION_THREAD, SERVING_THREAD, ...THREADS].map((path) => `src/${path}.ts`),
  outbase: "src",
  outdir: join(OUT, "threads"),
});
console.log(`.tests/: ${tests.length} files`);
