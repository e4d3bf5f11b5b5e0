/** Conformance cases of paths, of limits, and of the order of errors. */

import assert from "node:assert/strict";
import { ROUTES } from "../../src/api/routes.ts";
import { UNKNOWN_ID } from "../support/snapshot.ts";
import type { Got } from "./doors.ts";
import { at, type Case, type CaseStep, type Group, goodTarget, someIds, tokenOf, words } from "./worlds.ts";

/** Paths that are none of the API's. */
const OUTSIDE = words(`
  /docs/ /api /api/public /api/public/v2/worlds /API/public/v1/worlds /api/public/v1 /api/public/v1/
  /api/public/v1worlds //api/public/v1/worlds /api//public/v1/worlds /x/api/public/v1/worlds
  /healthz /%2e%2e/api/public/v1/stats`);

/** Paths below the API's that are no operation's; ID is that of a world. */
const UNKNOWN = words(`
  /Worlds /WORLDS /world /worldsx /worlds;x=1 //worlds /./worlds /x/../worlds /%77orlds /worlds%2F
  /worlds%3Flimit=1 /worlds%00 /worlds/ /worlds// /worlds/search/ /worlds//search /worlds//stats
  /worlds//instances /worlds/ID/ /worlds//ID /worlds/ID/stats/ /worlds/ID//stats /worlds/ID/Stats
  /worlds/ID/statsx /worlds/ID/xstats /worlds/ID/x/stats /worlds/ID/instances/ID /worlds/ID/dailyVisits
  /World/ID /users /users/ /users/search/ /users/ID/instances /users/ID/ /instances/ /instances/ID/stats
  /stats/ /stats/x /Stats /keys /__proto__ /constructor /favicon.ico /../v1/stats`);

/** Paths of an operation with a text in the place of the id that is none. */
const NO_ID: readonly [paths: string, error: string][] = [
  ["/worlds/Search /worlds/POPULAR /worlds/search%20 /worlds/stats /worlds/..%2F", "World not found"],
  ["/worlds/search/stats /worlds/popular/instances", "World not found"],
  ["/users/Search /users/search/worlds", "User not found"],
  ["/instances/search", "Instance not found"],
];

export const paths: Group = (world) => {
  const id = someIds(world).worlds!;
  const unknown = [...OUTSIDE, ...UNKNOWN.map((path) => at(path.replaceAll("ID", id)))];
  const noId = NO_ID.flatMap(([texts, error]) => words(texts).map((path) => ({ target: at(path), error })));
  const notFound = { status: 404, error: "Not found" };
  return [
    ...unknown.flatMap((target): Case[] => [
      { target, key: "full", ...notFound },
      ...["GET", "POST", "OPTIONS", "HEAD"].map((method) => ({ method, target, ...notFound })),
    ]),
    ...noId.flatMap(({ target, error }): Case[] => [
      { target, key: "full", status: 404, error },
      { target, status: 401, error: "Authentication required" },
      { method: "OPTIONS", target, status: 204 },
    ]),
    ...ROUTES.flatMap((route) => {
      const target = goodTarget(world, route);
      const origins = ["http://any", "https://user@other.example:81", "HTTP://ANY"];
      return origins.map((origin) => ({ target: `${origin}${target}`, key: "full", status: 200 }));
    }),
    { target: "http://any/nowhere", ...notFound },
    { target: "http://any", ...notFound },
    { target: "/http://any/api/public/v1/stats", ...notFound },
  ];
};

const worlds = at("/worlds");
const search = at("/worlds/search");
const lost = at(`/worlds/${UNKNOWN_ID}`);
const nowhere = at("/nowhere");
const otherTag = [["If-Match", '"other"']] as const;

const remaining = (value: number) => (got: Got) => {
  assert.equal(new Map(got.headers).get("x-ratelimit-remaining"), String(value));
};

/** Which requests count against the limit. */
function counted(
  world: Parameters<Group>[0],
  fresh: (limit: number, kind?: "small-none-") => string,
): Case[] {
  const sameTag = [["If-None-Match", `"${world.settings.generation}"`]] as const;
  const limited = { status: 429, error: "Rate limit exceeded", check: remaining(0) };
  const toTheEnd = ROUTES.map((route): Case => {
    const step = { target: goodTarget(world, route), key: fresh(2) };
    return [
      { ...step, status: 200, check: remaining(1) },
      { ...step, status: 200, check: remaining(0) },
      { ...step, ...limited },
      { ...step, ...limited },
      { ...step, target: worlds, method: "HEAD", status: 429 },
      { ...step, key: "full", status: 200 },
    ];
  });
  const counting: CaseStep[] = [
    { target: worlds, status: 200 },
    { target: worlds, method: "HEAD", status: 200 },
    { target: worlds, headers: sameTag, status: 304 },
    { target: worlds, headers: otherTag, status: 412 },
    { target: lost, status: 404 },
    { target: search, status: 400 },
    { target: `http://any${worlds}`, status: 200 },
    { target: worlds, key: fresh(1, "small-none-"), status: 403 },
  ];
  const others: ((key: string) => CaseStep)[] = [
    (key) => ({ target: nowhere, key, status: 404 }),
    (key) => ({ target: `${worlds}/`, key, status: 404 }),
    (key) => ({ target: worlds, method: "POST", key, status: 405 }),
    (key) => ({ target: worlds, method: "OPTIONS", key, status: 204 }),
    () => ({ target: worlds, status: 401 }),
    (key) => ({
      target: worlds,
      headers: [["Authorization", `Bearer ${tokenOf(world, key)}x`]],
      status: 401,
    }),
    () => ({ target: worlds, key: "full", status: 200 }),
    () => ({ target: worlds, key: "cli", status: 200 }),
  ];
  return [
    ...toTheEnd,
    ...counting.map((step): Case => {
      const { key = fresh(1) } = step;
      return [
        { ...step, key, check: remaining(0) },
        { target: worlds, key, ...limited },
      ];
    }),
    ...others.map((make): Case => {
      const key = fresh(3);
      const other = make(key);
      const passes = (left: number) => ({ target: worlds, key, status: 200, check: remaining(left) });
      return [
        ...[passes(2), other, other, passes(1), other, passes(0), other],
        { target: worlds, key, ...limited },
        other,
      ];
    }),
  ];
}

/** With the limit used up, a 429 hides every later error and no earlier one. */
function overLimit(key: string): CaseStep[] {
  const stats = at("/stats");
  return [
    { target: stats, key, status: 200 },
    { target: worlds, key, status: 429 },
    { target: search, key, status: 429 },
    { target: lost, key, status: 429 },
    { target: stats, key, headers: [["If-None-Match", "*"]], status: 429 },
    { target: stats, key, headers: otherTag, status: 429 },
    { target: stats, headers: [["Authorization", "Bearer x"]], status: 401 },
    { target: worlds, method: "PUT", key, status: 405 },
    { target: worlds, method: "OPTIONS", key, status: 204 },
    { target: nowhere, key, status: 404 },
  ];
}

/** Requests with two faults each, of which the first in the order of checks is told. */
function twoFaults(tag: string): CaseStep[] {
  const scope = "Insufficient scope. Required: read:worlds";
  return [
    { target: nowhere, method: "POST", status: 404, error: "Not found" },
    { target: nowhere, status: 404, error: "Not found" },
    { target: worlds, method: "POST", status: 405, error: "Method not allowed" },
    { target: worlds, key: "disabled", status: 401, error: "API key is deactivated" },
    { target: search, status: 401, error: "Authentication required" },
    { target: lost, status: 401, error: "Authentication required" },
    { target: search, key: "none", status: 403, error: scope },
    { target: lost, key: "none", status: 403, error: scope },
    { target: worlds, key: "none", headers: otherTag, status: 403, error: scope },
    { target: search, key: "full", headers: otherTag, status: 400, error: 'Query parameter "q" is required' },
    { target: lost, key: "full", headers: otherTag, status: 404, error: "World not found" },
    {
      target: worlds,
      key: "full",
      headers: [...otherTag, ["If-None-Match", tag]],
      status: 412,
      error: "Snapshot has changed",
    },
  ];
}

export const limits: Group = (world) => {
  const used = { "small-": 0, "small-none-": 0 };
  /** The id of an unused key with this limit. */
  const fresh = (limit: number, kind: keyof typeof used = "small-"): string =>
    `${kind}${used[kind]++ * 4 + limit - 1}`;
  return [
    ...counted(world, fresh),
    overLimit(fresh(1, "small-none-")),
    ...twoFaults(`"${world.settings.generation}"`),
  ];
};
