/** The OpenAPI 3.1 document, made from route rows. */

import type { Route } from "../api/handlers/route.ts";
import { limitText } from "../api/pages/file.ts";
import { PARAMETERS } from "../api/parameters.ts";
import { ROUTES } from "../api/routes.ts";
import { FAULTS, type FaultName, SCOPE_FAULTS } from "../model/fault.ts";
import { MOST_ON_PAGE, SCHEMAS } from "../model/model.ts";
import { REQUEST_ID } from "../model/request-ids.ts";
import { CORE_DEFAULTS } from "../settings/settings.ts";
import EXAMPLES from "./examples.json" with { type: "json" };
import { serversOf } from "./public-url.ts";

/** The introduction of the document. @param limit such as "1,000 an hour" */
const descriptionOf = (
  limit: string,
): string => `Worlds, their instances and statistics, and users of a virtual-world platform: public data, read only.

- **Token.** Every request carries \`Authorization: Bearer TOKEN\`. An API key has scopes and a limit of requests, ${limit} unless you have agreed on another one; a CLI token has neither.
- **Pages.** Lists take \`limit\` (at most ${MOST_ON_PAGE}) and \`offset\`; \`pagination.total\` counts all items.
- **Generations.** The data are replaced as a whole. Every reply names its generation in \`ETag\`: send it back as \`If-None-Match\` to be told that nothing is new (304), or as \`If-Match\` to get the next page of the same list or none (412).
- **Limits.** A 429 says in \`Retry-After\` how long to wait, a 503 likewise.
- **Methods.** HEAD replies as GET does, without the body. OPTIONS replies 204 with \`Allow\`, without a token, and to the preflight of a browser. Any other method is a 405, \`${FAULTS.methodNotAllowed.message}\`, a path that is none of these a 404, \`${FAULTS.notFound.message}\`.`;

const TAGS: Readonly<Record<string, string>> = {
  worlds: "Public worlds, and how much they are visited.",
  users: "Public profiles of users.",
  instances: "Instances that are running.",
  stats: "The platform as a whole.",
};

type Json = Record<string, unknown>;

function ref(kind: "schemas" | "headers" | "responses", name: string): Json {
  return { $ref: `#/components/${kind}/${name}` };
}

const whole = { type: "integer", minimum: 0 };

const HEADERS: Json = {
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
    data: { type: "array", maxItems: MOST_ON_PAGE, items: ref("schemas", title) },
    pagination: ref("schemas", "Pagination"),
  };
  if (envelope === "ranking") properties.period = PARAMETERS.period.schema;
  const required = Object.keys(properties);
  // Present only on request.
  if (parameters.includes("match")) properties.match = PARAMETERS.match.schema;
  return { type: "object", required, properties };
}

/** Errors of input that does not reach an operation: they have neither CORS headers nor headers of a limit. */
const BARE: readonly FaultName[] = ["badRequest", "bodyNotAllowed", "headTooLarge", "timeout", "expectation"];

/** Errors that every operation can answer, judged in this order. */
const EVERYWHERE: readonly FaultName[] = [
  ...BARE,
  ...(["noToken", "tokenFormat", "apiKeyUnknown", "apiKeyInactive", "apiKeyExpired"] as const),
  ...(["cliTokenUnknown", "cliTokenExpired", "rateLimited", "snapshotChanged", "internal"] as const),
];

/** Headers of the errors of one status, besides their content type. */
function faultHeaders(status: number, faults: readonly FaultName[]): Json {
  if (faults.every((name) => BARE.includes(name)))
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

const SHARED_REPLIES: Readonly<Record<string, Json>> = faultReplies(EVERYWHERE);

/** A reply of each operation from a server over `data/sample`; `npm run docs` requests them. */
const REPLIES: Readonly<Record<string, { readonly target: string; readonly body: unknown }>> = EXAMPLES;

function repliesOf(route: Route): Json {
  const own = [...(route.scope ? [SCOPE_FAULTS[route.scope]] : []), ...route.faults];
  const statuses = new Set(own.map((name) => FAULTS[name].status));
  const shared = Object.keys(SHARED_REPLIES).map((status) => [status, ref("responses", `Error${status}`)]);
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
    ...Object.fromEntries(shared),
    ...faultReplies([...EVERYWHERE, ...own].filter((name) => statuses.has(FAULTS[name].status))),
  };
}

function exampleOf(route: Route, name: string): Json {
  const [path = "", query = ""] = REPLIES[route.name]?.target.split("?") ?? [];
  const at = route.path.split("/").indexOf(":id");
  const example = name === "id" ? path.split("/")[at] : new URLSearchParams(query).get(name);
  if (!example) return {};
  return { example: name === "limit" || name === "offset" ? Number(example) : example };
}

function operationOf(route: Route): Json {
  const parameters = route.parameters.map((name) => ({
    name,
    in: "query",
    required: PARAMETERS[name].required === true,
    description: PARAMETERS[name].meaning,
    schema: PARAMETERS[name].schema,
    ...exampleOf(route, name),
  }));
  const id = {
    name: "id",
    in: "path",
    required: true,
    description: "The id of the resource, a UUID in any case.",
    schema: { type: "string", format: "uuid" },
    ...exampleOf(route, "id"),
  };
  return {
    operationId: route.name,
    tags: [route.path.split("/")[1]],
    // Plain text, unlike descriptions.
    summary: route.summary.replaceAll("`", ""),
    description:
      route.scope === null ? "Any valid token will do." : `API keys need the scope \`${route.scope}\`.`,
    // An extension for scopes: tools know OAuth scopes alone.
    ...(route.scope !== null && { "x-required-scope": route.scope }),
    security: [{ bearer: [] }],
    parameters: [...(route.path.includes(":id") ? [id] : []), ...parameters],
    responses: repliesOf(route),
  };
}

/**
 * Makes the document. Conditional headers are described once, in the introduction: importers fill in headers of operations, and
 * `If-Match` with a text that is no ETag is a 412.
 * @param limit requests of an API key and their window, such as "1,000 an hour"; a server's defaults if absent
 * @param publicUrl as {@link serversOf}
 */
export function createOpenApi(
  limit = limitText(CORE_DEFAULTS.rateLimit, CORE_DEFAULTS.rateWindow),
  publicUrl?: string,
): Json {
  return {
    openapi: "3.1.0",
    info: {
      title: "Public read-only API",
      version: "1",
      description: descriptionOf(limit),
      contact: { name: "The operator of this server" },
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: serversOf(publicUrl),
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths: Object.fromEntries(
      ROUTES.map((route) => [route.path.replace(":id", "{id}"), { get: operationOf(route) }]),
    ),
    components: {
      securitySchemes: {
        bearer: {
          type: "http",
          scheme: "bearer",
          description: "An API key, which has scopes and a limit, or a CLI token.",
        },
      },
      headers: HEADERS,
      responses: Object.fromEntries(
        Object.entries(SHARED_REPLIES).map(([status, reply]) => [`Error${status}`, reply]),
      ),
      schemas: {
        ...Object.fromEntries(Object.values(SCHEMAS).map((schema) => [schema.title, schema])),
        Pagination: {
          title: "Pagination",
          description: "Which part of a list a reply shows, as the server applied it.",
          type: "object",
          required: ["total", "limit", "offset"],
          properties: {
            total: whole,
            limit: { type: "integer", minimum: 1, maximum: MOST_ON_PAGE },
            offset: whole,
          },
        },
        Error: {
          title: "Error",
          description: "What went wrong, in a sentence.",
          type: "object",
          required: ["error"],
          properties: { error: { type: "string" } },
        },
      },
    },
  };
}
