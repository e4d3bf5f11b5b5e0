/** `orrery keys`: keys made, refused, listed, changed and rotated, tokens of before, and the file after a failure at any point. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import files from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import fc from "fast-check";
import { findKey, judgeKey } from "../src/auth/admit.ts";
import { compareKeys, keyWarnings } from "../src/auth/key-changes.ts";
import { createKeyRing, hashToken, type KeyRecord, KeyRing, parseKeys } from "../src/auth/keys.ts";
import { type Counters, createCounters } from "../src/auth/limit.ts";
import { keepKeys } from "../src/auth/watched-keys.ts";
import { openOrrery } from "../src/mod.ts";
import type { Observation } from "../src/observe/events.ts";
import { UserError } from "../src/util/user-error.ts";
import { temporaryFolder } from "./support/folders.ts";
import { runInside as run } from "./support/inside.ts";
import { whileReplaced } from "./support/loaded.ts";
import { keyRecord, readKeys, writeKeys } from "./support/place.ts";
import { COMMAND } from "./support/program.ts";

const TOKEN = "svc_sk_abcdef";
const ID = "key_abcdef";
const CLI_ID = "key_x_tool";
const HOUR_MS = 3_600_000;

/** A keys file with an API key and a CLI token, and a function that runs a command on it. */
function keysFile(t: TestContext, changes: Partial<KeyRecord> = {}) {
  const file = writeKeys(
    join(temporaryFolder(t), "keys.json"),
    keyRecord(TOKEN, changes),
    keyRecord("svcx_tool"),
  );
  const keys = (verb: string, ...args: string[]) => run(["keys", verb, ...args, "--keys", file]);
  const record = (): KeyRecord => readKeys(file)[0]!;
  return { file, keys, record };
}

/** The reason why a token is refused, or the id of its key. */
function verdictOf(ring: KeyRing, token: string, now: number): string {
  const key = findKey(`Bearer ${token}`, { api: "svc_sk_", cli: "svcx_" }, ring);
  return typeof key === "string" ? key : (judgeKey(key, now) ?? key.id);
}

const verdict = (file: string, token: string, now = Date.now()): string =>
  verdictOf(createKeyRing(readKeys(file), createCounters(3600)), token, now);

const create = (file: string, ...args: string[]) =>
  run(["keys", "create", "--keys", file, "--name", "n", ...args]);

/** The error of the system on a full disk. */
const noSpace = (): Error => Object.assign(new Error("x"), { code: "ENOSPC", errno: -28, syscall: "x" });

describe("keys create", () => {
  it("takes scopes one by one or joined by commas, and refuses unknown ones by name", async (t) => {
    const keys = join(temporaryFolder(t), "keys.json");
    const scopes = async (...args: string[]): Promise<string> => {
      await create(keys, ...args);
      return readKeys(keys).at(-1)!.scopes.join();
    };
    assert.equal(await scopes(), "read:worlds,read:users,read:instances");
    assert.equal(await scopes("--scope", "read:users,read:worlds"), "read:users,read:worlds");
    const twice = ["--scope", "read:users, read:worlds", "--scope", "read:users"];
    assert.equal(await scopes(...twice), "read:users,read:worlds");
    for (const [scope, message] of Object.entries({
      "read:foo": /^--scope: "read:foo" is not a scope; /,
      "read:users,a": /"a" is not a scope; the scopes are read:worlds, read:users, read:inst/,
    }))
      await assert.rejects(create(keys, "--scope", scope), { name: "UsageError", message });
    assert.equal(readKeys(keys).length, 3);
  });

  it("takes spans, dates and times as the end of validity, in the future only", async (t) => {
    const keys = join(temporaryFolder(t), "keys.json");
    const end = async (expires: string): Promise<string> => {
      await create(keys, "--expires", expires);
      return readKeys(keys).at(-1)!.expiresAt!;
    };
    for (const [span, minutes] of Object.entries({ "30m": 30, "12h": 720, "90d": 129_600, "1w": 10_080 })) {
      const before = Date.now();
      const left = Date.parse(await end(span)) - minutes * 60_000;
      assert.ok(left >= before && left <= Date.now(), span);
    }
    assert.equal(await end("2990-01-31"), "2990-01-31T00:00:00.000Z");
    assert.equal(await end("2990-01-31T12:00+01:00"), "2990-01-31T11:00:00.000Z");
    const made = readKeys(keys).length;
    for (const [wrong, message] of Object.entries({
      ...Object.fromEntries(
        ["2990-02-31", "2990-1-31", "2990", "1y", "1.5w", "2030-01-31T12:00:00"].map((text) => [
          text,
          /must be a time from now .*, a date .* or a time \(2030-01-31T12:00:00Z\), is "/,
        ]),
      ),
      "99999999w": /after the year 9999/,
      "2020-01-01": /must be in the future, is 2020-01-01T00:00:00\.000Z/,
      "0d": /must be in the future/,
    }))
      await assert.rejects(create(keys, "--expires", wrong), { name: "UsageError", message });
    assert.equal(readKeys(keys).length, made);
  });

  it("stores the last four characters of the token, the owner and a note, and shows them", async (t) => {
    const keys = join(temporaryFolder(t), "keys.json");
    const { stdout } = await create(keys, "--owner", "Ann", "--note", "OPS-1");
    const [{ id, hint, owner, note }] = readKeys(keys) as [KeyRecord];
    assert.deepEqual([hint, owner, note], [stdout.trim().slice(-4), "Ann", "OPS-1"]);
    const shown = (await run(["keys", "show", id, "--keys", keys])).stdout;
    assert.match(shown, new RegExp(`^owner +Ann\nnote +OPS-1\ntoken +…${hint}$`, "m"));
    await create(keys);
    assert.deepEqual(Object.keys(readKeys(keys)[1]!).slice(-2), ["createdAt", "hint"]);
  });

  it("warns of a name that another key has, as keys update does", async (t) => {
    const { keys } = keysFile(t, { name: "crawler" });
    const warning = 'orrery: warning: key_abcdef has the name "crawler" too\n';
    const warnings = async (...args: string[]): Promise<string> =>
      (await keys(...(args as [string]))).stderr.replace(/^orrery: (created|updated) .*\n/m, "");
    assert.equal(await warnings("create", "--name", "crawler"), warning);
    assert.equal(await warnings("update", CLI_ID, "--name", "crawler"), warning);
    assert.equal(await warnings("create", "--name", "Crawler"), "");
    assert.equal(await warnings("update", CLI_ID, "--note", "n"), "");
    await keys("delete", CLI_ID);
    for (const name of ["own", "own"]) assert.equal(await warnings("update", ID, "--name", name), "");
  });

  it("makes the file behind a link that leads to none yet", async (t) => {
    const folder = temporaryFolder(t);
    const volume = join(folder, "volume");
    const outer = join(folder, "outer.json");
    const [inner, keys] = [join(volume, "inner.json"), join(volume, "keys.json")];
    mkdirSync(volume);
    symlinkSync("volume/inner.json", outer);
    symlinkSync(keys, inner);
    for (const link of [outer, inner]) {
      await create(link);
      assert.ok(lstatSync(link).isSymbolicLink(), link);
    }
    assert.equal(readKeys(keys).length, 2);
    assert.deepEqual(readdirSync(volume).sort(), ["inner.json", "keys.json"]);
  });
});

for (const [what, redirection] of Object.entries({
  closed: ">&-",
  "the null device": ">/dev/null",
  "a full device": ">/dev/full",
})) {
  const skip = process.platform !== "linux";
  it(`no key is made where standard output is ${what}: status 1, one line`, { skip }, (t) => {
    const folder = temporaryFolder(t);
    const words = [...COMMAND, "keys", "create", "--name", "n", "--keys", join(folder, "new.json")];
    const ran = spawnSync("sh", ["-c", `exec "$@" ${redirection}`, "sh", ...words], { encoding: "utf8" });
    assert.equal(ran.status, 1, ran.stderr);
    const problem = /^orrery: the token cannot be written to standard output: [^\n]+; no key was made\n$/;
    assert.match(ran.stderr, problem);
    assert.deepEqual(readdirSync(folder), []);
  });
}

describe("a change of the keys file", () => {
  it("that fails at any call leaves the old file, no other, and no lock", async (t) => {
    const folder = temporaryFolder(t);
    const keys = writeKeys(join(folder, "keys.json"), keyRecord("svc_sk_1"));
    const before = readFileSync(keys, "utf8");
    const { open } = files;
    let seen = 0;
    for (const name of ["open", "chmod", "writeFile", "sync", "rename"] as const) {
      const fails = (): Promise<never> => {
        seen++;
        return Promise.reject(noSpace());
      };
      const opening = async (...args: Parameters<typeof open>) => {
        if (args[1] !== "wx+") return open(...args);
        if (name === "open") return fails();
        return Object.assign(await open(...args), { [name]: fails });
      };
      let printed = "";
      const deliver = async (text: string): Promise<void> => {
        printed += text;
      };
      await whileReplaced(name === "rename" ? { rename: fails } : { open: opening }, async () => {
        const creating = run(["keys", "create", "--keys", keys, "--name", "n"], { deliver });
        await assert.rejects(creating, (error: Error) => {
          assert.ok(error instanceof UserError, `${name}: ${error.stack}`);
          assert.match(error.message, /keys\.json: no space left on device \(ENOSPC\)/);
          assert.equal(/the printed token is not valid/.test(error.message), printed !== "", name);
          return true;
        });
        await assert.rejects(run(["keys", "disable", "key_c_sk_1", "--keys", keys]), /ENOSPC/);
      });
      assert.equal(readFileSync(keys, "utf8"), before, name);
      assert.deepEqual(readdirSync(folder), ["keys.json"], name);
    }
    assert.equal(seen, 10);
    await run(["keys", "disable", "key_c_sk_1", "--keys", keys]);
    assert.equal(readKeys(keys)[0]!.active, false, "once there is space again");
  });

  it("is refused where it is a device or a pipe, of which nothing is read", async (t) => {
    const pipe = join(temporaryFolder(t), "pipe");
    assert.equal(spawnSync("mkfifo", [pipe]).status, 0);
    // A read of the device never ends; a read of the pipe waits for ever.
    for (const file of ["/dev/zero", pipe]) {
      const message = `${file}: is not a regular file`;
      await assert.rejects(create(file), { name: "KeysFileError", message });
    }
  });

  it("removes what a killed writer left, and nothing else", async (t) => {
    const folder = temporaryFolder(t);
    const keys = writeKeys(join(folder, "keys.json"), keyRecord("svc_sk_1"));
    chmodSync(keys, 0o600);
    const others = ["bak", "20261122", "tmp"].map((end) => `keys.json.${end}`);
    others.push("other.json.0123456789abcdef.tmp");
    for (const name of others) writeFileSync(join(folder, name), "");
    writeFileSync(join(folder, "keys.json.0123456789abcdef.tmp"), '{"ke');
    writeFileSync(`${keys}.lock`, "");
    utimesSync(`${keys}.lock`, 1, 1);
    const { stderr } = await run(["keys", "delete", "key_c_sk_1", "--keys", keys]);
    assert.equal(stderr, "orrery: deleted key_c_sk_1\n");
    assert.deepEqual(readdirSync(folder).sort(), ["keys.json", ...others].sort());
  });
});

function accessTo(file: string) {
  const { mode, uid, gid } = statSync(file);
  return { mode, uid, gid };
}

describe("the access to the keys file", () => {
  it("stays as it was: mode, owner and group; a new file is its owner's alone", async (t) => {
    const keys = join(temporaryFolder(t), "keys.json");
    await create(keys);
    assert.equal(statSync(keys).mode & 0o777, 0o600);
    chmodSync(keys, 0o640);
    if (process.getuid?.() === 0) chownSync(keys, 4711, 4712);
    const before = accessTo(keys);
    assert.equal((await create(keys, "--name", "other")).stderr.split("\n").length, 2, "no warning");
    assert.deepEqual(accessTo(keys), before);
  });

  it("of another file does not change, however its folder's owner swaps names", async (t) => {
    const folder = temporaryFolder(t);
    const keys = writeKeys(join(folder, "keys.json"), keyRecord("svc_sk_1"));
    if (process.getuid?.() === 0) chownSync(keys, 4711, 4712);
    chmodSync(keys, 0o644);
    const victim = join(folder, "victim");
    writeFileSync(victim, "", { mode: 0o600 });
    const before = accessTo(victim);
    await run(["keys", "create", "--keys", keys, "--name", "n"], {
      async deliver() {
        const temporary = join(folder, readdirSync(folder).find((name) => name.endsWith(".tmp"))!);
        assert.equal(statSync(temporary).mode, statSync(keys).mode, "all is set by now");
        rmSync(temporary);
        symlinkSync(victim, temporary);
      },
    });
    assert.deepEqual(accessTo(victim), before);
  });
});

it("keys list marks keys that are over or grant nothing, as text and as JSON", async (t) => {
  const keys = writeKeys(
    join(temporaryFolder(t), "keys.json"),
    keyRecord("svc_sk_full", { limit: 7 }),
    keyRecord("svc_sk_none", { scopes: [] }),
    keyRecord("svc_sk_typo", { scopes: ["read:foo", "a,b"] }),
    keyRecord("svc_sk_some", { scopes: ["read:users", "read:foo"] }),
    keyRecord("svc_sk_past", { expiresAt: "2020-01-01T00:00:00Z" }),
    keyRecord("svc_sk_stop", { active: false, expiresAt: "2020-01-01T00:00:00Z" }),
    keyRecord("svcx_tool", { scopes: [], limit: 5 }),
  );
  const { stdout } = await run(["keys", "list", "--keys", keys]);
  for (const line of [
    /k_full.* active +7 +never +read:worlds,read:users,read:instances /,
    /k_none.* none, grants nothing +test/,
    /k_typo.* none, grants nothing \(unknown: read:foo,a,b\)/,
    /k_some.* read:users \(unknown: read:foo\)/,
    /k_past.* expired/,
    /k_stop.* disabled/,
    /x_tool.* active +none +never +all/,
  ])
    assert.match(stdout, line);

  const json = await run(["keys", "list", "--keys", keys, "--json"]);
  assert.doesNotMatch(json.stdout, /sha256|[0-9a-f]{64}/);
  const { keys: listed } = JSON.parse(json.stdout) as { keys: Record<string, unknown>[] };
  assert.deepEqual(
    listed.map(({ id, state, limit, grantsNothing }) => `${id} ${state} ${limit} ${grantsNothing}`),
    [
      "key_k_full active 7 false",
      "key_k_none active null true",
      "key_k_typo active null true",
      "key_k_some active null false",
      "key_k_past expired null false",
      "key_k_stop disabled null false",
      "key_x_tool active null false",
    ],
  );
  const typo = listed[2]!;
  assert.deepEqual([typo.scopes, typo.unknownScopes], [[], ["read:foo", "a,b"]]);
  const fields =
    "id,kind,name,owner,note,hint,state,limit,expiresAt,scopes,unknownScopes,grantsNothing,createdAt,previous,unknownFields";
  assert.equal(Object.keys(typo).join(), fields);
});

describe("keys update", () => {
  it("changes what is named, and nothing else", async (t) => {
    const { file, keys, record } = keysFile(t);
    const before = record();
    const { stdout, stderr } = await keys("update", ID, "--name", "new", "--limit", "7");
    assert.equal(stdout, "");
    assert.match(stderr, /^orrery: updated key_abcdef$/m);
    assert.deepEqual(record(), { ...before, name: "new", limit: 7 });
    await keys("update", ID, "--scope", "read:users,read:worlds", "--expires", "2990-01-31");
    const scopes = ["read:users", "read:worlds"];
    const expiresAt = "2990-01-31T00:00:00.000Z";
    assert.deepEqual(record(), { ...before, name: "new", limit: 7, scopes, expiresAt });
    await keys("update", ID, "--limit", "default", "--expires", "never", "--owner", "Ann", "--note", "none");
    assert.deepEqual(record(), { ...before, name: "new", scopes, owner: "Ann" });
    await keys("update", ID, "--owner", "none", "--note", "OPS-1");
    assert.deepEqual(record(), { ...before, name: "new", scopes, note: "OPS-1" });
    await keys("update", CLI_ID, "--name", "tool", "--expires", "1h");
    assert.equal(readKeys(file)[1]!.name, "tool");
  });

  it("refuses what means nothing, and leaves the file", async (t) => {
    const { file, keys } = keysFile(t);
    const before = readFileSync(file, "utf8");
    const usage: [args: string[], message: RegExp][] = [
      [[ID], /^nothing to change: give --name, --owner, --note, --scope, --limit or --expires/],
      [[ID, "--limit", "0"], /^--limit: must be default or a whole number of at least 1, is "0"/],
      [[ID, "--scope", "read:world"], /the scopes are read:worlds/],
      [[ID, "--name", " "], /^--name: must not be empty/],
      [[CLI_ID, "--limit", "5"], /^--limit: key_x_tool is a CLI token/],
      [[CLI_ID, "--name", "n", "--scope", "read:users"], /^--scope: key_x_tool is a CLI token/],
    ];
    for (const [args, message] of usage)
      await assert.rejects(async () => keys("update", ...args), { name: "UsageError", message });
    const message = /keys\.json: there is no key "key_gone"$/;
    await assert.rejects(keys("update", "key_gone", "--name", "n"), { name: "KeysFileError", message });
    assert.equal(readFileSync(file, "utf8"), before);
  });
});

it("keys show prints one key, without a hash", async (t) => {
  const soon = new Date(Date.now() + HOUR_MS).toISOString();
  const previous = [
    { sha256: hashToken("svc_sk_old"), expiresAt: soon },
    { sha256: hashToken("svc_sk_hint"), expiresAt: soon, hint: "hint" },
    { sha256: hashToken("svc_sk_older"), expiresAt: "2020-01-01T00:00:00Z" },
  ];
  const fields = { ticket: ["a\n", 7] };
  const { keys } = keysFile(t, { name: "sh\u001bop", previous, owner: "Ann", ...fields });
  const { stdout } = await keys("show", ID);
  for (const line of [
    /^id +key_abcdef$/m,
    /^name +sh\\u001bop$/m,
    new RegExp(`^previous token +works until ${soon}$`, "m"),
    new RegExp(`^previous token +…hint works until ${soon}$`, "m"),
    /^owner +Ann$/m,
    /^field ticket +\["a\\n",7\]$/m,
  ])
    assert.match(stdout, line);
  assert.doesNotMatch(stdout, /^(note|token) /m);
  assert.doesNotMatch(stdout, /svcx|2020|[0-9a-f]{64}/);
  const json = await keys("show", ID, "--json");
  assert.doesNotMatch(json.stdout, /[0-9a-f]{64}/);
  const { id, state, previous: shown, unknownFields } = JSON.parse(json.stdout);
  const both = [null, "hint"].map((hint) => ({ expiresAt: soon, hint }));
  assert.deepEqual([id, state, shown, unknownFields], [ID, "active", both, fields]);
  await assert.rejects(keys("show", "sh\u001bop"), {
    message: /"sh\\u001bop" is the name of key_abcdef; give the id$/,
  });
  for (const unknown of ["svc_sk_canary-4711", "svc_sk_c", "nope", "key_of_ten_letters"]) {
    const message = new RegExp(`there is no key "${unknown.replace("anary-4711", "…")}"$`);
    await assert.rejects(keys("show", unknown), { name: "KeysFileError", message });
  }
});

describe("keys rotate", () => {
  it("prints a new token before it comes into force; the old one works until the overlap is over", async (t) => {
    const { file, record } = keysFile(t, { limit: 3 });
    const before = record();
    const hour = Date.now() + HOUR_MS;
    let token = "";
    const { stderr } = await run(["keys", "rotate", ID, "--overlap", "1h", "--keys", file], {
      async deliver(text) {
        token = text.trim();
        assert.deepEqual(record(), before, "not yet");
      },
    });
    const { previous, ...now } = record();
    assert.deepEqual(now, { ...before, sha256: hashToken(token), hint: token.slice(-4) });
    const [{ sha256, expiresAt } = assert.fail(), ...others] = previous!;
    assert.deepEqual([sha256, others], [before.sha256, []]);
    const end = Date.parse(expiresAt);
    assert.ok(end >= hour && end <= Date.now() + HOUR_MS);
    assert.match(stderr, /^orrery: gave key_abcdef a new token, .* the one before works until 20/m);
    assert.ok(token.startsWith("svc_sk_") && !stderr.includes(token));
    for (const one of [token, TOKEN]) assert.equal(verdict(file, one), ID);
    assert.equal(verdict(file, TOKEN, end - 1), ID);
    assert.equal(verdict(file, TOKEN, end), "apiKeyExpired");
    assert.equal(verdict(file, token, end), ID);
  });

  it("gives another token of the same key: the count of the window goes on with either", async (t) => {
    const { file, keys } = keysFile(t, { limit: 5 });
    const orrery = await openOrrery({ snapshot: "data/sample", keys: file, watch: 0, threads: false });
    t.after(() => orrery.close());
    const ask = async (token: string): Promise<string> => {
      const authorization = `Bearer ${token}`;
      const { status, headers } = await orrery.ask({ target: "/api/public/v1/stats", authorization });
      return `${status} ${headers["x-ratelimit-remaining"]}`;
    };
    assert.equal(await ask(TOKEN), "200 4");
    const token = (await keys("rotate", ID)).stdout.trim();
    await orrery.reload();
    assert.deepEqual([await ask(token), await ask(TOKEN)], ["200 3", "200 2"]);
    await keys("update", ID, "--limit", "4");
    await orrery.reload();
    assert.deepEqual([await ask(TOKEN), await ask(token), await ask(TOKEN)], ["200 0", "429 0", "429 0"]);
  });

  it("takes 24 hours when nothing is said, keeps earlier tokens for their time, and ends all with 0", async (t) => {
    const { file, keys, record } = keysFile(t);
    const tokens = [TOKEN];
    for (let time = 0; time < 2; time++) tokens.push((await keys("rotate", ID)).stdout.trim());
    assert.equal(record().previous![1]!.hint, tokens[1]!.slice(-4));
    const ends = record().previous!.map(({ expiresAt }) => Date.parse(expiresAt) - Date.now());
    assert.equal(ends.length, 2);
    for (const left of ends) assert.ok(left > 23.9 * HOUR_MS && left <= 24 * HOUR_MS);
    for (const token of tokens) assert.equal(verdict(file, token), ID);
    const { stdout, stderr } = await keys("rotate", ID, "--overlap", "0");
    assert.match(stderr, /no earlier token works/);
    assert.ok(!("previous" in record()));
    assert.equal(verdict(file, stdout.trim()), ID);
    for (const token of tokens) assert.equal(verdict(file, token), "apiKeyUnknown");
  });

  it("refuses what is no span, an unknown id, and a key that has expired; says it when one is disabled", async (t) => {
    const { file, keys } = keysFile(t, { active: false });
    const before = readFileSync(file, "utf8");
    for (const overlap of ["", "1", "-1h", "1.5h", "1y", "2030-01-01", "99999999w"]) {
      const rotating = async () => keys("rotate", ID, `--overlap=${overlap}`);
      await assert.rejects(rotating, /^UsageError: --overlap: /, overlap);
    }
    await assert.rejects(keys("rotate", "key_gone"), /^KeysFileError: .*there is no key "key_gone"/);
    assert.equal(readFileSync(file, "utf8"), before);
    const { stderr } = await keys("rotate", ID);
    assert.match(stderr, /is disabled: no token of it works before orrery keys enable/);
    const expired = keysFile(t, { expiresAt: "2020-01-01T00:00:00Z" });
    const text = readFileSync(expired.file, "utf8");
    const message = /^CommandError: .*expired at 2020.*orrery keys update key_abcdef --expires/;
    await assert.rejects(expired.keys("rotate", ID), message);
    assert.equal(readFileSync(expired.file, "utf8"), text);
  });

  it("leaves expired tokens to the next write, of whatever key", async (t) => {
    const previous = [{ sha256: hashToken("svc_sk_old"), expiresAt: "2020-01-01T00:00:00Z" }];
    const { file, keys, record } = keysFile(t, { previous });
    assert.equal(verdict(file, "svc_sk_old"), "apiKeyExpired");
    await keys("disable", CLI_ID);
    assert.ok(!("previous" in record()));
    assert.equal(verdict(file, "svc_sk_old"), "apiKeyUnknown");
  });
});

describe("keys find", () => {
  const find = (file: string, input: string, ...args: string[]) =>
    run(["keys", "find", "--keys", file, ...args], { readInput: async () => input });

  it("shows the key of a token, also of an earlier one, and never the token", async (t) => {
    const ended = "2020-01-01T00:00:00Z";
    const previous = [{ sha256: hashToken("svc_sk_older").toUpperCase(), expiresAt: ended }];
    const { file, keys } = keysFile(t, { previous });
    const shown = await keys("show", ID);
    for (const input of [TOKEN, ` ${TOKEN}\r\n\n`, `\xef\xbb\xbf${TOKEN}\n`]) {
      assert.deepEqual(await find(file, input), shown);
    }
    const { stdout, stderr } = await find(file, "svc_sk_older");
    assert.equal(stdout, shown.stdout);
    assert.equal(stderr, `orrery: this is an earlier token of ${ID}, which ended at ${ended}\n`);
    assert.equal(JSON.parse((await find(file, "svcx_tool", "--json")).stdout).id, CLI_ID);
  });

  it("ends with status 1 and one line without the token if no key has it, or none is given", (t) => {
    const { file } = keysFile(t);
    const [program, ...words] = [...COMMAND, "keys", "find", "--keys", file];
    for (const [input, wanted, out, error] of [
      ["svc_sk_canary", 1, /^$/, /^orrery: \S+keys\.json: no key has this token\n$/],
      ["\n", 1, /^$/, /^orrery: there is no token on standard input\n$/],
      [`${TOKEN}\n`, 0, /^id +key_abcdef$/m, /^$/],
    ] as const) {
      const { status, stdout, stderr } = spawnSync(program!, words, { encoding: "utf8", input });
      assert.equal(status, wanted, stderr);
      assert.match(stdout, out);
      assert.match(stderr, error);
    }
  });
});

describe("a record's unknown fields", () => {
  it("are kept by every write, and misspelt ones are named by keys list", async (t) => {
    const { file, keys } = keysFile(t, { ticket: { team: 7 }, limt: 5 } as Partial<KeyRecord>);
    const contents = () => JSON.parse(readFileSync(file, "utf8"));
    writeFileSync(file, JSON.stringify({ ...contents(), comment: "ours" }));
    for (const change of [
      `update ${ID} --name n`,
      `disable ${ID}`,
      `enable ${ID}`,
      `rotate ${ID}`,
      `update ${CLI_ID} --name n`,
      `delete ${CLI_ID}`,
      "create --name n",
    ]) {
      const [verb = "", ...args] = change.split(" ");
      await keys(verb, ...args);
      const { keys: records, comment } = contents();
      const { ticket, limt, active } = records[0];
      assert.deepEqual([ticket, limt, comment], [{ team: 7 }, 5, "ours"], change);
      assert.equal(active, verb !== "disable");
    }
    const warning =
      /^orrery: warning: \S+keys\.json: unknown field "limt" of "key_abcdef" has no effect; did you mean limit\?\n$/;
    assert.match((await keys("list")).stderr, warning);
  });

  it("are told by the log with keys that can read nothing, in few lines", () => {
    const records = [
      keyRecord("svc_sk_000001", { scopes: ["read:everything"] }),
      keyRecord("svc_sk_000002", { scopes: [], active: false }),
      keyRecord("svc_sk_000003", { scopes: [], expiresAt: "2020-01-01T00:00:00Z" }),
      keyRecord("svcx_000004", { scopes: [] }),
      keyRecord("svc_sk_000005", { notes: 1, previous: [] } as Partial<KeyRecord>),
      keyRecord("svc_sk_000006", { notes: 1, EXPIRESON: 2, team: 3, comment: 4 } as Partial<KeyRecord>),
    ];
    assert.deepEqual(keyWarnings(records, Date.now()), [
      'unknown field "notes" of "key_000005" has no effect; did you mean note?',
      'unknown field "EXPIRESON" of "key_000006" has no effect; did you mean expiresAt?',
      '"key_000001" ("test") can read nothing: it has no scope that is known here',
    ]);
    const many = Array.from({ length: 5000 }, (_, at) => {
      const unknown = { [`active${String.fromCharCode(at + 999)}`]: 1 };
      return keyRecord(`svc_sk_${at}`, { name: "n".repeat(500), scopes: [], ...unknown });
    });
    const lines = keyWarnings(many, 0);
    assert.equal(lines.length, 22);
    assert.ok(lines.every((line) => line.length < 200));
    assert.equal(lines.at(-1), "… and 4990 more");
  });
});

describe("a reload of the keys file", () => {
  it("says how many keys were added, changed and removed, and what is probably not meant", async (t) => {
    const { file, keys } = keysFile(t);
    const seen: Observation[] = [];
    let rings = 0;
    // The keeper's own looks at the file stay away.
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const keeper = await keepKeys(
      file,
      createCounters(3600),
      (one) => seen.push(one),
      () => rings++,
    );
    t.after(keeper.stop);
    const loaded = (keys: number, added: number, changed: number, removed: number) => [
      { kind: "keys-loaded", keys, added, changed, removed },
    ];
    assert.deepEqual(seen.splice(0), loaded(2, 2, 0, 0));
    const reload = async (): Promise<Observation[]> => {
      await keeper.reload();
      return seen.splice(0);
    };
    await keys("rotate", ID);
    assert.deepEqual(await reload(), loaded(2, 0, 1, 0));
    await keys("create", "--name", "n");
    await keys("delete", CLI_ID);
    await keys("update", ID, "--limit", "3");
    assert.deepEqual(await reload(), loaded(2, 1, 1, 1));
    assert.deepEqual(await reload(), [{ kind: "keys-unchanged", keys: 2 }]);
    writeKeys(file, keyRecord(TOKEN, { scopes: ["x"], ownr: 1 } as Partial<KeyRecord>));
    const [last, warned] = await reload();
    assert.deepEqual([last], loaded(1, 0, 1, 1));
    assert.ok(warned?.kind === "keys-warned");
    const warnings = /"ownr" of "key_abcdef".*\n"key_abcdef" \("test"\) can read nothing/;
    assert.match(warned.problems.join("\n"), warnings);
    assert.equal(rings, 4);
  });

  it("sees each change of a field that matters, previous tokens included", () => {
    const counters = createCounters(3600);
    const ringOf = (...records: KeyRecord[]) => createKeyRing(records, counters);
    const previous = [{ sha256: hashToken("old"), expiresAt: "2030-01-01T00:00:00Z" }];
    const [one, other] = [keyRecord(TOKEN, { previous }), keyRecord("svc_sk_other1")];
    const before = ringOf(one, other);
    const changes: Partial<KeyRecord>[] = [
      { name: "x" },
      { kind: "cli" },
      { sha256: hashToken("x") },
      { scopes: ["read:users"] },
      { limit: 1 },
      { active: false },
      { expiresAt: "2029-01-01T00:00:00Z" },
      { previous: [] },
      { previous: [{ ...previous[0]!, expiresAt: "2031-01-01T00:00:00Z" }] },
      { previous: [...previous, { sha256: hashToken("older"), expiresAt: "2030-01-01T00:00:00Z" }] },
    ];
    for (const change of changes) {
      const after = ringOf({ ...one, ...change }, other);
      const told = JSON.stringify(change);
      assert.deepEqual(compareKeys(before, after), { added: 0, changed: 1, removed: 0 }, told);
    }
  });
});

describe("a look-up with previous tokens", () => {
  const START = Date.parse("2026-01-01T00:00:00Z");
  const at = (hours: number): string => new Date(START + hours * HOUR_MS).toISOString();
  const end = fc.option(fc.integer({ min: 0, max: 20 }), { nil: null });
  const key = fc.record({
    kind: fc.constantFrom("api" as const, "cli" as const),
    active: fc.boolean(),
    ends: end,
    previous: fc.array(fc.integer({ min: 0, max: 20 }), { maxLength: 3 }),
  });

  it("judges every token as a plain reading of the file does, at any time", () => {
    fc.assert(
      fc.property(fc.array(key, { maxLength: 5 }), fc.integer({ min: -1, max: 21 }), (drawn, hour) => {
        const now = START + hour * HOUR_MS;
        const expected = new Map<string, string>([["svc_sk_nobody", "apiKeyUnknown"]]);
        const records = drawn.map(({ kind, active, ends, previous }, at_) => {
          const prefix = kind === "api" ? "svc_sk_" : "svcx_";
          const id = `key_${at_}`;
          const judged = (until: number): string => {
            if (!active) return kind === "api" ? "apiKeyInactive" : "cliTokenUnknown";
            if (hour < Math.min(until, ends ?? Number.POSITIVE_INFINITY)) return id;
            return kind === "api" ? "apiKeyExpired" : "cliTokenExpired";
          };
          expected.set(`${prefix}${at_}`, judged(Number.POSITIVE_INFINITY));
          const old = previous.map((until, n) => {
            expected.set(`${prefix}${at_}-${n}`, judged(until));
            return { sha256: hashToken(`${prefix}${at_}-${n}`).toUpperCase(), expiresAt: at(until) };
          });
          const expiresAt = ends === null ? null : at(ends);
          return keyRecord(`${prefix}${at_}`, { id, active, expiresAt, previous: old });
        });
        const counters = createCounters(3600);
        const ring = createKeyRing(records, counters);
        assert.deepEqual([ring.size, counters.slots.size], [records.length, records.length]);
        for (const [token, wanted] of expected) {
          // Twice: the lookup of a token that was used takes another path.
          for (let time = 0; time < 2; time++) assert.equal(verdictOf(ring, token, now), wanted, token);
        }
        // A slot leads to the current key, not to a previous token.
        for (const { id, expiresAt } of records) {
          const own = ring.bySlot.find((one) => one?.id === id)!.expiresAt;
          assert.equal(own, expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(expiresAt));
        }
      }),
    );
  });
});

describe("a keys file that is edited again and again", () => {
  const pick = fc.integer({ min: 0, max: 5 });
  const previous = fc.array(fc.integer({ min: 6, max: 9 }), { maxLength: 2 });
  const edited = fc.uniqueArray(fc.record({ id: pick, token: pick, limit: pick, previous }), {
    maxLength: 4,
    selector: ({ token }) => token,
  });
  type Drawn = typeof edited extends fc.Arbitrary<infer Value> ? Value : never;
  const ringOf = (drawn: Drawn, counters: Counters): KeyRing | undefined => {
    const expiresAt = "2030-01-01T00:00:00Z";
    const keys = drawn.map(({ id, token, limit, previous }) =>
      keyRecord(`svc_sk_${token}`, {
        id: `key_${id}`,
        limit: limit + 1,
        previous: previous.map((one) => ({ sha256: hashToken(`svc_sk_${one}`), expiresAt })),
      }),
    );
    try {
      return parseKeys(JSON.stringify({ keys }), counters).keys;
    } catch {
      // An id or a token twice.
      return undefined;
    }
  };

  it("gives other threads the keys of the file by what differs", () => {
    fc.assert(
      fc.property(fc.array(edited, { minLength: 1, maxLength: 6 }), (steps) => {
        const counters = createCounters(60);
        let before = new KeyRing();
        let sent = new KeyRing();
        for (const drawn of steps) {
          const keys = ringOf(drawn, counters);
          if (keys === undefined) continue;
          const changes = structuredClone(keys.changesSince(before));
          for (const [hash, key] of changes.changed) assert.notDeepEqual(key, before.tokens.get(hash));
          for (const hash of changes.removed) assert.ok(before.tokens.has(hash));
          sent = sent.changedBy(changes);
          const byHash = (ring: KeyRing) => new Map([...ring.tokens].sort(([a], [b]) => (a < b ? -1 : 1)));
          assert.deepEqual(byHash(sent), byHash(keys));
          before = keys;
        }
      }),
    );
  });
});
