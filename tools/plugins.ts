/** Replacements of sources in the builds, for a quicker start of the program. */

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import type { Plugin } from "esbuild";
import build from "fast-json-stringify";
import { RESOURCE_NAMES, type ResourceName } from "../src/model/schema.ts";
import { encodedSchema } from "../src/store/encoders.ts";

const require = createRequire(import.meta.url);

/** The encoder module printed by fast-json-stringify, turned into an ES module. */
function encoderModule(name: ResourceName): string {
  const printed = String(build(encodedSchema(name), { mode: "standalone" }));
  const imports = replaceAll(
    printed,
    /const (\w+) = require\('([^']+)'\)/g,
    (variable, module) => `import ${variable} from "${module}.js"`,
  );
  return `${replaceAll(imports, /module\.exports =/g, () => "const encoder =")}\nexport default encoder;`;
}

/** Builds the functions of fast-json-stringify ahead of time: at run time it needs a validator and fifty files. */
export const madeEncoders: Plugin = {
  name: "made-encoders",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^encoder:/ }, ({ path }) => ({ path, namespace: "encoder" }));
    onLoad({ filter: /\/store\/encoders\.ts$/ }, () => ({
      contents: [
        ...RESOURCE_NAMES.map((name) => `import ${name} from "encoder:${name}";`),
        `export const ENCODERS = { ${RESOURCE_NAMES.join(", ")} };`,
      ].join("\n"),
    }));
    onLoad({ filter: /./, namespace: "encoder" }, ({ path }) => ({
      contents: encoderModule(path.slice("encoder:".length) as ResourceName),
      resolveDir: dirname(require.resolve("fast-json-stringify")),
    }));
  },
};

/** Exports of `node:http` that the program uses. */
const HTTP = ["Agent", "createServer", "IncomingMessage", "maxHeaderSize", "request", "STATUS_CODES"];

/** An import of `node:http` evaluates all its exports, and the WebSocket client among them takes as long as all others. */
export const leanHttp: Plugin = {
  name: "lean-http",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^node:http$/ }, () => ({ path: "http", namespace: "lean" }));
    // Reports a Node that is too old for this.
    onLoad({ filter: /./, namespace: "lean" }, () => ({
      contents: `import "./install/supported.mjs";
        const http = process.getBuiltinModule("node:http");
        export const { ${HTTP.join(", ")} } = http;
        export default http;`,
      resolveDir: fileURLToPath(new URL("../src", import.meta.url)),
    }));
  },
};

/** Replaces text. @throws if no text matches */
function replaceAll(text: string, what: RegExp, by: (...groups: string[]) => string): string {
  const replaced = text.replace(what, (_, ...groups) => by(...groups));
  if (replaced === text) throw new Error(`${what} is nowhere`);
  return replaced;
}

/** Replaces the exports of modules that only commands need by empty lists: the library names them with the features. */
export const withoutCommands: Plugin = {
  name: "without-commands",
  setup: ({ onLoad }) =>
    onLoad({ filter: /\/src\/.+\/commands\.ts$/ }, ({ path }) => ({
      contents: readFileSync(path, "utf8")
        .match(/(?<=^export (const|async function) )\w+/gm)!
        .map((name) => `export const ${name} = [];`)
        .join("\n"),
    })),
};

/** Makes `launch.mjs` start the built program. */
export const startsProgram: Plugin = {
  name: "starts-program",
  setup: ({ onResolve }) =>
    onResolve({ filter: /\/main\.ts$/ }, () => ({ path: "./program.js", external: true })),
};
