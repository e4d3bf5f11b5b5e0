/** A key's life: changes, display, new tokens, lookup by old ones, and the log lines of each. */

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import fc from "fast-check";
import { findKey, judgeKey } from "../src/auth/admit.ts";
import { compareKeys, keyWarnings } from "../src/auth/key-changes.ts";
import { createKeyRing, hashToken, type KeyRecord, KeyRing } from "../src/auth/keys.ts";
import { createCounters } from "../src/auth/limit.ts";
import { keepKeys } from "../src/auth/watched-keys.ts";
import { openOrrery } from "../src/mod.ts";
import type { Observation } from "../src/observe/events.ts";
import { temporaryFolder } from "./support/folders.ts";
import { runInside } from "./support/inside.ts";
import { keyRecord, readKeys, writeKeys } from "./support/place.ts";

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
  const keys = (verb: string, ...args: string[]) => runInside(["keys", verb, ...args, "--keys", file]);
  const record = (): KeyRecord => readKeys(file)[0]!;
  return { file, keys, record };
}

/** The reason why a token is refused, or the id of its key. */
function verdict(file: string, token: string, now = Date.now()): string {
  const ring = createKeyRing(readKeys(file), createCounters(3600));
  const key = findKey(`Bearer ${token}`, { api: "svc_sk_", cli: "svcx_" }, ring);
  return typeof key === "string" ? key : (judgeKey(key, now) ?? key.id);
}

describe("keys update", () => {
  it("changes what is named, and nothing else", async (t) => {
    const { file, keys, record } = keysFile(t);
    const before = record();
    const { stdout, stderr } = await keys("update", ID, "--name", "new", "--limit", "7");
    assert.equal(stdout, "");
    assert.match(stderr, /^orrery: updated key_abcdef$/m);
    assert.deepEqual(record(), { ...before, name: "new", limit: 7 });
    await keys("update", ID, "--scope", "read:users,read:worlds", "--expires", "2990-01-31");
    const expiresAt = "2990-01-31T00:00:00.000Z";
    const scopes = ["read:users", "read:worlds"];
    assert.deepEqual(record(), { ...before, name: "new", limit: 7, scopes, expiresAt });
    await keys("update", ID, "--limit", "default", "--expires", "never");
    assert.deepEqual(record(), { ...before, name: "new", scopes });
    await keys("update", CLI_ID, "--name", "tool", "--expires", "1h");
    assert.equal(readKeys(file)[1]!.name, "tool");
  });

  it("refuses what means nothing, and leaves the file", async (t) => {
    const { file, keys } = keysFile(t);
    const before = readFileSync(file, "utf8");
    const usage: readonly [args: string[], says: RegExp][] = [
      [[ID], /^nothing to change: give --name, --scope, --limit or --expires/],
      [[ID, "--limit", "0"], /^--limit: must be default or a whole number of at least 1, is "0"/],
      [[ID, "--limit", "none"], /^--limit: must be default or/],
      [[ID, "--scope", "read:world"], /did you mean read:worlds/],
      [[ID, "--expires", "2020-01-01"], /^--expires: must be in the future/],
      [[ID, "--expires", "soon"], /^--expires: "soon" is neither/],
      [[ID, "--name", " "], /^--name: must not be empty/],
      [[CLI_ID, "--limit", "5"], /^--limit: key_x_tool is a CLI token/],
      [[CLI_ID, "--name", "n", "--scope", "read:users"], /^--scope: key_x_tool is a CLI token/],
    ];
    for (const [args, says] of usage) {
      await assert.rejects(async () => keys("update", ...args), { name: "UsageError", message: says });
    }
    await assert.rejects(keys("update", "key_gone", "--name", "n"), {
      name: /^(CommandError|KeysFileError)$/,
      message: /keys\.json: there is no key "key_gone"$/,
    });
    assert.equal(readFileSync(file, "utf8"), before);
  });
});

it("keys show prints one key, without a hash", async (t) => {
  const soon = new Date(Date.now() + HOUR_MS).toISOString();
  const previous = [
    { sha256: hashToken("svc_sk_old"), expiresAt: soon },
    { sha256: hashToken("svc_sk_older"), expiresAt: "2020-01-01T00:00:00Z" },
  ];
  const { keys } = keysFile(t, { name: "sh\u001bop", previous, note: "x" } as Partial<KeyRecord>);
  const { stdout } = await keys("show", ID);
  assert.match(stdout, /^id +key_abcdef$/m);
  assert.match(stdout, /^name +sh\?op$/m);
  assert.match(stdout, new RegExp(`^previous token +works until ${soon}$`, "m"));
  assert.match(stdout, /^unknown fields +note$/m);
  assert.doesNotMatch(stdout, /svcx|2020|[0-9a-f]{64}/);
  const json = await keys("show", ID, "--json");
  assert.doesNotMatch(json.stdout, /[0-9a-f]{64}/);
  const shown = JSON.parse(json.stdout) as Record<string, unknown>;
  assert.deepEqual(
    [shown.id, shown.state, shown.previous, shown.unknownFields],
    [ID, "active", [{ expiresAt: soon }], ["note"]],
  );
  await assert.rejects(keys("show", "svc_sk_canary-4711"), {
    name: /^(CommandError|KeysFileError)$/,
    message: /there is no key "svc_sk_c…"$/,
  });
});

describe("keys rotate", () => {
  it("prints a new token before it comes into force; the old one works until the overlap is over", async (t) => {
    const { file, record } = keysFile(t, { limit: 3 });
    const before = record();
    const hour = Date.now() + HOUR_MS;
    let token = "";
    const args = ["keys", "rotate", ID, "--overlap", "1h", "--keys", file];
    const { stderr } = await runInside(args, {
      async deliver(text) {
        token = text.trim();
        assert.deepEqual(record(), before, "not yet");
      },
    });
    const { previous, ...now } = record();
    assert.deepEqual(now, { ...before, sha256: hashToken(token) });
    assert.equal(previous!.length, 1);
    assert.equal(previous![0]!.sha256, before.sha256);
    const end = Date.parse(previous![0]!.expiresAt);
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
    const ask = async (token: string): Promise<string | undefined> => {
      const { status, headers } = await orrery.ask({
        target: "/api/public/v1/stats",
        authorization: `Bearer ${token}`,
      });
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
      await assert.rejects(async () => keys("rotate", ID, `--overlap=${overlap}`), {
        name: "UsageError",
        message: /^--overlap: /,
      });
    }
    await assert.rejects(keys("rotate", "key_gone"), {
      name: /^(CommandError|KeysFileError)$/,
      message: /there is no key "key_gone"/,
    });
    assert.equal(readFileSync(file, "utf8"), before);
    assert.match(
      (await keys("rotate", ID)).stderr,
      /is disabled: no token of it works before orrery keys enable/,
    );
    const expired = keysFile(t, { expiresAt: "2020-01-01T00:00:00Z" });
    const text = readFileSync(expired.file, "utf8");
    await assert.rejects(expired.keys("rotate", ID), {
      name: /^(CommandError|KeysFileError)$/,
      message: /expired at 2020.*orrery keys update key_abcdef --expires/,
    });
    assert.equal(readFileSync(expired.file, "utf8"), text);
  });

  it("changes nothing when the token cannot be printed", async (t) => {
    const { file } = keysFile(t);
    const before = readFileSync(file, "utf8");
    const full = Object.assign(new Error("x"), { code: "ENOSPC", errno: -28, syscall: "write" });
    const run = runInside(["keys", "rotate", ID, "--keys", file], { deliver: () => Promise.reject(full) });
    const message = /cannot be written .*\(ENOSPC\); the key is as before$/;
    await assert.rejects(run, { name: /^(CommandError|KeysFileError)$/, message });
    assert.equal(readFileSync(file, "utf8"), before);
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

describe("a record's unknown fields", () => {
  it("are kept by every write, and named by keys list", async (t) => {
    const { file, keys } = keysFile(t, { owner: { team: 7 }, limt: 5 } as Partial<KeyRecord>);
    const text = JSON.parse(readFileSync(file, "utf8")) as object;
    writeFileSync(file, JSON.stringify({ ...text, comment: "ours" }));
    const changes: readonly string[][] = [
      ["update", ID, "--name", "n"],
      ["disable", ID],
      ["enable", ID],
      ["rotate", ID],
      ["update", CLI_ID, "--name", "n"],
      ["delete", CLI_ID],
      ["create", "--name", "n"],
    ];
    for (const [verb = "", ...args] of changes) {
      await keys(verb, ...args);
      const { keys: records, comment } = JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown>;
      const [record] = records as Record<string, unknown>[];
      assert.deepEqual([record!.owner, record!.limt, comment], [{ team: 7 }, 5, "ours"], verb);
    }
    const { stderr, stdout } = await keys("list", "--json");
    assert.match(
      stderr,
      /^orrery: warning: .*keys\.json: unknown field "owner" of "key_abcdef": it is kept/m,
    );
    assert.match(stderr, /unknown field "limt"/);
    assert.doesNotMatch(stdout, /limt":/);
  });

  it("are told by the log with keys that can read nothing, in few lines", () => {
    const past = "2020-01-01T00:00:00Z";
    const records = [
      keyRecord("svc_sk_000001", { scopes: ["read:everything"] }),
      keyRecord("svc_sk_000002", { scopes: [], active: false }),
      keyRecord("svc_sk_000003", { scopes: [], expiresAt: past }),
      keyRecord("svcx_000004", { scopes: [] }),
      keyRecord("svc_sk_000005", { note: 1, previous: [] } as Partial<KeyRecord>),
      keyRecord("svc_sk_000006", { note: 1 } as Partial<KeyRecord>),
    ];
    assert.deepEqual(keyWarnings(records, Date.now()), [
      'unknown field "note" of "key_000005" and 1 more: it is kept and has no effect',
      '"key_000001" ("test") can read nothing: it has no scope that is known here',
    ]);
    const many = Array.from({ length: 5000 }, (_, at) =>
      keyRecord(`svc_sk_${at}`, { scopes: [], [`x${at}`.padEnd(500, "y")]: 1 }),
    );
    const lines = keyWarnings(many, 0);
    assert.equal(lines.length, 22);
    assert.ok(lines.every((line) => line.length < 200));
    assert.equal(lines.at(-1), "… and 4990 more");
  });
});

describe("a reload of the keys file", () => {
  const ringOf = (records: readonly KeyRecord[], counters = createCounters(3600)): KeyRing =>
    createKeyRing(records, counters);

  it("says how many keys were added, changed and removed, and what is probably not meant", async (t) => {
    const { file, keys } = keysFile(t);
    const seen: Observation[] = [];
    const rings: KeyRing[] = [];
    const keeper = await keepKeys(
      file,
      createCounters(3600),
      (one) => seen.push(one),
      (ring) => rings.push(ring),
    );
    t.after(keeper.stop);
    assert.deepEqual(seen.splice(0), [{ kind: "keys-loaded", keys: 2, added: 2, changed: 0, removed: 0 }]);
    const reload = async (...changes: readonly string[][]): Promise<Observation[]> => {
      for (const [verb = "", ...args] of changes) await keys(verb, ...args);
      await keeper.reload();
      return seen.splice(0);
    };
    assert.deepEqual(await reload(["rotate", ID]), [
      { kind: "keys-loaded", keys: 2, added: 0, changed: 1, removed: 0 },
    ]);
    assert.deepEqual(
      await reload(["create", "--name", "n"], ["delete", CLI_ID], ["update", ID, "--limit", "3"]),
      [{ kind: "keys-loaded", keys: 2, added: 1, changed: 1, removed: 1 }],
    );
    assert.deepEqual(await reload(), [{ kind: "keys-unchanged", keys: 2 }]);
    writeKeys(file, keyRecord(TOKEN, { scopes: ["x"], owner: 1 } as Partial<KeyRecord>));
    const [loaded, warned] = await reload();
    assert.deepEqual(loaded, { kind: "keys-loaded", keys: 1, added: 0, changed: 1, removed: 1 });
    assert.ok(warned?.kind === "keys-warned");
    assert.match(
      warned.problems.join("\n"),
      /"owner" of "key_abcdef".*\n"key_abcdef" \("test"\) can read nothing/,
    );
    assert.equal(rings.length, 4);
  });

  it("sees each change of a field that matters, previous tokens included", () => {
    const counters = createCounters(3600);
    const previous = [{ sha256: hashToken("old"), expiresAt: "2030-01-01T00:00:00Z" }];
    const base = [keyRecord(TOKEN, { previous }), keyRecord("svc_sk_other1")];
    const before = ringOf(base, counters);
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
      const after = ringOf([{ ...base[0]!, ...change }, base[1]!], counters);
      const told = JSON.stringify(change);
      assert.deepEqual(compareKeys(before, after), { added: 0, changed: 1, removed: 0 }, told);
      assert.deepEqual(compareKeys(after, before), { added: 0, changed: 1, removed: 0 }, told);
    }
    assert.deepEqual(compareKeys(before, ringOf([...base].reverse(), counters)), {
      ...{ added: 0, changed: 0, removed: 0 },
    });
    assert.deepEqual(compareKeys(before, new KeyRing()), { added: 0, changed: 0, removed: 2 });
    // Two keys that swap their tokens.
    const swapped = [
      { ...base[0]!, sha256: base[1]!.sha256 },
      { ...base[1]!, sha256: base[0]!.sha256 },
    ];
    assert.equal(compareKeys(before, ringOf(swapped, counters)).changed, 2);
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
          for (let time = 0; time < 2; time++) {
            const found = findKey(`Bearer ${token}`, { api: "svc_sk_", cli: "svcx_" }, ring);
            const said = typeof found === "string" ? found : (judgeKey(found, now) ?? found.id);
            assert.equal(said, wanted, token);
            if (typeof found !== "string") assert.equal(ring.bySlot[found.slot]!.id, found.id);
          }
        }
        // A slot leads to the current key, not to a previous token.
        for (const { id, expiresAt } of ring.bySlot.filter((one) => one !== undefined)) {
          const own = records.find((record) => record.id === id)!.expiresAt;
          assert.equal(expiresAt, own === null ? Number.POSITIVE_INFINITY : Date.parse(own));
        }
      }),
    );
  });
});
