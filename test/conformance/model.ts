/**
 * The answers that the server should give, computed the slow way from plain arrays of rows: no index, no packing, no
 * cache. It shares types and the table of operations with the server and none of its algorithms, so that an error in one
 * is not an error in both.
 */

import type { Route } from "../../src/api/handlers/route.ts";
import { ROUTES } from "../../src/api/routes.ts";
import type { Instance, User, World } from "../../src/model/model.ts";
import type { PathPattern } from "../../src/model/paths.ts";
import type { Field, ROWS } from "../../src/model/schema.ts";

/** The value in a row for a field of each type. */
interface Values {
  id: string;
  text: string;
  boolean: boolean;
  count: number;
  time: string;
}

type Fields = Readonly<Record<string, Field>>;
type Optional<Row extends Fields> = {
  [Name in keyof Row]: Row[Name] extends { absent: unknown } ? Name : never;
}[keyof Row];

/** A row of a file; it may have further fields. */
type RowOf<Row extends Fields> = {
  [Name in Exclude<keyof Row, Optional<Row>>]: Values[Row[Name]["type"]];
} & {
  [Name in Optional<Row>]?: Values[Row[Name]["type"]] | null;
} & { [other: string]: unknown };

export type UserRow = RowOf<(typeof ROWS)["users"]>;
export type WorldRow = RowOf<(typeof ROWS)["worlds"]>;
export type StatsRow = RowOf<(typeof ROWS)["world-stats"]>;
export type InstanceRow = RowOf<(typeof ROWS)["instances"]>;

export interface SnapshotRows {
  users: UserRow[];
  worlds: WorldRow[];
  stats: StatsRow[];
  instances: InstanceRow[];
}

export interface TestKey {
  id: string;
  kind: "api" | "cli";
  token: string;
  scopes: string[];
  limit: number | null;
  active: boolean;
  expiresAt: string | null;
}

export function testKey(id: string, token: string, more: Partial<TestKey> = {}): TestKey {
  const scopes = ["read:worlds", "read:users", "read:instances"];
  return { id, kind: "api", token, scopes, limit: null, active: true, expiresAt: null, ...more };
}

export interface ModelSettings {
  apiPrefix: string;
  cliPrefix: string;
  rateLimit: number;
  rateWindow: number;
  cors: boolean;
  generation: string;
}

type Headers = readonly (readonly [name: string, value: string])[];

/** The values of all headers of a name. */
export function valuesOf(headers: Headers, name: string): string[] {
  return headers.filter(([given]) => given.toLowerCase() === name).map(([, value]) => value);
}

/** The same in one text; undefined if there is none. */
export function joinedOf(headers: Headers, name: string): string | undefined {
  const values = valuesOf(headers, name);
  return values.length === 0 ? undefined : values.join(", ");
}

export interface ModelRequest {
  method: string;
  target: string;
  headers: Headers;
  /** Milliseconds since the epoch. */
  now: number;
}

export interface Expected {
  status: number;
  /** Exact text; "" for no body. */
  body: string;
  /** Exact value of every required header; the others of {@link JUDGED_HEADERS} must be absent. */
  headers: Partial<Record<JudgedHeader, string>>;
  /** Content-Length, or undefined if any value is allowed. */
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

export type JudgedHeader = (typeof JUDGED_HEADERS)[number];

export const MODEL_BASE = "/api/public/v1";

// ---------------------------------------------------------------- values

/** Ranges of code points that no comparison sees, beside those that are invisible. */
const MODEL_MARKS = (
  "300-36f 610-61a 64b-65f 670-670 6d6-6dc 6df-6e4 6e7-6e8 6ea-6ed 640-640 " +
  "591-5bd 5bf-5bf 5c1-5c2 5c4-5c5 5c7-5c7"
)
  .split(" ")
  .map((range) => range.split("-").map((digits) => Number.parseInt(digits, 16)));

const MODEL_LETTERS = `ς σ æ ae œ oe ø o ł l đ d ð d þ th ħ h ŧ t ŋ n ĸ k ı i ȷ j ى ي ی ي ة ه ک ك`.split(" ");
const MODEL_CAPITALS = ["ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘꞯʀꜱᴛᴜᴠᴡʏᴢ", "abcdefghijklmnopqrstuvwyz"] as const;
/** Signs, the typed one first. */
const MODEL_SIGNS = "'‘’‛ʼʻ`´′ \"“”„‟″ -‐‑‒–—―−⁃ /⁄∕⧸ *∗⁎ !ǃ :˸∶꞉ ,‚ |ǀ∣ <≺˂‹ >≻˃› \\∖⧵ ^˄".split(" ");

/** Remembers the answers for texts: tests fold millions of characters. */
function remembered<Answer>(answerFor: (text: string) => Answer): (text: string) => Answer {
  const answers = new Map<string, Answer>();
  return (text) => {
    if (!answers.has(text)) answers.set(text, answerFor(text));
    return answers.get(text)!;
  };
}

const modelReplacement = remembered((character) => {
  const letter = MODEL_LETTERS.findIndex((other, at) => at % 2 === 0 && other === character);
  if (letter >= 0) return MODEL_LETTERS[letter + 1]!;
  const capital = MODEL_CAPITALS[0].indexOf(character);
  if (capital >= 0) return MODEL_CAPITALS[1].charAt(capital);
  const signs = MODEL_SIGNS.find((some) => some.includes(character));
  return signs === undefined ? character : signs.charAt(0);
});

const isModelDropped = remembered((character) => {
  const point = character.codePointAt(0)!;
  return MODEL_MARKS.some(([from, to]) => point >= from! && point <= to!) || /\p{DI}/u.test(character);
});

/** Two texts are equal for a search if this gives the same result: the definition, word for word. */
export function modelFold(text: string): string {
  const seen = Array.from(text.normalize("NFKD")).filter((character) => !isModelDropped(character));
  const oneCase = seen.join("").toLowerCase().toUpperCase().toLowerCase();
  const replaced = Array.from(oneCase, modelReplacement).join("");
  const composed = Array.from(replaced.normalize("NFC"), (character) => {
    if (/^[ァ-ヶヽヾ]$/.test(character)) return String.fromCharCode(character.charCodeAt(0) - 96);
    return /^[가-힣]$/.test(character) ? character.normalize("NFD") : character;
  });
  return composed.join("").replace(/\s+/gu, " ");
}

/** The query after it is cut, folded and trimmed. */
export function modelTerm(query: string): string {
  const cut = query.length > 256 ? query.substring(0, 256).replace(/[\ud800-\udbff]$/, "") : query;
  return modelFold(cut).trim();
}

const TIME =
  /^(\d{4}-\d\d-\d\d)T([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:\.(\d+))?)?(?:Z|([+-])([01]\d|2[0-3]):([0-5]\d))$/;

/** Reads a time by means of Date; NaN for an invalid time. */
export function modelTime(text: string): number {
  const [, day, hour, minute, seconds, fraction, sign, hours, minutes] = TIME.exec(text) ?? [];
  const midnight = new Date(`${day}T00:00:00.000Z`);
  // Date reads 31 February as a day of March.
  if (Number.isNaN(midnight.getTime()) || !midnight.toISOString().startsWith(`${day}T`)) return Number.NaN;
  const offset = (sign === "-" ? -1 : 1) * (Number(hours ?? 0) * 60 + Number(minutes ?? 0));
  const inDay = (Number(hour) * 60 + Number(minute) - offset) * 60 + Number(seconds ?? 0);
  const at = midnight.getTime() + inDay * 1000 + Number(`${fraction ?? ""}000`.substring(0, 3));
  const year = new Date(at).getUTCFullYear();
  return year >= 0 && year <= 9999 ? at : Number.NaN;
}

export function modelTimeText(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

export function isModelUuid(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);
}

// ---------------------------------------------------------------- rows

type Served = Pick<User, "id" | "createdAt">;

/** Compares texts of the same length and alphabet, whose order is that of their values. */
function compareText(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

function listOrder<Row extends Served>(rows: Row[]): Row[] {
  return [...rows].sort((a, b) => compareText(b.createdAt, a.createdAt) || compareText(a.id, b.id));
}

const timeText = (text: string): string => modelTimeText(modelTime(text));

function optional(text: string | null | undefined): string {
  return (text ?? "").toWellFormed();
}

const NO_STATS = { totalVisits: 0, uniqueVisitors: 0, visitsLast7Days: 0, visitsLast30Days: 0 };

/** All visible rows, in list order. */
export class ModelStore {
  readonly users: User[];
  readonly worlds: World[];
  readonly instances: Instance[];
  readonly #stats: readonly StatsRow[];
  readonly #fold = remembered(modelFold);

  constructor(rows: SnapshotRows) {
    this.users = listOrder(
      rows.users.map((row) => ({
        id: row.id.toLowerCase(),
        displayName: row.displayName.toWellFormed(),
        userIconUrl: optional(row.userIconUrl),
        createdAt: timeText(row.createdAt),
      })),
    );
    this.worlds = listOrder(
      rows.worlds
        .filter((row) => row.isPublic && row.status === "ACTIVE")
        .map((row) => ({
          id: row.id.toLowerCase(),
          name: row.name.toWellFormed(),
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
    const { totalVisits, uniqueVisitors, visitsLast7Days, visitsLast30Days } = row;
    return { worldId, totalVisits, uniqueVisitors, visitsLast7Days, visitsLast30Days };
  }

  readonly popular = remembered((period): World[] => {
    const ranked = this.worlds.map((world) => {
      const stats = this.statsOf(world.id);
      const counts = { all: stats.totalVisits, week: stats.visitsLast7Days, month: stats.visitsLast30Days };
      const count = counts[period as "all" | "week" | "month"];
      return { world, count, unique: stats.uniqueVisitors };
    });
    // Those with the same counts stay in list order.
    ranked.sort((a, b) => b.count - a.count || b.unique - a.unique);
    return ranked.map(({ world }) => world);
  });

  /** Instances of a world; all if the id is empty. */
  instancesOf(worldId: string): Instance[] {
    return this.instances.filter((row) => worldId === "" || row.worldId === worldId.toLowerCase());
  }

  findUsers(query: string): User[] | undefined {
    const term = modelTerm(query);
    if (term === "") return undefined;
    return byRank(this.users, ({ displayName }) => userRank(this.#fold(displayName), term));
  }

  findWorlds(query: string): World[] | undefined {
    const term = modelTerm(query);
    if (term === "") return undefined;
    return byRank(this.popular("all"), ({ name, description }) =>
      worldRank({ name: this.#fold(name), description: this.#fold(description) }, term),
    );
  }
}

const wordsOf = (term: string): string[] => [...new Set(term.split(/\s+/u))].slice(0, 10);

/** Rank of a hit by its name: the term itself, begun by it, with all of its words, or none of these. */
export function modelRank(name: string, term: string): number {
  if (name === term) return 0;
  if (name.startsWith(term)) return 1;
  return wordsOf(term).every((word) => name.includes(word)) ? 2 : 3;
}

/** Rank of a user with this name in a search; undefined if it is not found. All texts are folded. */
export function userRank(name: string, term: string): number | undefined {
  return name.includes(term) ? modelRank(name, term) : undefined;
}

/** The same of a world. */
export function worldRank({ name, description }: Pick<World, "name" | "description">, term: string) {
  const isFound = wordsOf(term).every((word) => name.includes(word) || description.includes(word));
  return isFound ? modelRank(name, term) : undefined;
}

/** The rows that have a rank, in its order; of the same rank, in the order given. */
export function byRank<Row>(rows: readonly Row[], rankOf: (row: Row) => number | undefined): Row[] {
  const ranks = rows.map(rankOf);
  return [0, 1, 2, 3].flatMap((rank) => rows.filter((_, at) => ranks[at] === rank));
}

// ---------------------------------------------------------------- parameters

export type ModelParameters = ReturnType<typeof modelParameters>;

/** Reads the text after the first `?`. */
export function modelParameters(query: string) {
  // Without the "&" the constructor would drop a leading "?", which belongs to the first name here.
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

/** Every request that ever passed, by key; it forgets nothing. */
export class ModelLimit {
  readonly #windowSeconds: number;
  readonly #seen = new Map<string, { newest: number; passed: number[] }>();

  constructor(windowSeconds: number) {
    this.#windowSeconds = windowSeconds;
  }

  count(key: string, limit: number, now: number) {
    const seen = this.#seen.get(key) ?? { newest: 0, passed: [] };
    this.#seen.set(key, seen);
    // The limit never goes back to an older window.
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

export function modelConditions(
  ifMatch: string | undefined,
  ifNoneMatch: string | undefined,
  generation: string,
): number {
  const marked = ["gzip", "br", "zstd", "deflate"].flatMap((name) =>
    ["-", ";", "--"].map((mark) => `${generation}${mark}${name}`),
  );
  const same = [generation, ...marked];
  if (ifMatch !== undefined && ifMatch.trim() !== "*") {
    if (!tagsIn(ifMatch).some(({ weak, tag }) => !weak && same.includes(tag))) return 412;
  }
  if (ifNoneMatch === undefined) return 200;
  if (ifNoneMatch.trim() === "*") return 304;
  return tagsIn(ifNoneMatch).some(({ tag }) => same.includes(tag)) ? 304 : 200;
}

// ---------------------------------------------------------------- operations

interface Context {
  store: ModelStore;
  parameters: ModelParameters;
  /** The row that the path names; a path without an id has none, and does not read it. */
  row: Served;
}

const rowOf = ({ row }: Context): object => row;

/** The data of each operation: one row, or the rows of a list in order; undefined for a search without a text. */
const DATA: Readonly<Record<PathPattern, (context: Context) => object | undefined>> = {
  "/worlds": ({ store }) => store.worlds,
  "/worlds/search": ({ store, parameters }) =>
    store.findWorlds(parameters.q)?.map(({ id, name, description }) => ({ id, name, description })),
  "/worlds/popular": ({ store, parameters }) => store.popular(parameters.period),
  "/worlds/:id": rowOf,
  "/worlds/:id/stats": ({ store, row }) => store.statsOf(row.id),
  "/worlds/:id/instances": ({ store, row }) => store.instancesOf(row.id),
  "/users/search": ({ store, parameters }) => store.findUsers(parameters.q),
  "/users/:id": rowOf,
  "/users/:id/worlds": ({ store, row }) => store.worlds.filter(({ ownerId }) => ownerId === row.id),
  "/instances": ({ store, parameters }) => store.instancesOf(parameters.worldId),
  "/instances/:id": rowOf,
  "/stats": ({ store: { users, worlds, instances } }) => ({
    totalUsers: users.length,
    totalPublicWorlds: worlds.length,
    totalPublicInstances: instances.length,
  }),
};

const KINDS: Readonly<Record<string, string>> = { worlds: "World", users: "User", instances: "Instance" };

type Answer = { value: object } | { status: number; error: string };

function answerOf(
  { path, reply: { envelope } }: Route,
  id: string,
  store: ModelStore,
  parameters: ModelParameters,
): Answer {
  const table = path.split("/")[1] as "worlds" | "users" | "instances";
  const row = isModelUuid(id) ? store[table].find((one) => one.id === id.toLowerCase()) : undefined;
  if (path.includes(":id") && row === undefined) return { status: 404, error: `${KINDS[table]} not found` };
  const rows = DATA[path]({ store, parameters, row: row! });
  if (rows === undefined) return { status: 400, error: 'Query parameter "q" is required' };
  if (!Array.isArray(rows)) return { value: { data: rows } };
  const { limit, offset, period } = parameters;
  const data = rows.filter((_, at) => at >= offset && at < offset + limit);
  const value = { data, pagination: { total: rows.length, limit, offset } };
  return { value: envelope === "ranking" ? { ...value, period } : value };
}

/** Paths without an id come first, wherever they stand in the table. */
const FIXED_FIRST = ROUTES.toSorted(
  (a, b) => Number(a.path.includes(":id")) - Number(b.path.includes(":id")),
);

function findRoute(path: string): { route: Route; id: string } | undefined {
  const given = path.split("/");
  for (const route of FIXED_FIRST) {
    const wanted = `${MODEL_BASE}${route.path}`.split("/");
    if (given.length !== wanted.length) continue;
    if (!wanted.every((part, at) => (part === ":id" ? given[at] !== "" : part === given[at]))) continue;
    return { route, id: given[wanted.indexOf(":id")] ?? "" };
  }
  return undefined;
}

// ---------------------------------------------------------------- the whole

const EXPOSED =
  "etag, retry-after, x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset, x-request-id";
const ALLOWED =
  "*, authorization, content-type, if-match, if-none-match, traceparent, tracestate, x-request-id";

/** A correct server. It counts requests, so every request must be asked exactly once and in order. */
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

  ask({ method, target, headers, now }: ModelRequest): Expected {
    const { cors, generation, rateLimit } = this.settings;
    const shared: Expected["headers"] = cors ? { "access-control-allow-origin": "*" } : {};
    const common: Expected["headers"] = cors ? { ...shared, "access-control-expose-headers": EXPOSED } : {};
    const withBody = (status: number, value: object, own: Expected["headers"]): Expected => {
      const text = JSON.stringify(value);
      const length = Buffer.byteLength(text);
      return { status, body: method === "HEAD" ? "" : text, length, headers: { ...common, ...own } };
    };
    const fail = (status: number, error: string, own: Expected["headers"] = {}): Expected =>
      withBody(status, { error }, { "cache-control": "no-store", ...own });

    const local = target.replace(/^https?:\/\/[^/?#]*/i, "");
    const path = local.split("?", 1)[0]!;
    const query = local.substring(path.length + 1);

    const found = findRoute(path);
    if (found === undefined) return fail(404, "Not found");
    const allow = "GET, HEAD, OPTIONS";
    if (method === "OPTIONS") {
      const allowed: Expected["headers"] = cors ? { "access-control-allow-headers": ALLOWED } : {};
      return { status: 204, body: "", length: undefined, headers: { ...shared, ...allowed, allow } };
    }
    if (method !== "GET" && method !== "HEAD") return fail(405, "Method not allowed", { allow });

    const key = this.#judgeToken(valuesOf(headers, "authorization")[0], now);
    if (typeof key === "string") return fail(401, key, { "www-authenticate": "Bearer" });

    if (key.kind === "api") {
      const quota = this.#limit.count(key.id, key.limit ?? rateLimit, now);
      common["x-ratelimit-limit"] = String(quota.limit);
      common["x-ratelimit-remaining"] = String(quota.remaining);
      common["x-ratelimit-reset"] = String(quota.reset);
      if (!quota.passed) {
        const wait = Math.max(1, Math.ceil((quota.reset * 1000 - now) / 1000));
        return fail(429, "Rate limit exceeded", { "retry-after": String(wait) });
      }
      const { scope } = found.route;
      if (scope !== null && !key.scopes.includes(scope)) {
        return fail(403, `Insufficient scope. Required: ${scope}`);
      }
    }

    const answer = answerOf(found.route, found.id, this.store, modelParameters(query));
    if ("error" in answer) return fail(answer.status, answer.error);
    const etag = `"${generation}"`;
    const [ifMatch, ifNoneMatch] = ["if-match", "if-none-match"].map((name) => joinedOf(headers, name));
    const status = modelConditions(ifMatch, ifNoneMatch, generation);
    if (status === 412) return fail(412, "Snapshot has changed", { etag });
    const fresh: Expected["headers"] = { etag, "cache-control": "private, no-cache" };
    if (status === 304) return { status, body: "", length: undefined, headers: { ...common, ...fresh } };
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
