/**
 * Fastify over maps and arrays of row objects, with FlexSearch as in its README.
 *
 *     fastify.ts SNAPSHOT KEYS
 */

import FlexSearch from "flexsearch";
import type { User, World } from "../../src/model/model.ts";
import { type Page, serve } from "./app.ts";
import { rankWorlds, readRows, statsOf } from "./shared.ts";

const rows = readRows(process.argv[2]!);
const worldsById = new Map(rows.worlds.map((world) => [world.id, world]));
const usersById = new Map(rows.users.map((user) => [user.id, user]));
const popular = {
  all: rankWorlds(rows, "all"),
  week: rankWorlds(rows, "week"),
  month: rankWorlds(rows, "month"),
};
const stats = statsOf(rows);

/** Indexes prefixes of words; "full" would find substrings, as orrery does, but needs too much memory at a million rows. */
const worldIndex = new FlexSearch.Index({ tokenize: "forward" });
for (const [at, { name, description }] of popular.all.entries()) worldIndex.add(at, `${name} ${description}`);
const userIndex = new FlexSearch.Index({ tokenize: "forward" });
for (const [at, { displayName }] of rows.users.entries()) userIndex.add(at, displayName);

function page<Item>(items: readonly Item[], limit: number, offset: number): Page<Item> {
  return { items: items.slice(offset, offset + limit), total: items.length };
}

/** FlexSearch stops at the limit, which makes it fast, so the total is that of the page alone. */
function found<Item>(
  index: typeof worldIndex,
  all: readonly Item[],
  q: string,
  limit: number,
  offset: number,
): Page<Item> {
  const hits = index.search(q, { limit, offset }) as number[];
  return { items: hits.map((at) => all[at]!), total: hits.length };
}

await serve(
  {
    etag: rows.etag,
    world: (id): World | undefined => worldsById.get(id),
    user: (id): User | undefined => usersById.get(id),
    stats: () => stats,
    worlds: (limit, offset) => page(rows.worlds, limit, offset),
    popular: (period, limit, offset) => page(popular[period], limit, offset),
    findWorlds: (q, limit, offset) => found(worldIndex, popular.all, q, limit, offset),
    findUsers: (q, limit, offset) => found(userIndex, rows.users, q, limit, offset),
  },
  process.argv[3]!,
);
