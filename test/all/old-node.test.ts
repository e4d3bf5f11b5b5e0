/** Versions of Node that are too old, down to the first ones with modules. */

import assert from "node:assert/strict";
import { type SpawnSyncReturns, spawnSync } from "node:child_process";
import { describe, it } from "node:test";
import { ROOT } from "../support/program.ts";
import { findNode } from "../support/runtimes.ts";

describe("a Node that is too old", () => {
  for (const version of ["12.22.12", "14", "16", "18", "20.18.3"]) {
    const node = findNode(version);
    it(`says so: ${version}`, { skip: "missing" in node && node.missing }, () => {
      assert.ok("path" in node);
      for (const file of ["bin/orrery.mjs", "dist/main.js"]) {
        const ran: SpawnSyncReturns<string> = spawnSync(node.path, ["--no-warnings", file, "demo"], {
          cwd: ROOT,
          encoding: "utf8",
        });
        assert.match(
          ran.stderr,
          /^orrery: needs Node [\d.]+ or newer, Bun [\d.]+ or newer, or Deno; this is Node [\d.]+\n$/,
        );
        assert.deepEqual([ran.status, ran.stdout], [2, ""], file);
      }
      // Older versions cannot even parse the library.
      if (Number.parseInt(version, 10) < 18) return;
      const code = 'import("./dist/mod.js").catch((error) => console.log(error.message))';
      const library = spawnSync(node.path, ["-e", code], { cwd: ROOT, encoding: "utf8" });
      assert.match(
        library.stdout,
        /^orrery needs Node [\d.]+ or newer, Bun [\d.]+ or newer, or Deno; this is Node [\d.]+\n$/,
      );
    });
  }
});
