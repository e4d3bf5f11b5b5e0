/** `docs/your-database.md`: every block, in the order of the page, against a real PostgreSQL, and through a real PgBouncer. */

import assert from "node:assert/strict";
import { chmodSync, chownSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it, type TestContext } from "node:test";
import { documentOf } from "../support/documents.ts";
import { temporaryFolder } from "../support/folders.ts";
import { need } from "../support/need.ts";
import { keyRecord, TOKEN, writeKeys } from "../support/place.ts";
import { freePort } from "../support/ports.ts";
import {
  get,
  type Outcome,
  type Program,
  run,
  serve,
  start,
  until,
  type Variables,
} from "../support/process.ts";
import { COMMAND, ROOT } from "../support/program.ts";
import { databaseUser, needPostgres, type Postgres, startPostgres } from "./support/postgres.ts";

const PAGE = documentOf("docs/your-database.md");
const blocks = (language: string): string[] =>
  PAGE.blocks.filter((block) => block.language === language).map(({ code }) => code);
/** The only block of its language that has a text. */
function blockWith(language: string, text: string): string {
  const found = blocks(language).filter((code) => code.includes(text));
  assert.equal(found.length, 1, `${found.length} blocks with ${text}`);
  return found[0]!;
}

const VISIBLE = blockWith("text", "visible").trim();

describe("a database of another form", { skip: needPostgres() || need("psql", "createdb") }, () => {
  const folder = temporaryFolder();
  const keys = writeKeys(join(folder, "keys.json"), keyRecord(TOKEN));
  let postgres: Postgres;
  before(async () => {
    postgres = await startPostgres();
    await postgres.run("CREATE DATABASE game");
    for (const code of blocks("sql")) await postgres.run(code, "game");
  });
  after(() => postgres?.end());

  /** Starts a script in the folder, where the program is called `orrery`. */
  function startShell(script: string, variables: Variables = {}): Program {
    const bin = join(folder, "bin");
    mkdirSync(bin, { recursive: true });
    writeFileSync(join(bin, "orrery"), `#!/bin/sh\nexec ${COMMAND.join(" ")} "$@"\n`, { mode: 0o755 });
    const path = { PATH: `${bin}:${process.env.PATH}` };
    return start(["-ec", script], { ...variables, ...path }, ["sh"], { cwd: folder });
  }

  const dryRun = (url: string, ...more: string[]) =>
    run(["export", "--dry-run", "--postgres", url, "--out", join(folder, "unused"), ...more]);

  function assertShown({ status, stdout, stderr }: Outcome): void {
    assert.equal(status, 0, stderr);
    assert.ok((stdout + stderr).includes(VISIBLE.replace("orrery: ", "")), stdout + stderr);
  }

  it("shows what the views would serve, to a role that reads nothing else", async () => {
    const reader = postgres.url("game", "reader");
    const outcome = await dryRun(reader);
    assertShown(outcome);
    const visits = /"totalVisits":4,"uniqueVisitors":2,"visitsLast7Days":2,"visitsLast30Days":3/;
    assert.match(outcome.stdout, visits);
    const file = join(folder, "queries.json");
    writeFileSync(file, JSON.stringify({ users: "SELECT id FROM public.players" }));
    const refused = await dryRun(reader, "--queries", file);
    assert.match(refused.stderr, /permission denied for table players/);
  });

  it("is served, and its worlds are found", async () => {
    const cache = join(folder, "cache");
    const server = await serve(postgres.url("game", "reader"), keys, ["--cache", cache]);
    const world = "00000000-0000-0000-0000-000000000001";
    const { text } = await get(`${server.url}/worlds/${world}`, { token: TOKEN });
    const { data } = JSON.parse(text);
    assert.deepEqual([data.name, data.ownerId], ["Harbour", world]);
    const hidden = world.replace(/1$/, "2");
    assert.equal((await get(`${server.url}/worlds/${hidden}`, { token: TOKEN })).status, 404);
    await server.stop();
  });

  it("is the same by queries in place of views", async () => {
    const file = join(folder, "all.json");
    writeFileSync(file, blockWith("json", "users"));
    assertShown(await dryRun(postgres.url("game"), "--queries", file));
  });

  it("is the same through PgBouncer, which refuses options", { skip: need("pgbouncer") }, async () => {
    const port = await freePort();
    const [file, users] = [join(folder, "pgbouncer.ini"), join(folder, "users.txt")];
    writeFileSync(users, '"reader" ""\n');
    writeFileSync(
      file,
      `[databases]\ngame = host=127.0.0.1 port=${postgres.port}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = ${port}\n` +
        `unix_socket_dir =\nauth_type = trust\nauth_file = ${users}\npool_mode = transaction\n`,
    );
    const user = databaseUser();
    chmodSync(folder, 0o755);
    if (user !== undefined) for (const path of [file, users]) chownSync(path, user.uid, user.gid);
    const bouncer = start(user === undefined ? [file] : ["-u", "postgres", file], {}, ["pgbouncer"]);
    const url = `postgres://reader@127.0.0.1:${port}/game`;
    const outcome = await until(async () => {
      assert.equal(bouncer.child.exitCode, null, bouncer.stderr());
      const tried = await dryRun(url);
      return /refused/.test(tried.stderr) ? undefined : tried;
    }, "PgBouncer");
    assertShown(outcome);
    const { stderr } = await dryRun(`${url}?options=-c%20lock_timeout%3D5min`);
    assert.match(stderr, /unsupported startup parameter: options/);
    bouncer.child.kill("SIGTERM");
    await bouncer.ended;
  });

  /** Runs the commands of a block, the last of which serves, and then one that asks. @returns what that printed */
  async function serveAndAsk(
    test: TestContext,
    commands: string,
    asking: string,
    variables: Variables = {},
  ): Promise<string> {
    const port = await freePort();
    const own = { ORRERY_PORT: String(port), ORRERY_CACHE: join(folder, `cache-${port}`), ...variables };
    const server = startShell(commands.replace("orrery serve", "exec orrery serve"), own);
    test.after(() => server.stop());
    await until(() => {
      assert.equal(server.child.exitCode, null, server.stderr());
      return /listening/.test(server.stdout());
    }, server.stderr);
    const ask = startShell(asking.replace(":8787/", `:${port}/`));
    assert.equal((await ask.ended).status, 0, ask.stderr());
    return ask.stdout();
  }

  it("is served by the commands of the README", { skip: need("curl") }, async (t) => {
    const codes = documentOf("README.md").blocks.map(({ code }) => code);
    const [create, read, ask] = ["keys create", "postgres://", "curl"].map(
      (text) => codes.find((code) => code.includes(text))!,
    );
    const commands = (create! + read!)
      .replaceAll("node bin/orrery.mjs", "orrery")
      .replaceAll("postgres://reader@localhost/platform", postgres.url("game", "reader"));
    assert.match(await serveAndAsk(t, commands, ask!), /"name":"Harbour"/);
  });

  it("and an empty one is tried in five lines", { skip: need("curl") }, async (t) => {
    const lines = blockWith("sh", "createdb");
    assert.equal(lines.trim().split("\n").length, 5);
    const commands = lines
      .replace("/var/run/postgresql", postgres.folder)
      .replace("docs/examples", join(ROOT, "docs/examples"));
    const variables = { PGPORT: String(postgres.port), PGUSER: "orrery" };
    const answer = await serveAndAsk(t, commands, blockWith("sh", "curl"), variables);
    assert.match(answer, /The world of Łukasz/);
  });
});
