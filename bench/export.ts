/**
 * What an export from PostgreSQL costs: time, and CPU time of the command and of the server.
 *
 *     npx tsx bench/export.ts [--smoke] [--users 1000000] [--only rows] [--rounds 3]
 *
 * Worlds are a quarter of the users, instances a twentieth. PostgreSQL and its rows are made for it in the system's
 * temporary folder; where it is not installed, nothing is measured. Nothing is pinned: both share the machine.
 */

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildPrepared } from "../src/server/load/build-prepared.ts";
import { type ExportOptions, exportOnce } from "../src/sources/postgres/export.ts";
import { readPostgresUrl } from "../src/sources/postgres/postgres-url.ts";
import { DEFAULT_QUERIES } from "../src/sources/postgres/queries.ts";
import { DEFAULTS } from "../test/support/options.ts";
import { fillSql, needPostgres, type Postgres, startPostgres } from "../test/support/postgres.ts";
import { median } from "./support/load.ts";
import { readOptions } from "./support/options.ts";
import { fixed, machine, markdown, whole } from "./support/output.ts";

const values = readOptions({
  options: {
    smoke: { type: "boolean", default: false },
    users: { type: "string" },
    only: { type: "string" },
    rounds: { type: "string" },
  },
});
const users = Number(values.users ?? (values.smoke ? 2000 : 1_000_000));
const rounds = Number(values.rounds ?? (values.smoke ? 1 : 3));
const TICKS_PER_SECOND = 100;

/** CPU seconds of the server's processes that have ended. */
function backendSeconds({ pid }: Postgres): number {
  const line = readFileSync(`/proc/${pid()}/stat`, "utf8");
  const fields = line.slice(line.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[13]) + Number(fields[14])) / TICKS_PER_SECOND;
}

/** Waits until the server has taken leave of all who exported. */
async function untilAlone(server: Postgres): Promise<void> {
  const client = await server.connect();
  const others = "SELECT FROM pg_stat_activity WHERE application_name = 'orrery export'";
  while ((await client.query(others)).rowCount !== 0) await new Promise((done) => setTimeout(done, 20));
  await client.end();
}

interface Measured {
  readonly seconds: number;
  readonly own: number;
  readonly server: number;
  readonly bytes: number;
}

async function measure(server: Postgres, options: ExportOptions): Promise<Measured> {
  const before = backendSeconds(server);
  const cpu = process.cpuUsage();
  const began = performance.now();
  const { bytes } = await exportOnce(options);
  const seconds = (performance.now() - began) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  await untilAlone(server);
  return { seconds, own: (user + system) / 1e6, server: backendSeconds(server) - before, bytes };
}

async function run(): Promise<void> {
  const missing = needPostgres();
  if (missing !== false) return console.log(`bench/export.ts: nothing was measured: ${missing}`);
  const server = await startPostgres("shared_buffers = '256MB'\nmax_wal_size = '4GB'");
  const folder = mkdtempSync(join(tmpdir(), "orrery-bench-export-"));
  try {
    await server.makeDatabase("orrery");
    await server.run(fillSql(users), "orrery");
    await server.run("VACUUM ANALYZE", "orrery");
    const common: ExportOptions = {
      ...{
        from: readPostgresUrl(server.url("orrery")),
        queries: DEFAULT_QUERIES,
        gzip: false,
        onlyChanges: false,
      },
      ...{ out: "", maxBytes: DEFAULTS.maxSnapshotBytes, signal: new AbortController().signal },
    };
    const kinds: readonly (readonly [string, Partial<ExportOptions>])[] = [
      ["rows", {}],
      ["--gzip", { gzip: true }],
      ["--build", { prepare: (from, to, maxBytes) => buildPrepared(from, to, { maxBytes, manifest: true }) }],
    ];
    const table: string[][] = [];
    for (const [name, more] of kinds.filter(([name]) => values.only === undefined || name === values.only)) {
      const measured: Measured[] = [];
      for (let round = 0; round < rounds; round++)
        measured.push(await measure(server, { ...common, ...more, out: join(folder, "snapshot") }));
      const of = (key: keyof Measured): number => median(measured.map((each) => each[key]));
      table.push([
        name,
        fixed(of("seconds"), 1),
        fixed(of("own"), 1),
        fixed(of("server"), 1),
        whole(of("bytes") / 1e6),
      ]);
    }
    console.log(
      `Export of ${whole(users)} users, checked and published; medians of ${rounds}. ${machine()}\n`,
    );
    console.log(markdown(["export", "seconds", "CPU s, own", "CPU s, server", "MB"], table));
  } finally {
    rmSync(folder, { recursive: true, force: true });
    await server.end();
  }
}

await run();
