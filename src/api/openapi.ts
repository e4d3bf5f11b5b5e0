/** The OpenAPI 3.1 document, made from route rows. */

import { FAULTS } from "../model/fault.ts";
import { BASE_PATH, SCHEMAS } from "../model/model.ts";
import { CORE_DEFAULTS } from "../settings/settings.ts";
import type { Route } from "./handlers/route.ts";
import { limitText } from "./limit-text.ts";
import { exampleTarget, HEADERS, type Json, ref, repliesOf, SHARED_REPLIES } from "./openapi-replies.ts";
import { PARAMETERS } from "./parameters.ts";

/** The introduction of the document. @param limit such as "1,000 an hour" */
const descriptionOf = (
  limit: string,
): string => `Worlds, their instances and statistics, and users of a virtual-world platform: public data, read only.

- **Token.** Every request carries \`Authorization: Bearer TOKEN\`. An API key has scopes and a limit of requests in a window, ${limit} where nothing else was agreed; a CLI token has neither.
- **Pages.** Lists take \`limit\` (at most 50) and \`offset\`; \`pagination.total\` counts all items.
- **Generations.** The data are replaced as a whole. Every reply names its generation in \`ETag\`: send it back as \`If-None-Match\` to be told that nothing is new (304), or as \`If-Match\` to get the next page of the same list or none (412).
- **Limits.** A 429 says in \`Retry-After\` how long to wait, a 503 likewise.
- **Methods.** HEAD replies as GET does, without the body. OPTIONS replies 204 with \`Allow\`, without a token, and to the preflight of a browser. Any other method is a 405, \`${FAULTS.methodNotAllowed.message}\`, a path that is none of these a 404, \`${FAULTS.notFound.message}\`.`;

const DEFAULT_LIMIT = limitText(CORE_DEFAULTS.rateLimit, CORE_DEFAULTS.rateWindow);

/** The meanings of the first segments of paths. */
const TAGS: Readonly<Record<string, string>> = {
  worlds: "Public worlds, and how much they are visited.",
  users: "Public profiles of users.",
  instances: "Instances that are running.",
  stats: "The platform as a whole.",
};

const CONDITIONS: Json = {
  IfNoneMatch: {
    name: "If-None-Match",
    in: "header",
    description: "The ETag of what the client has: 304 when it is current.",
    schema: { type: "string" },
  },
  IfMatch: {
    name: "If-Match",
    in: "header",
    description: "The ETag of the generation that must answer: 412 when the server has another.",
    schema: { type: "string" },
  },
};

/** The value in the request of the example. */
function exampleOf(route: Route, name: string): Json {
  const [path = "", query = ""] = exampleTarget(route).split("?");
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
    parameters: [
      ...(route.path.includes(":id") ? [id] : []),
      ...parameters,
      ref("parameters", "IfNoneMatch"),
      ref("parameters", "IfMatch"),
    ],
    responses: repliesOf(route),
  };
}

/**
 * Makes the document.
 * @param limit requests of an API key and their window, such as "1,000 an hour"; a server's defaults if absent
 */
export function createOpenApi(routes: readonly Route[], limit = DEFAULT_LIMIT): Json {
  const whole = { type: "integer", minimum: 0 };
  return {
    openapi: "3.1.0",
    info: {
      title: "Public read-only API",
      version: "1",
      description: descriptionOf(limit),
      contact: { name: "The operator of this server" },
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: BASE_PATH, description: "This server" }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths: Object.fromEntries(
      routes.map((route) => [route.path.replace(":id", "{id}"), { get: operationOf(route) }]),
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
      parameters: CONDITIONS,
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
          properties: { total: whole, limit: { type: "integer", minimum: 1, maximum: 50 }, offset: whole },
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
