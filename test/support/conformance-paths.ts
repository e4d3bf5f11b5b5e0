/** Conformance cases of paths, limits, and lists that are read to the end. */

import assert from "node:assert/strict";
import { ROUTES } from "../../src/api/routes.ts";
import {
  as,
  at,
  type Case,
  type CaseStep,
  type Group,
  goodTarget,
  isList,
  one,
  someIds,
} from "./conformance.ts";
import type { Got, Step } from "./doors.ts";
import { UNKNOWN_ID } from "./snapshot.ts";

export const paths: Group = (world) => {
  const { world: id } = someIds(world);
  const unknown = [
    ...["/docs/", "/api", "/api/public", "/api/public/v2/worlds", "/API/public/v1/worlds", "/api/public/v1"],
    ...["/api/public/v1/", "/api/public/v1worlds", "//api/public/v1/worlds", "/api//public/v1/worlds"],
    "/x/api/public/v1/worlds",
    ...["/Worlds", "/WORLDS", "/world", "/worldsx", "/worlds;x=1", "//worlds", "/./worlds"].map(at),
    ...[
      "/x/../worlds",
      "/%77orlds",
      "/worlds%2F",
      "/worlds%3Flimit=1",
      "/worlds%00",
      "/worlds/",
      "/worlds//",
    ].map(at),
    ...["/worlds/search/", "/worlds//search", "/worlds//stats", "/worlds//instances"].map(at),
    ...[`/worlds/${id}/`, `/worlds//${id}`, `/worlds/${id}/stats/`, `/worlds/${id}//stats`].map(at),
    ...["Stats", "statsx", "xstats", "x/stats", `instances/${id}`, "dailyVisits"].map((part) =>
      at(`/worlds/${id}/${part}`),
    ),
    ...[`/World/${id}`, "/users", "/users/", "/users/search/", `/users/${id}/instances`, `/users/${id}/`].map(
      at,
    ),
    ...["/instances/", `/instances/${id}/stats`, "/stats/", "/stats/x", "/Stats", "/keys"].map(at),
    ...["/__proto__", "/constructor", "/favicon.ico"].map(at),
    ...["/healthz", "/%2e%2e/api/public/v1/stats", at("/../v1/stats")],
  ];
  const noId: [string, string][] = [
    ...["Search", "POPULAR", "search%20", "stats", "search/stats", "popular/instances"].map(
      (below): [string, string] => [at(`/worlds/${below}`), "World not found"],
    ),
    [at("/users/Search"), "User not found"],
    [at("/users/search/worlds"), "User not found"],
    [at("/instances/search"), "Instance not found"],
    [at("/worlds/..%2F"), "World not found"],
  ];
  const absolute = ROUTES.flatMap(({ path: route }) => {
    const target = goodTarget(world, route);
    return [`http://any${target}`, `https://user@other.example:81${target}`, `HTTP://ANY${target}`].map(
      (text) =>
        one(`absolute ${text}`, { target: text, headers: [as(world, "full")], status: 200 }, [
          "node",
          "direct",
        ]),
    );
  });
  return [
    ...unknown.flatMap((target) => [
      one(`${target} with a token`, {
        target,
        headers: [as(world, "full")],
        status: 404,
        error: "Not found",
      }),
      one(`${target} without a token`, { target, status: 404 }),
      one(`POST ${target}`, { method: "POST", target, status: 404, error: "Not found" }),
      one(`OPTIONS ${target}`, { method: "OPTIONS", target, status: 404, error: "Not found" }),
      one(`HEAD ${target}`, { method: "HEAD", target, status: 404 }),
    ]),
    ...noId.flatMap(([target, error]) => [
      one(target, { target, headers: [as(world, "full")], status: 404, error }),
      one(`${target} without a token`, { target, status: 401, error: "Authentication required" }),
      one(`OPTIONS ${target}`, { method: "OPTIONS", target, status: 204 }),
    ]),
    ...absolute,
    one("absolute and nowhere", { target: "http://any/nowhere", status: 404, error: "Not found" }),
    one("absolute with nothing behind it", { target: "http://any", status: 404 }, ["node", "direct"]),
    one("a proxy's target in the path", { target: "/http://any/api/public/v1/stats", status: 404 }),
  ];
};

/** Which of two errors is sent, and which requests count against the limit. */
export const limits: Group = (world) => {
  const worlds = at("/worlds");
  const search = at("/worlds/search");
  const lost = at(`/worlds/${UNKNOWN_ID}`);
  const tag = `"${world.settings.generation}"`;
  const cases: Case[] = [];
  const used = { "small-": 0, "small-none-": 0 };
  /** An unused key with this limit. */
  const fresh = (limit: number, kind: keyof typeof used = "small-"): [string, string] => {
    const number = used[kind]++ * 4 + limit - 1;
    return as(world, `${kind}${number}`);
  };
  const limited = { status: 429, error: "Rate limit exceeded" };
  const remaining = (value: number) => (got: Got) => {
    assert.equal(new Map(got.headers).get("x-ratelimit-remaining"), String(value));
  };

  for (const { path: route } of ROUTES) {
    const target = goodTarget(world, route);
    const token = fresh(2);
    cases.push({
      name: `${route} passes twice, then 429 for good`,
      steps: [
        { target, headers: [token], status: 200, check: remaining(1) },
        { target, headers: [token], status: 200, check: remaining(0) },
        { target, headers: [token], ...limited, check: remaining(0) },
        { target, headers: [token], ...limited, check: remaining(0) },
        { target: worlds, method: "HEAD", headers: [token], status: 429 },
        { target, headers: [as(world, "full")], status: 200 },
      ],
    });
  }
  const counting: [what: string, step: Step, status: number][] = [
    ["200", { target: worlds }, 200],
    ["HEAD", { target: worlds, method: "HEAD" }, 200],
    ["304", { target: worlds, headers: [["If-None-Match", tag]] }, 304],
    ["412", { target: worlds, headers: [["If-Match", '"other"']] }, 412],
    ["404", { target: lost }, 404],
    ["400", { target: search }, 400],
    ["absolute form", { target: `http://any${worlds}` }, 200],
  ];
  for (const [what, step, status] of counting) {
    const token = fresh(1);
    cases.push({
      name: `${what} counts`,
      steps: [
        { ...step, headers: [token, ...(step.headers ?? [])], status, check: remaining(0) },
        { target: worlds, headers: [token], ...limited },
      ],
    });
  }
  const poor = fresh(1, "small-none-");
  cases.push({
    name: "403 counts",
    steps: [
      { target: worlds, headers: [poor], status: 403, check: remaining(0) },
      { target: worlds, headers: [poor], ...limited },
    ],
  });
  const others: [what: string, (token: [string, string]) => Step, status: number][] = [
    ["an unknown path", (token) => ({ target: at("/nowhere"), headers: [token] }), 404],
    ["a trailing slash", (token) => ({ target: `${worlds}/`, headers: [token] }), 404],
    ["405", (token) => ({ target: worlds, method: "POST", headers: [token] }), 405],
    ["OPTIONS", (token) => ({ target: worlds, method: "OPTIONS", headers: [token] }), 204],
    ["another's 401", () => ({ target: worlds }), 401],
    [
      "a token of another kind",
      ([, value]) => ({ target: worlds, headers: [["Authorization", `${value}x`]] }),
      401,
    ],
    ["another key", () => ({ target: worlds, headers: [as(world, "full")] }), 200],
    ["a CLI token", () => ({ target: worlds, headers: [as(world, "cli")] }), 200],
  ];
  for (const [what, make, status] of others) {
    const token = fresh(3);
    const other = { ...make(token), status };
    cases.push({
      name: `${what} does not count`,
      steps: [
        { target: worlds, headers: [token], status: 200, check: remaining(2) },
        other,
        other,
        { target: worlds, headers: [token], status: 200, check: remaining(1) },
        other,
        { target: worlds, headers: [token], status: 200, check: remaining(0) },
        other,
        { target: worlds, headers: [token], ...limited },
        other,
      ],
    });
  }
  // With the limit used up, a 429 hides every later error and no earlier one.
  const over = fresh(1, "small-none-");
  const after429: [Step, number][] = [
    [{ target: worlds, headers: [over] }, 429],
    [{ target: search, headers: [over] }, 429],
    [{ target: lost, headers: [over] }, 429],
    [{ target: at("/stats"), headers: [over, ["If-None-Match", "*"]] }, 429],
    [{ target: at("/stats"), headers: [over, ["If-Match", '"other"']] }, 429],
    [{ target: at("/stats"), headers: [["Authorization", "Bearer x"]] }, 401],
    [{ target: worlds, method: "PUT", headers: [over] }, 405],
    [{ target: worlds, method: "OPTIONS", headers: [over] }, 204],
    [{ target: at("/nowhere"), headers: [over] }, 404],
  ];
  cases.push({
    name: "429 stands between 401 and 403",
    steps: [
      { target: at("/stats"), headers: [over], status: 200 },
      ...after429.map(([step, status]) => ({ ...step, status })),
    ],
  });
  const none = as(world, "none");
  const full = as(world, "full");
  const orders: [what: string, step: Step, status: number, error: string][] = [
    ["404 path before 405", { target: at("/nowhere"), method: "POST" }, 404, "Not found"],
    ["404 path before 401", { target: at("/nowhere") }, 404, "Not found"],
    ["405 before 401", { target: worlds, method: "POST" }, 405, "Method not allowed"],
    ["401 before 403", { target: worlds, headers: [as(world, "disabled")] }, 401, "API key is deactivated"],
    ["401 before 400", { target: search }, 401, "Authentication required"],
    ["401 before 404", { target: lost }, 401, "Authentication required"],
    ["403 before 400", { target: search, headers: [none] }, 403, "Insufficient scope. Required: read:worlds"],
    ["403 before 404", { target: lost, headers: [none] }, 403, "Insufficient scope. Required: read:worlds"],
    [
      "403 before 412",
      { target: worlds, headers: [none, ["If-Match", '"other"']] },
      403,
      "Insufficient scope. Required: read:worlds",
    ],
    [
      "400 before 412",
      { target: search, headers: [full, ["If-Match", '"other"']] },
      400,
      'Query parameter "q" is required',
    ],
    ["404 before 412", { target: lost, headers: [full, ["If-Match", '"other"']] }, 404, "World not found"],
    [
      "412 before 304",
      { target: worlds, headers: [full, ["If-Match", '"other"'], ["If-None-Match", tag]] },
      412,
      "Snapshot has changed",
    ],
  ];
  cases.push(...orders.map(([what, step, status, error]) => one(what, { ...step, status, error })));
  return cases;
};

/** A web-standard client that reads pages of one generation. */
export const crawls: Group = (world) =>
  ROUTES.filter(({ path: route }) => isList(route)).flatMap(({ path: route }) =>
    [1, 7, 50].map((limit) => {
      const target = goodTarget(world, route);
      const mark = target.includes("?") ? "&" : "?";
      const steps: CaseStep[] = [];
      for (let offset = 0; offset <= 60; offset += Math.max(limit, 5)) {
        steps.push({
          target: `${target}${mark}limit=${limit}&offset=${offset}`,
          headers: [as(world, "cli"), ["If-Match", `"${world.settings.generation}"`]],
          status: 200,
        });
      }
      return { name: `${route} by ${limit}`, steps };
    }),
  );
