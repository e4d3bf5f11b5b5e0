/** The replies of an operation in OpenAPI: bodies, headers, errors with their messages. */

import { BARE_FAULTS, FAULTS, type FaultName, SCOPE_FAULTS } from "../model/fault.ts";
import { SCHEMAS } from "../model/model.ts";
import { REQUEST_ID } from "../model/request-ids.ts";
import EXAMPLES from "./examples.json" with { type: "json" };
import type { Route } from "./handlers/route.ts";
import { PARAMETERS } from "./parameters.ts";

export type Json = Record<string, unknown>;

export function ref(kind: "schemas" | "headers" | "parameters" | "responses", name: string): Json {
  return { $ref: `#/components/${kind}/${name}` };
}

const whole = { type: "integer", minimum: 0 };

export const HEADERS: Json = {
  ETag: {
    description: "The generation that answered: the same of every path until the server has newer data.",
    schema: { type: "string", pattern: '^"[A-Za-z0-9._-]{1,64}"$' },
  },
  "Cache-Control": { description: "How long a copy may be used.", schema: { type: "string" } },
  "X-RateLimit-Limit": {
    description: "Requests that the API key has in a window. CLI tokens have no limit, and no such header.",
    schema: whole,
  },
  "X-RateLimit-Remaining": {
    description: "Requests that the API key has left in this window, after this one.",
    schema: whole,
  },
  "X-RateLimit-Reset": { description: "When the window ends, in seconds since 1970.", schema: whole },
  "Retry-After": {
    description: "Seconds to wait before the next request.",
    schema: { type: "integer", minimum: 1 },
  },
  "WWW-Authenticate": { description: "The scheme that is understood.", schema: { const: "Bearer" } },
  "X-Request-Id": {
    description:
      "Names the request in the server's access log, where there is one: the id that the request brought in its own " +
      "`X-Request-Id`, or else one of the server's.",
    schema: { type: "string", pattern: REQUEST_ID.source },
  },
  "Access-Control-Allow-Origin": {
    description: "Pages of every origin may read the reply, unless the server does not allow that.",
    schema: { const: "*" },
  },
  "Access-Control-Expose-Headers": {
    description: "The headers of the reply that they may read.",
    schema: { type: "string" },
  },
};

/** Headers that every reply of an operation may carry. */
const ANYWHERE = ["X-Request-Id", "Access-Control-Allow-Origin", "Access-Control-Expose-Headers"];

const QUOTA = ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"];

/** References to headers. Replies to CLI tokens lack the headers of a limit, so these are never required. */
function headers(required: readonly string[], others: readonly string[] = QUOTA): Json {
  return Object.fromEntries(
    [...required, ...others, ...ANYWHERE].map((name) => [name, ref("headers", name)]),
  );
}

function envelopeSchema({ reply, parameters }: Route): Json {
  const { envelope } = reply;
  const { title } = SCHEMAS[reply.schema];
  if (envelope === "one") {
    return { type: "object", required: ["data"], properties: { data: ref("schemas", title) } };
  }
  const properties: Json = {
    data: { type: "array", maxItems: 50, items: ref("schemas", title) },
    pagination: ref("schemas", "Pagination"),
  };
  if (envelope === "ranking") properties.period = PARAMETERS.period.schema;
  const required = Object.keys(properties);
  // Present only on request.
  if (parameters.includes("match")) properties.match = PARAMETERS.match.schema;
  return { type: "object", required, properties };
}

/** Errors that every operation can answer, judged in this order. */
const EVERYWHERE: readonly FaultName[] = [
  ...BARE_FAULTS,
  ...(["noToken", "tokenFormat", "apiKeyUnknown", "apiKeyInactive", "apiKeyExpired"] as const),
  ...(["cliTokenUnknown", "cliTokenExpired", "rateLimited", "snapshotChanged", "internal"] as const),
];

/** Headers of the errors of one status, besides their content type. */
function faultHeaders(status: number, faults: readonly FaultName[]): Json {
  if (faults.every((name) => BARE_FAULTS.includes(name)))
    return Object.fromEntries(["Cache-Control", "X-Request-Id"].map((name) => [name, ref("headers", name)]));
  if (status === 401) return headers(["WWW-Authenticate", "Cache-Control"], []);
  if (status === 412) return headers(["ETag", "Cache-Control"]);
  if (status === 429 || status === 503) return headers(["Retry-After", "Cache-Control"]);
  return headers(["Cache-Control"], [403, 404, 400].includes(status) ? QUOTA : []);
}

/** One response a status, with an example for each message. */
function faultReplies(names: readonly FaultName[]): Record<string, Json> {
  const replies: Record<string, Json> = {};
  for (const status of [...new Set(names.map((name) => FAULTS[name].status))].sort((a, b) => a - b)) {
    const faults = names.filter((name) => FAULTS[name].status === status);
    const examples = faults.map((name) => [
      name,
      { summary: FAULTS[name].when.replaceAll("`", ""), value: { error: FAULTS[name].message } },
    ]);
    replies[status] = {
      description: faults.map((name) => FAULTS[name].message).join("; "),
      headers: faultHeaders(status, faults),
      content: {
        "application/json": { schema: ref("schemas", "Error"), examples: Object.fromEntries(examples) },
      },
    };
  }
  return replies;
}

export const SHARED_REPLIES: Readonly<Record<string, Json>> = faultReplies(EVERYWHERE);

/** A reply of each operation from a server over `data/sample`; `npm run docs` requests them. */
const REPLIES: Readonly<Record<string, { readonly target: string; readonly body: unknown }>> = EXAMPLES;

/** Path and query that the example of an operation answers. */
export function exampleTarget({ name }: Route): string {
  return REPLIES[name]?.target ?? "";
}

export function repliesOf(route: Route): Json {
  const own = [...(route.scope ? [SCOPE_FAULTS[route.scope]] : []), ...route.faults];
  const statuses = new Set(own.map((name) => String(FAULTS[name].status)));
  const faults = Object.keys(SHARED_REPLIES).filter((status) => !statuses.has(status));
  const example = REPLIES[route.name]?.body;
  return {
    200: {
      description: route.summary,
      headers: headers(["ETag", "Cache-Control"]),
      content: {
        "application/json": { schema: envelopeSchema(route), ...(example !== undefined && { example }) },
      },
    },
    304: {
      description: "`If-None-Match` names the generation that is served: what the client has is current.",
      headers: headers(["ETag", "Cache-Control"]),
    },
    ...faultReplies([...EVERYWHERE, ...own].filter((name) => statuses.has(String(FAULTS[name].status)))),
    ...Object.fromEntries(faults.map((status) => [status, ref("responses", `Error${status}`)])),
  };
}
