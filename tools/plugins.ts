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

/** Lazy imports that a server nearly always needs. */
const NEEDED_BY_SERVERS: Readonly<Record<string, string>> = {
  "/src/cli/commands.ts": "./serve",
  "/src/server/open.ts": "./load/loader",
};

/** Makes a program of the serving commands alone, in one file. */
export const serverAlone: Plugin = {
  name: "server-alone",
  setup({ onLoad, onResolve }) {
    onLoad({ filter: /\/src\/(cli\/commands|server\/open)\.ts$/ }, ({ path }) => {
      const names = Object.entries(NEEDED_BY_SERVERS).find(([file]) => path.endsWith(file))![1];
      const imports: string[] = [];
      const text = readFileSync(path, "utf8");
      const contents = replaceAll(
        text,
        new RegExp(`await import\\("(${names.replaceAll(".", "\\.")})\\.ts"\\)`, "g"),
        (name) => {
          const variable = `needed${imports.length}`;
          imports.push(`import * as ${variable} from "${name}.ts";`);
          return variable;
        },
      );
      return { contents: `${imports.join("\n")}\n${contents}`, loader: "ts" };
    });
    // The other commands are in the other program.
    onResolve({ filter: /./ }, ({ kind, importer }) =>
      kind === "dynamic-import" && /\/src\/[^/]+\/commands\.ts$/.test(importer)
        ? { path: "./program.js", external: true }
        : undefined,
    );
  },
};

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

/** Leaves the serving commands out of the program of all others. */
export const othersAlone: Plugin = {
  name: "others-alone",
  setup: ({ onResolve }) =>
    onResolve({ filter: /^\.\/serve\.ts$/ }, ({ kind }) =>
      kind === "dynamic-import" ? { path: "./server.js", external: true } : undefined,
    ),
};

/** Makes `launch.mjs` start the server program for a serving command. */
export const startsServer: Plugin = {
  name: "starts-server",
  setup: ({ onLoad }) =>
    onLoad({ filter: /\/src\/install\/launch\.mjs$/ }, ({ path }) => ({
      contents: replaceAll(
        readFileSync(path, "utf8"),
        /import\("\.\.\/main\.ts"\)/,
        () => 'import(isServer ? "./server.js" : "./program.js")',
      ),
    })),
};
