/** `orrery keys`: keys made, refused and listed, and the file after a failure at any point. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import files from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { describe, it, mock, test } from "node:test";
import { hashToken } from "../src/auth/keys.ts";
import { ToldError } from "../src/util/told-error.ts";
import { temporaryFolder } from "./support/folders.ts";
import { runInside as run } from "./support/inside.ts";
import { keyRecord, place, readKeys, writeKeys } from "./support/place.ts";
import { COMMAND } from "./support/program.ts";

const create = (file: string, ...args: string[]) =>
  run(["keys", "create", "--keys", file, "--name", "n", ...args]);

describe("keys create", () => {
  it("takes scopes one by one or joined by commas, and refuses unknown ones by name", async (t) => {
    const keys = join(temporaryFolder(t), "keys.json");
    const right: readonly [args: string[], scopes: string[]][] = [
      [[], ["read:worlds", "read:users", "read:instances"]],
      [
        ["--scope", "read:users,read:worlds"],
        ["read:users", "read:worlds"],
      ],
      [
        ["--scope", "read:users, read:worlds", "--scope", "read:users"],
        ["read:users", "read:worlds"],
      ],
    ];
    for (const [args, scopes] of right) {
      await create(keys, ...args);
      assert.deepEqual(readKeys(keys).at(-1)!.scopes, scopes);
    }
    const wrong: readonly [args: string[], says: RegExp][] = [
      [["--scope", "read:foo"], /^--scope: "read:foo" is not a scope; /],
      [["--scope", "read:world"], /did you mean read:worlds\?/],
      [
        ["--scope", "read:users,a"],
        /"a" is not a scope; the scopes are read:worlds, read:users, read:instances/,
      ],
      [["--scope", "read:users,"], /^--scope: must not be empty/],
      [["--kind", "cli", "--scope", "read:users"], /^--scope: a CLI token/],
      [["--kind", "cli", "--limit", "5"], /^--limit: a CLI token/],
    ];
    for (const [args, says] of wrong) {
      await assert.rejects(create(keys, ...args), { name: "UsageError", message: says });
    }
    assert.equal(readKeys(keys).length, right.length);
  });

  it("takes spans, dates and times as the end of validity, in the future only", async (t) => {
    const keys = join(temporaryFolder(t), "keys.json");
    const end = async (expires: string): Promise<string> => {
      await create(keys, "--expires", expires);
      return readKeys(keys).at(-1)!.expiresAt!;
    };
    const minute = 60_000;
    for (const [span, minutes] of [
      ["30m", 30],
      ["12h", 720],
      ["90d", 129_600],
      ["1w", 10_080],
    ] as const) {
      const before = Date.now();
      const left = Date.parse(await end(span)) - minutes * minute;
      assert.ok(left >= before && left <= Date.now(), span);
    }
    assert.equal(await end("2990-01-31"), "2990-01-31T00:00:00.000Z");
    assert.equal(await end("2990-01-31T12:00+01:00"), "2990-01-31T11:00:00.000Z");
    const made = readKeys(keys).length;
    for (const [wrong, says] of [
      ["2990-02-31", /there is no day/],
      ["2990-1-31", /is neither/],
      ["2990", /is neither/],
      ["1y", /unknown unit "y"/],
      ["1.5w", /is neither/],
      ["2030-01-31T12:00:00", /has no time zone; append Z for UTC/],
      ["99999999w", /after the year 9999/],
      ["2020-01-01", /must be in the future, is 2020-01-01T00:00:00\.000Z/],
      ["2020-01-01T00:00:00Z", /must be in the future/],
      ["0d", /must be in the future/],
    ] as const) {
      await assert.rejects(create(keys, "--expires", wrong), { name: "UsageError", message: says });
    }
    assert.equal(readKeys(keys).length, made);
  });

  it("makes the file behind a link that leads to none yet", async (t) => {
    const folder = temporaryFolder(t);
    mkdirSync(join(folder, "volume"));
    symlinkSync("volume/inner.json", join(folder, "outer.json"));
    symlinkSync(join(folder, "volume", "keys.json"), join(folder, "volume", "inner.json"));
    await create(join(folder, "outer.json"));
    await create(join(folder, "volume", "inner.json"));
    assert.equal(readKeys(join(folder, "volume", "keys.json")).length, 2);
    for (const link of ["outer.json", "volume/inner.json"]) {
      assert.ok(lstatSync(join(folder, link)).isSymbolicLink());
    }
    assert.deepEqual(readdirSync(join(folder, "volume")).sort(), ["inner.json", "keys.json"]);
  });
});

describe("a token", () => {
  it("is shown before its key comes into force, and a key whose token cannot be shown is not made", async (t) => {
    const folder = temporaryFolder(t);
    const keys = writeKeys(join(folder, "keys.json"), keyRecord("svc_sk_1"));
    const args = ["keys", "create", "--keys", keys, "--name", "n"];
    let shown = "";
    await run(args, {
      async deliver(text) {
        shown = text.trim();
        assert.equal(readKeys(keys).length, 1, "not yet");
      },
    });
    assert.equal(readKeys(keys)[1]!.sha256, hashToken(shown));
    const before = readFileSync(keys, "utf8");
    const full = Object.assign(new Error("x"), { code: "ENOSPC", errno: -28, syscall: "write" });
    await assert.rejects(run(args, { deliver: () => Promise.reject(full) }), (error: Error) => {
      assert.ok(error instanceof ToldError);
      assert.match(
        error.message,
        /^the token cannot be written .*no space left on device \(ENOSPC\); no key was made$/,
      );
      return true;
    });
    assert.equal(readFileSync(keys, "utf8"), before);
    assert.deepEqual(readdirSync(folder), ["keys.json"]);
  });

  it("that goes to a full device: status 1, one line, no key", { skip: !existsSync("/dev/full") }, (t) => {
    const folder = temporaryFolder(t);
    const keys = join(folder, "keys.json");
    const [file, ...first] = COMMAND;
    const { status, stderr } = spawnSync(file, [...first, "keys", "create", "--keys", keys, "--name", "n"], {
      stdio: ["ignore", openSync("/dev/full", "w"), "pipe"],
      encoding: "utf8",
    });
    assert.equal(status, 1);
    assert.match(stderr, /^orrery: the token cannot be written [^\n]*\(ENOSPC\); no key was made\n$/);
    assert.deepEqual(readdirSync(folder), []);
  });
});

describe("a change of the keys file", () => {
  it("that fails at any call leaves the old file, no other, and no lock", async (t) => {
    const folder = temporaryFolder(t);
    const keys = writeKeys(join(folder, "keys.json"), keyRecord("svc_sk_1"));
    const before = readFileSync(keys, "utf8");
    const failure = Object.assign(new Error("x"), { code: "ENOSPC", errno: -28, syscall: "x" });
    const { open } = files;
    type Handle = Awaited<ReturnType<typeof open>>;
    let seen = 0;
    for (const name of ["open", "chmod", "writeFile", "sync", "rename"] as const) {
      const fails = (): Promise<never> => {
        seen++;
        return Promise.reject(failure);
      };
      const refusing =
        name === "rename"
          ? mock.method(files, name, fails)
          : mock.method(files, "open", async (...args: Parameters<typeof open>) => {
              if (args[1] !== "wx+") return open(...args);
              if (name === "open") return fails();
              const handle: Handle = await open(...args);
              Object.assign(handle, { [name]: fails });
              return handle;
            });
      syncBuiltinESMExports();
      let printed = "";
      const deliver = async (text: string): Promise<void> => {
        printed += text;
      };
      try {
        await assert.rejects(
          run(["keys", "create", "--keys", keys, "--name", "n"], { deliver }),
          (error: Error) => {
            assert.ok(error instanceof ToldError, `${name}: ${error.stack}`);
            assert.match(error.message, /keys\.json: no space left on device \(ENOSPC\)/);
            assert.equal(/the printed token is not valid/.test(error.message), printed !== "", name);
            return true;
          },
        );
        await assert.rejects(run(["keys", "disable", "key_c_sk_1", "--keys", keys]), /ENOSPC/);
      } finally {
        refusing.mock.restore();
        syncBuiltinESMExports();
      }
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
      await assert.rejects(run(["keys", "create", "--keys", file, "--name", "n"]), {
        name: /^(CommandError|KeysFileError)$/,
        message: `${file}: is not a regular file`,
      });
    }
  });

  it("removes what a killed writer left, and nothing else", async (t) => {
    const folder = temporaryFolder(t);
    const keys = writeKeys(join(folder, "keys.json"), keyRecord("svc_sk_1"));
    chmodSync(keys, 0o600);
    const others = [
      "keys.json.bak",
      "keys.json.20261122",
      "keys.json.tmp",
      "other.json.0123456789abcdef.tmp",
    ];
    for (const name of others) writeFileSync(join(folder, name), "");
    writeFileSync(join(folder, "keys.json.0123456789abcdef.tmp"), '{"ke');
    mkdirSync(`${keys}.lock`);
    utimesSync(`${keys}.lock`, 1, 1);
    const { stderr } = await run(["keys", "delete", "key_c_sk_1", "--keys", keys]);
    assert.equal(stderr, "orrery: deleted key_c_sk_1\n");
    assert.deepEqual(readdirSync(folder).sort(), ["keys.json", ...others].sort());
  });

  it("keeps the file when its lock was lost while the token was shown, and begins anew", async (t) => {
    const keys = writeKeys(join(temporaryFolder(t), "keys.json"), keyRecord("svc_sk_1"));
    let shows = 0;
    await run(["keys", "create", "--keys", keys, "--name", "n"], {
      async deliver() {
        shows++;
        // As if this process had been stopped for long while another made a key.
        rmSync(`${keys}.lock`);
        writeKeys(keys, keyRecord("svc_sk_1"), keyRecord("svc_sk_2"));
      },
    });
    assert.equal(shows, 1, "the token is shown once");
    assert.deepEqual(
      readKeys(keys).map(({ name }) => name),
      ["test", "test", "n"],
    );
    assert.equal(statSync(keys).mode & 0o777, 0o600);
  });
});

it("the keys file has mode 0600 after a change, and who could read it before is told", async (t) => {
  const keys = writeKeys(join(temporaryFolder(t), "keys.json"), keyRecord("svc_sk_1"));
  chmodSync(keys, 0o640);
  const { stderr } = await create(keys);
  assert.match(stderr, /^orrery: warning: .*keys\.json had mode 0640 and has 0600 now/m);
  assert.equal(statSync(keys).mode & 0o777, 0o600);
  assert.doesNotMatch((await create(keys)).stderr, /warning/);
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
  const line = (id: string): string => stdout.split("\n").find((text) => text.includes(id))!;
  assert.match(line("k_full"), /active +7 +never +read:worlds,read:users,read:instances /);
  assert.match(line("k_none"), /none, grants nothing +test/);
  assert.match(line("k_typo"), /none, grants nothing \(unknown: read:foo,a,b\)/);
  assert.match(line("k_some"), /read:users \(unknown: read:foo\)/);
  assert.match(line("k_past"), /expired/);
  assert.match(line("k_stop"), /disabled/);
  assert.match(line("x_tool"), /active +none +never +all/);

  const json = await run(["keys", "list", "--keys", keys, "--json"]);
  assert.doesNotMatch(json.stdout, /sha256|[0-9a-f]{64}/);
  const { keys: listed } = JSON.parse(json.stdout) as { keys: Record<string, unknown>[] };
  assert.deepEqual(
    listed.map(({ id, state, limit, grantsNothing }) => [id, state, limit, grantsNothing]),
    [
      ["key_k_full", "active", 7, false],
      ["key_k_none", "active", null, true],
      ["key_k_typo", "active", null, true],
      ["key_k_some", "active", null, false],
      ["key_k_past", "expired", null, false],
      ["key_k_stop", "disabled", null, false],
      ["key_x_tool", "active", null, false],
    ],
  );
  const typo = listed[2]!;
  assert.deepEqual([typo.scopes, typo.unknownScopes], [[], ["read:foo", "a,b"]]);
  assert.deepEqual(Object.keys(typo), [
    ...["id", "kind", "name", "state", "limit", "expiresAt"],
    ...["scopes", "unknownScopes", "grantsNothing", "createdAt", "previous", "unknownFields"],
  ]);
});

for (const [what, redirection] of [
  ["closed", ">&-"],
  ["the null device", ">/dev/null"],
]) {
  test(`no key is made where standard output is ${what}`, { skip: process.platform === "win32" }, (t) => {
    const keys = join(place(t).folder, "new.json");
    const words = [...COMMAND, "keys", "create", "--name", "n", "--keys", keys];
    const ran = spawnSync("sh", ["-c", `exec "$@" ${redirection}`, "sh", ...words], { encoding: "utf8" });
    assert.equal(ran.status, 1, ran.stderr);
    assert.match(
      ran.stderr,
      /^orrery: the token cannot be written to standard output: [^\n]+; no key was made\n$/,
    );
    assert.ok(!existsSync(keys), "there is a key whose token nobody has");
  });
}
