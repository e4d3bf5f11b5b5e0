import commonjs from "@rollup/plugin-commonjs";
import json from "@rollup/plugin-json";
import resolve from "@rollup/plugin-node-resolve";

export default {
  // The threads' files must lie beside the bundle, under these names.
  input: {
    app: "../bundled.mjs",
    "generation-thread": "orrery/generation-thread",
    "similar-thread": "orrery/similar-thread",
  },
  output: { dir: "out", format: "esm", entryFileNames: "[name].js" },
  external: ["pg", "pg-copy-streams", "@redis/client"],
  plugins: [resolve({ preferBuiltins: true }), commonjs(), json()],
};
