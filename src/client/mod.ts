/**
 * The client: every operation of the API as a function, for Node, Bun, Deno and
 * browsers. It waits where the server asks for it, tries again what failed on
 * the way, and turns pages.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { openOrrery } from "orrery";
 * import { createClient } from "orrery/client";
 *
 * // In place of a server, whose address would be `baseUrl`: a replica in this process.
 * const replica = await openOrrery({
 *   snapshot: "data/sample",
 *   keys: [{ id: "me", kind: "cli", token: "svcx_secret" }],
 * });
 * const client = createClient({
 *   baseUrl: "http://replica",
 *   token: "svcx_secret",
 *   fetch: (url, init) => replica.fetch(new Request(url, init)),
 * });
 *
 * const { data: worlds, pagination } = await client.worlds.list({ limit: 3 });
 * assert.equal(worlds.length, 3);
 * const { data: owner } = await client.users.get(worlds[0]!.ownerId);
 * assert.ok((await client.users.search(owner.displayName)).pagination.total > 0);
 *
 * let count = 0;
 * for await (const world of client.worlds.list.all()) if (world.isPublic) count++;
 * assert.equal(count, pagination.total);
 * replica.close();
 * ```
 */

import type { Instance, Period, PlatformStats, User, World, WorldStats } from "../model/model.ts";
import { type AllOptions, allOf, type CallOptions, type Page, type PageOptions } from "./list.ts";
import { type ClientOptions, createSend } from "./send.ts";
import { encode, refuse, targetOf } from "./target.ts";

export type { Instance, Period, PlatformStats, User, World, WorldStats } from "../model/model.ts";
export { ApiError, NetworkError, OrreryError, RateLimitError, SnapshotChangedError } from "./errors.ts";
export type { AllOptions, CallOptions, Page, PageOptions, Pagination } from "./list.ts";
export type { ClientOptions, ReplyHead } from "./send.ts";

/** What a search for worlds finds. */
export type FoundWorld = Pick<World, "id" | "name" | "description">;

/** A single resource, as the server sends it. */
export interface One<Data> {
  readonly data: Data;
}

/** A page of the popular worlds. */
export interface Ranking extends Page<World> {
  /** Whose visits counted. */
  readonly period: Period;
}

/** How a search compares. */
export interface SearchOptions {
  /** `similar` finds names that may be misspelt, where the server has that turned on. */
  readonly match?: "exact" | "similar";
}

/** What a search replies. */
export interface SearchPage<Item> extends Page<Item> {
  /** How it was compared, where `match` was asked for and the server knows it. */
  readonly match?: "exact" | "similar";
}

/** A list that can be asked for by the page, and iterated over. */
export interface List<Words, Result extends Page<unknown>> {
  /** One page. */
  (options?: Words & PageOptions): Promise<Result>;
  /** Every item, from pages of one generation where the server names it. */
  readonly all: (options?: Words & AllOptions) => AsyncGenerator<Result["data"][number], void, undefined>;
}

/** A list that belongs to a text or an id. */
export interface ListOf<Words, Result extends Page<unknown>> {
  /** One page. */
  (of: string, options?: Words & PageOptions): Promise<Result>;
  /** Every item, from pages of one generation where the server names it. */
  readonly all: (
    of: string,
    options?: Words & AllOptions,
  ) => AsyncGenerator<Result["data"][number], void, undefined>;
}

type Get<Data> = (id: string, options?: CallOptions) => Promise<One<Data>>;

/**
 * A client. Every function rejects with an {@link OrreryError}, with a TypeError when an option or an id cannot be used, or
 * with the reason of the signal that aborted it.
 */
export interface Client {
  readonly worlds: {
    /** All public worlds, newest first. */
    readonly list: List<unknown, Page<World>>;
    /** Worlds whose name or description contains every word of a text, best matches first. */
    readonly search: ListOf<SearchOptions, SearchPage<FoundWorld>>;
    /** All public worlds, most visited first. */
    readonly popular: List<{ readonly period?: Period }, Ranking>;
    readonly get: Get<World>;
    readonly stats: Get<WorldStats>;
    /** Public instances of one world, newest first. */
    readonly instances: ListOf<unknown, Page<Instance>>;
  };
  readonly users: {
    /** Users whose display name contains a text, best matches first. */
    readonly search: ListOf<SearchOptions, SearchPage<User>>;
    readonly get: Get<User>;
    /** Public worlds of one user, newest first. */
    readonly worlds: ListOf<unknown, Page<World>>;
  };
  readonly instances: {
    /** All public instances that are running, newest first. */
    readonly list: List<{ readonly worldId?: string }, Page<Instance>>;
    readonly get: Get<Instance>;
  };
  /** Counts of users, public worlds and public instances. */
  readonly stats: (options?: CallOptions) => Promise<One<PlatformStats>>;
}

/** An id as a part of a path. */
function segment(id: string): string {
  // A URL takes dots for steps, also when they are escaped.
  const text = encode("id", id);
  return /^\.{0,2}$/.test(text) ? refuse("id", "the id of a resource") : text;
}

/** Options that are an object. */
function checked<Options>(options: Options): Options {
  return Object(options) === options ? options : refuse("options", "an object");
}

/**
 * Makes a client.
 *
 * @throws {TypeError} when an option cannot be used
 */
export function createClient(options: ClientOptions): Client {
  const send = createSend(options);

  async function get<Result>(path: string, options: CallOptions): Promise<Result> {
    const { signal } = checked(options);
    return (await send(path, { signal })).body as Result;
  }

  function one<Data>(before: string, after = ""): Get<Data> {
    return async (id, options = {}) => get(before + segment(id) + after, options);
  }

  function listOf<Words, Result extends Page<unknown>>(
    /** The path, and what else the query says. */
    route: (of: string) => readonly [path: string, words?: { q: string }],
  ): ListOf<Words, Result> {
    const page = async (of: string, options: PageOptions = {}): Promise<Result> => {
      const [path, more] = route(of);
      return get(targetOf(path, { ...more, ...checked(options) }), options);
    };
    async function* all(of: string, options: AllOptions = {}): AsyncGenerator<Result["data"][number]> {
      const [path, more] = route(of);
      yield* allOf(send, path, { ...more, ...checked(options) });
    }
    return Object.assign(page, { all }) as ListOf<Words, Result>;
  }

  function list<Words, Result extends Page<unknown>>(path: string): List<Words, Result> {
    const whole = listOf<Words, Result>(() => [path]);
    return Object.assign(whole.bind(null, ""), { all: whole.all.bind(null, "") });
  }

  return {
    worlds: {
      list: list("/worlds"),
      search: listOf((q) => ["/worlds/search", { q }]),
      popular: list("/worlds/popular"),
      get: one("/worlds/"),
      stats: one("/worlds/", "/stats"),
      instances: listOf((id) => [`/worlds/${segment(id)}/instances`]),
    },
    users: {
      search: listOf((q) => ["/users/search", { q }]),
      get: one("/users/"),
      worlds: listOf((id) => [`/users/${segment(id)}/worlds`]),
    },
    instances: {
      list: list("/instances"),
      get: one("/instances/"),
    },
    stats: (options = {}) => get("/stats", options),
  };
}
