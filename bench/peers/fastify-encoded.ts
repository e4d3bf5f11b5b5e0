/**
 * Fastify over replies that were encoded at load, as one writes it who knows that the data never change: a map from id to the
 * ready reply, and the bytes of each list, of which a page is one slice. Searches are FlexSearch's, as in `fastify.ts`.
 *
 *     fastify-encoded.ts SNAPSHOT KEYS
 */

import FlexSearch from "flexsearch";
import type { Period } from "../../src/model/model.ts";
import { serveTexts, type TextPage } from "./app.ts";
import { rankWorlds, readRows, statsOf } from "./shared.ts";

type Index = InstanceType<typeof FlexSearch.Index>;

interface Encoded {
  readonly etag: string;
  readonly stats: string;
  /** One char for each byte: head and body then leave in one write of one part. */
  readonly worldsById: ReadonlyMap<string, string>;
  readonly usersById: ReadonlyMap<string, string>;
  readonly worlds: ItemList;
  readonly popular: Readonly<Record<Period, ItemList>>;
  /** Items of searches: users in list order, worlds in order of the ranking of all times. */
  readonly users: readonly Buffer[];
  readonly found: readonly Buffer[];
  readonly worldIndex: Index;
  readonly userIndex: Index;
}

/** The bytes of a list: item n and the comma after it begin at `starts[n]`. */
interface ItemList {
  readonly bytes: Buffer;
  readonly starts: Uint32Array;
}

function oneByte(text: string): string {
  return Buffer.from(text).toString("latin1");
}

function listOf(items: readonly string[]): ItemList {
  const starts = new Uint32Array(items.length + 1);
  for (const [at, item] of items.entries()) starts[at + 1] = starts[at]! + Buffer.byteLength(item) + 1;
  return { bytes: Buffer.from(`${items.join(",")},`), starts };
}

/** Encodes the rows, which are freed then. */
function load(folder: string): Encoded {
  const rows = readRows(folder);
  const items = new Map(rows.worlds.map((world) => [world.id, JSON.stringify(world)]));
  const users = rows.users.map((user) => JSON.stringify(user));
  const popular = rankWorlds(rows, "all");
  const ranked = (period: Period): ItemList =>
    listOf(rankWorlds(rows, period).map(({ id }) => items.get(id)!));
  const worldIndex = new FlexSearch.Index({ tokenize: "forward" });
  for (const [at, { name, description }] of popular.entries()) worldIndex.add(at, `${name} ${description}`);
  const userIndex = new FlexSearch.Index({ tokenize: "forward" });
  for (const [at, { displayName }] of rows.users.entries()) userIndex.add(at, displayName);
  return {
    etag: rows.etag,
    stats: JSON.stringify({ data: statsOf(rows) }),
    worldsById: new Map(rows.worlds.map(({ id }) => [id, oneByte(`{"data":${items.get(id)}}`)])),
    usersById: new Map(rows.users.map(({ id }, at) => [id, oneByte(`{"data":${users[at]}}`)])),
    worlds: listOf(rows.worlds.map(({ id }) => items.get(id)!)),
    users: users.map((text) => Buffer.from(text)),
    popular: { all: ranked("all"), week: ranked("week"), month: ranked("month") },
    found: popular.map(({ id, name, description }) => Buffer.from(JSON.stringify({ id, name, description }))),
    worldIndex,
    userIndex,
  };
}

const data = load(process.argv[2]!);

function page({ bytes, starts }: ItemList, limit: number, offset: number): TextPage {
  const total = starts.length - 1;
  const [from, to] = [Math.min(offset, total), Math.min(offset + limit, total)];
  return { items: bytes.subarray(starts[from], Math.max(starts[to]! - 1, starts[from]!)), total };
}

const COMMA = Buffer.from(",");

/** The total is that of the page, as in `fastify.ts`. */
function found(index: Index, items: readonly Buffer[], q: string, limit: number, offset: number): TextPage {
  const hits = index.search(q, { limit, offset }) as number[];
  const parts = hits.flatMap((hit, at) => (at === 0 ? [items[hit]!] : [COMMA, items[hit]!]));
  return { items: Buffer.concat(parts), total: hits.length };
}

await serveTexts(
  {
    etag: data.etag,
    stats: data.stats,
    world: (id) => data.worldsById.get(id),
    user: (id) => data.usersById.get(id),
    worlds: (limit, offset) => page(data.worlds, limit, offset),
    popular: (period, limit, offset) => page(data.popular[period], limit, offset),
    findWorlds: (q, limit, offset) => found(data.worldIndex, data.found, q, limit, offset),
    findUsers: (q, limit, offset) => found(data.userIndex, data.users, q, limit, offset),
  },
  process.argv[3]!,
);
