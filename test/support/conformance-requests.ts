/** Conformance cases of every operation: shapes, tokens, methods, conditions, ids. */

import assert from "node:assert/strict";
import { ROUTES } from "../../src/api/routes.ts";
import { as, at, bearer, checkShape, type Group, goodTarget, one } from "./conformance.ts";
import type { Got, Step } from "./doors.ts";
import { madeId, UNKNOWN_ID } from "./snapshot.ts";

export const shapes: Group = (world) =>
  ROUTES.flatMap(({ path: route }) => {
    const target = goodTarget(world, route);
    const ok = { target, status: 200, check: checkShape(route) };
    const hasRateHeaders = (wanted: boolean) => (got: Got) => {
      assert.equal(got.headers.filter(([name]) => name.startsWith("x-ratelimit-")).length, wanted ? 3 : 0);
    };
    return [
      one(`${route} with an API key`, { ...ok, headers: [as(world, "full")] }),
      one(`${route} with a CLI token`, { ...ok, headers: [as(world, "cli")] }),
      one(`${route} rate headers with an API key`, {
        target,
        headers: [as(world, "own")],
        check: hasRateHeaders(true),
      }),
      one(`${route} no rate headers with a CLI token`, {
        target,
        headers: [as(world, "cli")],
        check: hasRateHeaders(false),
      }),
      one(`${route} HEAD`, { method: "HEAD", target, headers: [as(world, "full")], status: 200 }),
      one(`${route} HEAD refused`, { method: "HEAD", target, status: 401 }),
      one(`${route} unknown parameters`, {
        ...ok,
        target: `${target}${target.includes("?") ? "&" : "?"}sort=name&fields=email&dailyVisits=1&__proto__=1`,
        headers: [as(world, "full")],
      }),
    ];
  });

export const tokens: Group = (world) => {
  const { apiPrefix: api, cliPrefix: cli } = world.settings;
  const refusals: [header: string | undefined, error: string][] = [
    [undefined, "Authentication required"],
    ["", "Invalid token format"],
    ["Bearer", "Invalid token format"],
    ["Basic dXNlcjpwYXNz", "Invalid token format"],
    [`Basic ${api}full`, "Invalid token format"],
    [`${api}full`, "Invalid token format"],
    [`Bearer${api}full`, "Invalid token format"],
    [`Bearer\t${api}full`, "Invalid token format"],
    [`Bearer: ${api}full`, "Invalid token format"],
    [`Bearer "${api}full"`, "Invalid token format"],
    [`Token ${api}full`, "Invalid token format"],
    [`Bearer ${api}`, "Invalid token format"],
    [`Bearer ${cli}`, "Invalid token format"],
    [`Bearer ${api.slice(0, -1)}`, "Invalid token format"],
    [`Bearer ${api.toUpperCase()}full`, "Invalid token format"],
    [`Bearer x${api}full`, "Invalid token format"],
    ["Bearer eyJhbGciOiJIUzI1NiJ9.e30.x", "Invalid token format"],
    [`Bearer ${api}unknown`, "Invalid API key"],
    [`Bearer ${api}FULL`, "Invalid API key"],
    [`Bearer ${api}full x`, "Invalid API key"],
    [`Bearer ${api}full, Bearer ${api}full`, "Invalid API key"],
    [`Bearer ${api}ful`, "Invalid API key"],
    [`Bearer ${api}cli`, "Invalid API key"],
    [`Bearer ${api}cli-in-disguise`, "Invalid API key"],
    [`Bearer ${api}disabled`, "API key is deactivated"],
    [`Bearer ${api}disabled-expired`, "API key is deactivated"],
    [`Bearer ${api}expired`, "API key has expired"],
    [`Bearer ${cli}unknown`, "Invalid CLI token"],
    [`Bearer ${cli}full`, "Invalid CLI token"],
    [`Bearer ${cli}api-in-disguise`, "Invalid CLI token"],
    [`Bearer ${cli}cli-disabled`, "Invalid CLI token"],
    [`Bearer ${cli}cli-disabled-expired`, "Invalid CLI token"],
    [`Bearer ${cli}cli-expired`, "CLI token has expired"],
  ];
  const welcome: [header: string, what: string][] = [
    [`bearer ${api}full`, "lower case"],
    [`BEARER ${api}full`, "upper case"],
    [`bEaReR    ${cli}cli`, "spaces"],
    [`Bearer ${api}later`, "not expired yet"],
    [`Bearer ${cli}cli-later`, "token not expired yet"],
    [`Bearer ${api}A1-._~+/=:;,@!"'%20`, "odd characters"],
  ];
  const foreign = api === "svc_sk_" ? ["orr-", "or_cli-"] : ["svc_sk_", "svcx_"];
  const twice = (first: string, second: string): Step["headers"] => [bearer(first), bearer(second)];
  return ROUTES.flatMap(({ path: route, scope }) => {
    const target = goodTarget(world, route);
    return [
      ...refusals.map(([header, error]) =>
        one(`${route} Authorization: ${header}`, {
          target,
          headers: header === undefined ? [] : [["Authorization", header]],
          status: 401,
          error,
        }),
      ),
      ...welcome.map(([header, what]) =>
        one(`${route} Bearer in ${what}`, { target, headers: [["authorization", header]], status: 200 }),
      ),
      ...foreign.map((prefix) =>
        one(`${route} prefix ${prefix} of another server`, {
          target,
          headers: [bearer(`${prefix}full`)],
          status: 401,
          error: "Invalid token format",
        }),
      ),
      one(
        `${route} of two tokens the first counts`,
        { target, headers: twice(`${api}full`, `${api}unknown`)!, status: 200 },
        ["node", "direct"],
      ),
      one(
        `${route} of two tokens the first counts, though it is bad`,
        { target, headers: twice(`${api}unknown`, `${api}full`)!, status: 401, error: "Invalid API key" },
        ["node", "direct"],
      ),
      ...["worlds", "users", "instances", "none", "odd"].map((id) => {
        const granted = scope === null || `read:${id}` === scope;
        return one(`${route} with scopes ${id}`, {
          target,
          headers: [as(world, id)],
          status: granted ? 200 : 403,
          ...(granted ? {} : { error: `Insufficient scope. Required: ${scope}` }),
        });
      }),
    ];
  });
};

export const methods: Group = (world) =>
  ROUTES.flatMap(({ path: route }) => {
    const target = goodTarget(world, route);
    const credentials: [string, Step["headers"]][] = [
      ["no token", []],
      ["a bad token", [bearer("nonsense")]],
      ["a good token", [as(world, "full")]],
    ];
    return [
      ...credentials.flatMap(([what, headers = []]) => [
        ...["POST", "PUT", "PATCH", "DELETE"].map((method) =>
          one(`${route} ${method} with ${what}`, {
            method,
            target,
            headers,
            status: 405,
            error: "Method not allowed",
          }),
        ),
        ...["TRACE", "PROPFIND", "PURGE"].map((method) =>
          one(`${route} ${method} with ${what}`, { method, target, headers, status: 405 }, [
            "node",
            "direct",
          ]),
        ),
        one(`${route} OPTIONS with ${what}`, {
          method: "OPTIONS",
          target,
          headers: [
            ...headers,
            ["Origin", "https://elsewhere.example"],
            ["Access-Control-Request-Method", "GET"],
            ["Access-Control-Request-Headers", "authorization, if-match"],
          ],
          status: 204,
        }),
      ]),
      one(`${route} POST with a body`, { method: "POST", target, headers: [], body: "{}", status: 405 }, [
        "node",
      ]),
      one(`${route} 405 comes before conditions`, {
        method: "DELETE",
        target,
        headers: [as(world, "full"), ["If-Match", '"other"']],
        status: 405,
      }),
    ];
  });

export const conditions: Group = (world) => {
  const tag = `"${world.settings.generation}"`;
  const table: [ifMatch: string | undefined, ifNoneMatch: string | undefined, status: number][] = [
    [undefined, tag, 304],
    [undefined, `W/${tag}`, 304],
    [undefined, "*", 304],
    [undefined, `"other", ${tag}`, 304],
    [undefined, `"other",${tag},"more"`, 304],
    [undefined, `W/"a" , W/${tag}`, 304],
    [undefined, `"with, comma", ${tag}`, 304],
    [undefined, '"other"', 200],
    [undefined, '""', 200],
    [undefined, world.settings.generation, 200],
    [undefined, `"${world.settings.generation} "`, 200],
    [undefined, tag.toUpperCase(), 200],
    [undefined, '"*"', 200],
    [tag, undefined, 200],
    ["*", undefined, 200],
    [`"other", ${tag}`, undefined, 200],
    [`W/${tag}`, undefined, 412],
    [`W/${tag}, "other"`, undefined, 412],
    [`W/${tag}, ${tag}`, undefined, 200],
    ['"other"', undefined, 412],
    ['"*"', undefined, 412],
    [world.settings.generation, undefined, 412],
    ['"other"', tag, 412],
    ['"other"', "*", 412],
    [`W/${tag}`, `W/${tag}`, 412],
    [tag, tag, 304],
    ["*", "*", 304],
    [tag, '"other"', 200],
  ];
  const headersOf = ([ifMatch, ifNoneMatch]: (typeof table)[number]): [string, string][] => [
    ...(ifMatch === undefined ? [] : [["If-Match", ifMatch] as [string, string]]),
    ...(ifNoneMatch === undefined ? [] : [["If-None-Match", ifNoneMatch] as [string, string]]),
  ];
  const cases = ROUTES.flatMap(({ path: route }) => {
    const target = goodTarget(world, route);
    return table.flatMap((row) => {
      const [ifMatch, ifNoneMatch, status] = row;
      return ["GET", "HEAD"].map((method) =>
        one(`${route} ${method} If-Match: ${ifMatch} If-None-Match: ${ifNoneMatch}`, {
          method,
          target,
          headers: [as(world, method === "GET" ? "full" : "cli"), ...headersOf(row)],
          status,
          ...(status === 412 && method === "GET" ? { error: "Snapshot has changed" } : {}),
        }),
      );
    });
  });
  const target = at("/worlds");
  return [
    ...cases,
    one("If-None-Match in two headers", {
      target,
      headers: [as(world, "full"), ["If-None-Match", '"other"'], ["If-None-Match", tag]],
      status: 304,
    }),
    one("If-Match in two headers", {
      target,
      headers: [as(world, "full"), ["If-Match", '"other"'], ["If-Match", tag]],
      status: 200,
    }),
    // The conditions matter only when the answer would be 200.
    ...(
      [
        ["/worlds/search", "full", 400],
        ["/worlds/search?q=%CC%81", "full", 400],
        ["/users/search?q=", "full", 400],
        ["/worlds", "none", 403],
        ["/nowhere", "full", 404],
        [`/worlds/${UNKNOWN_ID}`, "full", 404],
        [`/worlds/${UNKNOWN_ID}/stats`, "full", 404],
        [`/worlds/${UNKNOWN_ID}/instances`, "full", 404],
        [`/users/${UNKNOWN_ID}`, "full", 404],
        [`/users/${UNKNOWN_ID}/worlds`, "full", 404],
        [`/instances/${UNKNOWN_ID}`, "full", 404],
        ["/worlds", "disabled", 401],
      ] as const
    ).flatMap(([below, key, status]) =>
      [
        ["If-Match", '"other"'] as const,
        ["If-None-Match", "*"] as const,
        ["If-None-Match", tag] as const,
        ["If-Match", tag] as const,
      ].map((condition) =>
        one(`${below} as ${key}, ${condition.join(": ")}`, {
          target: at(below),
          headers: [as(world, key), condition],
          status,
        }),
      ),
    ),
  ];
};

/** Every id of the snapshot, and every text that is no id, in every place of an id. */
export const ids: Group = (world) => {
  const { rows } = world;
  const places: [string, string][] = [
    ["/worlds/:id", "World not found"],
    ["/worlds/:id/stats", "World not found"],
    ["/worlds/:id/instances", "World not found"],
    ["/users/:id", "User not found"],
    ["/users/:id/worlds", "User not found"],
    ["/instances/:id", "Instance not found"],
  ];
  const id = madeId("user", 40);
  const bad = [
    ...["x", "search2", "0", "null", "undefined", "..;", "%00", "%2e%2e", "%2F"],
    ...[id.slice(0, -1), `${id}0`, `${id.slice(0, -1)}g`, id.replaceAll("-", ""), id.replaceAll("-", "_")],
    ...[`{${id}}`, `urn:uuid:${id}`, `${id}%20`, `%20${id}`, id.replace("-", "%2D")],
    ...["-".repeat(36), "0".repeat(36), "__proto__", "constructor", "a".repeat(4000)],
  ];
  const misses = [UNKNOWN_ID, UNKNOWN_ID.toUpperCase(), "00000000-0000-0000-0000-000000000002"];
  const missing = places.flatMap(([place, error]) =>
    [...bad, ...misses].map((text) =>
      one(`${place} of ${text.slice(0, 40)}`, {
        target: at(place.replace(":id", text)),
        headers: [as(world, "full")],
        status: 404,
        error,
      }),
    ),
  );
  const known = { worlds: rows.worlds, users: rows.users, instances: rows.instances };
  const present = places.flatMap(([place]) =>
    known[place.split("/")[1] as keyof typeof known].flatMap((row) =>
      [row.id, row.id.toLowerCase(), row.id.toUpperCase()].map((text) =>
        one(`${place} of ${text}`, { target: at(place.replace(":id", text)), headers: [as(world, "cli")] }),
      ),
    ),
  );
  const byWorld = [...rows.worlds.map((row) => row.id), UNKNOWN_ID, "x", "%20", "%20x", "..", "null"].flatMap(
    (text) =>
      [text.toLowerCase(), text.toUpperCase()].map((worldId) =>
        one(`/instances of world ${worldId}`, {
          target: at(`/instances?worldId=${worldId}`),
          headers: [as(world, "full")],
          status: 200,
        }),
      ),
  );
  const emptyWorld = ["/instances?worldId=", "/instances?worldId", "/instances?worldId=&limit=7"].map(
    (below) =>
      one(below, {
        target: at(below),
        headers: [as(world, "full")],
        status: 200,
        check: ({ body }) => assert.ok(JSON.parse(body).pagination.total > 1),
      }),
  );
  return [...missing, ...present, ...byWorld, ...emptyWorld];
};
