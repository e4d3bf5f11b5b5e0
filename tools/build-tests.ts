/**
 * Makes `.tests/`: each test file with all of ours that it imports, as one file of JavaScript. `npm test` runs these,
 * since on Node 20 a runner of TypeScript costs each of sixty processes most of a second.
 *
 *     tsx tools/build-tests.ts
 *
 * One file alone runs as it is: `npx tsx --test test/gate.test.ts`.
 */

import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build, type Plugin } from "esbuild";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const OUT = join(ROOT, ".tests");

/** Every module keeps the place that it has in the tree: paths are made from it. */
const places: Plugin = {
  name: "places",
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, ({ path }) => ({
      contents: readFileSync(path, "utf8").replaceAll(
        "import.meta.url",
        JSON.stringify(pathToFileURL(path).href),
      ),
      loader: "ts",
    }));
  },
};

const tests = readdirSync(join(ROOT, "test")).filter((name) => name.endsWith(".test.ts"));
rmSync(OUT, { recursive: true, force: true });
await build({
  absWorkingDir: ROOT,
  entryPoints: tests.map((name) => `test/${name}`),
  outdir: OUT,
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node20.19",
  packages: "external",
  sourcemap: true,
  sourcesContent: false,
  logLevel: "warning",
  plugins: [places],
});
console.log(`.tests/: ${tests.length} files`);
