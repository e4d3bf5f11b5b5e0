/** The OpenAPI document covers everything in the tables. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { limitText } from "../src/api/pages/file.ts";
import { ROUTES } from "../src/api/routes.ts";
import EXAMPLES from "../src/docs-page/examples.json" with { type: "json" };
import { createOpenApi } from "../src/docs-page/openapi.ts";
import { FAULTS, type FaultName, SCOPE_FAULTS } from "../src/model/fault.ts";
import { CORE_METRICS } from "../src/observe/metrics/table.ts";

/** The document as clients read it. */
const document = JSON.parse(JSON.stringify(createOpenApi()));
const operationOf = (path: string) => document.paths[path.replace(":id", "{id}")].get;

function contentOf(path: string, status: number | string) {
  const reply = operationOf(path).responses[status];
  assert.ok(reply !== undefined, `${path} lacks ${status}`);
  const { content } =
    reply.$ref === undefined ? reply : document.components.responses[reply.$ref.split("/").at(-1)];
  return content?.["application/json"];
}

/** Errors that belong to no operation; the document's text describes them. */
const OF_NO_OPERATION: readonly FaultName[] = ["notFound", "methodNotAllowed"];
/** Errors of replicas inside a program, which no server sends. */
const OF_PROGRAMS: readonly FaultName[] = ["closed"];

describe("the OpenAPI document", () => {
  it("has every operation once, with its name, a tag that is explained, and an example", () => {
    assert.equal(Object.keys(document.paths).length, ROUTES.length);
    const tags = document.tags.map(({ name }: { name: string }) => name);
    for (const { name, path, summary } of ROUTES) {
      const operation = operationOf(path);
      assert.equal(operation.operationId, name);
      // The documents use Markdown; summaries are plain text.
      assert.equal(operation.summary, summary.replaceAll("`", ""));
      assert.equal(operation.tags.length, 1);
      assert.ok(tags.includes(operation.tags[0]));
      const { body } = (EXAMPLES as Record<string, { body: unknown }>)[name]!;
      assert.deepEqual(contentOf(path, 200).example, body);
    }
  });

  it("has every error with its message, and an error that no operation has in its text", () => {
    const told = new Set<string>();
    for (const { path, faults, scope } of ROUTES) {
      for (const name of [...faults, ...(scope === null ? [] : [SCOPE_FAULTS[scope]])]) {
        const { status, message } = FAULTS[name];
        assert.equal(contentOf(path, status).examples[name].value.error, message, `${path} ${name}`);
      }
      for (const status of Object.keys(operationOf(path).responses)) {
        for (const name of Object.keys(contentOf(path, status)?.examples ?? {})) told.add(name);
      }
    }
    for (const name of Object.keys(FAULTS) as FaultName[]) {
      const { message } = FAULTS[name];
      // Kinds of one error, whose example is "Bad request".
      if (OF_PROGRAMS.includes(name) || message.startsWith("Bad request: ")) continue;
      if (OF_NO_OPERATION.includes(name))
        assert.ok(document.info.description.includes(`\`${message}\``), name);
      else assert.ok(told.has(name), name);
    }
  });

  it("tells callers what they can do, and names no option of the server, which is its operator's", () => {
    const named = JSON.stringify(document).match(/--[a-z][a-z-]+/g) ?? [];
    assert.deepEqual(named, []);
    for (const { when } of Object.values(FAULTS)) assert.doesNotMatch(when, /--[a-z]/);
    assert.match(FAULTS.busy.when, /waiting, .* `Retry-After`/);
    assert.match(CORE_METRICS.searches.help, /256 wait/, "nothing tells the operator of it");
  });

  it("says how much a key may ask for, as the server has it", () => {
    for (const [limit, window, text] of [
      [1000, 3600, "1,000 an hour"],
      [50, 60, "50 a minute"],
      [7, 90, "7 in 90 seconds"],
    ] as const) {
      assert.equal(limitText(limit, window), text);
      assert.match(JSON.stringify(createOpenApi(text)), new RegExp(`, ${text} unless`));
    }
    assert.match(document.info.description, /1,000 an hour/);
  });
});
