/** The OpenAPI document says everything that the tables do. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import EXAMPLES from "../src/api/examples.json" with { type: "json" };
import { limitText } from "../src/api/limit-text.ts";
import { createOpenApi } from "../src/api/openapi.ts";
import { ROUTES } from "../src/api/routes.ts";
import { FAULTS, type FaultName, SCOPE_FAULTS } from "../src/model/fault.ts";
import { METRICS } from "../src/observe/metrics/table.ts";

interface Response {
  readonly $ref?: string;
  readonly description: string;
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly content?: {
    readonly "application/json": {
      readonly example?: unknown;
      readonly examples?: Readonly<Record<string, Example>>;
    };
  };
}

interface Example {
  readonly value: { readonly error: string };
}

interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly parameters: readonly { readonly $ref?: string; readonly name?: string }[];
  readonly responses: Readonly<Record<string, Response>>;
}

interface Document {
  readonly openapi: string;
  readonly info: { readonly description: string };
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, { readonly get: Operation }>>;
  readonly components: {
    readonly responses: Readonly<Record<string, Response>>;
    readonly headers: Readonly<
      Record<string, { readonly description: string; readonly schema: { readonly pattern: string } }>
    >;
  };
}

const document = createOpenApi(ROUTES) as unknown as Document;
const operationOf = (path: string): Operation => document.paths[path.replace(":id", "{id}")]!.get;

function replyOf(operation: Operation, status: number): Response {
  const reply = operation.responses[status];
  assert.ok(reply !== undefined, `${operation.operationId} lacks ${status}`);
  return reply.$ref === undefined ? reply : document.components.responses[reply.$ref.split("/").at(-1)!]!;
}

/** Errors of no operation: what is said of them stands in the text. */
const OF_NO_OPERATION: readonly FaultName[] = ["notFound", "methodNotAllowed"];
/** Errors of replicas inside a program; no server sends them. */
const OF_PROGRAMS: readonly FaultName[] = ["closed"];

describe("the OpenAPI document", () => {
  it("is of version 3.1, and of whichever server gives it", () => {
    assert.match(document.openapi, /^3\.1\.\d$/);
    assert.deepEqual(
      document.servers.map(({ url }) => url),
      ["/api/public/v1"],
    );
  });

  it("has every operation once, with its name, a tag that is explained, and an example", () => {
    assert.equal(Object.keys(document.paths).length, ROUTES.length);
    const tags = document.tags.map(({ name }) => name);
    for (const { name, path, summary } of ROUTES) {
      const operation = operationOf(path);
      assert.equal(operation.operationId, name);
      // Markdown of the documents; summaries are plain text.
      assert.equal(operation.summary, summary.replaceAll("`", ""));
      assert.equal(operation.tags.length, 1);
      assert.ok(tags.includes(operation.tags[0]!));
      const { example } = replyOf(operation, 200).content!["application/json"];
      assert.deepEqual(example, (EXAMPLES as Record<string, { body: unknown }>)[name]!.body);
    }
  });

  it("has every error with its message, and an error that no operation has in its text", () => {
    const told = new Set<string>();
    for (const route of ROUTES) {
      const operation = operationOf(route.path);
      const own = [...route.faults, ...(route.scope === null ? [] : [SCOPE_FAULTS[route.scope]])];
      for (const name of own) {
        const { status, message } = FAULTS[name];
        const { examples } = replyOf(operation, status).content!["application/json"];
        assert.equal(examples![name]!.value.error, message, `${route.name} ${name}`);
      }
      for (const status of Object.keys(operation.responses)) {
        const examples = replyOf(operation, Number(status)).content?.["application/json"].examples ?? {};
        for (const name of Object.keys(examples)) told.add(name);
      }
    }
    for (const name of Object.keys(FAULTS) as FaultName[]) {
      const { message } = FAULTS[name];
      if (OF_PROGRAMS.includes(name)) continue;
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
    assert.match(METRICS.searches.help, /--max-pending-searches/, "nothing tells the operator of it");
  });

  it("says that a request's own id comes back", () => {
    const { description, schema } = document.components.headers["X-Request-Id"]!;
    assert.match(description, /id that the request brought/);
    const isId = new RegExp(schema.pattern);
    for (const id of ["0af7651916cd43dd8448eb211c80319c", "req/7:a=b~c", "0001c2a4-1z"])
      assert.match(id, isId);
    assert.doesNotMatch("two words", isId);
  });

  it("says how much a key may ask for, as the server has it", () => {
    for (const [limit, window, text] of [
      [1000, 3600, "1,000 an hour"],
      [50, 60, "50 a minute"],
      [1_000_000, 172_800, "1,000,000 in 2 days"],
      [7, 90, "7 in 90 seconds"],
      [1, 1, "1 a second"],
      [3, 604_800, "3 a week"],
    ] as const) {
      assert.equal(limitText(limit, window), text);
      assert.match(JSON.stringify(createOpenApi(ROUTES, text)), new RegExp(`, ${text} where nothing else`));
    }
    assert.match(document.info.description, /1,000 an hour/);
  });

  it("has the replies to conditions and limits, with their headers", () => {
    const limits = ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"];
    for (const { path, scope } of ROUTES) {
      const operation = operationOf(path);
      const expected: Record<number, readonly string[]> = {
        200: ["ETag", "Cache-Control", ...limits],
        304: ["ETag", "Cache-Control", ...limits],
        ...(path.endsWith("/search") ? { 400: ["Cache-Control", ...limits] } : {}),
        401: ["Cache-Control", "WWW-Authenticate"],
        412: ["ETag", "Cache-Control", ...limits],
        429: ["Retry-After", "Cache-Control", ...limits],
        ...(scope === null ? {} : { 403: ["Cache-Control", ...limits] }),
        ...(path.includes(":id") ? { 404: ["Cache-Control", ...limits] } : {}),
        ...(path.endsWith("/search") ? { 503: ["Retry-After", "Cache-Control", ...limits] } : {}),
      };
      for (const [status, names] of Object.entries(expected)) {
        const headers = Object.keys(replyOf(operation, Number(status)).headers ?? {});
        for (const name of [...names, "Access-Control-Allow-Origin"]) {
          assert.ok(headers.includes(name), `${path} ${status} ${name}`);
        }
      }
      // What is refused before its path is looked at; a search's 400 has another cause, too.
      for (const status of path.endsWith("/search") ? [408, 417, 431] : [400, 408, 417, 431]) {
        const headers = Object.keys(replyOf(operation, status).headers ?? {});
        assert.deepEqual(headers, ["Cache-Control", "X-Request-Id"], `${path} ${status}`);
      }
      const parameters = operation.parameters.map(({ $ref, name }) => name ?? $ref!.split("/").at(-1)!);
      for (const name of ["IfNoneMatch", "IfMatch"]) assert.ok(parameters.includes(name), `${path} ${name}`);
    }
  });
});
