/** Completion of names of files that have spaces, in a real bash. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { CommandIo } from "../src/cli/command.ts";
import { completion } from "../src/cli/completion.ts";
import { PROGRAM } from "../src/features.ts";
import { temporaryFolder } from "./support/folders.ts";
import { optionsOf } from "./support/options.ts";

const hasBash = spawnSync("bash", ["-c", ":"]).status === 0;

describe("completion of files in bash", { skip: !hasBash && "bash is not installed" }, () => {
  const folder = temporaryFolder({ after });
  let script = "";
  before(async () => {
    writeFileSync(join(folder, "my keys.json"), "");
    writeFileSync(join(folder, "your*.json"), "");
    mkdirSync(join(folder, "my rows"));
    mkdirSync(join(folder, "it's 2: rows"));
    const world = { print: (text: string) => (script += text) } as unknown as CommandIo;
    await completion(optionsOf("completion", ["bash"]), world, PROGRAM);
  });

  /** @param words as they were typed, quotes included */
  function offers(...words: readonly string[]): string[] {
    const list = words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
    const call = `COMP_WORDS=(orrery ${list}); COMP_CWORD=${words.length}; _orrery; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const ran = spawnSync("bash", ["-c", `${script}\n${call}`], { encoding: "utf8", cwd: folder });
    assert.deepEqual([ran.status, ran.stderr], [0, ""]);
    return ran.stdout.split("\n").slice(0, -1).sort();
  }

  it("keeps names with spaces whole, behind flags and as words", () => {
    assert.deepEqual(offers("keys", "list", "--keys", "my"), ["my keys.json", "my rows"]);
    assert.deepEqual(offers("serve", "--snapshot", "my"), ["my rows"]);
    assert.deepEqual(offers("check", "my"), ["my rows"]);
    assert.deepEqual(offers("check", ""), [...offers("check", "--"), "it's 2: rows", "my rows"].sort());
  });

  it("takes no name for a pattern", () => {
    writeFileSync(join(folder, "your other.json"), "");
    assert.deepEqual(offers("keys", "list", "--keys", "your"), ["your other.json", "your*.json"]);
  });

  it("reads what was typed with quotes", () => {
    for (const typed of ["my\\ k", '"my k', "'my k"]) {
      assert.deepEqual(offers("keys", "list", "--keys", typed), ["my keys.json"], typed);
    }
    assert.deepEqual(offers("check", "it\\'s"), ["it's 2: rows"]);
  });
});
