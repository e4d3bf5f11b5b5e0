/**
 * The API as a Fastify application over any data, with schemas for parameters and responses and a hook for keys and
 * limits. Has only the routes of the workloads.
 */

import Fastify, { type FastifyInstance } from "fastify";
import { LRUCache } from "lru-cache";
import {
  BASE_PATH,
  type Period,
  type PlatformStats,
  SCHEMAS,
  type User,
  type World,
} from "../../src/model/model.ts";
import { createGate, ready } from "./shared.ts";

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
    const { refusal, headers } = judge(request.headers.authorization);
    reply.headers(headers);
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
  /** Whole replies, as bytes where they are ready. */
  world(id: string): string | Buffer | undefined;
  user(id: string): string | Buffer | undefined;
  readonly stats: string;
  worlds(limit: number, offset: number): TextPage;
  popular(period: Period, limit: number, offset: number): TextPage;
  findWorlds(q: string, limit: number, offset: number): TextPage;
  findUsers(q: string, limit: number, offset: number): TextPage;
}

const JSON_TYPE = "application/json; charset=utf-8";

function textEnvelope({ items, total }: TextPage, { limit, offset }: Query, more = ""): string | Buffer {
  const rest = `],"pagination":{"total":${total},"limit":${limit},"offset":${offset}}${more}}`;
  if (typeof items === "string") return `{"data":[${items}${rest}`;
  return Buffer.concat([BEGIN, items, Buffer.from(rest)]);
}

const BEGIN = Buffer.from('{"data":[');

/** Most pages of searches that are kept; orrery keeps as many bytes as its setting allows. */
const MOST_KEPT = 10_000;

/** Keeps the replies to searches, unless the workload's settings turn orrery's cache off, too. */
function keptPages(): (name: string, query: Query, make: () => TextPage) => string | Buffer {
  const pages = new LRUCache<string, string | Buffer>({ max: MOST_KEPT });
  const keeps = !process.argv.includes("--search-cache-bytes");
  return (name, query, make) => {
    if (!keeps) return textEnvelope(make(), query);
    const key = `${name} ${query.limit} ${query.offset} ${query.q}`;
    let page = pages.get(key);
    if (page === undefined) {
      page = textEnvelope(make(), query);
      pages.set(key, page);
    }
    return page;
  };
}

/** Serves ready JSON on a free port and prints its URL on standard output. Parameters are validated, replies are sent as they are. */
export async function serveTexts(data: Texts, keysFile: string): Promise<void> {
  const app = createApp(keysFile, data.etag);
  const kept = keptPages();
  const query = (more: object = {}): object => ({
    schema: { querystring: { type: "object", properties: { ...PAGE, ...more } } },
  });
  app.register(
    async (api) => {
      api.get<{ Querystring: Query }>("/worlds", query(), ({ query }, reply) => {
        reply.type(JSON_TYPE).send(textEnvelope(data.worlds(query.limit, query.offset), query));
      });
      api.get<{ Querystring: Query }>("/worlds/popular", query(PERIOD), ({ query }, reply) => {
        const { period, limit, offset } = query;
        const page = data.popular(period, limit, offset);
        reply.type(JSON_TYPE).send(textEnvelope(page, query, `,"period":"${period}"`));
      });
      api.get<{ Querystring: Query }>("/worlds/search", query(Q), ({ query }, reply) => {
        const { q, limit, offset } = query;
        reply.type(JSON_TYPE).send(kept("worlds", query, () => data.findWorlds(q, limit, offset)));
      });
      api.get<{ Querystring: Query }>("/users/search", query(Q), ({ query }, reply) => {
        const { q, limit, offset } = query;
        reply.type(JSON_TYPE).send(kept("users", query, () => data.findUsers(q, limit, offset)));
      });
      api.get<{ Params: { id: string } }>("/worlds/:id", ({ params }, reply) => {
        const world = data.world(params.id);
        if (world === undefined) reply.code(404).send({ error: "World not found" });
        else reply.type(JSON_TYPE).send(world);
      });
      api.get<{ Params: { id: string } }>("/users/:id", ({ params }, reply) => {
        const user = data.user(params.id);
        if (user === undefined) reply.code(404).send({ error: "User not found" });
        else reply.type(JSON_TYPE).send(user);
      });
      api.get("/stats", (_request, reply) => {
        reply.type(JSON_TYPE).send(data.stats);
      });
    },
    { prefix: BASE_PATH },
  );
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
