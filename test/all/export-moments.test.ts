/** Exports during writes of rows: each shows one moment, and rounds go on until a signal. */

import assert from "node:assert/strict";
import { existsSync, readdirSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { exportOnce } from "../../src/sources/postgres/export.ts";
import { readPostgresUrl } from "../../src/sources/postgres/postgres-url.ts";
import { DEFAULT_QUERIES } from "../../src/sources/postgres/queries.ts";
import { readRows, temporaryFolder } from "../support/folders.ts";
import { DEFAULTS } from "../support/options.ts";
import { needPostgres, type Postgres, startPostgres } from "../support/postgres.ts";
import { start, until } from "../support/process.ts";

const EXPORTS = 50;
const WRITERS = 4;
/** Total visits; transactions only move them from one world to another. */
const VISITS = 100_000;
const MAX_BYTES = DEFAULTS.maxSnapshotBytes;

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

describe("exports while rows are written", { skip: needPostgres() }, () => {
  let server: Postgres;
  before(async () => {
    server = await startPostgres();
    await server.makeDatabase("orrery");
    await server.run(`DO $$ BEGIN FOR n IN 1..300 LOOP ${ADD}; END LOOP; END $$`, "orrery");
    await server.run(
      `UPDATE world_stats SET total_visits = ${VISITS} WHERE world_id = (SELECT min(world_id::text)::uuid FROM world_stats)`,
      "orrery",
    );
  });
  after(() => server.end());

  it(`are of one moment each: an invariant over all tables holds in ${EXPORTS} of them`, async (t) => {
    const out = join(temporaryFolder(t), "snapshot");
    let isOver = false;
    let writes = 0;
    async function write(first: number): Promise<void> {
      const client = await server.connect("orrery");
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
    const writers = Promise.all(Array.from({ length: WRITERS }, (_, first) => write(first)));
    const seen = new Set<string>();
    let before = 0;
    try {
      for (let round = 0; round < EXPORTS; round++) {
        await until(() => writes > before, "rows to be written");
        before = writes;
        const { generation, rows } = await exportOnce({
          ...{ from: readPostgresUrl(server.url("orrery")), queries: DEFAULT_QUERIES, out },
          ...{ gzip: false, maxBytes: MAX_BYTES, onlyChanges: false, signal: new AbortController().signal },
        });
        seen.add(generation);
        const ids = (table: string, name: string): string =>
          String(
            readRows(out, table)
              .map((row) => row[name])
              .sort(),
          );
        const users = ids("users", "id");
        assert.ok(rows > 100);
        assert.equal(ids("worlds", "id"), users);
        assert.equal(ids("world-stats", "worldId"), users);
        assert.equal(ids("instances", "worldId"), users);
        const visits = readRows(out, "world-stats").reduce((sum, row) => sum + Number(row.totalVisits), 0);
        assert.equal(visits, VISITS);
      }
    } finally {
      isOver = true;
      await writers;
    }
    assert.ok(seen.size > EXPORTS / 2, `${seen.size} different ones, ${writes} writes`);
  });

  it("go on in rounds: new rows, the same, a failure, success again, until SIGTERM", async (t) => {
    const folder = temporaryFolder(t);
    const [out, file] = [join(folder, "snapshot"), join(folder, "queries.json")];
    // A view that can be broken and repaired while the command runs.
    await server.run(`CREATE VIEW shown AS SELECT * FROM users`, "orrery");
    const users = "SELECT id, display_name, user_icon_url, created_at FROM shown ORDER BY id";
    writeFileSync(file, JSON.stringify({ users }));
    const args = ["export", "--postgres", server.url("orrery"), "--out", out, "--queries", file];
    const program = start([...args, "--every", "0.1"]);
    const lines = (): string[] => program.stderr().split("\n").slice(0, -1);
    const untilLine = (pattern: RegExp, from: number): Promise<number> =>
      until(() => {
        assert.equal(program.child.exitCode, null, program.stderr());
        const at = lines().findIndex((line, index) => index >= from && pattern.test(line));
        return at < 0 ? undefined : at + 1;
      }, `${pattern} behind line ${from} of:\n${program.stderr()}`);
    const time = String.raw`^orrery: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z `;
    const published = `${time}published generation pg-\\w+: \\d+ rows, \\d+ bytes, \\d+\\.\\d s$`;
    let at = await untilLine(new RegExp(published), 0);
    const first = readlinkSync(out);
    at = await untilLine(new RegExp(`${time}unchanged, still generation pg-\\w+: `), at);
    assert.equal(readlinkSync(out), first);
    await server.run(ADD, "orrery");
    at = await untilLine(/ published generation /, at);
    assert.notEqual(readlinkSync(out), first);
    const second = readlinkSync(out);
    await server.run("ALTER VIEW shown RENAME COLUMN display_name TO name", "orrery");
    at = await untilLine(/ not published: users: column "display_name" does not exist.* \(42703\)$/, at);
    assert.equal(readlinkSync(out), second);
    await server.run("ALTER VIEW shown RENAME COLUMN name TO display_name", "orrery");
    at = await untilLine(/ unchanged, /, at);
    // A second row with the same id: the export refuses it as a check would.
    await server.run(
      "ALTER VIEW shown RENAME TO old; CREATE VIEW shown AS SELECT * FROM old UNION ALL SELECT * FROM old",
      "orrery",
    );
    at = await untilLine(/ not published: users\.ndjson:\d+: id: .* \(and \d+ more\)$/, at);
    await server.run("DROP VIEW shown; ALTER VIEW old RENAME TO shown", "orrery");
    at = await untilLine(/ unchanged, /, at);
    await server.stop();
    at = await untilLine(/ not published: PostgreSQL at 127\.\S+: connection refused \(ECONNREFUSED\)$/, at);
    await server.start();
    await untilLine(/ unchanged, /, at);
    await program.stop();
    assert.equal(program.stdout(), "");
    assert.equal(readdirSync(`${out}.versions`).length, 2);
    assert.equal(readlinkSync(out), second);
  });

  it("end at a SIGTERM in the middle of a round with status 0, and leave nothing", async (t) => {
    const folder = temporaryFolder(t);
    const [out, file] = [join(folder, "snapshot"), join(folder, "queries.json")];
    const sleeping = "SELECT id, display_name, created_at FROM users, (SELECT pg_sleep(3600)) AS slept";
    writeFileSync(file, JSON.stringify({ users: sleeping }));
    const args = ["export", "--postgres", server.url("orrery"), "--out", out, "--queries", file];
    const program = start([...args, "--every", "1"]);
    await until(() => existsSync(`${out}.versions`) && readdirSync(`${out}.versions`).length > 1, "a round");
    await program.stop("SIGINT");
    assert.equal(program.stderr(), "");
    assert.ok(!existsSync(out) && !existsSync(`${out}.versions`));
  });
});
