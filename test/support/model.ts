/**
 * What the server should answer, worked out the slow way from plain arrays of
 * rows: no index, no packing, no cache. It shares no code with the server, so
 * that an error in one is not an error in both.
 */

import { createHash } from "node:crypto";

/** A row of `users.ndjson`; other fields may stand beside these. */
export interface UserRow {
  id: string;
  displayName: string;
  userIconUrl?: string | null;
  createdAt: string;
  [other: string]: unknown;
}

/** A row of `worlds.ndjson`. */
export interface WorldRow {
  id: string;
  name: string;
  description?: string | null;
  ownerId: string;
  isPublic: boolean;
  status: string;
  createdAt: string;
  updatedAt: string;
  [other: string]: unknown;
}

/** A row of `world-stats.ndjson`. */
export interface StatsRow {
  worldId: string;
  totalVisits: number;
  uniqueVisitors: number;
  visitsLast7Days: number;
  visitsLast30Days: number;
  [other: string]: unknown;
}

/** A row of `instances.ndjson`. */
export interface InstanceRow {
  id: string;
  worldId: string;
  isPublic: boolean;
  isActive: boolean;
  createdAt: string;
  [other: string]: unknown;
}

/** All rows of a snapshot. */
export interface SnapshotRows {
  users: UserRow[];
  worlds: WorldRow[];
  stats: StatsRow[];
  instances: InstanceRow[];
}

/** A key whose token the test knows. */
export interface TestKey {
  id: string;
  kind: "api" | "cli";
  token: string;
  scopes: string[];
  limit: number | null;
  active: boolean;
  expiresAt: string | null;
}

/** How the server was started. */
export interface ModelSettings {
  apiPrefix: string;
  cliPrefix: string;
  rateLimit: number;
  rateWindow: number;
  cors: boolean;
  generation: string;
}

/** A request as it stands on the wire. */
export interface ModelRequest {
  method: string;
  target: string;
  headers: readonly (readonly [name: string, value: string])[];
  /** Milliseconds since the epoch. */
  now: number;
}

/** What must come back. */
export interface Expected {
  status: number;
  /** Exact text; "" where there is none. */
  body: string;
  /** Exact value of every header that is promised; the others of {@link JUDGED_HEADERS} must be absent. */
  headers: Partial<Record<JudgedHeader, string>>;
  /** Content-Length, or undefined where none is promised. */
  length: number | undefined;
}

/** Headers whose presence and value the model decides. */
export const JUDGED_HEADERS = [
  "access-control-allow-credentials",
  "access-control-allow-headers",
  "access-control-allow-origin",
  "access-control-expose-headers",
  "allow",
  "cache-control",
  "etag",
  "retry-after",
  "www-authenticate",
  "x-ratelimit-limit",
  "x-ratelimit-remaining",
  "x-ratelimit-reset",
] as const;

/** One of {@link JUDGED_HEADERS}. */
export type JudgedHeader = (typeof JUDGED_HEADERS)[number];

/** Path in front of every operation. */
export const MODEL_BASE = "/api/public/v1";

// ---------------------------------------------------------------- values

/** Every lone surrogate replaced by U+FFFD. */
export function wellFormed(text: string): string {
  const units = Array.from({ length: text.length }, (_, at) => text.charCodeAt(at));
  const isHigh = (unit: number | undefined) => unit !== undefined && unit >= 0xd800 && unit <= 0xdbff;
  const isLow = (unit: number | undefined) => unit !== undefined && unit >= 0xdc00 && unit <= 0xdfff;
  return units
    .map((unit, at) => {
      const alone = (isHigh(unit) && !isLow(units[at + 1])) || (isLow(unit) && !isHigh(units[at - 1]));
      return String.fromCharCode(alone ? 0xfffd : unit);
    })
    .join("");
}

/** What makes two texts equal to a search. */
export function modelFold(text: string): string {
  const lower = text.normalize("NFKC").toLowerCase();
  let kept = "";
  for (const character of lower.normalize("NFD")) {
    const code = character.codePointAt(0)!;
    if (code < 0x300 || code > 0x36f) kept += character;
  }
  return kept.normalize("NFC");
}

/** What is left of a query once it is cut, folded and trimmed. */
export function modelTerm(query: string): string {
  let cut = query;
  if (query.length > 256) {
    cut = query.substring(0, 256);
    const points = [...cut];
    if (/^[\ud800-\udbff]$/.test(points[points.length - 1]!)) cut = cut.substring(0, 255);
  }
  return modelFold(cut).trim();
}

/** Reads a time with the help of Date; NaN for what is no time. */
export function modelTime(text: string): number {
  if (!/^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}/.test(text)) return Number.NaN;
  let rest = text.substring(16);
  let seconds = 0;
  let milliseconds = 0;
  if (rest.startsWith(":")) {
    if (!/^:[0-9]{2}/.test(rest)) return Number.NaN;
    seconds = Number(rest.substring(1, 3));
    rest = rest.substring(3);
    if (rest.startsWith(".")) {
      const digits = /^[0-9]+/.exec(rest.substring(1))?.[0];
      if (digits === undefined) return Number.NaN;
      milliseconds = Number(`${digits}00`.substring(0, 3));
      rest = rest.substring(1 + digits.length);
    }
  }
  let offset = 0;
  if (rest !== "Z") {
    if (!/^[+-][0-9]{2}:[0-9]{2}$/.test(rest)) return Number.NaN;
    const hours = Number(rest.substring(1, 3));
    const minutes = Number(rest.substring(4, 6));
    if (hours > 23 || minutes > 59) return Number.NaN;
    offset = (rest.startsWith("-") ? -1 : 1) * (hours * 60 + minutes);
  }
  const field = (from: number, to: number) => Number(text.substring(from, to));
  const [year, month, day, hour, minute] = [
    field(0, 4),
    field(5, 7),
    field(8, 10),
    field(11, 13),
    field(14, 16),
  ];
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCFullYear() !== year || date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) {
    return Number.NaN;
  }
  if (hour > 23 || minute > 59 || seconds > 59) return Number.NaN;
  const at = date.getTime() + ((hour * 60 + minute - offset) * 60 + seconds) * 1000 + milliseconds;
  const utcYear = new Date(at).getUTCFullYear();
  return utcYear >= 0 && utcYear <= 9999 ? at : Number.NaN;
}

/** UTC text of a time, digit by digit. */
export function modelTimeText(milliseconds: number): string {
  const date = new Date(milliseconds);
  const digits = (value: number, count: number) => `000${value}`.slice(-count);
  const day = `${digits(date.getUTCFullYear(), 4)}-${digits(date.getUTCMonth() + 1, 2)}-${digits(date.getUTCDate(), 2)}`;
  const time = `${digits(date.getUTCHours(), 2)}:${digits(date.getUTCMinutes(), 2)}:${digits(date.getUTCSeconds(), 2)}`;
  return `${day}T${time}.${digits(date.getUTCMilliseconds(), 3)}Z`;
}

/** Whether a text is an id. */
export function isModelUuid(text: string): boolean {
  const groups = text.split("-");
  const wanted = [8, 4, 4, 4, 12];
  return (
    groups.length === 5 &&
    groups.every(
      (group, at) =>
        group.length === wanted[at] && [...group].every((digit) => "0123456789abcdefABCDEF".includes(digit)),
    )
  );
}

// ---------------------------------------------------------------- rows

interface Served {
  id: string;
  createdAt: string;
}

interface ServedUser extends Served {
  displayName: string;
  userIconUrl: string;
}

interface ServedWorld extends Served {
  name: string;
  description: string;
  ownerId: string;
  isPublic: boolean;
  updatedAt: string;
}

interface ServedInstance extends Served {
  worldId: string;
}

/** Texts of the same length in one alphabet order as their meanings do. */
function compareText(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

function listOrder<Row extends Served>(rows: Row[]): Row[] {
  return [...rows].sort((a, b) => compareText(b.createdAt, a.createdAt) || compareText(a.id, b.id));
}

const timeText = (text: string): string => modelTimeText(modelTime(text));

function optional(text: string | null | undefined): string {
  return wellFormed(text ?? "");
}

const NO_STATS = { totalVisits: 0, uniqueVisitors: 0, visitsLast7Days: 0, visitsLast30Days: 0 };

/** Everything visible, in list order. */
export class ModelStore {
  readonly users: ServedUser[];
  readonly worlds: ServedWorld[];
  readonly instances: ServedInstance[];
  readonly #stats: readonly StatsRow[];
  readonly #popular = new Map<string, ServedWorld[]>();
  readonly #folded = new Map<string, string>();

  constructor(rows: SnapshotRows) {
    this.users = listOrder(
      rows.users.map((row) => ({
        id: row.id.toLowerCase(),
        displayName: wellFormed(row.displayName),
        userIconUrl: optional(row.userIconUrl),
        createdAt: timeText(row.createdAt),
      })),
    );
    this.worlds = listOrder(
      rows.worlds
        .filter((row) => row.isPublic && row.status === "ACTIVE")
        .map((row) => ({
          id: row.id.toLowerCase(),
          name: wellFormed(row.name),
          description: optional(row.description),
          ownerId: row.ownerId.toLowerCase(),
          isPublic: row.isPublic,
          createdAt: timeText(row.createdAt),
          updatedAt: timeText(row.updatedAt),
        })),
    );
    const visible = new Set(this.worlds.map((world) => world.id));
    this.instances = listOrder(
      rows.instances
        .filter((row) => row.isPublic && row.isActive && visible.has(row.worldId.toLowerCase()))
        .map((row) => ({
          id: row.id.toLowerCase(),
          worldId: row.worldId.toLowerCase(),
          createdAt: timeText(row.createdAt),
        })),
    );
    this.#stats = rows.stats;
  }

  statsOf(worldId: string) {
    const row = this.#stats.find((stats) => stats.worldId.toLowerCase() === worldId) ?? NO_STATS;
    return {
      worldId,
      totalVisits: row.totalVisits,
      uniqueVisitors: row.uniqueVisitors,
      visitsLast7Days: row.visitsLast7Days,
      visitsLast30Days: row.visitsLast30Days,
    };
  }

  popular(period: string): ServedWorld[] {
    const known = this.#popular.get(period);
    if (known !== undefined) return known;
    const ranked = this.worlds.map((world, place) => {
      const stats = this.statsOf(world.id);
      const counts = { all: stats.totalVisits, week: stats.visitsLast7Days, month: stats.visitsLast30Days };
      return {
        world,
        place,
        count: counts[period as "all" | "week" | "month"],
        unique: stats.uniqueVisitors,
      };
    });
    ranked.sort((a, b) => b.count - a.count || b.unique - a.unique || a.place - b.place);
    const worlds = ranked.map(({ world }) => world);
    this.#popular.set(period, worlds);
    return worlds;
  }

  /** Users that match a query, or undefined when there is nothing to search for. */
  findUsers(query: string): ServedUser[] | undefined {
    const term = modelTerm(query);
    if (term === "") return undefined;
    return byClass(this.users, 3, (user) => {
      const name = this.#fold(user.displayName);
      if (!name.includes(term)) return undefined;
      if (name === term) return 0;
      return name.startsWith(term) ? 1 : 2;
    });
  }

  /** Worlds that match a query, or undefined when there is nothing to search for. */
  findWorlds(query: string): ServedWorld[] | undefined {
    const term = modelTerm(query);
    if (term === "") return undefined;
    const terms: string[] = [];
    for (const word of term.split(/\s+/u)) if (!terms.includes(word) && terms.length < 10) terms.push(word);
    return byClass(this.popular("all"), 4, (world) => {
      const name = this.#fold(world.name);
      const description = this.#fold(world.description);
      if (!terms.every((word) => name.includes(word) || description.includes(word))) return undefined;
      if (name === term) return 0;
      if (name.startsWith(term)) return 1;
      return terms.every((word) => name.includes(word)) ? 2 : 3;
    });
  }

  #fold(text: string): string {
    let folded = this.#folded.get(text);
    if (folded === undefined) {
      folded = modelFold(text);
      this.#folded.set(text, folded);
    }
    return folded;
  }
}

function byClass<Row>(rows: Row[], classes: number, classOf: (row: Row) => number | undefined): Row[] {
  const found: Row[][] = Array.from({ length: classes }, () => []);
  for (const row of rows) {
    const at = classOf(row);
    if (at !== undefined) found[at]!.push(row);
  }
  return found.flat();
}

// ---------------------------------------------------------------- parameters

/** Normalised parameters. */
export interface ModelParameters {
  limit: number;
  offset: number;
  period: string;
  q: string;
  worldId: string;
  match: string;
}

/** Reads the text behind the first `?`. */
export function modelParameters(query: string): ModelParameters {
  // With a text that begins with "?" the constructor would drop it; here it belongs to the first name.
  const given = new URLSearchParams(`&${query}`);
  const first = (name: string): string => given.get(name) ?? "";
  const digits = (text: string): bigint | undefined => (/^[0-9]+$/.test(text) ? BigInt(text) : undefined);
  const limit = digits(first("limit"));
  const offset = digits(first("offset"));
  const period = first("period");
  return {
    limit: limit === undefined || limit < 1n ? 20 : limit > 50n ? 50 : Number(limit),
    offset: offset === undefined ? 0 : offset > 9007199254740991n ? 9007199254740991 : Number(offset),
    period: period === "week" || period === "month" ? period : "all",
    q: first("q"),
    worldId: first("worldId"),
    match: first("match") === "similar" ? "similar" : "exact",
  };
}

// ---------------------------------------------------------------- rate limit

/** Every request that ever passed, by key; nothing is ever forgotten. */
export class ModelLimit {
  readonly #windowSeconds: number;
  readonly #seen = new Map<string, { newest: number; passed: number[] }>();

  constructor(windowSeconds: number) {
    this.#windowSeconds = windowSeconds;
  }

  count(key: string, limit: number, now: number) {
    const seen = this.#seen.get(key) ?? { newest: 0, passed: [] };
    this.#seen.set(key, seen);
    // A window that was seen is never left for an older one.
    seen.newest = Math.max(seen.newest, Math.floor(now / (this.#windowSeconds * 1000)));
    const used = seen.passed.filter((window) => window === seen.newest).length;
    const passed = used < limit;
    if (passed) seen.passed.push(seen.newest);
    return {
      passed,
      limit,
      remaining: passed ? limit - used - 1 : 0,
      reset: (seen.newest + 1) * this.#windowSeconds,
    };
  }
}

// ---------------------------------------------------------------- conditions

/** The entity tags in a header, one by one. */
function tagsIn(header: string): { weak: boolean; tag: string }[] {
  const tags: { weak: boolean; tag: string }[] = [];
  let rest = header;
  while (rest !== "") {
    rest = rest.replace(/^[ \t,]+/, "");
    const weak = rest.startsWith("W/");
    if (weak) rest = rest.substring(2);
    if (!rest.startsWith('"')) break;
    const end = rest.indexOf('"', 1);
    if (end < 0) break;
    tags.push({ weak, tag: rest.substring(1, end) });
    rest = rest.substring(end + 1);
  }
  return tags;
}

/** What two conditions make of a 200. */
export function modelConditions(
  ifMatch: string | undefined,
  ifNoneMatch: string | undefined,
  generation: string,
): number {
  if (ifMatch !== undefined && ifMatch.trim() !== "*") {
    if (!tagsIn(ifMatch).some(({ weak, tag }) => !weak && tag === generation)) return 412;
  }
  if (ifNoneMatch === undefined) return 200;
  if (ifNoneMatch.trim() === "*") return 304;
  return tagsIn(ifNoneMatch).some(({ tag }) => tag === generation) ? 304 : 200;
}

// ---------------------------------------------------------------- operations

interface Context {
  store: ModelStore;
  id: string;
  parameters: ModelParameters;
}

type Answer = { value: object } | { status: number; error: string };

interface Operation {
  path: string;
  scope: string | null;
  run: (context: Context) => Answer;
}

function list(rows: object[], { limit, offset }: ModelParameters, more: object = {}): Answer {
  const data = rows.filter((_, at) => at >= offset && at < offset + limit);
  return { value: { data, pagination: { total: rows.length, limit, offset }, ...more } };
}

const worldJson = ({ id, name, description, ownerId, isPublic, createdAt, updatedAt }: ServedWorld) => ({
  id,
  name,
  description,
  ownerId,
  isPublic,
  createdAt,
  updatedAt,
});
const userJson = ({ id, displayName, userIconUrl, createdAt }: ServedUser) => ({
  id,
  displayName,
  userIconUrl,
  createdAt,
});
const instanceJson = ({ id, worldId, createdAt }: ServedInstance) => ({ id, worldId, createdAt });

const NO_WORLD: Answer = { status: 404, error: "World not found" };
const NO_USER: Answer = { status: 404, error: "User not found" };
const NO_INSTANCE: Answer = { status: 404, error: "Instance not found" };
const NO_QUERY: Answer = { status: 400, error: 'Query parameter "q" is required' };

function withId<Row extends Served>(rows: Row[], id: string): Row | undefined {
  return isModelUuid(id) ? rows.find((row) => row.id === id.toLowerCase()) : undefined;
}

/** The table of operations, fixed paths first. */
export const MODEL_OPERATIONS: readonly Operation[] = [
  {
    path: "/worlds",
    scope: "read:worlds",
    run: ({ store, parameters }) => list(store.worlds.map(worldJson), parameters),
  },
  {
    path: "/worlds/search",
    scope: "read:worlds",
    run({ store, parameters }) {
      const found = store.findWorlds(parameters.q);
      if (found === undefined) return NO_QUERY;
      return list(
        found.map(({ id, name, description }) => ({ id, name, description })),
        parameters,
      );
    },
  },
  {
    path: "/worlds/popular",
    scope: "read:worlds",
    run({ store, parameters }) {
      const { period } = parameters;
      return list(store.popular(period).map(worldJson), parameters, { period });
    },
  },
  {
    path: "/users/search",
    scope: "read:users",
    run({ store, parameters }) {
      const found = store.findUsers(parameters.q);
      return found === undefined ? NO_QUERY : list(found.map(userJson), parameters);
    },
  },
  {
    path: "/instances",
    scope: "read:instances",
    run({ store, parameters }) {
      const { worldId } = parameters;
      const wanted = worldId.toLowerCase();
      const rows = store.instances.filter((row) => worldId === "" || row.worldId === wanted);
      return list(rows.map(instanceJson), parameters);
    },
  },
  {
    path: "/stats",
    scope: null,
    run: ({ store }) => ({
      value: {
        data: {
          totalUsers: store.users.length,
          totalPublicWorlds: store.worlds.length,
          totalPublicInstances: store.instances.length,
        },
      },
    }),
  },
  {
    path: "/worlds/:id",
    scope: "read:worlds",
    run({ store, id }) {
      const world = withId(store.worlds, id);
      return world ? { value: { data: worldJson(world) } } : NO_WORLD;
    },
  },
  {
    path: "/worlds/:id/stats",
    scope: "read:worlds",
    run({ store, id }) {
      const world = withId(store.worlds, id);
      return world ? { value: { data: store.statsOf(world.id) } } : NO_WORLD;
    },
  },
  {
    path: "/worlds/:id/instances",
    scope: "read:instances",
    run({ store, id, parameters }) {
      const world = withId(store.worlds, id);
      if (!world) return NO_WORLD;
      return list(store.instances.filter((row) => row.worldId === world.id).map(instanceJson), parameters);
    },
  },
  {
    path: "/users/:id",
    scope: "read:users",
    run({ store, id }) {
      const user = withId(store.users, id);
      return user ? { value: { data: userJson(user) } } : NO_USER;
    },
  },
  {
    path: "/users/:id/worlds",
    scope: "read:worlds",
    run({ store, id, parameters }) {
      const user = withId(store.users, id);
      if (!user) return NO_USER;
      return list(store.worlds.filter((row) => row.ownerId === user.id).map(worldJson), parameters);
    },
  },
  {
    path: "/instances/:id",
    scope: "read:instances",
    run({ store, id }) {
      const instance = withId(store.instances, id);
      return instance ? { value: { data: instanceJson(instance) } } : NO_INSTANCE;
    },
  },
];

function findOperation(path: string): { operation: Operation; id: string } | undefined {
  const given = path.split("/");
  for (const operation of MODEL_OPERATIONS) {
    const wanted = `${MODEL_BASE}${operation.path}`.split("/");
    if (given.length !== wanted.length) continue;
    if (!wanted.every((part, at) => (part === ":id" ? given[at] !== "" : part === given[at]))) continue;
    return { operation, id: given[wanted.indexOf(":id")] ?? "" };
  }
  return undefined;
}

// ---------------------------------------------------------------- the whole

/** A server as it should be. Counts requests, so every request must be asked exactly once and in order. */
export class Model {
  readonly store: ModelStore;
  readonly settings: ModelSettings;
  readonly #keys: readonly TestKey[];
  readonly #limit: ModelLimit;

  constructor(rows: SnapshotRows, keys: readonly TestKey[], settings: ModelSettings) {
    this.store = new ModelStore(rows);
    this.settings = settings;
    this.#keys = keys;
    this.#limit = new ModelLimit(settings.rateWindow);
  }

  ask(request: ModelRequest): Expected {
    const { cors, generation, rateLimit } = this.settings;
    const { method, now } = request;
    const rate: Expected["headers"] = {};
    const shared: Expected["headers"] = cors ? { "access-control-allow-origin": "*" } : {};
    const exposed: Expected["headers"] = cors
      ? {
          "access-control-expose-headers":
            "etag, retry-after, x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset, x-request-id",
        }
      : {};
    const withBody = (status: number, value: object, headers: Expected["headers"]): Expected => {
      const text = JSON.stringify(value);
      return {
        status,
        body: method === "HEAD" ? "" : text,
        length: Buffer.byteLength(text),
        headers: { ...shared, ...exposed, ...rate, ...headers },
      };
    };
    const fail = (status: number, error: string, headers: Expected["headers"] = {}): Expected =>
      withBody(status, { error }, { "cache-control": "no-store", ...headers });

    const local = request.target.replace(/^https?:\/\/[^/?#]*/i, "");
    const path = local.split("?", 1)[0]!;
    const query = local.substring(path.length + 1);

    const found = findOperation(path);
    if (found === undefined) return fail(404, "Not found");
    const allow = "GET, HEAD, OPTIONS";
    if (method === "OPTIONS") {
      const allowed: Expected["headers"] = cors
        ? {
            "access-control-allow-headers":
              "authorization, content-type, if-match, if-none-match, traceparent, tracestate, x-request-id",
          }
        : {};
      return { status: 204, body: "", length: undefined, headers: { ...shared, ...allowed, allow } };
    }
    if (method !== "GET" && method !== "HEAD") return fail(405, "Method not allowed", { allow });

    const values = (name: string): string[] =>
      request.headers.filter(([given]) => given.toLowerCase() === name).map(([, value]) => value);
    const key = this.#judgeToken(values("authorization")[0], now);
    if (typeof key === "string") return fail(401, key, { "www-authenticate": "Bearer" });

    if (key.kind === "api") {
      const quota = this.#limit.count(key.id, key.limit ?? rateLimit, now);
      rate["x-ratelimit-limit"] = String(quota.limit);
      rate["x-ratelimit-remaining"] = String(quota.remaining);
      rate["x-ratelimit-reset"] = String(quota.reset);
      if (!quota.passed) {
        const wait = Math.max(1, Math.ceil((quota.reset * 1000 - now) / 1000));
        return fail(429, "Rate limit exceeded", { "retry-after": String(wait) });
      }
      const { scope } = found.operation;
      if (scope !== null && !key.scopes.includes(scope)) {
        return fail(403, `Insufficient scope. Required: ${scope}`);
      }
    }

    const answer = found.operation.run({
      store: this.store,
      id: found.id,
      parameters: modelParameters(query),
    });
    if ("error" in answer) return fail(answer.status, answer.error);
    const etag = `"${generation}"`;
    const joined = (name: string): string | undefined =>
      values(name).length === 0 ? undefined : values(name).join(", ");
    const status = modelConditions(joined("if-match"), joined("if-none-match"), generation);
    if (status === 412) return fail(412, "Snapshot has changed", { etag });
    const fresh: Expected["headers"] = { etag, "cache-control": "private, no-cache" };
    if (status === 304) {
      return {
        status,
        body: "",
        length: undefined,
        headers: { ...shared, ...exposed, ...rate, ...fresh },
      };
    }
    return withBody(200, answer.value, fresh);
  }

  #judgeToken(header: string | undefined, now: number): TestKey | string {
    if (header === undefined) return "Authentication required";
    const { apiPrefix, cliPrefix } = this.settings;
    if (header.substring(0, 7).toLowerCase() !== "bearer ") return "Invalid token format";
    const token = header.substring(7).replace(/^ +/, "");
    const isApi = token.startsWith(apiPrefix) && token !== apiPrefix;
    const isCli = token.startsWith(cliPrefix) && token !== cliPrefix;
    if (!isApi && !isCli) return "Invalid token format";
    const key = this.#keys.find((known) => known.token === token && known.kind === (isApi ? "api" : "cli"));
    const isOver = key !== undefined && key.expiresAt !== null && modelTime(key.expiresAt) <= now;
    if (isApi) {
      if (key === undefined) return "Invalid API key";
      if (!key.active) return "API key is deactivated";
      return isOver ? "API key has expired" : key;
    }
    if (!key?.active) return "Invalid CLI token";
    return isOver ? "CLI token has expired" : key;
  }
}

/** The text of a keys file that holds these keys. */
export function keysFileText(keys: readonly TestKey[]): string {
  const records = keys.map(({ id, kind, token, scopes, limit, active, expiresAt }) => ({
    id,
    kind,
    name: `name of ${id}`,
    sha256: createHash("sha256").update(token).digest("hex"),
    scopes,
    limit,
    active,
    expiresAt,
    createdAt: "2024-01-01T00:00:00.000Z",
  }));
  return JSON.stringify({ keys: records });
}
