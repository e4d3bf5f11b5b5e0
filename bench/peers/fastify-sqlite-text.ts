/**
 * Fastify over SQLite in memory, as one writes it who knows that the data never change: each table holds ready JSON by its
 * position in a list, so that a page is one range of a primary key, which SQLite joins into one text. Searches are FTS5 with
 * trigrams over rows in the order of the ranking, so that one query gives the order and the total.
 *
 *     fastify-sqlite-text.ts SNAPSHOT KEYS
 */

import Database from "better-sqlite3";
import type { Period } from "../../src/model/model.ts";
import { serveTexts, type TextPage } from "./app.ts";
import { matchAll, rankWorlds, readRows, statsOf, termsOf } from "./shared.ts";

const database = new Database(":memory:");
const LISTS = ["worlds", "popular_all", "popular_week", "popular_month"] as const;
type List = (typeof LISTS)[number];
database.exec(`
  ${LISTS.map((list) => `CREATE TABLE ${list} (position INTEGER PRIMARY KEY, json TEXT);`).join("\n")}
  CREATE TABLE world_replies (id TEXT PRIMARY KEY, json BLOB);
  CREATE TABLE user_replies (id TEXT PRIMARY KEY, json BLOB);
  CREATE TABLE found_worlds (rowid INTEGER PRIMARY KEY, json TEXT, name TEXT, description TEXT);
  CREATE TABLE found_users (rowid INTEGER PRIMARY KEY, json TEXT, displayName TEXT);
  CREATE VIRTUAL TABLE users_text USING fts5(displayName, content='found_users', tokenize='trigram');
  CREATE VIRTUAL TABLE worlds_text USING fts5(name, description, content='found_worlds', tokenize='trigram');
`);

/** Fills the tables. The rows are freed then. */
function load(folder: string): { readonly etag: string; readonly stats: string; readonly total: number } {
  const rows = readRows(folder);
  const insert = (table: string, columns: number): Database.Statement =>
    database.prepare(`INSERT INTO ${table} VALUES (${Array(columns).fill("?").join(", ")})`);
  const lists = Object.fromEntries(LISTS.map((list) => [list, insert(list, 2)])) as Record<
    List,
    Database.Statement
  >;
  const [worldReply, userReply] = [insert("world_replies", 2), insert("user_replies", 2)];
  const [foundWorld, foundUser] = [insert("found_worlds", 4), insert("found_users", 3)];
  database.transaction(() => {
    for (const [at, world] of rows.worlds.entries()) {
      lists.worlds.run(at, JSON.stringify(world));
      worldReply.run(world.id, Buffer.from(JSON.stringify({ data: world })));
    }
    for (const [at, { id, name, description }] of rankWorlds(rows, "all").entries())
      foundWorld.run(at, JSON.stringify({ id, name, description }), name, description);
    for (const period of ["all", "week", "month"] as const)
      for (const [at, world] of rankWorlds(rows, period).entries())
        lists[`popular_${period}`].run(at, JSON.stringify(world));
    for (const [at, user] of rows.users.entries()) {
      userReply.run(user.id, Buffer.from(JSON.stringify({ data: user })));
      foundUser.run(at, JSON.stringify(user), user.displayName);
    }
  })();
  database.exec(`
    INSERT INTO users_text (users_text) VALUES ('rebuild');
    INSERT INTO worlds_text (worlds_text) VALUES ('rebuild');
    ANALYZE;
  `);
  return { etag: rows.etag, stats: JSON.stringify({ data: statsOf(rows) }), total: rows.worlds.length };
}

const { etag, stats, total } = load(process.argv[2]!);

const world = database.prepare<[string], Buffer>("SELECT json FROM world_replies WHERE id = ?").pluck();
const user = database.prepare<[string], Buffer>("SELECT json FROM user_replies WHERE id = ?").pluck();

const NOTHING = Buffer.alloc(0);

/** A function that reads a page of a list: the items of a range, joined. */
function pagesOf(list: List): (limit: number, offset: number) => TextPage {
  const range = database
    .prepare<[number, number], Buffer | null>(
      `SELECT CAST(group_concat(json) AS BLOB)
       FROM (SELECT json FROM ${list} WHERE position >= ? AND position < ? ORDER BY position)`,
    )
    .pluck();
  return (limit, offset) => ({ items: range.get(offset, offset + limit) ?? NOTHING, total });
}

/** A function that searches: all matches by their numbers, and the items of a page. */
function searchOf(found: "found_worlds" | "found_users", index: "worlds_text" | "users_text") {
  const matches = database
    .prepare<[string], number>(`SELECT rowid FROM ${index} WHERE ${index} MATCH ? ORDER BY rowid`)
    .pluck();
  const item = database.prepare<[number], string>(`SELECT json FROM ${found} WHERE rowid = ?`).pluck();
  return (match: string, limit: number, offset: number): TextPage => {
    const rows = matches.all(match);
    const items = rows.slice(offset, offset + limit).map((row) => item.get(row)!);
    return { items: items.join(","), total: rows.length };
  };
}

const popular: Record<Period, ReturnType<typeof pagesOf>> = {
  all: pagesOf("popular_all"),
  week: pagesOf("popular_week"),
  month: pagesOf("popular_month"),
};
const findWorlds = searchOf("found_worlds", "worlds_text");
const findUsers = searchOf("found_users", "users_text");

await serveTexts(
  {
    etag,
    stats,
    world: (id) => world.get(id),
    user: (id) => user.get(id),
    worlds: pagesOf("worlds"),
    popular: (period, limit, offset) => popular[period](limit, offset),
    findWorlds: (q, limit, offset) => findWorlds(matchAll(termsOf(q)), limit, offset),
    findUsers: (q, limit, offset) => findUsers(matchAll([q]), limit, offset),
  },
  process.argv[3]!,
);
