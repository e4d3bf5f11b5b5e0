/**
 * Shared code of the peers: the visible rows of a snapshot, the check of tokens and limits, the headers, and the line that
 * reports readiness.
 *
 * Written as if orrery did not exist; imports only its types of rows.
 */

import * as crypto from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Instance, Period, PlatformStats, User, World, WorldStats } from "../../src/model/model.ts";

/** The visible rows of a snapshot; lists are newest first. */
export interface Rows {
  readonly etag: string;
  readonly users: readonly User[];
  readonly worlds: readonly World[];
  /** By world id, without worlds that have no visits. */
  readonly stats: ReadonlyMap<string, WorldStats>;
  readonly instances: readonly Instance[];
}

function readTable<Row>(folder: string, file: string): Row[] {
  const lines = readFileSync(join(folder, file), "utf8").split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as Row);
}

function newestFirst<Row extends { id: string; createdAt: string }>(rows: Row[]): Row[] {
  return rows.sort((a, b) =>
    a.createdAt === b.createdAt ? (a.id < b.id ? -1 : 1) : a.createdAt < b.createdAt ? 1 : -1,
  );
}

/** Reads a generated snapshot without validation: its rows are known to be good. */
export function readRows(folder: string): Rows {
  const { generation } = JSON.parse(readFileSync(join(folder, "manifest.json"), "utf8")) as {
    generation: string;
  };
  const users = readTable<User & { userIconUrl: string | null }>(folder, "users.ndjson").map((user) => ({
    id: user.id,
    displayName: user.displayName,
    userIconUrl: user.userIconUrl ?? "",
    createdAt: user.createdAt,
  }));
  const worlds = readTable<World & { description: string | null; status: string }>(folder, "worlds.ndjson")
    .filter(({ isPublic, status }) => isPublic && status === "ACTIVE")
    .map(({ status: _, description, ...world }) => ({ ...world, description: description ?? "" }));
  const visible = new Set(worlds.map(({ id }) => id));
  const stats = readTable<WorldStats>(folder, "world-stats.ndjson").filter(({ worldId }) =>
    visible.has(worldId),
  );
  const instances = readTable<Instance & { isPublic: boolean; isActive: boolean }>(folder, "instances.ndjson")
    .filter(({ isPublic, isActive, worldId }) => isPublic && isActive && visible.has(worldId))
    .map(({ id, worldId, createdAt }) => ({ id, worldId, createdAt }));
  return {
    etag: `"${generation}"`,
    users: newestFirst(users),
    worlds: newestFirst(worlds),
    stats: new Map(stats.map((row) => [row.worldId, row])),
    instances: newestFirst(instances),
  };
}

const VISITS = { all: "totalVisits", week: "visitsLast7Days", month: "visitsLast30Days" } as const;

/** Worlds in the order of a ranking: the period's visits, then unique visitors, then newest. */
export function rankWorlds({ worlds, stats }: Rows, period: Period): World[] {
  const count = (world: World, field: keyof WorldStats): number => Number(stats.get(world.id)?.[field] ?? 0);
  return worlds.toSorted(
    (a, b) =>
      count(b, VISITS[period]) - count(a, VISITS[period]) ||
      count(b, "uniqueVisitors") - count(a, "uniqueVisitors"),
  );
}

/** The words of a query. */
export function termsOf(q: string): string[] {
  return q.split(/\s+/u).filter((word) => word !== "");
}

/** An FTS5 query for texts that contain every word anywhere, each as a phrase. */
export function matchAll(words: readonly string[]): string {
  return words.map((word) => `"${word.replaceAll('"', '""')}"`).join(" AND ");
}

/** The three totals. */
export function statsOf({ users, worlds, instances }: Rows): PlatformStats {
  return {
    totalUsers: users.length,
    totalPublicWorlds: worlds.length,
    totalPublicInstances: instances.length,
  };
}

/** Length of the window in seconds; orrery's default. */
const WINDOW = 3600;

/** Headers, and the same as names and values in turn. */
interface Headers {
  readonly record: Readonly<Record<string, string | number>>;
  readonly list: readonly string[];
}

function headers(record: Headers["record"]): Headers {
  return { record, list: Object.entries(record).flatMap(([name, value]) => [name, String(value)]) };
}

/** The gate's verdict on a request: a refusal to answer with, or none. The headers are sent either way. */
export interface Verdict {
  readonly refusal: { readonly status: number; readonly error: string } | undefined;
  readonly fixed: Headers;
  /** What is left of the limit, and when its window ends; undefined without a key. */
  readonly quota: { readonly limit: number; readonly remaining: number; readonly reset: number } | undefined;
  /** Seconds. */
  readonly retryAfter?: number;
}

/** The headers of a verdict by name. */
export function recordOf({ fixed, quota, retryAfter }: Verdict): Headers["record"] {
  return {
    ...fixed.record,
    ...(quota && {
      "X-RateLimit-Limit": quota.limit,
      "X-RateLimit-Remaining": quota.remaining,
      "X-RateLimit-Reset": quota.reset,
    }),
    ...(retryAfter && { "Retry-After": retryAfter }),
  };
}

/** The headers of a verdict, and more, as names and values in turn: the form that node:http writes quickest. */
export function listOf({ fixed, quota, retryAfter }: Verdict, ...more: readonly string[]): string[] {
  const list = [...fixed.list, ...more];
  if (quota !== undefined) {
    list.push("X-RateLimit-Limit", String(quota.limit), "X-RateLimit-Remaining", String(quota.remaining));
    list.push("X-RateLimit-Reset", String(quota.reset));
  }
  if (retryAfter !== undefined) list.push("Retry-After", String(retryAfter));
  return list;
}

const CORS = {
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Expose-Headers":
    "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After, ETag, X-Request-Id",
};
const REFUSED = headers({ "Cache-Control": "no-store", ...CORS });
const UNAUTHORIZED = headers({ ...REFUSED.record, "WWW-Authenticate": "Bearer" });

function unauthorized(error: string): Verdict {
  return { refusal: { status: 401, error }, fixed: UNAUTHORIZED, quota: undefined };
}

interface Key {
  readonly limit: number | null;
  window: number;
  used: number;
}

/** Node 20.12 and newer hash a short text in one call, in a third of the time. */
const hashOf: (token: string) => string =
  typeof crypto.hash === "function"
    ? (token) => crypto.hash("sha256", token, "hex")
    : (token) => crypto.createHash("sha256").update(token).digest("hex");

/**
 * Makes a function that checks `Authorization` against a keys file: token by hash, then a fixed-window limit. Tokens that were good once
 * are found without a hash.
 */
export function createGate(file: string, etag: string): (authorization: string | undefined) => Verdict {
  const { keys: records } = JSON.parse(readFileSync(file, "utf8")) as {
    keys: { sha256: string; limit: number | null }[];
  };
  const keys = new Map<string, Key>(
    records.map(({ sha256, limit }) => [sha256, { limit, window: 0, used: 0 }]),
  );
  const used = new Map<string, Key>();
  const find = (token: string): Key | undefined => {
    const known = used.get(token);
    if (known !== undefined) return known;
    const key = keys.get(hashOf(token));
    if (key !== undefined) used.set(token, key);
    return key;
  };
  const served = headers({ ETag: etag, "Cache-Control": "private, no-cache", ...CORS });
  return (authorization) => {
    if (authorization === undefined) return unauthorized("Authentication required");
    if (!authorization.startsWith("Bearer ")) return unauthorized("Invalid token format");
    const key = find(authorization.slice(7));
    if (key === undefined) return unauthorized("Invalid API key");
    const now = Date.now() / 1000;
    const window = Math.floor(now / WINDOW);
    if (window !== key.window) {
      key.window = window;
      key.used = 0;
    }
    const limit = key.limit ?? 1000;
    const passed = key.used < limit;
    if (passed) key.used++;
    const reset = (window + 1) * WINDOW;
    const quota = { limit, remaining: limit - key.used, reset };
    if (passed) return { refusal: undefined, fixed: served, quota };
    const retryAfter = Math.max(1, Math.ceil(reset - now));
    return { refusal: { status: 429, error: "Rate limit exceeded" }, fixed: REFUSED, quota, retryAfter };
  };
}

/** A recorded answer of orrery, written by the runner for the constant peers. */
export interface RecordedReply {
  readonly status: number;
  /** Names and values in turn, without the ones that node:http adds itself. */
  readonly headers: readonly string[];
  /** One character a byte. */
  readonly body: string;
  /** Milliseconds. */
  readonly keepAliveTimeout: number;
}

/**
 * Tells the runner that requests are accepted.
 *
 * @param pid the process that answers
 * @param form the form of its replies, if it has a choice
 */
export function ready(url: string, pid: number = process.pid, form?: string): void {
  process.stdout.write(`${JSON.stringify({ url, pid, form })}\n`);
}
