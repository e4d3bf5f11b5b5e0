/** One process from a database to the API: `serve --snapshot postgres://…`. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { after, before, describe, it, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { runRoundProcess } from "../../src/sources/round-process.ts";
import { temporaryFolder } from "../support/folders.ts";
import { assertInTime } from "../support/patience.ts";
import { keyRecord, place, TOKEN, writeKeys } from "../support/place.ts";
import { freePort, listen } from "../support/ports.ts";
import { get, jsonLines, type Program, start, until } from "../support/process.ts";
import { COMMAND, ROOT } from "../support/program.ts";
import { needPostgres, type Postgres, startPostgres } from "./support/postgres.ts";
import { fill, smallDisk } from "./support/small-disk.ts";

const skip = needPostgres();
const SCHEMA = `
  CREATE TABLE users (id uuid, display_name text, user_icon_url text, created_at timestamptz);
  CREATE TABLE worlds (id uuid, name text, description text, owner_id uuid, is_public boolean, status text, created_at timestamptz, updated_at timestamptz);
  CREATE TABLE world_stats (world_id uuid, total_visits bigint, unique_visitors bigint, visits_last_7_days bigint, visits_last_30_days bigint);
  CREATE TABLE instances (id uuid, world_id uuid, is_public boolean, is_active boolean, created_at timestamptz);
  INSERT INTO users VALUES (gen_random_uuid(), 'Ada', NULL, now());`;

const PASSWORD = "right4711";

/** The children of a process, by their command lines. */
function childrenOf(pid: number): string[] {
  const out = execFileSync("ps", ["-eo", "pid=,ppid=,args="], { encoding: "utf8" });
  return out.split("\n").filter((line) => line.trim().split(/\s+/)[1] === String(pid));
}

/** Waits for the end of a process. */
async function untilGone(id: number): Promise<void> {
  await until(() => {
    try {
      process.kill(id, 0);
      return false;
    } catch {
      return true;
    }
  }, "the end of the process");
}

const urlOf = (program: Program): string | undefined => /listening on (http\S+) /.exec(program.stdout())?.[1];

async function totalUsers(url: string): Promise<number> {
  const { text } = await get(`${url}/stats`, { token: TOKEN });
  return (JSON.parse(text) as { data: { totalUsers: number } }).data.totalUsers;
}

describe("rounds of a server", { skip, concurrency: 1 }, () => {
  let postgres: Postgres;
  before(async () => {
    const access =
      "local all all trust\nhost all reader 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n";
    postgres = await startPostgres("", access);
    await postgres.run("CREATE DATABASE live");
    await postgres.run(SCHEMA, "live");
    await postgres.run(`CREATE ROLE reader LOGIN PASSWORD '${PASSWORD}'; GRANT pg_read_all_data TO reader;
      ALTER ROLE reader SET lock_timeout = '300ms'`);
  });
  after(() => postgres?.stop());

  /** Starts the server over the database. */
  async function open(
    t: TestContext,
    more: readonly string[] = [],
    url = postgres.url("live"),
    cache = join(temporaryFolder(t), "cache"),
    cwd = ROOT,
  ) {
    const keys = writeKeys(join(temporaryFolder(t), "keys.json"), keyRecord(TOKEN, { limit: 1_000_000 }));
    const adminPort = await freePort();
    const args = [
      "serve",
      "--snapshot",
      url,
      "--keys",
      keys,
      "--cache",
      cache,
      "--port",
      "0",
      "--every",
      "0.3",
      "--watch",
      "0.2",
    ];
    const program = start([...args, "--admin", String(adminPort), ...more], {}, COMMAND, { cwd });
    const status = async (): Promise<{ problems: { kind: string; message: string }[] }> =>
      JSON.parse((await get(`http://127.0.0.1:${adminPort}/status`)).text);
    return { program, args, adminPort, status };
  }

  it("serves the database, follows it, shows no password, and leaves no process", async (t) => {
    const secret = new URL(postgres.url("live"));
    secret.password = "canary4711";
    const { program, status } = await open(t, [], secret.href);
    const url = await until(() => urlOf(program), "the first answer", 20_000);
    assert.equal(await totalUsers(url), 1);
    await postgres.run("INSERT INTO users VALUES (gen_random_uuid(), 'Bob', NULL, now())", "live");
    await until(async () => (await totalUsers(url)) === 2, "the second user");
    const childNow = async (): Promise<string> =>
      await until(() => childrenOf(program.child.pid!)[0], "a round");
    const line = await childNow();
    const done = jsonLines(program.stderr()).find(({ event }) => event === "round-done");
    assert.match(String(done!.details), /rows, \d+ bytes, 1 users, 0 worlds, 0 instances visible/);
    const own = execFileSync("ps", ["-o", "args=", "-p", String(program.child.pid)], { encoding: "utf8" });
    assert.equal(own, "orrery serve\n");
    for (const text of [line, own, program.stderr(), program.stdout(), JSON.stringify(await status())])
      assert.doesNotMatch(text, /canary4711/);
    // A round that waits ends with a server that is killed.
    const locker = await postgres.connect("live");
    await locker.query("BEGIN; LOCK TABLE users IN ACCESS EXCLUSIVE MODE");
    await until(async () => {
      const { rows } = await locker.query("SELECT 1 FROM pg_locks WHERE NOT granted");
      return rows.length > 0;
    }, "a round that waits");
    const child = Number((await childNow()).trim().split(/\s+/)[0]);
    program.child.kill("SIGKILL");
    await program.ended;
    await untilGone(child);
    await locker.end();
  });

  it("goes on with rounds when the folder of the start is deleted", async (t) => {
    const cwd = temporaryFolder(t);
    const { program } = await open(t, ["--similar", "off"], undefined, undefined, cwd);
    await until(() => urlOf(program), "the first answer", 20_000);
    const rounds = (): number =>
      jsonLines(program.stderr()).filter(({ event }) => event === "round-done").length;
    rmSync(cwd, { recursive: true });
    const before = rounds();
    // One that was starting may fail; the next ones do not.
    await until(() => rounds() > before + 1, program.stderr);
    await program.stop();
  });

  it("starts a round at once on POST /reload and on SIGHUP", async (t) => {
    const { program, adminPort } = await open(t, ["--every", "3600", "--watch", "3600"]);
    const url = await until(() => urlOf(program), "the first answer", 20_000);
    const users = await totalUsers(url);
    const add = () =>
      postgres.run("INSERT INTO users VALUES (gen_random_uuid(), 'Flo', NULL, now())", "live");
    await add();
    const reply = await fetch(`http://127.0.0.1:${adminPort}/reload`, {
      method: "POST",
      headers: { "X-Orrery-Admin": "1" },
    });
    assert.match(await reply.text(), /"result":"loaded"/);
    assert.equal(await totalUsers(url), users + 1);
    await add();
    program.child.kill("SIGHUP");
    await until(async () => (await totalUsers(url)) === users + 2, "the other user");
    await program.stop("SIGTERM");
  });

  it("fails without progress for 30 s, counts the age from the last success, and ends a stopped process", {
    timeout: 120_000,
  }, async (t) => {
    const { program, status } = await open(t);
    const url = await until(() => urlOf(program), "the first answer", 20_000);
    const child = await until(() => childrenOf(program.child.pid!)[0], "a round");
    const id = Number(child.trim().split(/\s+/)[0]);
    process.kill(id, "SIGSTOP");
    const ageOf = async (): Promise<number> =>
      ((await status()) as unknown as { generation: { ageSeconds: number } }).generation.ageSeconds;
    await sleep(10_000);
    assert.ok((await ageOf()) > 8, `${await ageOf()} s`);
    const failed = await until(
      () => jsonLines(program.stderr()).find(({ event }) => event === "round-failed"),
      "the failure",
      40_000,
    );
    assert.match(String(failed.problem), /^no progress for 30 s \(/);
    await untilGone(id);
    await until(async () => (await status()).problems.length === 0, "the recovery", 20_000);
    await until(async () => (await ageOf()) < 8, "a young age", 20_000);
    assert.ok((await totalUsers(url)) > 0);
    await program.stop("SIGTERM");
  });

  it("waits for a database that is away, says so, and goes on without one that goes away", async (t) => {
    await postgres.stop();
    const { program, adminPort, status } = await open(t);
    const problem = async (): Promise<string | undefined> =>
      (await status().catch(() => undefined))?.problems.find(({ kind }) => kind === "round-failed")?.message;
    await until(problem, "the problem", 20_000);
    assert.match((await problem())!, /no data are served yet: .*(refused|not listening|connect)/i);
    assert.match((await get(`http://127.0.0.1:${adminPort}/readyz`)).text, /"status":"loading"/);
    await postgres.start();
    const url = await until(() => urlOf(program), "the first answer", 20_000);
    await until(async () => (await problem()) === undefined, "the end of the problem");
    const users = await totalUsers(url);
    await postgres.stop();
    await until(problem, "the problem again", 20_000);
    const { rounds } = (await status()) as { rounds?: Record<string, string | number> };
    assert.ok(rounds!.lastSuccessAt! < rounds!.lastFailureAt!, JSON.stringify(rounds));
    // A short round takes 0.0 seconds.
    assert.equal(typeof rounds!.lastSeconds, "number");
    const { text } = await get(`http://127.0.0.1:${adminPort}/metrics`);
    assert.match(text, /orrery_source_rounds_total\{result="failed"\} [1-9]/);
    assert.match(text, /orrery_source_last_success_timestamp_seconds\{source="rounds"\} \d+/);
    assert.match((await problem())!, /the data of \S+ are served: /);
    assert.equal(await totalUsers(url), users);
    await postgres.start();
    await until(async () => (await problem()) === undefined, "the recovery", 20_000);
    await program.stop("SIGTERM");
    assert.deepEqual(childrenOf(program.child.pid!), []);
  });

  /** A server over the database as its reader, which answers. */
  async function openReader(t: TestContext, cache?: string) {
    const reader = new URL(postgres.url("live", "reader"));
    reader.password = PASSWORD;
    const { program, status } = await open(t, [], reader.href, cache);
    const url = await until(() => urlOf(program), "the first answer", 20_000);
    const problem = async (): Promise<string | undefined> =>
      (await status()).problems.find(({ kind }) => kind === "round-failed")?.message;
    const lines = (event: string) => jsonLines(program.stderr()).filter((line) => line.event === event);
    return { program, url, problem, lines };
  }

  type Reader = Awaited<ReturnType<typeof openReader>>;

  /** Asserts one line and one problem while something is broken, that the API serves on, and that all is well once it is mended. */
  async function assertSurvives(
    { program, url, problem, lines }: Reader,
    says: RegExp,
    breakIt: () => unknown,
    mendIt: () => unknown,
  ): Promise<void> {
    const users = await totalUsers(url);
    const failures = lines("round-failed").length;
    await breakIt();
    await until(
      async () => says.test((await problem()) ?? ""),
      () => `${says} in: ${program.stderr()}`,
      20_000,
    );
    assert.match((await problem())!, /the data of \S+ are served: /);
    assert.equal(await totalUsers(url), users);
    // Further rounds fail likewise, and say nothing.
    await sleep(1000);
    const told = lines("round-failed").slice(failures);
    assert.equal(told.length, 1, JSON.stringify(told));
    assert.doesNotMatch(program.stderr(), new RegExp(PASSWORD));
    await mendIt();
    await postgres.run("INSERT INTO users VALUES (gen_random_uuid(), 'Cyd', NULL, now())", "live");
    await until(
      async () => (await totalUsers(url)) === users + 1,
      () => program.stderr(),
      20_000,
    );
    assert.equal(await problem(), undefined);
  }

  it("serves on, with one line and one problem, whatever is wrong with the database, and recovers", async (t) => {
    const reader = await openReader(t);
    const run = (sql: string) => () => postgres.run(sql, "live");
    await assertSurvives(
      reader,
      /password authentication failed/,
      run("ALTER ROLE reader PASSWORD 'other'"),
      run(`ALTER ROLE reader PASSWORD '${PASSWORD}'`),
    );
    await assertSurvives(
      reader,
      /users: .*column "display_name" does not exist/,
      run("ALTER TABLE users RENAME COLUMN display_name TO nick"),
      run("ALTER TABLE users RENAME COLUMN nick TO display_name"),
    );
    await assertSurvives(
      reader,
      /permission denied for table users/,
      run("REVOKE pg_read_all_data FROM reader"),
      run("GRANT pg_read_all_data TO reader"),
    );
    await assertSurvives(
      reader,
      /worlds, id \S+: createdAt: /,
      run(
        "INSERT INTO worlds VALUES (gen_random_uuid(), 'broken', NULL, gen_random_uuid(), true, 'ACTIVE', 'infinity', now())",
      ),
      run("DELETE FROM worlds"),
    );
    const locker = await postgres.connect("live");
    await assertSurvives(
      reader,
      /lock timeout/,
      () => locker.query("BEGIN; LOCK TABLE instances IN ACCESS EXCLUSIVE MODE"),
      () => locker.query("ROLLBACK"),
    );
    await locker.end();
    await reader.program.stop("SIGTERM");
  });

  it("serves on when a connection is lost in the middle of a round, and recovers", async (t) => {
    await postgres.run("ALTER ROLE reader SET lock_timeout = '1min'");
    const reader = await openReader(t);
    const [locker, watcher] = [await postgres.connect("live"), await postgres.connect("live")];
    await assertSurvives(
      reader,
      /terminating connection|the connection broke/,
      async () => {
        await locker.query("BEGIN; LOCK TABLE worlds IN ACCESS EXCLUSIVE MODE");
        await until(async () => {
          // Within its transaction the locker would see the same activity again and again.
          const { rows } = await watcher.query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'reader' AND wait_event_type = 'Lock'",
          );
          return rows.length > 0;
        }, "a round that waits");
      },
      () => locker.query("ROLLBACK"),
    );
    await locker.end();
    await reader.program.stop("SIGTERM");
    await postgres.run("ALTER ROLE reader SET lock_timeout = '300ms'");
  });

  it("serves on when the process of the rounds is killed or runs out of memory, and recovers", async (t) => {
    const reader = await openReader(t);
    const { program, problem, url } = reader;
    for (const signal of ["SIGKILL", "SIGABRT"] as const) {
      const [line = ""] = await until(() => {
        const children = childrenOf(program.child.pid!);
        return children.length > 0 ? children : undefined;
      }, "a child");
      process.kill(Number(line.trim().split(/\s+/)[0]), signal);
      await until(
        async () => (await problem())?.includes(signal),
        () => program.stderr(),
      );
      assert.ok((await totalUsers(url)) > 0);
      await until(
        async () => (await problem()) === undefined,
        () => program.stderr(),
        20_000,
      );
    }
    assert.equal(reader.lines("round-failed").length, 2);
    await program.stop("SIGTERM");
  });

  it("serves on when the disk is full, and recovers", async (t) => {
    const disk = smallDisk(t, "2m");
    if (disk === undefined) return t.skip("no file system may be mounted here");
    const reader = await openReader(t, join(disk, "cache"));
    await assertSurvives(
      reader,
      /no space left on device \(ENOSPC\)/,
      async () => {
        fill(disk, 0);
        await postgres.run("INSERT INTO users VALUES (gen_random_uuid(), 'Dot', NULL, now())", "live");
      },
      async () => {
        rmSync(join(disk, "ballast"));
        await postgres.run("DELETE FROM users WHERE display_name = 'Dot'", "live");
      },
    );
    await reader.program.stop("SIGTERM");
  });

  it("shares its cache folder with another server", async (t) => {
    const cache = join(temporaryFolder(t), "cache");
    const readers = [await openReader(t, cache), await openReader(t, cache)];
    for (let round = 0; round < 5; round++) {
      await postgres.run("INSERT INTO users VALUES (gen_random_uuid(), 'Eve', NULL, now())", "live");
      const users = (await totalUsers(readers[0]!.url)) + 1;
      for (const { url, program } of readers)
        await until(
          async () => (await totalUsers(url)) >= users,
          () => program.stderr(),
          20_000,
        );
    }
    for (const { program, lines, problem } of readers) {
      // A round may meet the end of an old version that the other server removes; the next one goes on.
      for (const failed of lines("round-failed")) assert.match(String(failed.problem), /no such file/);
      await until(
        async () => (await problem()) === undefined,
        () => program.stderr(),
      );
      assert.deepEqual(lines("load-refused"), []);
      await program.stop("SIGTERM");
    }
  });

  it("says why its process cannot begin, such as by a missing package", async (t) => {
    const file = join(temporaryFolder(t), "queries.json");
    writeFileSync(file, "{");
    const { program, status } = await open(t, ["--queries", file]);
    const problem = async (): Promise<string | undefined> =>
      (await status().catch(() => undefined))?.problems.find(({ kind }) => kind === "round-failed")?.message;
    await until(
      async () => /queries\.json: .*JSON/.test((await problem()) ?? ""),
      () => program.stderr(),
      20_000,
    );
    const [line] = jsonLines(program.stderr()).filter(({ event }) => event === "round-failed");
    assert.match(String(line!.msg), /cannot be exported, and there is none yet$/);
    await program.stop("SIGTERM");
  });

  describe("against a database that stalls", () => {
    /** Passes bytes between a client and the database until a side's bytes hold a text; then the stall begins. */
    async function stallAt(t: TestContext, text: string, then: (client: Socket, chunk: Buffer) => void) {
      const sockets: Socket[] = [];
      const relay = createServer((client) => {
        const server = connect(postgres.port, "127.0.0.1");
        sockets.push(client, server);
        let isStalled = false;
        for (const [from, to] of [
          [client, server],
          [server, client],
        ] as const) {
          from.on("error", () => {});
          from.on("close", () => to.destroy());
          from.on("data", (chunk: Buffer) => {
            if (isStalled) return;
            isStalled = chunk.includes(text);
            if (isStalled) then(client, chunk);
            else to.write(chunk);
          });
        }
      });
      const port = await listen(relay);
      t.after(() => {
        for (const socket of sockets) socket.destroy();
        relay.close();
      });
      return `postgres://orrery@127.0.0.1:${port}/live?sslmode=disable`;
    }

    /** A notice of the server, as the protocol has it. */
    const NOTICE = Buffer.from("4e0000001353464f4f00434e4f4f004d6f6f000000", "hex");

    const stalls: readonly (readonly [
      what: string,
      text: string,
      then: (client: Socket, chunk: Buffer) => void,
      step: string,
    ])[] = [
      ["never answers", "user", () => {}, "asking the database"],
      ["stalls at BEGIN", "BEGIN", () => {}, "asking the database"],
      ["stalls in COPY", "Ada", () => {}, "copying users"],
      [
        "sends half a message",
        "Ada",
        (client, chunk) => client.write(chunk.subarray(0, chunk.indexOf("Ada"))),
        "copying users",
      ],
      [
        "sends notices without an end",
        "BEGIN",
        (client) => {
          const timer = setInterval(() => client.write(NOTICE), 5);
          client.on("close", () => clearInterval(timer));
        },
        "asking the database",
      ],
    ];
    for (const [what, text, then, step] of stalls) {
      it(`fails when it ${what}, and leaves nothing`, async (t) => {
        const url = await stallAt(t, text, then);
        const out = join(temporaryFolder(t), "current");
        const settings = {
          postgres: url,
          queries: undefined,
          out,
          allowShrink: false,
          skipBroken: 0,
        };
        const signal = new AbortController().signal;
        const began = performance.now();
        const running = runRoundProcess({ command: COMMAND, settings, stallMs: 4000, signal });
        await assert.rejects(running, (error: Error) => {
          assert.equal(error.message, `no progress for 4 s (${step})`);
          return true;
        });
        // The step begins some time after the process.
        assertInTime(began, 15_000, "the failure");
        assert.deepEqual([existsSync(out), existsSync(`${out}.versions`)], [false, false]);
      });
    }
  });

  it("refuses options that do not fit", async (t) => {
    const { keys } = place(t);
    const of = async (snapshot: string, ...more: string[]): Promise<string> => {
      const program = start(["serve", "--snapshot", snapshot, "--keys", keys, ...more]);
      assert.equal((await program.ended).status, 2);
      return program.stderr();
    };
    assert.match(await of("http://127.0.0.1:1/", "--every", "5"), /--every is for snapshots by postgres/);
    assert.match(await of("postgres://u@h/d?sslmod=require"), /"sslmod"; did you mean "sslmode"\?/);
  });
});
