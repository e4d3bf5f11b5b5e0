/** The commands as their users meet them: real processes, their output, files and exit status. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import {
  lstatSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, test } from "node:test";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { hashToken, type KeyRecord } from "../src/auth/keys.ts";
import { id, instance, temporaryFolder, user, world, worldStats, writeSnapshot } from "./support/folders.ts";
import { IS_LONG } from "./support/long.ts";
import { keyRecord, place, readKeys, writeKeys } from "./support/place.ts";
import { listen } from "./support/ports.ts";
import { get, type Outcome, run, runWell, served, start, until, type Variables } from "./support/process.ts";

/** Works on two jobs at a time. */
async function pooled<T>(jobs: readonly T[], work: (job: T) => Promise<void>): Promise<void> {
  const queue = jobs.values();
  const worker = async (): Promise<void> => {
    for (const job of queue) await work(job);
  };
  await Promise.all([worker(), worker()]);
}

const serving = (rows: string, keys: string, ...more: string[]): string[] => [
  ...["serve", "--port", "0", "--snapshot", rows, "--keys", keys, ...more],
];

function saidBy({ stderr }: Outcome): string[] {
  return stderr.split("\n").filter((line) => line !== "" && !line.startsWith("{"));
}

/** The cases that run: in the short form every third, as each takes a process. */
const tried = <Case>(cases: readonly Case[]): readonly Case[] =>
  IS_LONG ? cases : cases.filter((_, at) => at % 3 === 0);

describe("commands", { concurrency: 3 }, () => {
  test("wrong usage: status 2, one line on standard error that says what, nothing done", async (t) => {
    const { folder, snapshot, keys } = place(t);
    const files = ["--snapshot", snapshot, "--keys", keys];
    const newKeys = join(folder, "new.json");
    // Others differ from these in a value alone: test/options.test.ts.
    const wrong: [args: string[], says: RegExp, variables?: Variables][] = [
      [[], /command/],
      [["serve"], /--snapshot/],
      [["serve", ...files], /ORRERY_RATE_LIMIT/, { ORRERY_RATE_LIMIT: " 5" }],
      [["serve", ...files, "--api-key-prefix", "tok", "--cli-token-prefix", "tok_"], /prefix/],
      [["keys", "create", "--keys", newKeys, "--name", "n", "--expires", "soon"], /--expires/],
    ];
    const before = readFileSync(keys);
    await pooled(wrong, async ([args, says, variables = {}]) => {
      const outcome = await run(args, variables);
      const what = `${args.join(" ")} ${JSON.stringify(variables)}: ${outcome.stderr}`;
      assert.deepEqual([outcome.status, outcome.stdout], [2, ""], what);
      assert.match(outcome.stderr, /^orrery: [^\n]+\n$/, what);
      assert.match(outcome.stderr, says, what);
    });
    assert.deepEqual(readFileSync(keys), before);
    assert.deepEqual(readdirSync(folder).sort(), ["keys.json", "snapshot"]);
  });

  test("what cannot work: status 1, and one clear line a problem", async (t) => {
    const { folder, snapshot, keys } = place(t);
    const bad = writeSnapshot(join(folder, "bad"), {
      "users.ndjson": [user(1), user(2, { createdAt: "soon", email: "canary-1" })],
      "worlds.ndjson": null,
    });
    const damaged = writeSnapshot(join(folder, "damaged"), { "users.ndjson": [{}] });
    const good = keyRecord("svc_sk_1");
    const secret = hashToken("svc_sk_secret");
    const taken = createServer();
    t.after(() => taken.close());
    const port = await listen(taken);

    const noJson = join(folder, "no-json.json");
    const cut = `{"keys":[{"sha256":"${secret}"`;
    writeFileSync(noJson, cut);
    const noLimit = join(folder, "no-limit.json");
    writeFileSync(noLimit, JSON.stringify({ keys: [good, { ...good, limit: undefined }] }));

    const missing = join(folder, "missing");
    const noDirectory = /missing: directory does not exist \(ENOENT\)/;
    const noFile = /missing: file does not exist \(ENOENT\)/;
    const failing: [args: string[], says: RegExp][] = [
      [serving(missing, keys), noDirectory],
      // The check for files comes before any row is read.
      [serving(bad, keys), /^worlds\.ndjson: /],
      [serving(snapshot, missing), noFile],
      // Neither is a row read for a port that is taken.
      [
        serving(damaged, keys, "--port", String(port)),
        new RegExp(
          `^orrery: cannot listen on 127\\.0\\.0\\.1 port ${port}: .*in use; choose another with --port or ORRERY_PORT$`,
        ),
      ],
      [serving(snapshot, keys, "--host", "192.0.2.1"), /192\.0\.2\.1/],
      [
        serving(snapshot, keys, "--host", "no.such.host.invalid"),
        /^orrery: cannot listen on no\.such\.host\.invalid port 0: the host name does not resolve \(ENOTFOUND\)$/,
      ],
      [["keys", "list", "--keys", missing], noFile],
      [["keys", "disable", "key_x", "--keys", keys], /key_x/],
      [["keys", "create", "--keys", join(missing, "keys.json"), "--name", "n"], /ENOENT/],
      [["check", missing], noDirectory],
      [["check", keys], /keys\.json: is not a directory/],
      [serving(snapshot, noLimit), /keys\[1\]\.limit/],
      [serving(snapshot, noJson), /JSON/],
      [["keys", "create", "--keys", noJson, "--name", "n"], /JSON/],
    ];
    const before = readFileSync(keys);
    await pooled(tried(failing), async ([args, says]) => {
      const outcome = await run(args);
      const what = `${args.join(" ")}: ${outcome.stderr}`;
      assert.deepEqual([outcome.status, outcome.stdout], [1, ""], what);
      const [said, ...others] = saidBy(outcome);
      assert.match(said!, says, what);
      assert.deepEqual(others, [], what);
      assert.ok(!outcome.stderr.includes(secret) && !outcome.stderr.includes(secret.slice(1)), what);
      assert.doesNotMatch(outcome.stderr, /canary|\bat .*:\d+:\d+\)/, what);
    });
    assert.deepEqual(readFileSync(keys), before);
    assert.equal(readFileSync(noJson, "utf8"), cut, "a bad file is left as it is");
    assert.doesNotMatch(readdirSync(folder).join(), /lock|tmp/);
  });

  test("help and version: status 0, on standard output", async () => {
    const version = await runWell(["--version"]);
    assert.match(version.stdout, /^\d+\.\d+\.\d+\n$/);
    for (const way of tried(["-v", "version"])) assert.equal((await runWell([way])).stdout, version.stdout);
    const serve = (await runWell(["serve", "--help"])).stdout;
    assert.match(serve, /^Usage: orrery serve/m);
    for (const way of tried(["serve --port nonsense -h", "help serve"])) {
      const { stdout, stderr } = await runWell(way.split(" "));
      assert.deepEqual([stdout, stderr], [serve, ""]);
    }
    assert.match((await runWell(["--help"])).stdout, /keys create/);
    const ways = tried(["keys --help", "help keys"]);
    const keys = new Set(await Promise.all(ways.map(async (way) => (await runWell(way.split(" "))).stdout)));
    assert.equal(keys.size, 1);
    assert.match([...keys].join(), /^Usage: orrery keys/m);
  });

  test("keys create: only the token goes to standard output", async (t) => {
    const folder = temporaryFolder(t);
    const keys = join(folder, "keys.json");
    const create = async (...args: string[]): Promise<{ token: string; record: KeyRecord }> => {
      const { stdout, stderr } = await runWell(["keys", "create", "--keys", keys, ...args]);
      assert.match(stdout, /^[!-~]+\n$/, "the token, alone");
      const token = stdout.trim();
      const record = readKeys(keys).at(-1)!;
      assert.equal(record.sha256, hashToken(token));
      assert.equal(statSync(keys).mode & 0o777, 0o600);
      for (const text of [readFileSync(keys, "utf8"), stderr]) assert.ok(!text.includes(token.slice(8)));
      return { token, record };
    };
    const began = Date.now();
    const first = await create("--name", "first");
    assert.match(first.token, /^svc_sk_[\w-]{32,}$/);
    const { id: _id, sha256: _, createdAt, ...rest } = first.record;
    assert.ok(Date.parse(createdAt) >= began && Date.parse(createdAt) <= Date.now());
    const scopes = ["read:worlds", "read:users", "read:instances"];
    const named = { kind: "api", name: "first", hint: first.token.slice(-4) };
    assert.deepEqual(rest, { ...named, scopes, limit: null, active: true, expiresAt: null });
    const cli = await create("--name", "名前", "--kind", "cli", "--expires", "2031-01-01T09:00+09:00");
    assert.match(cli.token, /^svcx_[\w-]{32,}$/);
    assert.equal(cli.record.expiresAt, "2031-01-01T00:00:00.000Z");
    const narrow = await create("--name", "narrow", "--limit", "5", "--api-key-prefix", "acme_");
    assert.match(narrow.token, /^acme_/);
    assert.equal(narrow.record.limit, 5);
    assert.deepEqual(readKeys(keys), [first.record, cli.record, narrow.record]);
    assert.deepEqual(readdirSync(folder), ["keys.json"]);
  });

  test("keys made at once: none is lost, and no reader ever sees half a file", async (t) => {
    const folder = temporaryFolder(t);
    const keys = join(folder, "real.json");
    const link = join(folder, "link.json");
    writeKeys(keys, keyRecord("svc_sk_0"));
    symlinkSync(keys, link);
    // A stale lock of a killed process.
    writeFileSync(`${keys}.lock`, "4711");
    utimesSync(`${keys}.lock`, 1, 1);
    let looks = 0;
    let reading = true;
    const reader = (async () => {
      while (reading) {
        readKeys(keys);
        looks++;
        await new Promise((resolve) => setImmediate(resolve));
      }
    })();
    const many = IS_LONG ? 10 : 3;
    const made = await Promise.all(
      Array.from({ length: many }, (_, n) =>
        // Through the link and directly: the same file, the same lock.
        runWell(["keys", "create", "--keys", n % 2 ? link : keys, "--name", `n${n}`]),
      ),
    );
    reading = false;
    await reader;
    assert.ok(looks > 10);
    const hashes = new Set(readKeys(keys).map((record) => record.sha256));
    assert.equal(hashes.size, many + 1);
    for (const { stdout } of made) assert.ok(hashes.has(hashToken(stdout.trim())));
    assert.ok(lstatSync(link).isSymbolicLink(), "the link is still one");
    assert.deepEqual(readdirSync(folder).sort(), ["link.json", "real.json"]);
  });

  test("check: says what is in a snapshot, what is hidden and why, what dangles", async (t) => {
    const folder = temporaryFolder(t);
    const good = writeSnapshot(join(folder, "good"), {
      "users.ndjson": [user(1, { email: "canary-5" }), user(2)],
      "worlds.ndjson": [
        world(1),
        world(2, { isPublic: false, name: "canary-6" }),
        world(3, { status: "DRAFT" }),
        world(4, { ownerId: id("a", 99) }),
      ],
      "world-stats.ndjson": [worldStats(1), worldStats(77)],
      "instances.ndjson.gz": gzipSync(
        [instance(1), instance(2, { isActive: false }), instance(3, { worldId: id("b", 2) })]
          .map((row) => JSON.stringify(row))
          .join("\n"),
      ),
    });
    const { stdout, stderr } = await runWell(["check", good]);
    assert.equal(stderr, "");
    assert.match(stdout, /^generation [A-Za-z0-9._-]+\n/);
    assert.match(stdout, /^users\.ndjson +2 +2 +0 +0\b/m);
    assert.match(stdout, /^worlds\.ndjson +4 +2 +2 +1\b/m);
    assert.match(stdout, /^world-stats\.ndjson +2 +1 +1 +1\b/m);
    assert.match(stdout, /^instances\.ndjson\.gz +3 +1 +2 +0\b/m);
    for (const why of [/not public/, /status is not ACTIVE/, /not active/, /world is hidden/])
      assert.match(stdout, why);
    assert.match(stdout, new RegExp(`worlds\\.ndjson:4: ownerId: .*${id("a", 99)}`));
    assert.match(stdout, new RegExp(`world-stats\\.ndjson:2: worldId: .*${id("b", 77)}`));
    assert.doesNotMatch(stdout, /canary|None of the worlds/);
    const noWorlds = { "worlds.ndjson": [world(1, { isPublic: false })] };
    const hidden = writeSnapshot(join(folder, "hidden"), noWorlds);
    const none = /\nNone of the worlds of the snapshot is visible \(rows: 1\), so every list/;
    assert.match((await runWell(["check", hidden])).stdout, none);

    const bad = writeSnapshot(join(folder, "bad"), {
      "users.ndjson": [user(1), user(1), ...Array.from({ length: 30 }, () => ({ id: "canary" }))],
    });
    const outcome = await run(["check", bad]);
    assert.deepEqual([outcome.status, outcome.stdout], [1, ""]);
    const problems = outcome.stderr.trimEnd().split("\n");
    assert.equal(problems.length, 21);
    assert.match(problems[0]!, /^users\.ndjson:2: id: /);
    assert.match(problems[1]!, /^users\.ndjson:3: id: .*"canary"$/);
    assert.equal(problems[20], "… and 71 more");

    const wrong = { "instances.ndjson": [instance(1, { isPublic: "yes" })] };
    const single = writeSnapshot(join(folder, "single"), wrong);
    assert.match((await run(["check", single])).stderr, /^instances\.ndjson:1: isPublic: [^\n]*"yes"\n$/);
  });

  test("check and serve: a pipe in place of a file is refused at once", async (t) => {
    const { snapshot, keys } = place(t);
    unlinkSync(join(snapshot, "worlds.ndjson"));
    await promisify(execFile)("mkfifo", [join(snapshot, "worlds.ndjson")]);
    for (const args of tried([serving(snapshot, keys), ["check", snapshot]])) {
      const outcome = await run(args);
      assert.equal(outcome.status, 1, outcome.stderr);
      assert.match(saidBy(outcome).join("|"), /^worlds\.ndjson: [^|]*$/);
    }
  });

  test("demo: prints a curl line that works when pasted, and leaves nothing behind", async (t) => {
    const folder = temporaryFolder(t);
    const server = await served(start(["demo", "--port", "0"], { TMPDIR: folder }));
    const [, curl, admin, reference, ...rest] = await until(() => {
      const lines = server.stdout().split("\n");
      return lines.length >= 5 ? lines : undefined;
    }, "the curl line, and those of the admin listener and the reference");
    assert.deepEqual(rest, [""]);
    const [, adminUrl] = /^orrery admin on (http:\/\/127\.0\.0\.1:\d+\/)$/.exec(admin!)!;
    assert.equal((await get(`${adminUrl}livez`)).text, "ok");
    const [, docs] = /^API reference on (http:\/\/127\.0\.0\.1:\d+\/docs)$/.exec(reference!)!;
    assert.match((await get(docs!)).text, /<!doctype html>/);
    assert.match(curl!, /^curl /);
    const { stdout } = await promisify(execFile)("bash", ["-c", curl!]);
    const page = JSON.parse(stdout) as { data: { id: string }[]; pagination: { total: number } };
    assert.equal(page.data.length, 3);
    assert.ok(page.pagination.total >= 3);
    const [token] = /svc_sk_[\w-]+/.exec(curl!)!;
    assert.ok(!server.stderr().includes(token));
    const [made] = readdirSync(folder).filter((name) => name.startsWith("orrery-demo-"));
    assert.ok(made, "the keys are in a temporary folder");
    assert.ok(!readFileSync(join(folder, made, "keys.json"), "utf8").includes(token));
    await server.stop();
    assert.doesNotMatch(readdirSync(folder).join(), /orrery-demo-/);
  });
});

test("a command that there is not is named with the one that may be meant", async () => {
  const cases: [words: string[], says: string][] = [
    [["sevre"], 'there is no command "sevre"; did you mean "serve"?'],
    [["help", "chek"], 'there is no command "chek"; did you mean "check"?'],
    [["key", "list"], 'there is no command "key"; did you mean "keys"?'],
    [["keys", "delet", "x"], 'there is no command "keys delet"; did you mean "keys delete"?'],
    [["frobnicate"], 'there is no command "frobnicate"'],
    [["svcx_canary-0123"], 'there is no command "svcx_***"'],
  ];
  await Promise.all(
    tried(cases).map(async ([words, says]) => {
      const { status, stdout, stderr } = await run(words);
      assert.deepEqual([status, stdout, stderr], [2, "", `orrery: ${says} (see orrery --help)\n`]);
    }),
  );
});
