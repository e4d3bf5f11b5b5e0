/** The OpenAPI 3.1 document, made from route rows. */

import { FAULTS, type FaultName, SCOPE_FAULTS } from "../fault.ts";
import { BASE_PATH, SCHEMAS } from "../model.ts";
import type { Route } from "../routes/route.ts";
import { PARAMETERS } from "./parameters.ts";

type Json = Record<string, unknown>;

/** Errors that every operation can answer. */
const EVERYWHERE: readonly FaultName[] = [
  "noToken",
  "tokenFormat",
  "apiKeyUnknown",
  "apiKeyInactive",
  "apiKeyExpired",
  "cliTokenUnknown",
  "cliTokenExpired",
  "rateLimited",
  "snapshotChanged",
  "internal",
];

function schemaRef(title: string): Json {
  return { $ref: `#/components/schemas/${title}` };
}

function envelopeSchema({ reply, parameters }: Route): Json {
  const { envelope } = reply;
  const { title } = SCHEMAS[reply.schema];
  if (envelope === "one") {
    return { type: "object", required: ["data"], properties: { data: schemaRef(title) } };
  }
  const properties: Json = {
    data: { type: "array", items: schemaRef(title) },
    pagination: schemaRef("Pagination"),
  };
  if (envelope === "ranking") properties.period = PARAMETERS.period.schema;
  const required = Object.keys(properties);
  // There only where it was asked for.
  if (parameters.includes("match")) properties.match = PARAMETERS.match.schema;
  return { type: "object", required, properties };
}

/** One response a status; the messages that share it are listed. */
function errorResponses(names: readonly FaultName[]): Json {
  const responses: Json = {};
  for (const status of new Set(names.map((name) => FAULTS[name].status))) {
    const messages = names
      .filter((name) => FAULTS[name].status === status)
      .map((name) => FAULTS[name].message);
    responses[status] = {
      description: messages.join("; "),
      content: { "application/json": { schema: schemaRef("Error") } },
    };
  }
  return responses;
}

function operationOf(route: Route): Json {
  const parameters = route.parameters.map((name) => ({
    name,
    in: "query",
    required: PARAMETERS[name].required === true,
    description: PARAMETERS[name].meaning,
    schema: PARAMETERS[name].schema,
  }));
  const pathId = { name: "id", in: "path", required: true, schema: { type: "string", format: "uuid" } };
  const faults = [...EVERYWHERE, ...(route.scope ? [SCOPE_FAULTS[route.scope]] : []), ...route.faults];
  return {
    summary: route.summary,
    security: [{ bearer: route.scope === null ? [] : [route.scope] }],
    parameters: route.path.includes(":id") ? [pathId, ...parameters] : parameters,
    responses: {
      200: {
        description: route.summary,
        content: { "application/json": { schema: envelopeSchema(route) } },
      },
      304: { description: "If-None-Match names the generation being served." },
      ...errorResponses(faults),
    },
  };
}

/** Makes the document. */
export function createOpenApi(routes: readonly Route[]): Json {
  const whole = { type: "integer", minimum: 0 };
  return {
    openapi: "3.1.0",
    info: { title: "Public read-only API", version: "1" },
    servers: [{ url: BASE_PATH }],
    paths: Object.fromEntries(
      routes.map((route) => [route.path.replace(":id", "{id}"), { get: operationOf(route) }]),
    ),
    components: {
      securitySchemes: { bearer: { type: "http", scheme: "bearer" } },
      schemas: {
        ...Object.fromEntries(Object.values(SCHEMAS).map((schema) => [schema.title, schema])),
        Pagination: {
          type: "object",
          required: ["total", "limit", "offset"],
          properties: { total: whole, limit: whole, offset: whole },
        },
        Error: { type: "object", required: ["error"], properties: { error: { type: "string" } } },
      },
    },
  };
}
