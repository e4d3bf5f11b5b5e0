import { build } from "esbuild";

const format = process.argv[2] ?? "esm";
// Dependencies that are CommonJS modules call `require`.
const js = 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);';
await build({
  // The thread's file must lie beside the bundle, under this name.
  entryPoints: { app: "../bundled.mjs", "generation-thread": "orrery/generation-thread" },
  ...{ bundle: true, platform: "node", format, outdir: `out-${format}` },
  ...(format === "esm" ? { banner: { js } } : {}),
});
