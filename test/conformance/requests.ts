/** Conformance cases of every operation: shapes, tokens, methods, conditions, ids. */

import assert from "node:assert/strict";
import { ROUTES } from "../../src/api/routes.ts";
import { madeId, UNKNOWN_ID } from "../support/snapshot.ts";
import type { Got, Step } from "./doors.ts";
import {
  at,
  bearer,
  type CaseStep,
  checkShape,
  type Group,
  goodTarget,
  tokenOf,
  withParameters,
} from "./worlds.ts";

const PATHS_WITH_ID = ROUTES.map(({ path }) => path).filter((path) => path.includes(":id"));

const hasRateHeaders = (count: number) => (got: Got) => {
  assert.equal(got.headers.filter(([name]) => name.startsWith("x-ratelimit-")).length, count);
};

export const shapes: Group = (world) =>
  ROUTES.flatMap((route) => {
    const target = goodTarget(world, route);
    const ok = { status: 200, check: checkShape(route) };
    return [
      { target, key: "full", ...ok },
      { target, key: "cli", ...ok },
      { target, key: "own", check: hasRateHeaders(3) },
      { target, key: "cli", check: hasRateHeaders(0) },
      { method: "HEAD", target, key: "full", status: 200 },
      { method: "HEAD", target, status: 401 },
      {
        target: withParameters(target, "sort=name&fields=email&dailyVisits=1&__proto__=1"),
        key: "full",
        ...ok,
      },
    ];
  });

/** Values of Authorization that are refused, by error. */
function refusals(api: string, cli: string): [error: string, values: string[]][] {
  const foreign = api === "svc_sk_" ? ["orr-", "or_cli-"] : ["svc_sk_", "svcx_"];
  return [
    [
      "Invalid token format",
      [
        ...["", "Bearer", "Basic dXNlcjpwYXNz", `Basic ${api}full`, `${api}full`, `Bearer${api}full`],
        ...[`Bearer\t${api}full`, `Bearer: ${api}full`, `Bearer "${api}full"`, `Token ${api}full`],
        ...[`Bearer ${api}`, `Bearer ${cli}`, `Bearer ${api.slice(0, -1)}`],
        ...[`Bearer ${api.toUpperCase()}full`, `Bearer x${api}full`, "Bearer eyJhbGciOiJIUzI1NiJ9.e30.x"],
      ],
    ],
    [
      "Invalid API key",
      [
        ...[`Bearer ${api}unknown`, `Bearer ${api}FULL`, `Bearer ${api}full x`],
        ...[`Bearer ${api}full, Bearer ${api}full`, `Bearer ${api}ful`, `Bearer ${api}cli`],
        `Bearer ${api}cli-in-disguise`,
      ],
    ],
    ["API key is deactivated", [`Bearer ${api}disabled`, `Bearer ${api}disabled-expired`]],
    ["API key has expired", [`Bearer ${api}expired`]],
    [
      "Invalid CLI token",
      [
        ...[`Bearer ${cli}unknown`, `Bearer ${cli}full`, `Bearer ${cli}api-in-disguise`],
        ...[`Bearer ${cli}cli-disabled`, `Bearer ${cli}cli-disabled-expired`],
      ],
    ],
    ["CLI token has expired", [`Bearer ${cli}cli-expired`]],
    // Prefixes of another server.
    ["Invalid token format", foreign.map((prefix) => `Bearer ${prefix}full`)],
  ];
}

export const tokens: Group = (world) => {
  const { apiPrefix: api, cliPrefix: cli } = world.settings;
  const welcome = [
    `bearer ${api}full`,
    `BEARER ${api}full`,
    `bEaReR    ${cli}cli`,
    `Bearer ${api}later`,
    `Bearer ${cli}cli-later`,
    `Bearer ${api}A1-._~+/=:;,@!"'%20`,
  ];
  const [good, unknown] = [bearer(`${api}full`), bearer(`${api}unknown`)];
  return ROUTES.flatMap((route): CaseStep[] => {
    const { scope } = route;
    const target = goodTarget(world, route);
    return [
      { target, status: 401, error: "Authentication required" },
      ...refusals(api, cli).flatMap(([error, values]) =>
        values.map((value) => ({ target, headers: [["Authorization", value]] as const, status: 401, error })),
      ),
      ...welcome.map((header) => ({ target, headers: [["authorization", header]] as const, status: 200 })),
      // The first of two tokens counts.
      { target, headers: [good, unknown], status: 200 },
      { target, headers: [unknown, good], status: 401, error: "Invalid API key" },
      ...["worlds", "users", "instances", "none", "odd"].map((key) =>
        scope === null || scope === `read:${key}`
          ? { target, key, status: 200 }
          : { target, key, status: 403, error: `Insufficient scope. Required: ${scope}` },
      ),
    ];
  });
};

const REFUSED_METHODS = ["POST", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND", "PURGE"];

const PREFLIGHT: NonNullable<Step["headers"]> = [
  ["Origin", "https://elsewhere.example"],
  ["Access-Control-Request-Method", "GET"],
  ["Access-Control-Request-Headers", "authorization, if-match"],
];

export const methods: Group = (world) =>
  ROUTES.flatMap((route): CaseStep[] => {
    const target = goodTarget(world, route);
    const credentials = [[], [bearer("nonsense")], [bearer(tokenOf(world, "full"))]];
    return [
      ...credentials.flatMap((headers) => [
        ...REFUSED_METHODS.map((method) => ({ method, target, headers, status: 405 })),
        { method: "OPTIONS", target, headers: [...headers, ...PREFLIGHT], status: 204 },
      ]),
      { method: "POST", target, body: "{}", status: 405 },
      { method: "DELETE", target, key: "full", headers: [["If-Match", '"other"']], status: 405 },
    ];
  });

type Header = [name: string, value: string];

export const conditions: Group = (world) => {
  const { generation } = world.settings;
  const tag = `"${generation}"`;
  const ifMatch = (value: string): Header => ["If-Match", value];
  const ifNoneMatch = (value: string): Header => ["If-None-Match", value];
  const alone: [make: (value: string) => Header, status: number, values: string[]][] = [
    [ifNoneMatch, 304, [tag, `W/${tag}`, "*", `"other", ${tag}`, `"other",${tag},"more"`]],
    [ifNoneMatch, 304, [`W/"a" , W/${tag}`, `"with, comma", ${tag}`]],
    [ifNoneMatch, 200, ['"other"', '""', generation, `"${generation} "`, tag.toUpperCase(), '"*"']],
    [ifMatch, 200, [tag, "*", `"other", ${tag}`]],
    [ifMatch, 412, [`W/${tag}`, `W/${tag}, "other"`]],
    [ifMatch, 200, [`W/${tag}, ${tag}`]],
    [ifMatch, 412, ['"other"', '"*"', generation]],
  ];
  const table: [headers: Header[], status: number][] = [
    ...alone.flatMap(([make, status, values]) =>
      values.map((value): [Header[], number] => [[make(value)], status]),
    ),
    [[ifMatch('"other"'), ifNoneMatch(tag)], 412],
    [[ifMatch('"other"'), ifNoneMatch("*")], 412],
    [[ifMatch(`W/${tag}`), ifNoneMatch(`W/${tag}`)], 412],
    [[ifMatch(tag), ifNoneMatch(tag)], 304],
    [[ifMatch("*"), ifNoneMatch("*")], 304],
    [[ifMatch(tag), ifNoneMatch('"other"')], 200],
  ];
  const cases = ROUTES.flatMap((route): CaseStep[] => {
    const target = goodTarget(world, route);
    return table.flatMap(([headers, status]) => [
      { method: "GET", target, key: "full", headers, status },
      { method: "HEAD", target, key: "cli", headers, status },
    ]);
  });
  const target = at("/worlds");
  const lost = PATHS_WITH_ID.map((path) => path.replace(":id", UNKNOWN_ID));
  const others: [status: number, key: string, belows: string[]][] = [
    [400, "full", ["/worlds/search", "/worlds/search?q=%CC%81", "/users/search?q="]],
    [403, "none", ["/worlds"]],
    [404, "full", ["/nowhere", ...lost]],
    [401, "disabled", ["/worlds"]],
  ];
  return [
    ...cases,
    { target, key: "full", headers: [ifNoneMatch('"other"'), ifNoneMatch(tag)], status: 304 },
    { target, key: "full", headers: [ifMatch('"other"'), ifMatch(tag)], status: 200 },
    // The conditions matter only when the answer would be 200.
    ...others.flatMap(([status, key, belows]) =>
      belows.map(at).flatMap((target) =>
        [ifMatch('"other"'), ifNoneMatch("*"), ifNoneMatch(tag), ifMatch(tag)].map((condition) => ({
          target,
          key,
          headers: [condition],
          status,
        })),
      ),
    ),
  ];
};

/** Every id of the snapshot, and every text that is no id, in every place of an id. */
export const ids: Group = ({ rows }) => {
  const id = madeId("user", 40);
  const bad = [
    ...["x", "search2", "0", "null", "undefined", "..;", "%00", "%2e%2e", "%2F"],
    ...[id.slice(0, -1), `${id}0`, `${id.slice(0, -1)}g`, id.replaceAll("-", ""), id.replaceAll("-", "_")],
    ...[`{${id}}`, `urn:uuid:${id}`, `${id}%20`, `%20${id}`, id.replace("-", "%2D")],
    ...["-".repeat(36), "0".repeat(36), "__proto__", "constructor", "a".repeat(4000)],
    ...[UNKNOWN_ID, UNKNOWN_ID.toUpperCase(), "00000000-0000-0000-0000-000000000002"],
  ];
  const missing = PATHS_WITH_ID.flatMap((place) =>
    bad.map((text) => ({ target: at(place.replace(":id", text)), key: "full", status: 404 })),
  );
  const present = PATHS_WITH_ID.flatMap((place) =>
    rows[place.split("/")[1] as "worlds" | "users" | "instances"].flatMap((row) =>
      [row.id, row.id.toLowerCase(), row.id.toUpperCase()].map((text) => ({
        target: at(place.replace(":id", text)),
        key: "cli",
      })),
    ),
  );
  const worldIds = [...rows.worlds.map((row) => row.id), UNKNOWN_ID, "x", "%20", "%20x", "..", "null"];
  const byWorld = worldIds.flatMap((text) =>
    [text.toLowerCase(), text.toUpperCase()].map((worldId) => ({
      target: at(`/instances?worldId=${worldId}`),
      key: "full",
      status: 200,
    })),
  );
  const emptyWorld = ["worldId=", "worldId", "worldId=&limit=7"].map((query) => ({
    target: at(`/instances?${query}`),
    key: "full",
    status: 200,
    check: ({ body }: Got) => assert.ok(JSON.parse(body).pagination.total > 1),
  }));
  return [...missing, ...present, ...byWorld, ...emptyWorld];
};
