/**
 * Fastify over SQLite in memory: prepared statements, an index for every order, FTS5 with trigrams for both searches.
 * Keeps only the statements between requests.
 *
 *     fastify-sqlite.ts SNAPSHOT KEYS
 */

import Database from "better-sqlite3";
import { type Period, type PlatformStats, SCHEMAS, type User, type World } from "../../src/model/model.ts";
import { type FoundWorld, type Page, serve } from "./app.ts";
import { matchAll, readRows, termsOf } from "./shared.ts";

const WORLD_FIELDS = Object.keys(SCHEMAS.world.properties);
/** The table has no hidden worlds, so it needs no `isPublic`. */
const WORLD_COLUMNS = WORLD_FIELDS.filter((name) => name !== "isPublic");

const database = new Database(":memory:");
database.exec(`
  CREATE TABLE users (id TEXT PRIMARY KEY, displayName TEXT, userIconUrl TEXT, createdAt TEXT);
  CREATE TABLE worlds (
    ${WORLD_COLUMNS.join(", ")},
    totalVisits INTEGER, uniqueVisitors INTEGER, visitsLast7Days INTEGER, visitsLast30Days INTEGER,
    PRIMARY KEY (id)
  );
  CREATE TABLE instances (id TEXT PRIMARY KEY, worldId TEXT, createdAt TEXT);
  CREATE INDEX worlds_newest ON worlds (createdAt DESC, id);
  CREATE INDEX worlds_all ON worlds (totalVisits DESC, uniqueVisitors DESC, createdAt DESC, id);
  CREATE INDEX worlds_week ON worlds (visitsLast7Days DESC, uniqueVisitors DESC, createdAt DESC, id);
  CREATE INDEX worlds_month ON worlds (visitsLast30Days DESC, uniqueVisitors DESC, createdAt DESC, id);
  CREATE VIRTUAL TABLE users_text USING fts5(displayName, content='users', tokenize='trigram');
  CREATE VIRTUAL TABLE worlds_text USING fts5(name, description, content='worlds', tokenize='trigram');
`);

/** Fills the tables. @returns the snapshot's ETag alone, so that the rows can be freed */
function load(folder: string): string {
  const rows = readRows(folder);
  const none = { totalVisits: 0, uniqueVisitors: 0, visitsLast7Days: 0, visitsLast30Days: 0 };
  const addUser = database.prepare("INSERT INTO users VALUES (:id, :displayName, :userIconUrl, :createdAt)");
  const addWorld = database.prepare(`
    INSERT INTO worlds VALUES (${WORLD_COLUMNS.map((name) => `:${name}`).join(", ")},
      :totalVisits, :uniqueVisitors, :visitsLast7Days, :visitsLast30Days)`);
  const addInstance = database.prepare("INSERT INTO instances VALUES (:id, :worldId, :createdAt)");
  database.transaction(() => {
    for (const user of rows.users) addUser.run(user);
    for (const { isPublic: _, ...world } of rows.worlds) {
      addWorld.run({ ...world, ...none, ...rows.stats.get(world.id) });
    }
    for (const instance of rows.instances) addInstance.run(instance);
  })();
  database.exec(`
    INSERT INTO users_text (users_text) VALUES ('rebuild');
    INSERT INTO worlds_text (worlds_text) VALUES ('rebuild');
    ANALYZE;
  `);
  return rows.etag;
}

const etag = load(process.argv[2]!);

const WORLD = `SELECT ${WORLD_FIELDS.join(", ").replace("isPublic", "1 AS isPublic")} FROM worlds`;
const count = "(SELECT count(*) FROM";

const statements = {
  world: database.prepare<[string], World>(`${WORLD} WHERE id = ?`),
  user: database.prepare<[string], User>("SELECT * FROM users WHERE id = ?"),
  stats: database.prepare<[], PlatformStats>(
    `SELECT ${count} users) AS totalUsers, ${count} worlds) AS totalPublicWorlds, ${count} instances) AS totalPublicInstances`,
  ),
  worldCount: database.prepare<[], number>("SELECT count(*) FROM worlds").pluck(),
  worlds: database.prepare<[number, number], World>(`${WORLD} ORDER BY createdAt DESC, id LIMIT ? OFFSET ?`),
  popular: {
    all: ranking("totalVisits"),
    week: ranking("visitsLast7Days"),
    month: ranking("visitsLast30Days"),
  } satisfies Record<Period, unknown>,
  foundWorlds: database.prepare<[string, number, number], FoundWorld>(`
    SELECT id, worlds.name, worlds.description FROM worlds_text JOIN worlds ON worlds.rowid = worlds_text.rowid
    WHERE worlds_text MATCH ? ORDER BY rank LIMIT ? OFFSET ?`),
  foundWorldCount: database
    .prepare<[string], number>("SELECT count(*) FROM worlds_text WHERE worlds_text MATCH ?")
    .pluck(),
  foundUsers: database.prepare<[string, number, number], User>(`
    SELECT users.* FROM users_text JOIN users ON users.rowid = users_text.rowid
    WHERE users_text MATCH ? ORDER BY rank LIMIT ? OFFSET ?`),
  foundUserCount: database
    .prepare<[string], number>("SELECT count(*) FROM users_text WHERE users_text MATCH ?")
    .pluck(),
};

function ranking(visits: string): Database.Statement<[number, number], World> {
  return database.prepare(
    `${WORLD} ORDER BY ${visits} DESC, uniqueVisitors DESC, createdAt DESC, id LIMIT ? OFFSET ?`,
  );
}

function worldsPage(items: World[]): Page<World> {
  return { items, total: statements.worldCount.get()! };
}

await serve(
  {
    etag,
    world: (id) => statements.world.get(id),
    user: (id) => statements.user.get(id),
    stats: () => statements.stats.get()!,
    worlds: (limit, offset) => worldsPage(statements.worlds.all(limit, offset)),
    popular: (period, limit, offset) => worldsPage(statements.popular[period].all(limit, offset)),
    findWorlds: (q, limit, offset) => {
      const match = matchAll(termsOf(q));
      return {
        items: statements.foundWorlds.all(match, limit, offset),
        total: statements.foundWorldCount.get(match)!,
      };
    },
    findUsers: (q, limit, offset) => {
      const match = matchAll([q]);
      return {
        items: statements.foundUsers.all(match, limit, offset),
        total: statements.foundUserCount.get(match)!,
      };
    },
  },
  process.argv[3]!,
);
