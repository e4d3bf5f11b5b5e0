/**
 * The OpenAPI document under common tools: Redocly's linter, Spectral's rules for OpenAPI, and the types that
 * openapi-typescript generates from it.
 *
 * They are installed separately: `npm ci --prefix tools/openapi`.
 */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { createOpenApi } from "../../src/docs-page/openapi.ts";
import { temporaryFolder } from "../support/folders.ts";
import { unavailable } from "../support/need.ts";
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
