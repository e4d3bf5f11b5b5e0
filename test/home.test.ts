/** Where copies of snapshots by URL are kept, and what becomes of it without a home folder. */

import assert from "node:assert/strict";
import { syncBuiltinESMExports } from "node:module";
import os from "node:os";
import { describe, it, type TestContext } from "node:test";
import { openOrrery } from "../src/mod.ts";
import { defaultCache } from "../src/sources/find-source.ts";

/** Gives the user another home folder; without one the system's call fails, as for a user id that has no name. */
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
    for (const variable of [undefined, "", "not/absolute"]) {
      assert.equal(defaultCache(variable), "/home/me/.cache/orrery");
    }
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
      const open = (snapshot: string) => openOrrery({ snapshot, keys: [], threads: false });
      await assert.rejects(
        open("http://127.0.0.1:9/"),
        /^TypeError: openOrrery: option "cache" is required: there is no home folder/,
      );
    });
  }
});
