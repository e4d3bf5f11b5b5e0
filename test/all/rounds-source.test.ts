/** One process from a database to the API: `serve --snapshot postgres://…`. */

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import type { Socket } from "node:net";
import { join } from "node:path";
import { after, before, describe, it, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { runRoundProcess } from "../../src/sources/round-process.ts";
import { temporaryFolder } from "../support/folders.ts";
import { assertInTime } from "../support/patience.ts";
import { keyRecord, place, TOKEN, writeKeys } from "../support/place.ts";
import { freePort } from "../support/ports.ts";
import { get, jsonLines, type Program, run, start, until } from "../support/process.ts";
import { COMMAND, ROOT } from "../support/program.ts";
import { needPostgres, type Postgres, relay, startPostgres } from "./support/postgres.ts";
import { fill, smallDisk } from "./support/small-disk.ts";

const PASSWORD = "right4711";

interface Status {
  readonly problems: readonly { kind: string; message: string }[];
  readonly generation: { readonly ageSeconds: number };
  readonly rounds: Readonly<Record<string, string | number>>;
}

/** Waits for a process of a round. */
function childOf({ child }: Program): Promise<{ id: number; line: string }> {
  return until(() => {
    const ps = spawnSync("ps", ["--ppid", String(child.pid), "-o", "pid=,args="], { encoding: "utf8" });
    const id = Number.parseInt(ps.stdout, 10);
    return id > 0 ? { id, line: ps.stdout } : undefined;
  }, "a round");
}

const untilGone = (id: number): Promise<unknown> =>
  until(() => !existsSync(`/proc/${id}`), "the end of the process");

describe("rounds of a server", { skip: needPostgres(), concurrency: 1 }, () => {
  let postgres: Postgres;
  before(async () => {
    const access =
      "local all all trust\nhost all reader 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n";
    postgres = await startPostgres("", access);
    await postgres.makeDatabase("live");
    await addUser("Ada");
    await postgres.run(`CREATE ROLE reader LOGIN PASSWORD '${PASSWORD}'; GRANT pg_read_all_data TO reader`);
  });
  after(() => postgres?.stop());

  const addUser = (name: string): Promise<void> =>
    postgres.run(`INSERT INTO users VALUES (gen_random_uuid(), '${name}', NULL, now())`, "live");

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
      ...["serve", "--snapshot", url, "--keys", keys, "--cache", cache, "--port", "0", "--every", "0.3"],
      ...["--watch", "0.2", "--admin", String(adminPort), ...more],
    ];
    const program = start(args, {}, COMMAND, { cwd });
    const soon = <T>(check: () => T | Promise<T>) => until(check, program.stderr, 20_000);
    const status = async (): Promise<Status> =>
      JSON.parse((await get(`http://127.0.0.1:${adminPort}/status`)).text);
    return {
      program,
      admin: `http://127.0.0.1:${adminPort}`,
      status,
      /** The problem with rounds, if there is one. */
      problem: async () => (await status()).problems.find(({ kind }) => kind === "round-failed")?.message,
      lines: (event: string) => jsonLines(program.stderr()).filter((line) => line.event === event),
      soon,
      /** Waits until it serves. @returns what asks for the number of users */
      async serving(): Promise<() => Promise<number>> {
        const [, api] = await soon(() => /listening on (http\S+) /.exec(program.stdout()));
        return async () => JSON.parse((await get(`${api}/stats`, { token: TOKEN })).text).data.totalUsers;
      },
    };
  }

  /** Locks a table, and waits for a round that waits for it. */
  async function waitingRound(program: Program) {
    const locker = await postgres.connect("live");
    await locker.query("BEGIN; LOCK TABLE users IN ACCESS EXCLUSIVE MODE");
    await until(async () => {
      const { rows } = await locker.query("SELECT 1 FROM pg_locks WHERE NOT granted");
      return rows.length > 0;
    }, "a round that waits");
    const { id } = await childOf(program);
    return { id, letGo: () => locker.end() };
  }

  it("serves the database, follows it, shows no password, and leaves no process", async (t) => {
    const secret = new URL(postgres.url("live"));
    secret.password = "canary4711";
    const { program, status, lines, serving } = await open(t, [], secret.href);
    const users = await serving();
    assert.equal(await users(), 1);
    await addUser("Bob");
    await until(async () => (await users()) === 2, "the second user");
    const { line } = await childOf(program);
    const [done] = lines("round-done");
    assert.match(String(done!.details), /rows, \d+ bytes, 1 users, 0 worlds, 0 instances visible/);
    const own = execFileSync("ps", ["-o", "args=", "-p", String(program.child.pid)], { encoding: "utf8" });
    assert.equal(own, "orrery serve\n");
    for (const text of [line, own, program.stderr(), program.stdout(), JSON.stringify(await status())])
      assert.doesNotMatch(text, /canary4711/);
    // A round that waits ends with a server that is killed.
    const { id, letGo } = await waitingRound(program);
    await program.kill();
    await untilGone(id);
    await letGo();
  });

  it("goes on with rounds when the folder of the start is deleted", async (t) => {
    const cwd = temporaryFolder(t);
    const { program, lines, serving } = await open(t, ["--similar", "off"], undefined, undefined, cwd);
    await serving();
    rmSync(cwd, { recursive: true });
    const before = lines("round-done").length;
    // One that was starting may fail; the next ones do not.
    await until(() => lines("round-done").length > before + 1, program.stderr);
    await program.stop();
  });

  it("publishes less than half of the users once a reload allows it", async (t) => {
    await postgres.run(
      `INSERT INTO users SELECT gen_random_uuid(), 'Many', NULL, now() FROM generate_series(1, 150)`,
      "live",
    );
    const { program, admin, serving, problem } = await open(t, ["--every", "3600", "--watch", "3600"]);
    const users = await serving();
    const before = await users();
    await postgres.run("DELETE FROM users WHERE display_name = 'Many'", "live");
    const reload = async (query: string) => {
      const asked = { method: "POST", headers: { "X-Orrery-Admin": "1" } };
      return await (await fetch(`${admin}/reload${query}`, asked)).text();
    };
    assert.match(await reload(""), /less than half/);
    assert.match((await problem())!, /less than half/);
    assert.equal(await users(), before);
    assert.match(await reload("?allow-shrink=1"), /"result":"loaded"/);
    assert.equal(await users(), before - 150);
    assert.equal(await problem(), undefined);
    await program.stop();
  });

  it("starts a round at once on POST /reload and on SIGHUP", async (t) => {
    const { program, admin, serving } = await open(t, ["--every", "3600", "--watch", "3600"]);
    const users = await serving();
    const before = await users();
    await addUser("Flo");
    const reply = await fetch(`${admin}/reload`, { method: "POST", headers: { "X-Orrery-Admin": "1" } });
    assert.match(await reply.text(), /"result":"loaded"/);
    assert.equal(await users(), before + 1);
    await addUser("Flo");
    program.child.kill("SIGHUP");
    await until(async () => (await users()) === before + 2, "the other user");
    await program.stop();
  });

  it("fails without progress for 30 s, counts the age from the last success, and ends a stopped process", {
    timeout: 120_000,
  }, async (t) => {
    const { program, status, lines, soon, serving } = await open(t);
    const users = await serving();
    const { id } = await childOf(program);
    process.kill(id, "SIGSTOP");
    const ageOf = async (): Promise<number> => (await status()).generation.ageSeconds;
    await sleep(10_000);
    assert.ok((await ageOf()) > 8, `${await ageOf()} s`);
    const failed = await until(() => lines("round-failed")[0], "the failure", 40_000);
    assert.match(String(failed.problem), /^no progress for 30 s \(/);
    await untilGone(id);
    await soon(async () => (await status()).problems.length === 0);
    await soon(async () => (await ageOf()) < 8);
    assert.ok((await users()) > 0);
    await program.stop();
  });

  it("waits for a database that is away, says so, and goes on without one that goes away", async (t) => {
    await postgres.stop();
    const { program, admin, status, problem, soon, serving } = await open(t);
    // The admin listener may not be there yet.
    const first = await soon(() => problem().catch(() => undefined));
    assert.match(first, /no data are served yet: .*(refused|not listening|connect)/i);
    assert.match((await get(`${admin}/readyz`)).text, /"status":"loading"/);
    await postgres.start();
    const users = await serving();
    await until(async () => (await problem()) === undefined, "the end of the problem");
    const before = await users();
    await postgres.stop();
    assert.match(await soon(problem), /the data of \S+ are served: /);
    const { rounds } = await status();
    assert.ok(rounds.lastSuccessAt! < rounds.lastFailureAt!, JSON.stringify(rounds));
    // A short round takes 0.0 seconds.
    assert.equal(typeof rounds.lastSeconds, "number");
    const { text } = await get(`${admin}/metrics`);
    assert.match(text, /orrery_source_rounds_total\{result="failed"\} [1-9]/);
    assert.match(text, /orrery_source_last_success_timestamp_seconds\{source="rounds"\} \d+/);
    assert.equal(await users(), before);
    await postgres.start();
    await soon(async () => (await problem()) === undefined);
    await program.stop();
  });

  /** A server over the database as its reader, which answers. */
  async function openReader(t: TestContext, cache?: string) {
    const reader = new URL(postgres.url("live", "reader"));
    reader.password = PASSWORD;
    const opened = await open(t, [], reader.href, cache);
    return { ...opened, users: await opened.serving() };
  }

  /** Statements of SQL, or something else to do. */
  type Deed = string | (() => unknown);

  /** Asserts one line and one problem while something is broken, that the API serves on, and that all is well once it is mended. */
  async function assertSurvives(
    { program, users, problem, lines, soon }: Awaited<ReturnType<typeof openReader>>,
    says: RegExp,
    breaking: Deed,
    mending: Deed,
  ): Promise<void> {
    const perform = (deed: Deed): unknown => (typeof deed === "string" ? postgres.run(deed, "live") : deed());
    const before = await users();
    const failures = lines("round-failed").length;
    await perform(breaking);
    await until(
      async () => says.test((await problem()) ?? ""),
      () => `${says} in: ${program.stderr()}`,
      20_000,
    );
    assert.match((await problem())!, /the data of \S+ are served: /);
    assert.equal(await users(), before);
    // Further rounds fail likewise, and say nothing.
    await sleep(1000);
    const told = lines("round-failed").slice(failures);
    assert.equal(told.length, 1, JSON.stringify(told));
    assert.doesNotMatch(program.stderr(), new RegExp(PASSWORD));
    await perform(mending);
    await addUser("Cyd");
    await soon(async () => (await users()) === before + 1);
    assert.equal(await problem(), undefined);
  }

  it("serves on, with one line and one problem, whatever is wrong with the database, and recovers", async (t) => {
    const reader = await openReader(t);
    for (const [says, breaking, mending] of [
      [
        /password authentication failed/,
        "ALTER ROLE reader PASSWORD 'other'",
        `ALTER ROLE reader PASSWORD '${PASSWORD}'`,
      ],
      [
        /users: .*column "display_name" does not exist/,
        "ALTER TABLE users RENAME COLUMN display_name TO nick",
        "ALTER TABLE users RENAME COLUMN nick TO display_name",
      ],
      [
        /worlds, id \S+: createdAt: /,
        "INSERT INTO worlds SELECT id, 'broken', NULL, id, true, 'ACTIVE', 'infinity', now() FROM users LIMIT 1",
        "DELETE FROM worlds",
      ],
    ] as const)
      await assertSurvives(reader, says, breaking, mending);
    await reader.program.stop();
  });

  it("serves on when the process of the rounds is killed or runs out of memory, and recovers", async (t) => {
    const { program, problem, users, lines, soon } = await openReader(t);
    for (const signal of ["SIGKILL", "SIGABRT"] as const) {
      // A round that does not wait may be over before the signal.
      const { id, letGo } = await waitingRound(program);
      process.kill(id, signal);
      await until(async () => (await problem())?.includes(signal), program.stderr);
      await letGo();
      assert.ok((await users()) > 0);
      await soon(async () => (await problem()) === undefined);
    }
    assert.equal(lines("round-failed").length, 2);
    await program.stop();
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
        await addUser("Dot");
      },
      async () => {
        rmSync(join(disk, "ballast"));
        await postgres.run("DELETE FROM users WHERE display_name = 'Dot'", "live");
      },
    );
    await reader.program.stop();
  });

  it("says why its process cannot begin, such as by a missing package", async (t) => {
    const file = join(temporaryFolder(t), "queries.json");
    writeFileSync(file, "{");
    const { program, problem, lines, soon } = await open(t, ["--queries", file]);
    await soon(async () => /queries\.json: .*JSON/.test((await problem().catch(() => "")) ?? ""));
    assert.match(String(lines("round-failed")[0]!.msg), /cannot be exported, and there is none yet$/);
    await program.stop();
  });

  // Beside each other, as they wait.
  describe("against a database that stalls", { concurrency: 5 }, () => {
    type Stall = (client: Socket, chunk: Buffer) => void;

    /** Passes bytes between a client and the database until a side's bytes hold a text; then the stall begins. */
    async function stallAt(t: TestContext, text: string, then: Stall): Promise<string> {
      const port = await relay(t, postgres.port, (client) => {
        let isStalled = false;
        return (_from, to, chunk) => {
          if (isStalled) return;
          isStalled = chunk.includes(text);
          if (isStalled) then(client, chunk);
          else to.write(chunk);
        };
      });
      return `postgres://orrery@127.0.0.1:${port}/live?sslmode=disable`;
    }

    /** A notice of the server, as the protocol has it. */
    const NOTICE = Buffer.from("4e0000001353464f4f00434e4f4f004d6f6f000000", "hex");

    const stalls: readonly [what: string, text: string, then: Stall, step: string][] = [
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
        const out = join(temporaryFolder(t), "current");
        const postgres = await stallAt(t, text, then);
        const settings = { postgres, queries: undefined, out, allowShrink: false, skipBroken: 0 };
        const { signal } = new AbortController();
        const began = performance.now();
        const running = runRoundProcess({ command: COMMAND, settings, stallMs: 4000, signal });
        await assert.rejects(running, { message: `no progress for 4 s (${step})` });
        // The step begins some time after the process.
        assertInTime(began, 15_000, "the failure");
        assert.deepEqual([existsSync(out), existsSync(`${out}.versions`)], [false, false]);
      });
    }
  });

  it("refuses options that do not fit", async (t) => {
    const { keys } = place(t);
    for (const [snapshot, says] of [
      [["postgres://u@h/d", "--watch", "0"], /--watch: 0 would leave what the rounds publish unserved/],
      [["postgres://u@h/d?sslmod=require"], /"sslmod"; did you mean "sslmode"\?/],
    ] as const) {
      const { status, stderr } = await run(["serve", "--keys", keys, "--snapshot", ...snapshot]);
      assert.equal(status, 2);
      assert.match(stderr, says);
    }
  });
});
