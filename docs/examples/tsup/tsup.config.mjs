import { fileURLToPath } from "node:url";

const fileOf = (name) => fileURLToPath(import.meta.resolve(name));
const js = 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);';
export default {
  // The threads' files must lie beside the bundle, under these names.
  entry: {
    app: "../bundled.mjs",
    "generation-thread": fileOf("orrery/generation-thread"),
    "similar-thread": fileOf("orrery/similar-thread"),
  },
  ...{ format: "esm", platform: "node", outDir: "out", banner: { js }, noExternal: [/./] },
  external: ["pg", "pg-copy-streams", "@redis/client"],
};
