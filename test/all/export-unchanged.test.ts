/** Tables that an export need not copy again, told by a real PostgreSQL: only those whose rows are certainly the same. */

import assert from "node:assert/strict";
import { readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { TABLES, type TableName } from "../../src/model/schema.ts";
import { exportOnce } from "../../src/sources/postgres/export.ts";
import { copyTables, type TableMarks } from "../../src/sources/postgres/postgres.ts";
import { readPostgresUrl } from "../../src/sources/postgres/postgres-url.ts";
import { DEFAULT_QUERIES, type Queries } from "../../src/sources/postgres/queries.ts";
import { readRows, temporaryFolder } from "../support/folders.ts";
import { until } from "../support/process.ts";
import { fillSql, needPostgres, type Postgres, startPostgres } from "./support/postgres.ts";

const USER = "INSERT INTO users VALUES (gen_random_uuid(), 'new', NULL, now())";

/** Statements between two exports, and the tables that the second one must copy. */
const CASES: readonly (readonly [what: string, sql: string, copied: readonly TableName[]])[] = [
  ["nothing", "SELECT 1", []],
  ["an insert", USER, ["users"]],
  ["an insert that is rolled back", `BEGIN; ${USER}; ROLLBACK`, []],
  ["an insert in a savepoint", `BEGIN; SAVEPOINT a; ${USER}; RELEASE a; COMMIT`, ["users"]],
  ["an update to the same value", "UPDATE worlds SET name = name WHERE name = 'World 1'", ["worlds"]],
  ["a delete", "DELETE FROM instances WHERE id = (SELECT id FROM instances LIMIT 1)", ["instances"]],
  ["a delete and an insert", `DELETE FROM users WHERE display_name = 'user 1'; ${USER}`, ["users"]],
  ["all rows gone", "TRUNCATE world_stats", ["world-stats"]],
  ["all rows written anew", "VACUUM FULL users", ["users"]],
  ["frozen rows", "VACUUM FREEZE", []],
  ["a lock of rows", "BEGIN; SELECT * FROM users FOR UPDATE; COMMIT", []],
  [
    "a column with another default",
    `ALTER TABLE users DROP COLUMN user_icon_url; ALTER TABLE users ADD COLUMN user_icon_url text DEFAULT 'other'`,
    ["users"],
  ],
  ["another name of a label", "ALTER TYPE state RENAME VALUE 'ACTIVE' TO 'CLOSED'", ["worlds"]],
];

/** Statements before the first export, after which a table is copied by each one. */
const NEVER: readonly (readonly [what: string, sql: string, table: TableName])[] = [
  [
    "a column of a type of its owner's",
    "CREATE DOMAIN words AS text; ALTER TABLE worlds ALTER COLUMN name TYPE words",
    "worlds",
  ],
  ["policies for rows", "ALTER TABLE users ENABLE ROW LEVEL SECURITY", "users"],
  ["a child table", "CREATE TABLE more () INHERITS (instances)", "instances"],
  [
    "a view in its place",
    "ALTER TABLE users RENAME TO people; CREATE VIEW users AS SELECT * FROM people",
    "users",
  ],
];

describe("tables of an earlier export", { skip: needPostgres() }, () => {
  let server: Postgres;
  let databases = 0;
  before(async () => {
    // Commits that do not wait for the disk then stay in memory for long.
    server = await startPostgres("wal_writer_delay = '10s'");
  });
  after(() => server.end());

  async function makeDatabase(): Promise<string> {
    const name = `tables_${++databases}`;
    await server.makeDatabase(name);
    await server.run(
      `CREATE TYPE state AS ENUM ('ACTIVE'); ${fillSql(40)} ALTER TABLE worlds ALTER COLUMN status TYPE state USING status::state`,
      name,
    );
    return name;
  }

  /** The next export: its marks, and the tables that it copied. */
  async function next(database: string, marks: TableMarks, queries: Queries = DEFAULT_QUERIES) {
    const copied: TableName[] = [];
    const take = async (table: TableName, lines: AsyncIterable<Buffer>): Promise<{ lines: number }> => {
      copied.push(table);
      let count = 0;
      for await (const chunk of lines) count += chunk.toString().split("\n").length - 1;
      return { lines: count };
    };
    const { signal } = new AbortController();
    const options = { queries, visibleOnly: false, take, marks };
    const made = await copyTables(readPostgresUrl(server.url(database), {}), options, signal);
    return { marks: made, copied };
  }

  /** The marks of a first export, once the server's log of all that it saw is on disk. */
  async function markAll(database: string, except?: TableName): Promise<TableMarks> {
    let marks: TableMarks = {};
    await until(async () => {
      await server.run("CHECKPOINT");
      ({ marks } = await next(database, {}));
      return Object.keys(marks).length > 0;
    }, "marks");
    assert.deepEqual(
      Object.keys(marks),
      TABLES.filter((table) => table !== except),
    );
    return marks;
  }

  for (const [what, sql, copied] of CASES) {
    it(`are copied again after ${what}: ${copied.join() || "none"}`, async () => {
      const database = await makeDatabase();
      const marks = await markAll(database);
      const client = await server.connect(database);
      for (const statement of sql.split("; ")) await client.query(statement);
      await client.end();
      assert.deepEqual((await next(database, marks)).copied, copied);
    });
  }

  for (const [what, sql, table] of NEVER) {
    it(`are not marked: one with ${what}`, async () => {
      const database = await makeDatabase();
      await server.run(sql, database);
      assert.deepEqual((await next(database, await markAll(database, table))).copied, [table]);
    });
  }

  it("are copied again after a transaction that was open, a restart, or with another query", async () => {
    const database = await makeDatabase();
    const client = await server.connect(database);
    await client.query(`BEGIN; ${USER}`);
    const marks = await markAll(database);
    await client.query("COMMIT");
    await client.end();
    assert.deepEqual((await next(database, marks)).copied, ["users"]);
    const queries = { ...DEFAULT_QUERIES, worlds: `${DEFAULT_QUERIES.worlds} WHERE true` };
    assert.deepEqual((await next(database, marks, queries)).copied, ["users", "worlds"]);
    await server.stop();
    await server.start();
    assert.deepEqual((await next(database, marks)).copied, TABLES);
  });

  it("are noted beside the published version for the next export", async (t) => {
    const database = await makeDatabase();
    const other = `${database}_other`;
    const out = join(temporaryFolder(t), "out");
    /** Exports once. @returns the steps of copies, and the names of marked tables */
    const exportFrom = async (name: string) => {
      const copied = new Set<string>();
      const onProgress = (step: string): void => void (/^copying/.test(step) && copied.add(step.slice(8)));
      const from = readPostgresUrl(server.url(name), {});
      const { signal } = new AbortController();
      const settings = { out, gzip: false, allowShrink: false, visibleOnly: false, skipBroken: 0 };
      const options = { ...settings, from, queries: DEFAULT_QUERIES, signal, onProgress };
      const { isNew, note, visible } = await exportOnce(options);
      return { copied: [...copied], isNew, visible, marked: note && Object.keys(note.marks) };
    };
    const untilMarked = () =>
      until(async () => {
        await server.run("CHECKPOINT");
        return (await exportFrom(database)).copied.length === 0;
      }, "marks");
    const count = (): number => readRows(out, "instances").length;
    await untilMarked();
    const before = count();
    assert.deepEqual((await exportFrom(database)).copied, []);
    await server.run(
      `SET synchronous_commit = off;
       INSERT INTO instances SELECT gen_random_uuid(), world_id, true, true, '2030-01-01' FROM instances LIMIT 1`,
      database,
    );
    const visible = `40 users, 10 worlds, ${before + 1} instances visible`;
    const marked = ["users", "worlds", "world-stats"];
    assert.deepEqual(await exportFrom(database), { copied: ["instances"], isNew: true, visible, marked });
    assert.equal(count(), before + 1);
    await server.run("DELETE FROM instances WHERE created_at = '2030-01-01'", database);
    assert.deepEqual((await exportFrom(database)).copied, ["instances"]);
    assert.equal(count(), before);
    await untilMarked();
    // Hidden worlds hide instances, whose own table did not change.
    await server.run("UPDATE worlds SET is_public = false", database);
    const hidden = await exportFrom(database);
    assert.match(hidden.visible, /^40 users, 0 of 10 worlds, 0 of \d instances visible: WARNING/);
    await server.run("UPDATE worlds SET is_public = true", database);
    await untilMarked();
    // Changed statistics and instances are checked without the worlds, as strictly.
    for (const table of ["world_stats", "instances"]) {
      await server.run(`ALTER TABLE ${table} DROP CONSTRAINT ${table}_pkey CASCADE`, database);
      await server.run(`INSERT INTO ${table} SELECT * FROM ${table} LIMIT 1`, database);
      const twice = /id \S+: (id|worldId): .*(twice|duplicate|already|more than once)/i;
      await assert.rejects(exportFrom(database), twice, table);
      await server.run(`DELETE FROM ${table} a USING ${table} b WHERE a.ctid > b.ctid AND a = b`, database);
    }
    await untilMarked();
    // A copy of a database has the same tables by number.
    await server.run(`CREATE DATABASE ${other} TEMPLATE ${database}`);
    assert.deepEqual((await exportFrom(other)).copied, TABLES);
    // A file that was touched is copied and checked.
    await untilMarked();
    utimesSync(join(out, "users.ndjson"), 1, 1);
    assert.deepEqual((await exportFrom(database)).copied, ["users"]);
    // A note of another version says nothing, nor does one that is damaged.
    const note = join(`${out}.versions`, "export.json");
    for (const text of [readFileSync(note, "utf8").replace(/"version":"\d{4}/, '"version":"1999'), "{", ""]) {
      writeFileSync(note, text);
      const { copied, isNew } = await exportFrom(database);
      assert.deepEqual([copied, isNew], [TABLES, false]);
      // It wrote a note of the same version, so the next one copies nothing.
      await untilMarked();
    }
  });

  it("are not marked while a crash could lose a commit that was seen", async () => {
    const database = await makeDatabase();
    await server.run(`SET synchronous_commit = off; ${USER}`, database);
    assert.deepEqual((await next(database, {})).marks, {});
    await markAll(database);
  });
});
