/**
 * `orrery export` against a real PostgreSQL: its files, and its messages when it fails; exports during writes of rows, each
 * of which shows one moment.
 */

import assert from "node:assert/strict";
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it, type TestContext } from "node:test";
import { failureAt } from "../../src/cli/options.ts";
import { FIELDS, TABLES, type TableName } from "../../src/model/schema.ts";
import { exportOnce } from "../../src/sources/postgres/export.ts";
import { readPostgresUrl } from "../../src/sources/postgres/postgres-url.ts";
import { columnName, DEFAULT_QUERIES } from "../../src/sources/postgres/queries.ts";
import { problemText } from "../../src/util/system-error.ts";
import { readRows, temporaryFolder } from "../support/folders.ts";
import { need } from "../support/need.ts";
import { freePort } from "../support/ports.ts";
import {
  assertFailed as assertFailedSo,
  type Outcome,
  type Program,
  run,
  runWell,
  start,
  until,
  type Variables,
} from "../support/process.ts";
import { manifestIn } from "../support/published.ts";
import { needPostgres, type Postgres, relay, startPostgres } from "./support/postgres.ts";
import { certificate } from "./support/proxies.ts";
import { smallDisk } from "./support/small-disk.ts";

const CANARY = "canary:pass/word@4711";

const skip = needPostgres();

/** Asserts that an export left nothing: no link, no folder of versions. */
function assertNothing(out: string): void {
  for (const path of [out, `${out}.versions`]) assert.ok(!existsSync(path), `${path} is there`);
}

/** Asserts that a command failed with one line about the problem alone. */
function assertFailed(outcome: Outcome, line: RegExp): void {
  assertFailedSo(outcome, line);
  const { stderr } = outcome;
  for (const secret of [CANARY, encodeURIComponent(CANARY), "4711"])
    assert.ok(!stderr.includes(secret), stderr);
}

const exportFrom = (
  url: string,
  out: string,
  more: readonly string[] = [],
  variables: Variables = {},
): Promise<Outcome> => run(["export", "--postgres", url, "--out", out, ...more], variables);

/** An export without a process of its own. */
const exportHere = (url: string, out: string): ReturnType<typeof exportOnce> =>
  exportOnce({
    from: readPostgresUrl(url, {}),
    queries: DEFAULT_QUERIES,
    out,
    gzip: false,
    allowShrink: false,
    visibleOnly: false,
    skipBroken: 0,
    signal: new AbortController().signal,
  });

async function exportWell(...args: Parameters<typeof exportFrom>): Promise<Outcome> {
  const outcome = await exportFrom(...args);
  assert.equal(outcome.status, 0, outcome.stderr);
  return outcome;
}

const withOptions = (url: string, options: string): string => `${url}?options=${encodeURIComponent(options)}`;

/** No more, as the writers are never still: an export of two moments would hardly pass once. */
const EXPORTS = 20;
const WRITERS = 4;
/** Total visits; transactions only move them from one world to another. */
const VISITS = 100_000;

/** Adds a user, a world of theirs, its statistics and an instance; at any moment all four exist or none. */
const ADD = `
  WITH owner AS (INSERT INTO users SELECT gen_random_uuid(), 'user', NULL, now() RETURNING id),
    world AS (INSERT INTO worlds SELECT id, 'world', NULL, id, true, 'ACTIVE', now(), now() FROM owner RETURNING id),
    stats AS (INSERT INTO world_stats SELECT id, 0, 0, 0, 0 FROM world)
  INSERT INTO instances SELECT id, id, true, true, now() FROM world`;

/** The transactions of a writer; each writes tables in another order than an export reads them. */
const WRITES: readonly string[] = [
  `BEGIN; ${ADD}; COMMIT`,
  `BEGIN;
   CREATE TEMPORARY TABLE gone ON COMMIT DROP AS SELECT i.id FROM instances i JOIN world_stats s ON s.world_id = i.id
     WHERE s.total_visits = 0 ORDER BY random() LIMIT 1;
   DELETE FROM instances WHERE id IN (SELECT id FROM gone);
   DELETE FROM users WHERE id IN (SELECT id FROM gone);
   DELETE FROM world_stats WHERE world_id IN (SELECT id FROM gone);
   DELETE FROM worlds WHERE id IN (SELECT id FROM gone);
   COMMIT`,
  `BEGIN;
   UPDATE world_stats SET total_visits = total_visits - 1
     WHERE world_id = (SELECT world_id FROM world_stats WHERE total_visits > 0 ORDER BY random() LIMIT 1) AND total_visits > 0;
   UPDATE world_stats SET total_visits = (SELECT ${VISITS} - sum(total_visits) FROM world_stats) + total_visits
     WHERE world_id = (SELECT world_id FROM world_stats ORDER BY random() LIMIT 1);
   COMMIT`,
];

describe("export from PostgreSQL", { skip }, () => {
  let server: Postgres;
  before(async () => {
    server = await startPostgres();
    await server.makeDatabase("orrery");
    await server.run(ROWS, "orrery");
  });
  after(() => server.end());

  /** Texts that any encoding on the way could break. */
  const TEXTS = [
    ...['quotes " and \\ backslashes \\n \\\\ \\.', "\\.", "null", "\\N", " blanks, \t tabs "],
    ...["lines\nof\r\ntext\r", "control \u0001\u0002\u0003\u001f\u007f characters"],
    ...["\u2028 \u2029 \u{1f30d} é e\u0301 か゛ ￿", "a,b;c|d", ""],
  ];
  const ROWS = `
    INSERT INTO users SELECT gen_random_uuid(), text, NULL, '2026-01-31 09:30:00.123999+09' FROM
      unnest(ARRAY[${TEXTS.map((text) => `U&'${[...text].map((c) => `\\+${c.codePointAt(0)!.toString(16).padStart(6, "0")}`).join("")}'`).join(", ")}]) AS text;
    INSERT INTO worlds VALUES ('AAAAAAAA-0000-4000-8000-000000000001', 'One', NULL, gen_random_uuid(), true, 'ACTIVE',
      '0001-01-01 00:00+00', '9999-12-31 23:59:59.9999+00');
    INSERT INTO world_stats VALUES ('aaaaaaaa-0000-4000-8000-000000000001', 9007199254740991, 2, 3, 4);
    INSERT INTO instances VALUES ('bbbbbbbb-0000-4000-8000-000000000001', 'aaaaaaaa-0000-4000-8000-000000000001',
      true, false, '2026-01-01 00:00:00.0005+00');
  `;

  function queries(t: TestContext, made: object | string): string {
    const file = join(temporaryFolder(t), "queries.json");
    writeFileSync(file, typeof made === "string" ? made : JSON.stringify(made));
    return file;
  }

  const exportTo = (out: string, ...args: readonly string[]): Promise<Outcome> =>
    exportFrom(server.url("orrery"), out, args);

  for (const gzip of [false, true]) {
    it(`writes every text and time as it is served${gzip ? ", compressed" : ""}`, async (t) => {
      const out = join(temporaryFolder(t), "snapshot");
      const { stdout, stderr } = await exportWell(server.url("orrery"), out, gzip ? ["--gzip"] : []);
      assert.equal(stdout, "");
      assert.match(
        stderr,
        /^orrery: published generation pg-[0-9a-f]{16}: 13 rows, \d+ bytes, 10 users, 1 worlds, 0 of 1 instances visible, \d+\.\d s\n$/,
      );
      const files = TABLES.map((name) => `${name}.ndjson${gzip ? ".gz" : ""}`);
      assert.deepEqual(readdirSync(out).sort(), [...files, "manifest.json"].sort());
      const users = readRows(out, "users");
      assert.deepEqual(users.map(({ displayName }) => displayName).sort(), [...TEXTS].sort());
      for (const { createdAt, userIconUrl } of users) {
        assert.equal(createdAt, "2026-01-31T00:30:00.123Z");
        assert.equal(userIconUrl, null);
      }
      const [world] = readRows(out, "worlds");
      assert.equal(world!.id, "aaaaaaaa-0000-4000-8000-000000000001");
      assert.equal(world!.createdAt, "0001-01-01T00:00:00.000Z");
      assert.equal(world!.updatedAt, "9999-12-31T23:59:59.999Z");
      const [stats] = readRows(out, "world-stats");
      assert.deepEqual(Object.values(stats!), [world!.id, 9007199254740991, 2, 3, 4]);
      const [instance] = readRows(out, "instances");
      assert.equal(Object.keys(instance!).join(), "id,worldId,isPublic,isActive,createdAt");
      assert.equal(instance!.createdAt, "2026-01-01T00:00:00.000Z");
      const { generation } = manifestIn(out);
      assert.ok(stderr.includes(generation));
      assert.match((await runWell(["check", out])).stdout, new RegExp(`^generation ${generation}\n`));
    });
  }

  it("takes columns by their names in any convention, of any fitting type, and JSON as it is", async (t) => {
    await server.run(
      `CREATE TYPE status AS ENUM ('ACTIVE', 'GONE');
       CREATE TABLE places AS SELECT gen_random_uuid()::text AS "ID", 'x'::varchar AS name, gen_random_uuid() AS "ownerId",
         true AS ispublic, 'ACTIVE'::status AS status, DATE '2026-01-31' AS created_at, TIMESTAMP '2026-01-31 10:00' AS "updatedAt",
         'secret' AS email`,
      "orrery",
    );
    const out = join(temporaryFolder(t), "snapshot");
    const file = queries(t, {
      worlds: "SELECT * FROM places -- with a comment;",
      users: `SELECT json_build_object('id', id, 'displayName', display_name, 'createdAt', created_at, 'email', 'a@b') FROM users;`,
      world_stats: `WITH counted AS (SELECT world_id, 7 AS n FROM world_stats)
        SELECT world_id, n AS total_visits, n::numeric AS unique_visitors, n AS visits_last_7_days, n AS visits_last_30_days
        FROM counted ORDER BY world_id ; `,
      "instances.ndjson": `SELECT (E'{\\n"id": "' || id || E'",\\r\\n"worldId": "' || world_id ||
        '", "isPublic": true, "isActive": true, "createdAt": "2026-01-01T00:00Z"}')::json FROM instances`,
    });
    await exportWell(server.url("orrery"), out, ["--queries", file]);
    const [world] = readRows(out, "worlds");
    assert.equal(Object.keys(world!).join(), "id,name,ownerId,isPublic,status,createdAt,updatedAt");
    assert.equal(world!.createdAt, "2026-01-31T00:00:00.000Z");
    assert.equal(world!.updatedAt, "2026-01-31T10:00:00.000Z");
    const names = readRows(out, "users").map(({ displayName }) => displayName);
    assert.deepEqual(names.sort(), [...TEXTS].sort());
    assert.equal(readRows(out, "world-stats")[0]!.totalVisits, 7);
    assert.equal(readRows(out, "instances").length, 1);
  });

  it("leaves out optional columns that a table lacks, and takes them once they are there", async (t) => {
    await server.makeDatabase("lacking");
    const write = (sql: string): Promise<void> => server.run(sql, "lacking");
    const url = server.url("lacking");
    await write(`ALTER TABLE worlds DROP description;
      INSERT INTO worlds SELECT gen_random_uuid(), 'Bare', gen_random_uuid(), true, 'ACTIVE', now(), now()`);
    const out = join(temporaryFolder(t), "snapshot");
    for (const more of [[], ["--visible-only"]]) {
      await exportWell(url, `${out}${more}`, more);
      assert.equal(readRows(`${out}${more}`, "worlds")[0]!.description ?? "", "");
    }
    await write("ALTER TABLE worlds ADD description text DEFAULT 'Described'");
    await exportWell(url, out);
    assert.equal(readRows(out, "worlds")[0]!.description, "Described");
    await write("ALTER TABLE worlds DROP name");
    const { stderr } = await exportFrom(url, out);
    assert.match(stderr, /^orrery: worlds: column "name" does not exist/);
  });

  it("escapes texts of the database", async (t) => {
    await server.makeDatabase("hostile");
    await server.run(
      `INSERT INTO worlds SELECT gen_random_uuid(), E'turned \u202e', NULL, gen_random_uuid(), true, E'\u202eGONE\u009b1m', now(), now();
       CREATE FUNCTION fail(text) RETURNS text LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION USING MESSAGE = $1; END'`,
      "hostile",
    );
    const url = server.url("hostile", `orrery:${encodeURIComponent(CANARY)}`);
    const out = join(temporaryFolder(t), "snapshot");
    const assertPlain = (text: string): void =>
      assert.doesNotMatch(text.replaceAll("\n", ""), /[^ -~…]/, JSON.stringify(text));
    for (const more of [[], ["--log-format", "json"], ["--dry-run"]]) {
      const { stdout, stderr } = await exportFrom(url, `${out}${more.length}${more}`, more);
      assertPlain(stdout + stderr);
      assert.match(stdout + stderr, /\\u202eGONE\\u009b1m/);
    }
    const users =
      "SELECT id, fail(E'\\u202eGONE\\u009b1m\\x1b[2J') AS display_name, now() AS created_at FROM worlds";
    const short = await exportFrom(url, out, ["--queries", queries(t, { users })]);
    assertPlain(short.stderr);
    assert.match(short.stderr, /^orrery: users: \\u202eGONE\\u009b1m\\u001b\[2J \(P0001\)\n$/);
    assertNothing(out);
  });

  /** Statistics of the one world, with a count computed by the database. */
  function countedAs(count: string): object {
    return {
      "world-stats": `SELECT world_id, ${count} AS total_visits, 2 AS unique_visitors, 3 AS visits_last_7_days,
        4 AS visits_last_30_days FROM world_stats`,
    };
  }

  it("leaves hidden rows out of the files, and everything of hidden worlds, from columns and from JSON", async (t) => {
    const folder = temporaryFolder(t);
    await server.makeDatabase("hidden");
    const uuid = (n: number): string => `00000000-0000-4000-8000-00000000000${n}`;
    const run = (sql: string): Promise<void> => server.run(sql, "hidden");
    await run(`
      ALTER TABLE users ADD email text DEFAULT 'canary@example.com';
      INSERT INTO users SELECT '${uuid(1)}', 'owner of a hidden world', NULL, now();
      INSERT INTO worlds SELECT ('00000000-0000-4000-8000-00000000000' || n)::uuid, 'world ' || n, NULL, '${uuid(1)}', n <> 2,
        CASE n WHEN 3 THEN 'BANNED' ELSE 'ACTIVE' END, now(), now() FROM generate_series(1, 4) n;
      INSERT INTO world_stats SELECT id, 1, 1, 1, 1 FROM worlds;
      INSERT INTO instances SELECT gen_random_uuid(), id, true, true, now() FROM worlds;
      INSERT INTO instances SELECT gen_random_uuid(), id, false, true, now() FROM worlds;
      INSERT INTO instances SELECT gen_random_uuid(), id, true, false, now() FROM worlds;
      INSERT INTO instances SELECT gen_random_uuid(), '${uuid(9)}', true, true, now();`);
    const asJson = Object.fromEntries(
      Object.entries(DEFAULT_QUERIES).map(([table, query]) => {
        const fields = FIELDS[table as TableName].map(({ name }) => `'${name}', ${columnName(name)}`);
        const json = `json_build_object('email', 'canary@example.com', ${fields.join(", ")})`;
        return [table, `SELECT ${json} AS row FROM ${query.split(" FROM ")[1]}`];
      }),
    );
    const of = (out: string, table: string, name: string) => readRows(out, table).map((row) => row[name]);
    const exportVisible = (out: string, ...more: string[]): Promise<Outcome> =>
      exportWell(server.url("hidden"), out, ["--visible-only", ...more]);
    for (const more of [[], ["--gzip"], ["--queries", queries(t, asJson)]]) {
      const out = join(folder, `out${more.length}`);
      await exportVisible(out, ...more);
      assert.deepEqual(of(out, "users", "displayName"), ["owner of a hidden world"]);
      assert.deepEqual(of(out, "worlds", "name"), ["world 1", "world 4"]);
      assert.deepEqual(of(out, "world-stats", "worldId"), [uuid(1), uuid(4)]);
      assert.deepEqual(of(out, "instances", "worldId"), [uuid(1), uuid(4)]);
      const all = JSON.stringify(TABLES.map((table) => readRows(out, table)));
      assert.doesNotMatch(all, /canary|email|world [23]|BANNED|isActive":false/);
      const { stdout } = await runWell(["check", out, "--no-index", "--json"]);
      for (const { hidden, dangling } of JSON.parse(stdout).files)
        assert.deepEqual([hidden, dangling.count], [{}, 0]);
    }
    // Statistics and instances change with their worlds, though their own tables did not.
    const out = join(folder, "again");
    await exportVisible(out);
    await run(`UPDATE worlds SET is_public = NOT is_public WHERE id IN ('${uuid(1)}', '${uuid(2)}')`);
    await exportVisible(out);
    for (const table of ["world-stats", "instances"])
      assert.deepEqual(of(out, table, "worldId"), [uuid(2), uuid(4)]);
    // The table now has as many rows as were visible.
    await run(`DELETE FROM worlds WHERE id IN ('${uuid(2)}', '${uuid(4)}')`);
    await exportVisible(out, "--allow-shrink");
    assert.equal(readRows(out, "worlds").length, 0);
  });

  it("writes counts to the digit, however the database shows numbers", async (t) => {
    const out = join(temporaryFolder(t), "snapshot");
    for (const [count, digits, wanted] of [
      ["99::float8", -15, 99],
      ["9007199254740991::float8", 0, 9007199254740991],
      ["9007199254740991.000::numeric", 0, 9007199254740991],
    ] as const) {
      const url = withOptions(server.url("orrery"), `-c extra_float_digits=${digits}`);
      await exportWell(url, out, ["--queries", queries(t, countedAs(count))]);
      assert.equal(readRows(out, "world-stats")[0]!.totalVisits, wanted, count);
    }
  });

  it("refuses a count that is not whole, also where a reader would round it", async (t) => {
    const out = join(temporaryFolder(t), "snapshot");
    for (const [count, shown] of [
      ["99.5::float8", "99.5"],
      ["1.0000000000000000001::numeric", "1.0000000000000000001"],
      ["'NaN'::float8", "NaN"],
    ] as const) {
      const outcome = await exportTo(out, "--queries", queries(t, countedAs(count)));
      const problem = `totalVisits: must be a whole number from 0 to 9007199254740991, is "${shown}"`;
      assertFailed(outcome, /totalVisits/);
      const line = `world-stats, id aaaaaaaa-0000-4000-8000-000000000001: ${problem}\n`;
      assert.equal(outcome.stderr, line, count);
      assertNothing(out);
    }
  });

  /** A query of instances whose time is an expression. */
  const createdAt = (time: string): string =>
    `{"instances": "SELECT id, world_id, is_public, is_active, ${time}::timestamptz AS created_at FROM instances"}`;
  /** Messages, as expressions, and the files of queries that they are about. */
  const MISTAKES: Readonly<Record<string, string>> = {
    "orrery: \\S+queries\\.json: not valid JSON at line 1, column 2": "{",
    '.*there is no table "user"; did you mean "users"\\?': `{"user": "SELECT"}`,
    'orrery: users: column "displayname" does not exist; .*"users\\.display_name".* \\(42703\\)': `{"users": "SELECT id, displayname, created_at FROM users"}`,
    "orrery: users: the query gives no column for displayName, but id, created_at": `{"users": "SELECT id, created_at FROM users"}`,
    "orrery: world-stats: column total_visits: must be a whole number, is text": JSON.stringify(
      countedAs("'many'"),
    ),
    "users, id [0-9a-f-]{36}: displayName: must be a string, is 7": `{"users": "SELECT json_build_object('id', id, 'displayName', 7, 'createdAt', created_at) FROM users LIMIT 1"}`,
    'instances, id [0-9a-f-]{36}: createdAt: .*"infinity".*': createdAt("'infinity'"),
    // After some rows.
    "orrery: users: division by zero \\(22012\\)": `{"users": "SELECT id, display_name, (1 / (10 - row_number() OVER ()))::text AS user_icon_url, created_at FROM users"}`,
    "orrery: users: cannot insert multiple commands into a prepared statement \\(42601\\)": `{"users": "SELECT 1) AS query; DROP TABLE users; SELECT * FROM (SELECT 1"}`,
    "orrery: users: cannot execute nextval\\(\\) in a read-only transaction \\(25006\\)": `{"users": "SELECT nextval('counter')::text AS id, 'x' AS display_name, now() AS created_at"}`,
  };
  for (const [line, made] of Object.entries(MISTAKES)) {
    it(`says what is wrong with queries: ${line}`, async (t) => {
      await server.run("CREATE SEQUENCE IF NOT EXISTS counter", "orrery");
      const out = join(temporaryFolder(t), "snapshot");
      assertFailed(await exportTo(out, "--queries", queries(t, made)), new RegExp(`^${line}$`, "m"));
      assertNothing(out);
    });
  }

  it("says where a database, a server or a host is not", async (t) => {
    const out = join(temporaryFolder(t), "snapshot");
    const own = `orrery:${encodeURIComponent(CANARY)}`;
    for (const [url, line] of [
      [server.url("nowhere", own), /127\.0\.0\.1:\d+: database "nowhere" does not exist \(3D000\)/],
      [`postgres://${own}@127.0.0.1:${await freePort()}/x`, /:\d+: connection refused \(ECONNREFUSED\)/],
      [server.url("postgres"), /users: relation "users" does not exist \(42P01\)/],
    ] as const) {
      assertFailed(await exportFrom(url, out), line);
      assertNothing(out);
    }
    const { status, stderr } = await exportFrom(`postgres://orrery:${CANARY}@127.0.0.1/x`, out);
    assert.equal(status, 2, stderr);
    assert.match(stderr, /^orrery: --postgres: [^\n]+\n$/);
    assert.doesNotMatch(stderr, /canary|4711/);
  });

  it("says what is visible, and why nothing may be; a dry run shows rows and publishes nothing", async (t) => {
    const other =
      "SELECT id, name, description, owner_id, is_public, 'PUBLISHED' AS status, created_at, updated_at FROM worlds";
    const none = await exportTo(join(temporaryFolder(t), "none"), "--queries", queries(t, { worlds: other }));
    assert.match(
      none.stderr,
      /, 0 of [\d,]+ worlds, .*WARNING, no world is visible; .*"ACTIVE", these have "PUBLISHED" \(\d+\)/,
    );
    const dry = join(temporaryFolder(t), "dry");
    const { stdout } = await exportWell(server.url("orrery"), dry, ["--dry-run"]);
    assert.match(stdout, /^[\d,]+ users, .* visible\nusers:\n {2}\{"id":"[^\n]+\n/);
    assert.equal(stdout.match(/"displayName":/g)?.length, 3, stdout);
    for (const table of ["worlds", "world-stats"]) assert.match(stdout, new RegExp(`\n${table}:\n {2}\\{`));
    assertNothing(dry);
  });

  it("leaves out so many broken rows as it may, and names them", async (t) => {
    const brokenQueries = (most: number): string =>
      queries(t, {
        users: `SELECT id, CASE WHEN row_number() OVER (ORDER BY id) > ${most} THEN display_name END AS display_name,
          user_icon_url, created_at FROM users`,
      });
    const problem = "users, id [0-9a-f-]{36}: displayName: must be a string, is null";
    for (const more of [[], ["--gzip"]]) {
      const out = join(temporaryFolder(t), "snapshot");
      const one = ["--queries", brokenQueries(1), ...more];
      assertFailed(await exportTo(out, ...one), new RegExp(`^${problem}$`, "m"));
      const skipOne = (): Promise<Outcome> =>
        exportWell(server.url("orrery"), out, [...one, "--skip-broken", "1"]);
      assert.match((await skipOne()).stderr, new RegExp(`left out 1 broken: ${problem}, `));
      assert.match((await skipOne()).stderr, /unchanged, still generation /);
      const two = await exportTo(out, "--queries", brokenQueries(2), "--skip-broken", "1", ...more);
      assert.equal(two.status, 1);
      assert.match(two.stderr, new RegExp(`^(${problem}\n){2}$`));
    }
  });

  /** Users that take for ever, so that their export can be disturbed. */
  const SLOW = {
    users: `SELECT gen_random_uuid() AS id, repeat('x', 1000) AS display_name, now() AS created_at, pg_sleep(0.002)
      FROM generate_series(1, 1000000)`,
  };

  /** Starts an export of such users, and waits until it runs. @returns it, and its backend's id */
  async function copying(t: TestContext, made: object) {
    const out = join(temporaryFolder(t), "snapshot");
    const args = ["export", "--postgres", server.url("orrery"), "--out", out];
    const program = start([...args, "--queries", queries(t, made)]);
    const client = await server.connect();
    const backend = await until(async () => {
      const files = existsSync(`${out}.versions`) ? readdirSync(`${out}.versions`, { recursive: true }) : [];
      if (!files.some((name) => String(name).endsWith("users.ndjson"))) return undefined;
      const { rows } = await client.query(
        "SELECT pid FROM pg_stat_activity WHERE application_name = 'orrery export' AND query LIKE 'COPY %'",
      );
      return rows[0]?.pid as number | undefined;
    }, "the export");
    await client.end();
    return { out, program, backend };
  }

  /** It gives no row before its end, so it ends early only where the server notices that its client is gone. */
  const SILENT = {
    users: `SELECT gen_random_uuid() AS id, 'x' AS display_name, now() AS created_at FROM (SELECT pg_sleep(3600)) AS slept`,
  };
  type Disturb = (program: Program, backend: number) => unknown;
  const disturbances: readonly [what: string, queries: object, disturb: Disturb, line: RegExp][] = [
    [
      "the server is stopped",
      SLOW,
      async ({ ended }) => {
        await server.stop();
        await ended;
        await server.start();
      },
      /^orrery: users: (terminating connection|the connection broke|.*ECONNRESET)/m,
    ],
    ["it gets a SIGTERM", SILENT, ({ child }) => child.kill("SIGTERM"), /^orrery: stopped by SIGTERM$/m],
  ];
  for (const [what, made, disturb, line] of disturbances) {
    it(`publishes nothing, and leaves no query, when ${what}`, async (t) => {
      const { out, program, backend } = await copying(t, made);
      await disturb(program, backend);
      assertFailed({ ...(await program.ended), stdout: program.stdout(), stderr: program.stderr() }, line);
      assertNothing(out);
      const client = await server.connect();
      await until(async () => {
        const { rows } = await client.query("SELECT FROM pg_stat_activity WHERE pid = $1", [backend]);
        return rows.length === 0;
      }, "the end of the backend");
    });
  }

  it("does not wait for a lock for ever: 20 seconds, or as long as the URL says", async (t) => {
    const out = join(temporaryFolder(t), "snapshot");
    const users = `SELECT gen_random_uuid() AS id, current_setting('lock_timeout') AS display_name, now() AS created_at`;
    await exportTo(out, "--queries", queries(t, { users }));
    assert.equal(readRows(out, "users")[0]!.displayName, "20s");
    const before = readdirSync(`${out}.versions`);
    const client = await server.connect("orrery");
    t.after(() => client.end());
    await client.query("BEGIN; LOCK TABLE instances IN ACCESS EXCLUSIVE MODE");
    const outcome = await exportFrom(withOptions(server.url("orrery"), "-c lock_timeout=300"), out);
    assertFailed(outcome, /^orrery: instances: canceling statement due to lock timeout \(55P03\)$/m);
    assert.deepEqual(readdirSync(`${out}.versions`), before);
  });

  it("publishes nothing on a full disk", async (t) => {
    const disk = smallDisk(t, "256k");
    if (disk === undefined) return t.skip("no file system may be mounted here");
    const out = join(disk, "snapshot");
    const many = {
      users: `SELECT gen_random_uuid() AS id, repeat('x', 1000) AS display_name, now() AS created_at FROM generate_series(1, 1000)`,
    };
    assertFailed(
      await exportTo(out, "--queries", queries(t, many)),
      /^orrery: .*\/snapshot: no space left on device \(ENOSPC\)$/m,
    );
    assertNothing(out);
    await exportWell(server.url("orrery"), out);
  });

  describe("exports while rows are written", () => {
    const url = (): string => server.url("written");
    const write = (sql: string): Promise<void> => server.run(sql, "written");
    before(async () => {
      await server.makeDatabase("written");
      await write(`DO $$ BEGIN FOR n IN 1..300 LOOP ${ADD}; END LOOP; END $$;
        UPDATE world_stats SET total_visits = ${VISITS}
          WHERE world_id = (SELECT min(world_id::text)::uuid FROM world_stats)`);
    });

    it(`are of one moment each: an invariant over all tables holds in ${EXPORTS} of them`, async (t) => {
      const out = join(temporaryFolder(t), "snapshot");
      let isOver = false;
      let writes = 0;
      async function keepWriting(first: number): Promise<void> {
        const client = await server.connect("written");
        for (let at = first; !isOver; at++) {
          // A lock, since two moves of visits would each add what the other took, and a removal would lose visits just added.
          const lock = at % WRITES.length > 0 ? "BEGIN; SELECT pg_advisory_xact_lock(1);" : "BEGIN;";
          await client.query(WRITES[at % WRITES.length]!.replace("BEGIN;", lock)).then(
            () => writes++,
            // Another writer has removed the row.
            () => client.query("ROLLBACK"),
          );
        }
        await client.end();
      }
      const writers = Promise.all(Array.from({ length: WRITERS }, (_, first) => keepWriting(first)));
      const seen = new Set<string>();
      let before = 0;
      try {
        for (let round = 0; round < EXPORTS; round++) {
          await until(() => writes > before, "rows to be written");
          before = writes;
          const { generation, rows } = await exportHere(url(), out);
          seen.add(generation);
          const ids = (table: string, name: string) =>
            readRows(out, table)
              .map((row) => row[name])
              .sort();
          assert.ok(rows > 100);
          for (const table of ["world-stats", "instances"])
            assert.deepEqual(ids(table, "worldId"), ids("users", "id"), table);
          assert.deepEqual(ids("worlds", "id"), ids("users", "id"));
          const visits = readRows(out, "world-stats").reduce((sum, row) => sum + Number(row.totalVisits), 0);
          assert.equal(visits, VISITS);
        }
      } finally {
        isOver = true;
        await writers;
      }
      assert.ok(seen.size > EXPORTS / 2, `${seen.size} different ones, ${writes} writes`);
    });

    it("write no line longer than that of a row", async (t) => {
      const out = join(temporaryFolder(t), "snapshot");
      const file = queries(t, {
        users:
          "SELECT gen_random_uuid() AS id, repeat('x', 3000000) AS display_name, NULL AS user_icon_url, now() AS created_at",
      });
      const long = await exportFrom(url(), out, ["--queries", file]);
      assert.equal(long.stderr, "users, row 1: line is longer than 1 MiB\n");
      assertNothing(out);
    });

    it("end with one line when the connection breaks, at any moment", async (t) => {
      // Each connection is cut one chunk later than the one before, of the client's or the server's chunks in turn.
      let connections = 0;
      let cuts = 0;
      const port = await relay(t, server.port, (client, served) => {
        const number = connections++;
        const cutSide = number % 2 === 0 ? client : served;
        let left = number >> 1;
        return (from, to, chunk) => {
          if (from !== cutSide || left-- !== 0) return to.write(chunk);
          cuts++;
          return from.destroy();
        };
      });
      const out = join(temporaryFolder(t), "snapshot");
      const through = new URL(url());
      through.port = String(port);
      const DONE = /^orrery: (published|unchanged)/;
      /** What the command tells of an export. Every tenth is a process, whose start would be most of each. */
      const told = async (round: number): Promise<string> => {
        if (round % 10 === 0) {
          const { status, stderr } = await exportFrom(through.href, out);
          assert.equal(status === 0, DONE.test(stderr), stderr);
          return stderr;
        }
        const done = exportHere(through.href, out).then(({ isNew }) => (isNew ? "published" : "unchanged"));
        return `orrery: ${await done.catch((error: unknown) => problemText(failureAt(out, error)))}\n`;
      };
      let successes = 0;
      for (let round = 0; successes < 4 && round < 200; round++) {
        const text = await told(round);
        if (DONE.test(text)) successes++;
        assert.match(
          text,
          /^orrery: ((\S+: )*(PostgreSQL at \S+: )?(the connection broke|connection reset.*)|published.*|unchanged.*)\n$/,
        );
      }
      assert.ok(cuts >= 30 && successes === 4, `${cuts} cuts`);
    });
  });
});

const folder = temporaryFolder();

describe("export from a PostgreSQL that asks for passwords and TLS", {
  skip: skip || need("openssl"),
}, () => {
  let server: Postgres;
  let encrypted: Postgres;
  before(async () => {
    const access = "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n";
    server = await startPostgres("", access);
    await server.makeDatabase("orrery");
    await server.run(`ALTER ROLE orrery PASSWORD '${CANARY}'`);

    const { key, pem } = certificate(folder);
    encrypted = await startPostgres("", "local all all trust\nhostssl all all 127.0.0.1/32 trust\n");
    for (const [setting, file] of [
      ["ssl_key_file", key],
      ["ssl_cert_file", pem],
    ] as const) {
      // In the server's own folder, since the server requires a key that its user owns.
      const own = join(encrypted.folder, setting);
      const lines = readFileSync(file, "utf8").trim().split("\n").join("','");
      await encrypted.run(`COPY (SELECT unnest(ARRAY['${lines}'])) TO '${own}'`);
      chmodSync(own, 0o600);
      await encrypted.run(`ALTER SYSTEM SET ${setting} = '${own}'`);
    }
    await encrypted.run("ALTER SYSTEM SET ssl = on");
    await encrypted.stop();
    await encrypted.start();
    await encrypted.makeDatabase("orrery");
  });
  after(() => Promise.all([server.end(), encrypted.end()]));

  it("takes a password from the URL, PGPASSWORD or a file, and never tells it", async (t) => {
    const out = join(temporaryFolder(t), "snapshot");
    const url = (password: string): string => server.url("orrery", `orrery${password}`);
    const good = encodeURIComponent(CANARY);
    const home = temporaryFolder(t);
    const file = join(home, "passwords");
    const escaped = CANARY.replaceAll(/[\\:]/g, "\\$&");
    writeFileSync(file, `127.0.0.1:${server.port}:orrery:orrery:${escaped}\n`, { mode: 0o600 });
    for (const [given, variables] of [
      [url(`:${good}`), {}],
      [url(""), { PGPASSWORD: CANARY }],
      [url(""), { PGPASSFILE: file, HOME: home }],
    ] as const) {
      const { stdout, stderr } = await exportWell(given, out, [], variables);
      assert.doesNotMatch(stdout + stderr, /canary|4711/);
    }
    rmSync(out);
    rmSync(`${out}.versions`, { recursive: true });
    const wrong = await exportFrom(url(`:${good}0`), out);
    assertFailed(wrong, /password authentication failed for user "orrery" \(28P01\)/);
    const none = await exportFrom(url(""), out, [], { HOME: home });
    const line = /the server asks for a password, and there is none in the URL, PGPASSWORD or ~\/\.pgpass/;
    assertFailed(none, line);
    assertNothing(out);
  });

  it("says that TLS is required, and uses it as sslmode says", async (t) => {
    const out = join(temporaryFolder(t), "snapshot");
    const assertRefused = async (url: string, line: RegExp): Promise<void> =>
      assertFailed(await exportFrom(url, out), line);
    const url = encrypted.url("orrery");
    const add = /no encryption; the server may require TLS: add sslmode=require or sslmode=verify-full/;
    await assertRefused(url, add);
    const name = /certificate.*sslrootcert=FILE in the URL, or PGSSLROOTCERT, names the authority/;
    await assertRefused(`${url}?sslmode=verify-full`, name);
    assertNothing(out);
    const trusted = `&sslrootcert=${join(folder, "site.pem")}`;
    for (const mode of ["require", `verify-ca${trusted}`, `verify-full${trusted}`]) {
      const { stderr } = await exportWell(`${url}?sslmode=${mode}`, out);
      // The second and the third find the data of the first.
      assert.match(
        stderr,
        mode === "require" ? /^orrery: published [^\n]+\n$/ : /^orrery: unchanged, [^\n]+\n$/,
      );
    }
    const disable =
      /does not support SSL connections; the URL or PGSSLMODE asks for TLS: sslmode=disable goes without/;
    await assertRefused(`${server.url("orrery")}?sslmode=require`, disable);
  });

  it("reads the variables of psql, with the meaning they have there", async (t) => {
    const out = join(temporaryFolder(t), "snapshot");
    const root = join(folder, "site.pem");
    const encryptedUrl = encrypted.url("orrery");
    const plainUrl = server.url("orrery", `orrery:${encodeURIComponent(CANARY)}`);
    const { username, port } = new URL(encryptedUrl);
    const parts = { PGHOST: "127.0.0.1", PGPORT: port, PGUSER: username, PGDATABASE: "orrery" };
    for (const [url, variables] of [
      // Both are without a check of the server's identity.
      [encryptedUrl, { PGSSLMODE: "require" }],
      [encryptedUrl, { PGSSLMODE: "verify-full", PGSSLROOTCERT: root }],
      ["postgres://", { ...parts, PGSSLMODE: "require" }],
      // A server without TLS.
      [plainUrl, { PGSSLMODE: "prefer" }],
      // The URL is more than the variables.
      [`${plainUrl}?sslmode=disable`, { PGSSLMODE: "require" }],
      [`${encryptedUrl}?sslmode=require`, { PGSSLMODE: "disable", PGCONNECT_TIMEOUT: "5" }],
    ] as const) {
      const { status, stderr } = await exportFrom(url, out, [], variables);
      assert.equal(status, 0, `${JSON.stringify(variables)}: ${stderr}`);
    }
    for (const [url, variables, line] of [
      [encryptedUrl, { PGSSLMODE: "verify-full" }, /certificate.*PGSSLROOTCERT/],
      [plainUrl, { PGSSLMODE: "require" }, /does not support SSL/],
    ] as const)
      assertFailed(await exportFrom(url, out, [], variables), line);
    const { status, stderr } = await exportFrom(plainUrl, out, [], { PGSSLMODE: "yes" });
    assert.equal(status, 2);
    assert.match(stderr, /PGSSLMODE must be one of disable, allow/);
  });
});
