/**
 * What every peer needs beside its framework and its data: the visible rows of
 * a snapshot, the check of tokens and limits, the headers, and the line that
 * says that it is ready.
 *
 * Written as one would without orrery at hand; of orrery it takes the types of
 * the rows only.
 */

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Instance, Period, User, World, WorldStats } from "../../src/model/model.ts";

/** The visible rows of a snapshot; lists are newest first. */
export interface Rows {
  readonly etag: string;
  readonly users: readonly User[];
  readonly worlds: readonly World[];
  /** By world id; worlds without visits are not in it. */
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

/** Reads a generated snapshot: its rows are known to be good, so nothing is validated. */
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

/** Seconds; orrery's default. */
const WINDOW = 3600;

/** What the gate says to a request: who it is let in as, or what to answer instead. Headers go out either way. */
export interface Verdict {
  readonly refusal: { readonly status: number; readonly error: string } | undefined;
  readonly headers: Readonly<Record<string, string | number>>;
}

const CORS = {
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Expose-Headers":
    "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After, ETag, X-Request-Id",
};
const REFUSED = { "Cache-Control": "no-store", ...CORS };

function unauthorized(error: string): Verdict {
  return { refusal: { status: 401, error }, headers: { ...REFUSED, "WWW-Authenticate": "Bearer" } };
}

interface Key {
  readonly limit: number | null;
  window: number;
  used: number;
}

/** Makes the check of a request's `Authorization` against a keys file: token by its hash, then a fixed-window limit. */
export function createGate(file: string, etag: string): (authorization: string | undefined) => Verdict {
  const { keys: records } = JSON.parse(readFileSync(file, "utf8")) as {
    keys: { sha256: string; limit: number | null }[];
  };
  const keys = new Map<string, Key>(
    records.map(({ sha256, limit }) => [sha256, { limit, window: 0, used: 0 }]),
  );
  const served = { ETag: etag, "Cache-Control": "private, no-cache", ...CORS };
  return (authorization) => {
    if (authorization === undefined) return unauthorized("Authentication required");
    if (!authorization.startsWith("Bearer ")) return unauthorized("Invalid token format");
    const key = keys.get(createHash("sha256").update(authorization.slice(7)).digest("hex"));
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
    const quota = {
      "X-RateLimit-Limit": limit,
      "X-RateLimit-Remaining": limit - key.used,
      "X-RateLimit-Reset": reset,
    };
    if (passed) return { refusal: undefined, headers: { ...served, ...quota } };
    return {
      refusal: { status: 429, error: "Rate limit exceeded" },
      headers: { ...REFUSED, ...quota, "Retry-After": Math.max(1, Math.ceil(reset - now)) },
    };
  };
}

/** A recorded answer of orrery, as the runner writes it for the peers that always say the same. */
export interface RecordedReply {
  readonly status: number;
  /** Names and values in turn, without the ones that node:http adds itself. */
  readonly headers: readonly string[];
  /** One char a byte. */
  readonly body: string;
  /** Milliseconds. */
  readonly keepAliveTimeout: number;
}

/**
 * Tells the runner that requests are accepted, and which process answers them if it is not this one.
 *
 * @param form how it sends its replies, where it has a choice
 */
export function ready(url: string, pid: number = process.pid, form?: string): void {
  process.stdout.write(`${JSON.stringify({ url, pid, form })}\n`);
}
