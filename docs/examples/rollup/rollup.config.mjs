import commonjs from "@rollup/plugin-commonjs";
import json from "@rollup/plugin-json";
import resolve from "@rollup/plugin-node-resolve";

export default {
  // The thread's file must lie beside the bundle, under this name.
  input: { app: "../bundled.mjs", "generation-thread": "orrery/generation-thread" },
  output: { dir: "out", format: "esm", entryFileNames: "[name].js" },
  external: ["pg", "pg-copy-streams", "@redis/client"],
  plugins: [resolve({ preferBuiltins: true }), commonjs(), json()],
};
