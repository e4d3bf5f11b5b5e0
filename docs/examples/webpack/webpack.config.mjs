export default {
  ...{ mode: "production", target: "node20", experiments: { outputModule: true } },
  // The threads' files must lie beside the bundle, under these names.
  entry: {
    app: "../bundled.mjs",
    "generation-thread": "orrery/generation-thread",
    "similar-thread": "orrery/similar-thread",
  },
  output: { path: `${import.meta.dirname}/out`, filename: "[name].js", module: true, chunkFormat: "module" },
  // Otherwise the place of the installed package stands in the bundle.
  module: { parser: { javascript: { importMeta: false } } },
  externals: ["pg", "pg-copy-streams", "@redis/client"],
};
