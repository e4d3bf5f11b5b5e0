import { build } from "esbuild";

const format = process.argv[2] ?? "esm";
// Dependencies that are CommonJS modules call `require`.
const js = 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);';
await build({
  // The threads' files must lie beside the bundle, under these names.
  entryPoints: {
    app: "../bundled.mjs",
    "generation-thread": "orrery/generation-thread",
    "similar-thread": "orrery/similar-thread",
  },
  ...{ bundle: true, platform: "node", format, outdir: `out-${format}` },
  ...(format === "esm" ? { banner: { js } } : { outExtension: { ".js": ".cjs" } }),
});
