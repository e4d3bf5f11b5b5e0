/**
 * The API as a Fastify application over any data, with only the routes of the workloads: over row objects with schemas for parameters and
 * responses and a hook for keys and limits, or over ready JSON.
 */

import type { ServerResponse } from "node:http";
import Fastify, { type FastifyInstance, type FastifyRequest } from "fastify";
import { LRUCache } from "lru-cache";
import {
  BASE_PATH,
  PERIODS,
  type Period,
  type PlatformStats,
  SCHEMAS,
  type User,
  type World,
} from "../../src/model/model.ts";
import { createGate, listOf, ready, recordOf, type Verdict } from "./shared.ts";

/** A page of a list, and the number of items in the whole list. */
export interface Page<Item> {
  readonly items: readonly Item[];
  readonly total: number;
}

/** A search item. */
export type FoundWorld = Pick<World, "id" | "name" | "description">;

/** A source of data. */
export interface Data {
  readonly etag: string;
  world(id: string): World | undefined;
  user(id: string): User | undefined;
  stats(): PlatformStats;
  worlds(limit: number, offset: number): Page<World>;
  popular(period: Period, limit: number, offset: number): Page<World>;
  findWorlds(q: string, limit: number, offset: number): Page<FoundWorld>;
  findUsers(q: string, limit: number, offset: number): Page<User>;
}

interface Query {
  limit: number;
  offset: number;
  q: string;
  period: Period;
}

const PAGE = {
  limit: { type: "integer", minimum: 1, maximum: 50, default: 20 },
  offset: { type: "integer", minimum: 0, default: 0 },
};
const COUNTS = {
  type: "object",
  properties: { total: { type: "integer" }, limit: { type: "integer" }, offset: { type: "integer" } },
};

function one(item: object): object {
  return { response: { 200: { type: "object", properties: { data: item } } } };
}

function list(item: object, query: object = {}, more: object = {}): object {
  const properties = { data: { type: "array", items: item }, pagination: COUNTS, ...more };
  return {
    querystring: { type: "object", properties: { ...PAGE, ...query } },
    response: { 200: { type: "object", properties } },
  };
}

function envelope<Item>({ items, total }: Page<Item>, { limit, offset }: Query): object {
  return { data: items, pagination: { total, limit, offset } };
}

const Q = { q: { type: "string" } };
const PERIOD = { period: { type: "string", enum: ["all", "week", "month"], default: "all" } };

/** An application with the hook for keys and limits. */
function createApp(keysFile: string, etag: string): FastifyInstance {
  const app = Fastify({ logger: false });
  const judge = createGate(keysFile, etag);
  app.addHook("onRequest", (request, reply, done) => {
    const verdict = judge(request.headers.authorization);
    const { refusal } = verdict;
    reply.headers(recordOf(verdict));
    if (refusal === undefined) done();
    else reply.code(refusal.status).send({ error: refusal.error });
  });
  return app;
}

/** A page of a list in JSON, and the number of items in the whole list. */
export interface TextPage {
  /** Items, joined by commas; as bytes where they are ready. */
  readonly items: string | Buffer;
  readonly total: number;
}

/** A source of data that were encoded when they were loaded. */
export interface Texts {
  readonly etag: string;
  /** Whole replies: bytes, or a text with one char for each byte. */
  world(id: string): string | Buffer | undefined;
  user(id: string): string | Buffer | undefined;
  readonly stats: string;
  worlds(limit: number, offset: number): TextPage;
  popular(period: Period, limit: number, offset: number): TextPage;
  findWorlds(q: string, limit: number, offset: number): TextPage;
  findUsers(q: string, limit: number, offset: number): TextPage;
}

const JSON_TYPE = "application/json; charset=utf-8";
const BEGIN = '{"data":[';

function tailOf({ total }: TextPage, { limit, offset }: Query, more = ""): string {
  return `],"pagination":{"total":${total},"limit":${limit},"offset":${offset}}${more}}`;
}

/** Most pages of searches that are kept; orrery keeps as many bytes as its setting allows. */
const MOST_KEPT = 10_000;

/** Keeps the replies to searches, unless the workload's settings turn orrery's cache off, too. */
function keptPages(): (name: string, query: Query, make: () => TextPage) => Buffer {
  const pages = new LRUCache<string, Buffer>({ max: MOST_KEPT });
  const keeps = !process.argv.includes("--search-cache-bytes");
  return (name, query, make) => {
    const key = `${name} ${query.limit} ${query.offset} ${query.q}`;
    let reply = keeps ? pages.get(key) : undefined;
    if (reply === undefined) {
      const page = make();
      reply = Buffer.concat([BEGIN, page.items, tailOf(page, query)].map((part) => Buffer.from(part)));
      if (keeps) pages.set(key, reply);
    }
    return reply;
  };
}

/** The parameters of a request, which Fastify has parsed; undefined if one is wrong. */
function readQuery(given: Readonly<Record<string, string | undefined>>): Query | undefined {
  const { limit = "20", offset = "0", q = "", period = "all" } = given;
  const query = { limit: Number(limit), offset: Number(offset), q, period: period as Period };
  const isLimit = Number.isSafeInteger(query.limit) && query.limit >= 1 && query.limit <= 50;
  const isOffset = Number.isSafeInteger(query.offset) && query.offset >= 0;
  return isLimit && isOffset && PERIODS.includes(query.period) ? query : undefined;
}

function send(raw: ServerResponse, verdict: Verdict, body: string | Buffer, status = 200): void {
  raw.writeHead(status, listOf(verdict, "Content-Type", JSON_TYPE, "Content-Length", String(body.length)));
  raw.end(body, "latin1");
}

function refuse(raw: ServerResponse, verdict: Verdict, status: number, error: string): void {
  send(raw, verdict, JSON.stringify({ error }), status);
}

/** Sends a page in parts, without a copy of the items. */
function sendPage(raw: ServerResponse, verdict: Verdict, page: TextPage, query: Query, more?: string): void {
  const tail = tailOf(page, query, more);
  const length = String(BEGIN.length + page.items.length + tail.length);
  raw.writeHead(200, listOf(verdict, "Content-Type", JSON_TYPE, "Content-Length", length));
  raw.write(BEGIN, "latin1");
  raw.write(page.items);
  raw.end(tail, "latin1");
}

/**
 * Serves ready JSON on a free port and prints its URL on standard output. Fastify routes; replies leave through node:http as the
 * quickest way has it: one list of headers, and pages in parts.
 */
export async function serveTexts(data: Texts, keysFile: string): Promise<void> {
  const judge = createGate(keysFile, data.etag);
  const kept = keptPages();
  /** Node 24: no stream for the body of a request that has none. The types of Node 20 do not know the option. */
  const http = { optimizeEmptyRequests: true } as object;
  const app = Fastify({ logger: false, http });
  type Answer = (raw: ServerResponse, verdict: Verdict, request: FastifyRequest) => void;
  const get = (path: string, answer: Answer): void => {
    app.get(BASE_PATH + path, (request, reply) => {
      reply.hijack();
      const verdict = judge(request.raw.headers.authorization);
      const { refusal } = verdict;
      if (refusal === undefined) answer(reply.raw, verdict, request);
      else refuse(reply.raw, verdict, refusal.status, refusal.error);
    });
  };
  type AnswerList = (raw: ServerResponse, verdict: Verdict, query: Query) => void;
  const getList = (path: string, answer: AnswerList): void =>
    get(path, (raw, verdict, request) => {
      const query = readQuery(request.query as Readonly<Record<string, string | undefined>>);
      if (query === undefined) refuse(raw, verdict, 400, "Bad parameter");
      else answer(raw, verdict, query);
    });
  const getFound = (path: string, find: Texts["findWorlds"]): void =>
    getList(path, (raw, verdict, query) => {
      const { q, limit, offset } = query;
      const reply = kept(path, query, () => find(q, limit, offset));
      send(raw, verdict, reply);
    });
  const getOne = (path: string, find: Texts["world"], missing: string): void =>
    get(path, (raw, verdict, request) => {
      const found = find((request.params as { id: string }).id);
      if (found === undefined) refuse(raw, verdict, 404, missing);
      else send(raw, verdict, found);
    });
  getList("/worlds", (raw, verdict, query) =>
    sendPage(raw, verdict, data.worlds(query.limit, query.offset), query),
  );
  getList("/worlds/popular", (raw, verdict, query) => {
    const { period, limit, offset } = query;
    sendPage(raw, verdict, data.popular(period, limit, offset), query, `,"period":"${period}"`);
  });
  getFound("/worlds/search", data.findWorlds);
  getFound("/users/search", data.findUsers);
  getOne("/worlds/:id", data.world, "World not found");
  getOne("/users/:id", data.user, "User not found");
  get("/stats", (raw, verdict) => send(raw, verdict, data.stats));
  ready(await app.listen({ host: "127.0.0.1", port: 0 }));
}

/** Serves the data on a free port and prints its URL on standard output. */
export async function serve(data: Data, keysFile: string): Promise<void> {
  const app = createApp(keysFile, data.etag);
  app.register(
    async (api) => {
      api.get<{ Querystring: Query }>("/worlds", { schema: list(SCHEMAS.world) }, async ({ query }) =>
        envelope(data.worlds(query.limit, query.offset), query),
      );
      api.get<{ Querystring: Query }>(
        "/worlds/popular",
        { schema: list(SCHEMAS.world, PERIOD, { period: { type: "string" } }) },
        async ({ query }) => {
          const { limit, offset, period } = query;
          return { ...envelope(data.popular(period, limit, offset), query), period };
        },
      );
      api.get<{ Querystring: Query }>(
        "/worlds/search",
        { schema: list(SCHEMAS.foundWorld, Q) },
        async ({ query }) => envelope(data.findWorlds(query.q, query.limit, query.offset), query),
      );
      api.get<{ Querystring: Query }>("/users/search", { schema: list(SCHEMAS.user, Q) }, async ({ query }) =>
        envelope(data.findUsers(query.q, query.limit, query.offset), query),
      );
      api.get<{ Params: { id: string } }>(
        "/worlds/:id",
        { schema: one(SCHEMAS.world) },
        async ({ params }, reply) => {
          const world = data.world(params.id);
          return world ? { data: world } : reply.code(404).send({ error: "World not found" });
        },
      );
      api.get<{ Params: { id: string } }>(
        "/users/:id",
        { schema: one(SCHEMAS.user) },
        async ({ params }, reply) => {
          const user = data.user(params.id);
          return user ? { data: user } : reply.code(404).send({ error: "User not found" });
        },
      );
      api.get("/stats", { schema: one(SCHEMAS.platformStats) }, async () => ({ data: data.stats() }));
    },
    { prefix: BASE_PATH },
  );
  ready(await app.listen({ host: "127.0.0.1", port: 0 }));
}
