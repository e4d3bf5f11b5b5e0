/**
 * The client: every operation of the API as a function, for Node, Bun, Deno and browsers. It waits where the server asks
 * for it, retries requests that failed on the way, and turns pages.
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
import { type AllOptions, allOf, type ListCall, type Page, type PageOptions } from "./list.ts";
import { type CallOptions, type ClientOptions, createSend } from "./send.ts";
import { searched, segment, type Words } from "./target.ts";

export type { Instance, Period, PlatformStats, User, World, WorldStats } from "../model/model.ts";
export { ApiError, NetworkError, OrreryError, RateLimitError, SnapshotChangedError } from "./errors.ts";
export type { AllOptions, Page, PageOptions, Pagination } from "./list.ts";
export type { CallOptions, ClientOptions, ReplyHead } from "./send.ts";

/** A world as a search finds it. */
export type FoundWorld = Pick<World, "id" | "name" | "description">;

/** A single resource, as the server sends it. */
export interface One<Data> {
  readonly data: Data;
}

/** A page of the popular worlds. */
export interface Ranking extends Page<World> {
  /** The period whose visits counted. */
  readonly period: Period;
}

/** How a search compares. */
export interface SearchOptions {
  /** `similar` finds names that may be misspelt, where the server has that turned on. */
  readonly match?: "exact" | "similar";
}

/** A page of search results, and how the search compared, if that was requested and the server knows it. */
export interface SearchPage<Item> extends Page<Item>, SearchOptions {}

/** A list to read by the page or iterate over. */
export interface List<Words, Result extends Page<unknown>, Of extends readonly unknown[] = []> {
  /** One page. */
  (...args: [...Of, options?: Words & PageOptions]): Promise<Result>;
  /** Every item, from pages of one generation where the server names it. */
  readonly all: (
    ...args: [...Of, options?: Words & AllOptions]
  ) => AsyncGenerator<Result["data"][number], void, undefined>;
}

/** A list that belongs to a text or an id. */
export type ListOf<Words, Result extends Page<unknown>> = List<Words, Result, [of: string]>;

type Get<Data> = (id: string, options?: CallOptions) => Promise<One<Data>>;

/**
 * A client. Every function rejects with an {@link OrreryError}, with a TypeError when an option or an id cannot be
 * used, or with the reason of the signal that aborted it.
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

/** Makes a client. @throws {TypeError} when an option cannot be used */
export function createClient(options: ClientOptions): Client {
  const send = createSend(options);

  async function get<Result>(path: string, options?: CallOptions, more?: Words): Promise<Result> {
    return (await send(path, options, more)).body as Result;
  }

  function one<Data>(before: string, after = ""): Get<Data> {
    return async (id, options) => get(before + segment(id) + after, options);
  }

  /** @param route the path, the options and other query words for the arguments of a call */
  function list<Args extends unknown[], Kind>(route: (...args: Args) => ListCall): Kind {
    const page = async (...args: Args): Promise<unknown> => get(...route(...args));
    return Object.assign(page, { all: (...args: Args) => allOf(send, () => route(...args)) }) as Kind;
  }

  return {
    worlds: {
      list: list((options?: AllOptions) => ["/worlds", options]),
      search: list((q: string, options?: AllOptions) => ["/worlds/search", options, searched(q)]),
      popular: list((options?: AllOptions) => ["/worlds/popular", options]),
      get: one("/worlds/"),
      stats: one("/worlds/", "/stats"),
      instances: list((id: string, options?: AllOptions) => [`/worlds/${segment(id)}/instances`, options]),
    },
    users: {
      search: list((q: string, options?: AllOptions) => ["/users/search", options, searched(q)]),
      get: one("/users/"),
      worlds: list((id: string, options?: AllOptions) => [`/users/${segment(id)}/worlds`, options]),
    },
    instances: { list: list((options?: AllOptions) => ["/instances", options]), get: one("/instances/") },
    stats: (options) => get("/stats", options),
  };
}
