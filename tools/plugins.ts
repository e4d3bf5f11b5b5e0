/** What the builds put in the place of sources so that the program starts sooner. */

import { createRequire } from "node:module";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import type { Plugin } from "esbuild";
import build from "fast-json-stringify";
import { SCHEMAS, type SchemaName } from "../src/model.ts";
import { encodedSchema } from "../src/store/encoders.ts";

const NAMES = Object.keys(SCHEMAS) as SchemaName[];
const require = createRequire(import.meta.url);

/** The functions that fast-json-stringify makes, made beforehand: it takes a validator and fifty files to make them. */
export const madeEncoders: Plugin = {
  name: "made-encoders",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^encoder:/ }, ({ path }) => ({ path, namespace: "encoder" }));
    // Though the package as a whole may be external.
    onResolve({ filter: /^fast-json-stringify\/lib\// }, ({ path }) => ({ path: require.resolve(path) }));
    onLoad({ filter: /\/store\/encoders\.ts$/ }, () => ({
      contents: [
        ...NAMES.map((name) => `import ${name} from "encoder:${name}";`),
        `export const ENCODERS = { ${NAMES.join(", ")} };`,
      ].join("\n"),
    }));
    onLoad({ filter: /./, namespace: "encoder" }, ({ path }) => ({
      contents: String(
        build(encodedSchema(path.slice("encoder:".length) as SchemaName), { mode: "standalone" }),
      ),
      resolveDir: dirname(require.resolve("fast-json-stringify")),
    }));
  },
};

/** What of `node:http` the program uses. */
const HTTP = ["createServer", "maxHeaderSize", "STATUS_CODES"];

/** To import `node:http` as a module makes all of its exports, among them a WebSocket client, which takes as long as all else in it. */
export const leanHttp: Plugin = {
  name: "lean-http",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^node:http$/ }, () => ({ path: "http", namespace: "lean" }));
    // A Node that is too old for this is told so.
    onLoad({ filter: /./, namespace: "lean" }, () => ({
      contents: `import "./supported.mjs";
        const http = process.getBuiltinModule("node:http");
        export const { ${HTTP.join(", ")} } = http;
        export default http;`,
      resolveDir: fileURLToPath(new URL("../src", import.meta.url)),
    }));
  },
};
