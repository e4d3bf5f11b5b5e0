/** Whether replies are as the OpenAPI document says: status, headers and body, judged by a validator of JSON Schema. */

import assert from "node:assert/strict";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { createOpenApi } from "../../src/api/openapi.ts";
import { ROUTES } from "../../src/api/routes.ts";
import { BASE_PATH } from "../../src/model/model.ts";
import type { Got, Step } from "./doors.ts";

interface Response {
  readonly $ref?: string;
  readonly headers?: Readonly<Record<string, { $ref: string }>>;
  readonly content?: { readonly "application/json": object };
}

interface Document {
  readonly paths: Record<string, { get: { responses: Record<string, Response> } }>;
  readonly components: {
    readonly responses: Record<string, Response>;
    readonly headers: Record<string, { schema: { type?: string } }>;
  };
}

const document = createOpenApi(ROUTES) as unknown as Document;
const ajv = new Ajv2020({ strict: false, schemas: [{ ...document, $id: "openapi" }] });
addFormats.default(ajv);

const PATTERNS = ROUTES.map(({ path }) => ({
  path: path.replace(":id", "{id}"),
  pattern: new RegExp(`^${BASE_PATH}${path.replace(":id", "[^/]+")}$`),
}));

/** Headers that must be there where they are named: those of a limit depend on the token. */
const REQUIRED = ["ETag", "Cache-Control", "WWW-Authenticate", "Retry-After"];
/** Those of every HTTP message, which an OpenAPI document leaves out; all others it must name where they are sent. */
const OF_HTTP = ["connection", "content-length", "content-type", "date", "keep-alive", "transfer-encoding"];

interface Checks {
  readonly body: ValidateFunction | undefined;
  readonly headers: ReadonlyMap<string, ValidateFunction>;
}

const known = new Map<string, Checks | undefined>();

function escapePointer(name: string): string {
  return encodeURIComponent(name.replaceAll("~", "~0").replaceAll("/", "~1"));
}

function compile(path: string, status: string): Checks | undefined {
  const place = `#/paths/${escapePointer(path)}/get/responses/${status}`;
  const own = document.paths[path]!.get.responses[status];
  if (own === undefined) return undefined;
  const at = own.$ref ?? place;
  const response = own.$ref === undefined ? own : document.components.responses[own.$ref.split("/").at(-1)!]!;
  const schemaOf = (pointer: string): ValidateFunction => ajv.compile({ $ref: `openapi${pointer}` });
  return {
    body: response.content && schemaOf(`${at}/content/application~1json/schema`),
    headers: new Map(
      Object.values(response.headers ?? {}).map(({ $ref }) => [
        $ref.split("/").at(-1)!,
        schemaOf(`${$ref}/schema`),
      ]),
    ),
  };
}

/** How many replies were judged, by status. */
export const judged = new Map<number, number>();

/** Judges what an operation replied; a request of anything else is no matter of the document. */
export function judgeReply({ method = "GET", target }: Step, { status, headers, body }: Got): void {
  const path = target.replace(/^https?:\/\/[^/?#]*/i, "").split("?", 1)[0]!;
  const route = PATTERNS.find(({ pattern }) => pattern.test(path));
  if (route === undefined || (method !== "GET" && method !== "HEAD")) return;
  const key = `${route.path} ${status}`;
  if (!known.has(key)) known.set(key, compile(route.path, String(status)));
  const checks = known.get(key);
  assert.ok(checks !== undefined, `${key} is not in the OpenAPI document`);
  const values = new Map(headers);
  for (const [name, validate] of checks.headers) {
    const value = values.get(name.toLowerCase());
    if (value === undefined) assert.ok(!REQUIRED.includes(name), `${key}: ${name} is missing`);
    else {
      const isNumber = document.components.headers[name]!.schema.type === "integer";
      assert.ok(validate(isNumber ? Number(value) : value), `${key}: ${name}: ${value}`);
    }
  }
  const told = [...checks.headers.keys()].map((name) => name.toLowerCase());
  for (const [name] of headers) {
    const isTold = OF_HTTP.includes(name) || told.includes(name);
    assert.ok(isTold, `${key}: the OpenAPI document does not know its ${name}`);
  }
  if (method === "GET") {
    assert.equal(checks.body === undefined, body === "", `${key}: a body, or none`);
    assert.ok(
      checks.body?.(JSON.parse(body)) ?? true,
      `${key}: ${ajv.errorsText(checks.body?.errors)}: ${body}`,
    );
  }
  judged.set(status, (judged.get(status) ?? 0) + 1);
}
