/**
 * The OpenAPI document under common tools: Redocly's linter, Spectral's rules for OpenAPI, and the types that
 * openapi-typescript generates from it.
 *
 * They are installed separately: `npm ci --prefix tools/openapi`.
 */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import { ROUTES } from "../../src/api/routes.ts";
import { createOpenApi } from "../../src/docs-page/openapi.ts";
import { temporaryFolder } from "../support/folders.ts";
import { unavailable } from "../support/need.ts";
import { keyRecord, writeKeys } from "../support/place.ts";
import { runWell, type Served, serve } from "../support/process.ts";
import { ROOT, runTsc } from "../support/program.ts";

const TOOLS = join(ROOT, "tools/openapi");
const isInstalled = existsSync(join(TOOLS, "node_modules"));
const skip = !isInstalled && unavailable("tools/openapi is not installed: npm ci --prefix tools/openapi");

const folder = temporaryFolder();

/** Runs a program in the tools' folder over documents; returns its result for each. */
function judge(program: string, ...documents: readonly object[]): unknown[] {
  const files = documents.map((text, at) => {
    const file = join(folder, `document-${at}.json`);
    writeFileSync(file, JSON.stringify(text));
    return file;
  });
  const all = `${program}
    const said = [];
    for (const file of process.argv.slice(1)) said.push(await judge(file));
    console.log(JSON.stringify(said));`;
  const args = ["--input-type=module", "--eval", all, ...files];
  return JSON.parse(execFileSync(process.execPath, args, { cwd: TOOLS, encoding: "utf8" }));
}

const REDOCLY = `
  import { createConfig, lint } from "@redocly/openapi-core";
  const config = await createConfig({ extends: ["recommended"] });
  const judge = async (file) =>
    (await lint({ ref: file, config })).map(({ ruleId, severity, message }) => [severity, ruleId, message].join(" "));
`;

const SPECTRAL = `
  import { readFileSync } from "node:fs";
  import core from "@stoplight/spectral-core";
  import rulesets from "@stoplight/spectral-rulesets";
  const spectral = new core.Spectral();
  spectral.setRuleset({ extends: [rulesets.oas], rules: {} });
  const judge = async (file) =>
    (await spectral.run(JSON.parse(readFileSync(file, "utf8")))).map(({ code, path, message }) =>
      [code, path.join("."), message].join(" "));
`;

const TYPES = `
  import { readFileSync } from "node:fs";
  import openapiTS, { astToString } from "openapi-typescript";
  const judge = async (file) => astToString(await openapiTS(JSON.parse(readFileSync(file, "utf8"))));
`;

/** A program that compiles only if the types describe the replies correctly. */
const USE = `
import type { components, operations, paths } from "./types.js";
type Reply<Name extends keyof operations, Status extends keyof operations[Name]["responses"]> =
  operations[Name]["responses"][Status] extends { content: { "application/json": infer Body } } ? Body : never;
export const world = (page: Reply<"listWorlds", 200>): string | undefined => page.data[0]?.name;
export const period = (page: Reply<"listPopularWorlds", 200>): "all" | "week" | "month" => page.period;
export const visits = ({ data }: Reply<"getWorldStats", 200>): number => data.visitsLast7Days;
export const total = ({ pagination }: Reply<"searchUsers", 200>): components["schemas"]["Pagination"]["total"] => pagination.total;
export const message = (reply: Reply<"getUser", 404> | Reply<"getStats", 429>): string => reply.error;
export const path: keyof paths = "/worlds/{id}/instances";
// @ts-expect-error
export const nothing = (page: Reply<"listWorlds", 200>) => page.data[0]?.email;
// @ts-expect-error
export const nowhere: keyof paths = "/worlds/{id}/visits";
`;

/** Programs that ask a server by a generated client, with no more than a token, and print the number of users. */
const GENERATED: Readonly<
  Record<string, { readonly generate: readonly string[]; readonly program: string }>
> = {
  oazapfts: {
    generate: ["oazapfts", "document.json", "oazapfts.ts"],
    program: `import { defaults, getStats } from "./oazapfts.ts";
      defaults.headers = { Authorization: "Bearer TOKEN_OF_TEST" };
      const { data } = await getStats();
      console.log(data.data.totalUsers);`,
  },
  "swagger-typescript-api": {
    generate: [
      "swagger-typescript-api",
      ...["generate", "-p", "document.json", "-o", ".", "-n", "swagger.ts"],
    ],
    program: `import { Api } from "./swagger.ts";
      const api = new Api({ baseApiParams: { headers: { Authorization: "Bearer TOKEN_OF_TEST" } } });
      const { data } = await api.stats.getStats();
      console.log(data.data.totalUsers);`,
  },
  "openapi-typescript-codegen": {
    generate: ["openapi", "--input", "document.json", "--output", "codegen"],
    program: `import { OpenAPI, StatsService } from "./codegen/index.ts";
      OpenAPI.TOKEN = "TOKEN_OF_TEST";
      const { data } = await StatsService.getStats();
      console.log(data.totalUsers);`,
  },
};

/** Imports the document as Postman does, with its defaults or examples, and runs every request. Prints status and name. */
const POSTMAN = `
  import { readFileSync } from "node:fs";
  import { createRequire } from "node:module";
  const require = createRequire(import.meta.url);
  const [, file, token, parametersResolution] = process.argv;
  const input = { type: "string", data: readFileSync(file, "utf8") };
  require("openapi-to-postmanv2").convertV2(input, { parametersResolution }, (error, { output }) => {
    if (error) throw error;
    const auth = { type: "bearer", bearer: [{ key: "token", value: token, type: "string" }] };
    const useToken = ({ item, request }) => {
      for (const one of item ?? []) useToken(one);
      if (request) request.auth = auth;
    };
    const collection = output[0].data;
    useToken(collection);
    require("newman")
      .run({ collection })
      .on("request", (failed, { response, item }) => console.log(failed ?? response.code + " " + item.name));
  });`;

describe("the OpenAPI document of a server", { skip }, () => {
  const token = "svc_sk_of-this-test";
  let server: Served;
  let file: string;
  before(async () => {
    const keys = writeKeys(join(folder, "keys.json"), keyRecord(token));
    server = await serve(join(ROOT, "data/sample"), keys, ["--watch", "0"]);
    const { stdout } = await runWell(["openapi", "--server", new URL(server.url).origin]);
    file = join(folder, "document.json");
    writeFileSync(file, stdout);
  });

  it("runs in Postman: every operation is a 200, by examples; with its defaults all but ids, which are made up", () => {
    for (const [resolution, others] of [
      ["Example", []],
      ["Schema", ["404"]],
    ] as const) {
      const args = ["--input-type=module", "--eval", POSTMAN, file, token, resolution];
      const lines = execFileSync(process.execPath, args, { cwd: TOOLS, encoding: "utf8" }).trim().split("\n");
      assert.equal(lines.length, ROUTES.length);
      const statuses = new Set(lines.map((line) => line.slice(0, 3)));
      assert.deepEqual([...statuses].sort(), ["200", ...others], lines.join("\n"));
    }
  });

  for (const [name, { generate, program }] of Object.entries(GENERATED)) {
    it(`as a client of ${name} works by its default address`, () => {
      const place = join(folder, name);
      mkdirSync(place);
      symlinkSync(join(TOOLS, "node_modules"), join(place, "node_modules"));
      copyFileSync(file, join(place, "document.json"));
      const [generator, ...args] = generate;
      execFileSync(join(TOOLS, "node_modules/.bin", generator!), args, { cwd: place });
      writeFileSync(join(place, "program.ts"), program.replace("TOKEN_OF_TEST", token));
      writeFileSync(join(place, "package.json"), '{"type":"module"}');
      const runner = ["--import", import.meta.resolve("tsx"), "program.ts"];
      assert.equal(execFileSync(process.execPath, runner, { cwd: place, encoding: "utf8" }), "2000\n");
    });
  }
});

describe("the OpenAPI document", { skip }, () => {
  const document = createOpenApi();

  it("pleases Redocly's recommended rules, which find a fault where there is one", () => {
    const { info: _, ...broken } = document;
    const [said, saidOfBroken] = judge(REDOCLY, document, broken);
    assert.deepEqual(said, []);
    assert.notDeepEqual(saidOfBroken, []);
  });

  it("pleases Spectral's rules for OpenAPI, which find a fault where there is one", () => {
    const [said, saidOfBroken] = judge(SPECTRAL, document, { ...document, tags: [] });
    assert.deepEqual(said, []);
    assert.notDeepEqual(saidOfBroken, []);
  });

  it("as types compiles strictly, and says what replies hold", () => {
    writeFileSync(join(folder, "types.ts"), judge(TYPES, document)[0] as string);
    writeFileSync(join(folder, "use.ts"), USE);
    const options = ["--ignoreConfig", "--noEmit", "--module", "nodenext", "--target", "es2023"];
    assert.equal(runTsc([...options, "use.ts"], folder), "");
  });
});
