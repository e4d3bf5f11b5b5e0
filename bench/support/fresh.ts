/**
 * How fresh replicas are: PostgreSQL, `orrery export --every`, nginx and two servers that follow it by URL, all on this
 * machine. A row is inserted into one table, and asked for at both servers until both have it.
 */

import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { addKey } from "../../src/auth/keys-file.ts";
import { startNginx } from "../../test/support/nginx.ts";
import { fillSql, type Postgres, startPostgres } from "../../test/support/postgres.ts";
import { get, type Program, start } from "../../test/support/process.ts";
import { demand } from "./need.ts";
import { machine, markdown, spread, whole } from "./output.ts";

/** What is inserted: a user, or an instance, which costs no work on the other tables. */
const ROWS = {
  users: "INSERT INTO users VALUES (gen_random_uuid(), 'fresh', NULL, now()) RETURNING id",
  instances:
    "INSERT INTO instances SELECT gen_random_uuid(), id, true, true, now() FROM worlds LIMIT 1 RETURNING id",
} as const;

const LISTENING = /listening on (\S+)/;
const POLL_MS = 20;

/** Waits as long as it takes, while the programs live. */
async function when<Value>(programs: readonly Program[], look: () => Value | undefined): Promise<Value> {
  for (;;) {
    const value = look();
    if (value !== undefined) return value;
    for (const { child, stderr } of programs) if (child.exitCode !== null) throw new Error(stderr());
    await sleep(POLL_MS);
  }
}

/** Seconds from the commit of a row until the slowest of the servers serves it. */
async function untilServed(
  database: Postgres,
  table: keyof typeof ROWS,
  urls: readonly string[],
  token: string,
): Promise<number> {
  const client = await database.connect("orrery");
  const { rows } = await client.query(ROWS[table]);
  const committed = performance.now();
  await client.end();
  const { id } = rows[0] as { id: string };
  await Promise.all(
    urls.map(async (url) => {
      while ((await get(`${url}/${table}/${id}`, { token })).status !== 200) await sleep(POLL_MS);
    }),
  );
  return (performance.now() - committed) / 1000;
}

async function measure(users: number, flags: readonly string[], rounds: number): Promise<string[]> {
  // Read by nginx's own user.
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "orrery-bench-fresh-")));
  const ends: (() => Promise<unknown>)[] = [async () => rmSync(folder, { recursive: true, force: true })];
  const run = (args: readonly string[]): Program => {
    const program = start(args);
    ends.unshift(() => {
      program.child.kill("SIGTERM");
      return program.ended;
    });
    return program;
  };
  try {
    const database = await startPostgres("shared_buffers = '256MB'\nmax_wal_size = '4GB'");
    ends.unshift(() => database.end());
    await database.makeDatabase("orrery");
    await database.run(fillSql(users), "orrery");
    await database.run("VACUUM ANALYZE", "orrery");
    mkdirSync(join(folder, "web"));
    const out = join(folder, "web/current");
    const exporting = run([
      "export",
      "--postgres",
      database.url("orrery"),
      "--out",
      out,
      "--every",
      "1",
      ...flags,
    ]);
    await when([exporting], () => exporting.stderr().includes(" published generation ") || undefined);
    const { url } = await startNginx({ after: (end) => ends.unshift(end) }, folder);
    const keys = join(folder, "keys.json");
    const token = await addKey(keys, { name: "bench", kind: "cli", prefix: "svcx_" });
    const served = ["a", "b"].map((name) =>
      run([
        ...["serve", "--port", "0", "--keys", keys, "--snapshot", url],
        ...["--cache", join(folder, name), "--watch", "1"],
      ]),
    );
    const urls = await when(served, () => {
      const found = served.map(({ stdout }) => LISTENING.exec(stdout())?.[1]);
      return found.every((each) => each !== undefined) ? (found as string[]) : undefined;
    });
    const cells: string[] = [];
    for (const table of ["users", "instances"] as const) {
      const seconds: number[] = [];
      for (let round = 0; round < rounds; round++) {
        seconds.push(await untilServed(database, table, urls, token));
      }
      cells.push(spread(seconds, 1));
    }
    return [whole(users), flags.map((flag) => `\`${flag}\``).join(" ") || "rows", ...cells];
  } finally {
    for (const end of ends) await end();
  }
}

/** Prints the seconds from a commit to both servers, by size and by what is published. */
export async function printFreshness(sizes: readonly number[], rounds: number): Promise<void> {
  demand("postgresql", "nginx");
  const table: string[][] = [];
  for (const users of sizes) {
    for (const flags of [[], ["--build"]]) {
      table.push(await measure(users, flags, rounds));
      console.error(`${users} users ${flags.join("")}: done`);
    }
  }
  console.log(`${machine()}. All on one machine; medians of ${rounds} (lowest–highest).\n`);
  console.log(markdown(["users", "export", "a new user, s", "a new instance, s"], table, 2));
}
