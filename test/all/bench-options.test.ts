/** Benches describe themselves and their options without running. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { commentOf } from "../../bench/support/options.ts";
import { ROOT } from "../support/program.ts";

const BENCHES = readdirSync(`${ROOT}bench`).filter((name) => name.endsWith(".ts"));

function run(bench: string, option: string) {
  const args = ["--import", "tsx", `bench/${bench}`, option];
  const ran = spawnSync(process.execPath, args, { cwd: ROOT, encoding: "utf8" });
  return [ran.status, ran.stdout, ran.stderr];
}

describe("a bench", () => {
  it("begins with how it is called, and reads its options where --help is known", () => {
    assert.ok(BENCHES.length > 9);
    for (const name of BENCHES) {
      const text = readFileSync(`${ROOT}bench/${name}`, "utf8");
      assert.ok(commentOf(text).includes(`\n    npx tsx bench/${name}`), name);
      assert.match(text, /readOptions\(\{/, name);
      assert.doesNotMatch(text, /parseArgs|process\.argv\.includes/, name);
    }
  });

  it("prints that at --help, and a line at an option that it does not know", () => {
    const comment = commentOf(readFileSync(`${ROOT}bench/client.ts`, "utf8"));
    assert.deepEqual(run("client.ts", "--help"), [0, `${comment}\n`, ""]);
    assert.deepEqual(run("client.ts", "--smok"), [2, "", "Unknown option '--smok'\nSee --help.\n"]);
  });
});
