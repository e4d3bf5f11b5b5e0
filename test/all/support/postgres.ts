/** A real PostgreSQL for a test: data in a temporary folder, a port of its own, ended with the test. */

import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { FIELDS, type FieldType, TABLES } from "../../../src/model/schema.ts";
import { columnName } from "../../../src/sources/postgres/queries.ts";
import { unavailable } from "../../support/need.ts";
import { freePort, listen } from "../../support/ports.ts";
import { textOf, until } from "../../support/process.ts";

const DEBIAN = "/usr/lib/postgresql";

function findPrograms(): string | undefined {
  if (!existsSync(DEBIAN)) return undefined;
  const versions = readdirSync(DEBIAN).sort((a, b) => Number(b) - Number(a));
  return versions
    .map((version) => join(DEBIAN, version, "bin"))
    .find((bin) => existsSync(join(bin, "initdb")));
}

/** The user that the server runs as, since it refuses root. Undefined for the tests' own user. */
export function databaseUser(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid!() !== 0) return undefined;
  const idOf = (flag: string): number =>
    Number(spawnSync("id", [flag, "postgres"], { encoding: "utf8" }).stdout);
  return { uid: idOf("-u"), gid: idOf("-g") };
}

export function needPostgres(): string | false {
  return findPrograms() === undefined && unavailable("not installed: postgresql");
}

/** Tables with the fields that tests insert by place. */
const FIRST_COLUMNS_SQL = `
  CREATE TABLE users (id uuid PRIMARY KEY, display_name text NOT NULL, user_icon_url text, created_at timestamptz NOT NULL);
  CREATE TABLE worlds (id uuid PRIMARY KEY, name text NOT NULL, description text, owner_id uuid NOT NULL,
    is_public boolean NOT NULL, status text NOT NULL, created_at timestamptz NOT NULL, updated_at timestamptz NOT NULL);
  CREATE TABLE world_stats (world_id uuid PRIMARY KEY, total_visits bigint NOT NULL, unique_visitors bigint NOT NULL,
    visits_last_7_days bigint NOT NULL, visits_last_30_days bigint NOT NULL);
  CREATE TABLE instances (id uuid PRIMARY KEY, world_id uuid NOT NULL, is_public boolean NOT NULL,
    is_active boolean NOT NULL, created_at timestamptz NOT NULL);
`;

/** The type and default of a column for fields of each type. */
const COLUMNS: Readonly<Record<FieldType, string>> = {
  id: "uuid DEFAULT gen_random_uuid()",
  text: "text DEFAULT ''",
  boolean: "boolean DEFAULT true",
  count: "bigint DEFAULT 0",
  time: "timestamptz DEFAULT now()",
};

/** The tables that the default queries of an export expect; further fields of the schema are last, with defaults. */
const TABLES_SQL =
  FIRST_COLUMNS_SQL +
  TABLES.flatMap((table) =>
    FIELDS[table].map(({ name, type }) => {
      const column = `${columnName(name)} ${COLUMNS[type]}`;
      return `ALTER TABLE ${columnName(table)} ADD COLUMN IF NOT EXISTS ${column};\n`;
    }),
  ).join("");

/** Fills these tables with `n` users, a quarter as many worlds with statistics, and a twentieth as many instances. */
export function fillSql(n: number): string {
  const [worlds, instances] = [Math.ceil(n / 4), Math.ceil(n / 20)];
  return `
    INSERT INTO users SELECT gen_random_uuid(), 'user ' || n, 'https://example.com/icons/' || n || '.png',
      now() - n * interval '1 minute' FROM generate_series(1, ${n}) n;
    INSERT INTO worlds SELECT gen_random_uuid(), 'World ' || n, 'The world of number ' || n, gen_random_uuid(), true,
      'ACTIVE', now() - n * interval '1 minute', now() FROM generate_series(1, ${worlds}) n;
    INSERT INTO world_stats SELECT id, 1000, 100, 10, 30 FROM worlds;
    INSERT INTO instances SELECT gen_random_uuid(), id, true, true, now() FROM worlds LIMIT ${instances};
  `;
}

export type Postgres = Awaited<ReturnType<typeof startPostgres>>;

/** Creates and starts a server. @param settings lines of `postgresql.conf` @param access lines of `pg_hba.conf` */
export async function startPostgres(settings = "", access?: string) {
  const bin = findPrograms()!;
  const user = databaseUser();
  const folder = mkdtempSync(join(tmpdir(), "orrery-pg-"));
  chmodSync(folder, 0o755);
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  const data = join(folder, "data");
  const as = { ...user, cwd: folder, env: { PATH: process.env.PATH, LC_ALL: "C.UTF-8" } };
  const init = ["-D", data, "-A", "trust", "-U", "orrery", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"];
  execFileSync(join(bin, "initdb"), init, { ...as, stdio: "ignore" });
  // The data need not survive a crash.
  const quick = "fsync = off\nfull_page_writes = off\n";
  writeFileSync(join(data, "postgresql.auto.conf"), `${quick}${settings}\n`);
  if (access !== undefined) writeFileSync(join(data, "pg_hba.conf"), access);

  let child: ChildProcess | undefined;
  const port = await freePort();
  const clients = new Set<pg.Client>();
  const url = (database = "postgres", name = "orrery"): string =>
    `postgres://${name}@127.0.0.1:${port}/${database}`;

  /** Connects over the socket as a user whom the server trusts, whatever `pg_hba.conf` asks of others. */
  async function connect(database = "postgres"): Promise<pg.Client> {
    const client = new pg.Client({ host: folder, port, user: "orrery", database });
    client.on("error", () => {});
    await client.connect();
    clients.add(client);
    return client;
  }

  async function run(sql: string, database?: string): Promise<void> {
    const client = await connect(database);
    await client.query(sql);
    await client.end();
    clients.delete(client);
  }

  async function start(): Promise<void> {
    const args = ["-D", data, "-k", folder, "-p", String(port), "-c", "listen_addresses=127.0.0.1"];
    const begun = spawn(join(bin, "postgres"), args, { ...as, stdio: ["ignore", "ignore", "pipe"] });
    const log = textOf(begun.stderr!);
    child = begun;
    await until(async () => {
      if (begun.exitCode !== null) throw new Error(`PostgreSQL ended: ${log()}`);
      return (await Promise.allSettled([run("SELECT")]))[0].status === "fulfilled";
    }, "PostgreSQL");
  }

  /** Stops it, by default at once, as `pg_ctl stop -m immediate` does. */
  async function stop(signal: "SIGQUIT" | "SIGINT" = "SIGQUIT"): Promise<void> {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill(signal);
    await ended;
    clients.clear();
  }

  await start();
  return {
    folder,
    port,
    url,
    connect,
    run,
    start,
    stop: () => stop(),
    pid: () => child!.pid!,
    /** Makes a database with the tables above. */
    async makeDatabase(name: string) {
      await run(`CREATE DATABASE ${name}`);
      await run(TABLES_SQL, name);
    },
    async end() {
      await Promise.allSettled(Array.from(clients, (client) => client.end()));
      await stop("SIGINT");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Judges a chunk on its way: passes it on, or does something else. */
type Pass = (from: Socket, to: Socket, chunk: Buffer) => unknown;

/** Listens in front of a server until the end of a test. @param onConnection gives what judges the chunks of a connection */
export async function relay(
  test: { after(done: () => void): void },
  serverPort: number,
  onConnection: (client: Socket, server: Socket) => Pass,
): Promise<number> {
  const sockets: Socket[] = [];
  const listener = createServer((client) => {
    const server = connect(serverPort, "127.0.0.1");
    sockets.push(client, server);
    const pass = onConnection(client, server);
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      from.on("data", (chunk) => pass(from, to, chunk));
      from.on("error", () => {});
      from.on("close", () => to.destroy());
    }
  });
  test.after(() => {
    for (const socket of sockets) socket.destroy();
    listener.close();
  });
  return await listen(listener);
}
