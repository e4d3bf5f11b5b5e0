/** The library's options: errors for missing, unknown or wrong ones, and the same defaults as the settings. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { syncBuiltinESMExports } from "node:module";
import os from "node:os";
import { resolve } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { PROGRAM } from "../src/features.ts";
import { type OpenOptions, openOrrery } from "../src/mod.ts";
import type { FeatureRows } from "../src/model/feature-rows.ts";
import { checkOptions } from "../src/server/open-options.ts";
import type { CORE_SETTINGS } from "../src/settings/settings.ts";
import { defaultCache } from "../src/sources/feature.ts";
import { DEFAULTS } from "./support/options.ts";
import { place, TOKEN } from "./support/place.ts";

type Named<Flag extends string> = Flag extends `${infer First}-${infer Rest}`
  ? `${First}${Capitalize<Named<Rest>>}`
  : Flag;
type Rows = (typeof CORE_SETTINGS)[number] | FeatureRows["settings"];
/** Settings that are options, too, and have no type in `OpenOptions`: the compiler names the first of them here. */
type Untyped = Exclude<Named<Extract<Rows, { readonly isOption: true }>["flag"]>, keyof OpenOptions>;
const ALL_TYPED: [Untyped] extends [never] ? true : Untyped = true;

const RIGHT: OpenOptions = { snapshot: "folder", keys: "file" };
const API = { id: "a", kind: "api", token: "svc_sk_1" };
const CLI = { id: "c", kind: "cli", token: "svcx_1" };

/** The message for wrong options; `openOrrery` must reject with a TypeError. */
async function problem(options: unknown): Promise<string> {
  try {
    await openOrrery(options as OpenOptions);
  } catch (error) {
    assert.ok(error instanceof TypeError, String(error));
    assert.match(error.message, /^openOrrery: [^\n]+$/);
    return error.message.slice("openOrrery: ".length);
  }
  return assert.fail("it opened");
}

describe("options of openOrrery", () => {
  it("that are missing are named", async () => {
    assert.match(await problem(undefined), /snapshot.*keys/);
    assert.match(await problem({}), /^option "snapshot" is missing: the folder/);
    assert.match(await problem({ snapshot: "x" }), /^option "keys" is missing: a keys file or an array/);
    assert.match(await problem({ keys: [] }), /^option "snapshot" is missing/);
    for (const wrong of [null, "folder", 5, []])
      assert.match(await problem(wrong), /^options must be an object, are /);
  });

  it("that are not known are named with the nearest", async () => {
    const cases = { ratelimit: "rateLimit", snapshots: "snapshot", key: "keys", acessLog: "accessLog" };
    for (const [name, meant] of Object.entries(cases)) {
      const said = await problem({ ...RIGHT, [name]: 1 });
      assert.equal(said, `unknown option "${name}"; did you mean "${meant}"?`);
    }
    const others = /^unknown option "port"; there are snapshot, rows, keys, /;
    assert.match(await problem({ ...RIGHT, port: 1 }), others);
  });

  it("of a wrong type or out of bounds are told, and shared limits without the URL, which may hold a password", async () => {
    const cases: readonly [options: object, says: RegExp][] = [
      [{ sharedLimits: 5 }, /^option "sharedLimits" must be a URL as text, is 5$/],
      [{ sharedLimits: new URL("redis://:secret@host") }, /must be a URL as text, is an object$/],
      [{ sharedLimits: "http://:secret@host" }, /^option "sharedLimits" must begin with redis:/],
      [{ sharedLimits: "redis://:sec/ret@host" }, /^option "sharedLimits" .*percent-encoded/],
      [{ snapshot: 5 }, /^option "snapshot" must be the path of a folder, is 5$/],
      [{ keys: {} }, /^option "keys" must be the path of a file or an array of keys, is an object$/],
      [{ rateLimit: "5" }, /^option "rateLimit" must be a number, is "5"$/],
      [{ rateLimit: 0 }, /^option "rateLimit" must be a whole number of at least 1, is 0$/],
      [{ rateWindow: Number.POSITIVE_INFINITY }, /"rateWindow".* is Infinity$/],
      [{ docs: "off" }, /^option "docs" must be a boolean, is "off"$/],
      [{ watch: -1 }, /"watch" must be a number from 0/],
      [{ snapshot: "~/rows" }, /^option "snapshot" begins with ~, .*os\.homedir\(\)/],
      [
        { snapshot: "file:///rows" },
        /^option "snapshot" is a URL as text; it takes a path or a file: URL object$/,
      ],
      [{ keys: "http://:secret@host/" }, /^option "keys" is a URL as text; [^@]*$/],
      [{ keys: "a\0b" }, /^option "keys" must not hold a null character$/],
      [{ snapshotTokenFile: 5 }, /^option "snapshotTokenFile" must be a path, is 5$/],
      [
        { snapshot: "http://me:secret@host/" },
        /^option "snapshot": .* user name or password; option "snapshotTokenFile" takes a token$/,
      ],
      [
        { snapshot: "postgres://a.example/b" },
        /^option "snapshot": only orrery serve reads a database .*export --dry-run/,
      ],
      [{ observe: {} }, /"observe" must be a function, is an object$/],
      [{ apiKeyPrefix: "" }, /"apiKeyPrefix" must not be empty/],
      [
        { cliTokenPrefix: "a b" },
        /^option "cliTokenPrefix": must be letters, digits, "\.", "_", "~" and "-", is "a b"$/,
      ],
      [
        { apiKeyPrefix: "svcx_1" },
        /^option "apiKeyPrefix", option "cliTokenPrefix": neither .* other, are "svcx_1" and "svcx_"$/,
      ],
    ];
    for (const [options, says] of cases) {
      const said = await problem({ ...RIGHT, ...options });
      assert.match(said, says);
      assert.doesNotMatch(said, /sec/);
    }
  });

  it("keys that could not be used or mean nothing are told, and no token is quoted", async () => {
    const cases: readonly [keys: unknown[], says: RegExp][] = [
      [["svc_sk_secret"], /^keys\[0\] must be an object, is a string$/],
      [[API, { ...CLI, scope: [] }], /^unknown field of keys\[1\] "scope"; did you mean "scopes"\?$/],
      [[{ ...API, id: undefined }], /^keys\[0\]: id must be/],
      [[{ ...API, kind: "admin" }], /^key "a": kind must be "api" or "cli", is "admin"$/],
      [[{ ...API, token: "secret" }], /^key "a": token must be svc_sk_ followed by at least one character$/],
      [
        [{ ...CLI, scopes: ["read:users"] }],
        /^key "c": a CLI token has neither scopes nor a limit; only a record with its createdAt may have them$/,
      ],
      [[{ ...API, scopes: "read:users" }], /scopes must be an array/],
      [[{ ...API, scopes: ["read:foo"] }], /there is no scope "read:foo", only read:worlds/],
      [[{ ...API, limit: 0 }], /limit must be a whole number of at least 1, is 0$/],
      [[API, { ...API, token: "svc_sk_2" }], /^key "a": its id was given before$/],
      [[API, { ...API, id: "b" }], /^key "b": its token was given before$/],
    ];
    for (const [keys, says] of cases) {
      const said = await problem({ ...RIGHT, keys });
      assert.match(said, says);
      assert.doesNotMatch(said, /secret|svc_sk_\d/);
    }
  });

  it("whose files cannot be loaded are named by their paths", async () => {
    const given = { snapshot: "data/sample", keys: [], threads: false, watch: 0 };
    const cases: readonly [options: object, name: string, says: RegExp][] = [
      [{ snapshot: "/no-where" }, "SnapshotError", /^\/no-where: directory does not exist \(ENOENT\)$/],
      [{ snapshot: "package.json" }, "SnapshotError", /^\/.*\/package\.json: is not a directory$/],
      [
        { keys: "/no-where" },
        "KeysFileError",
        /^\/no-where: file does not exist \(ENOENT\); make one with: orrery keys create --keys \/no-where --name NAME$/,
      ],
    ];
    for (const [options, name, message] of cases)
      await assert.rejects(openOrrery({ ...given, ...options } as OpenOptions), { name, message });
  });

  it("that are absent have the defaults of the settings", () => {
    assert.ok(ALL_TYPED);
    const { settings, keys } = checkOptions({ ...RIGHT, rateLimit: undefined }, PROGRAM.settings);
    assert.deepEqual(settings, { ...DEFAULTS, snapshot: resolve("folder"), keys: resolve("file") });
    assert.equal(keys, undefined);
    assert.equal(checkOptions({ ...RIGHT, cors: false }, PROGRAM.settings).settings.cors, false);
  });
});

it("a replica answers although its observer throws, whose error is uncaught", async (t) => {
  const { snapshot, keys } = place(t);
  const program = `
    import { openOrrery } from ${JSON.stringify(new URL("../src/mod.ts", import.meta.url).href)};
    const thrown = [];
    process.on("uncaughtException", ({ message }) => thrown.push(message));
    const observe = ({ kind }) => { throw new Error(kind); };
    const [snapshot, keys, token] = process.argv.slice(1);
    const orrery = await openOrrery({ snapshot, keys, threads: false, similar: false, watch: 0, accessLog: true, observe });
    const { status } = await orrery.ask({ target: "/api/public/v1/stats", authorization: "Bearer " + token });
    orrery.close();
    setImmediate(() => console.log(JSON.stringify({ status, thrown })));
  `;
  const args = ["--import", import.meta.resolve("tsx"), "--input-type=module", "-e", program];
  const { stdout } = spawnSync(process.execPath, [...args, snapshot, keys, TOKEN], { encoding: "utf8" });
  const thrown = ["keys-loaded", "snapshot-loaded", "request"];
  assert.deepEqual(JSON.parse(stdout), { status: 200, thrown });
});

/** Gives the user another home folder; without one the system's call fails, as for a user id without a name. */
function moveHome(t: TestContext, home?: string): void {
  t.mock.method(os, "homedir", () => {
    if (home === undefined) throw new Error("uv_os_homedir returned ENOENT");
    return home;
  });
  syncBuiltinESMExports();
  t.after(() => {
    t.mock.restoreAll();
    syncBuiltinESMExports();
  });
}

describe("the folder for copies", () => {
  it("is in the user's cache folder", (t) => {
    moveHome(t, "/home/me");
    for (const variable of [undefined, "", "not/absolute"])
      assert.equal(defaultCache(variable), "/home/me/.cache/orrery");
    assert.equal(defaultCache("/caches"), "/caches/orrery");
  });

  for (const [name, home] of [["no home folder"], ["a home folder without a name", ""]] as const) {
    it(`has to be named where there is ${name}, for a URL alone`, async (t) => {
      moveHome(t, home);
      assert.equal(defaultCache(undefined), undefined);
      assert.equal(defaultCache("/caches"), "/caches/orrery");
      const { XDG_CACHE_HOME } = process.env;
      delete process.env.XDG_CACHE_HOME;
      t.after(() => {
        if (XDG_CACHE_HOME !== undefined) process.env.XDG_CACHE_HOME = XDG_CACHE_HOME;
      });
      const said = await problem({ snapshot: "http://127.0.0.1:9/", keys: [], threads: false });
      assert.match(said, /^option "cache" is required: there is no home folder/);
    });
  }
});
