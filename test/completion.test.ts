/** Completions: a shell offers exactly the words of the tables, and files with spaces. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import type { CommandIo } from "../src/cli/command.ts";
import { completion } from "../src/cli/completion.ts";
import { UsageError } from "../src/cli/options.ts";
import { PROGRAM } from "../src/features.ts";
import { settingsOf } from "../src/settings/settings.ts";
import { temporaryFolder } from "./support/folders.ts";
import { optionsOf } from "./support/options.ts";

async function scriptFor(shell: string): Promise<string> {
  let printed = "";
  const world = { print: (text: string) => (printed += text) } as unknown as CommandIo;
  await completion(optionsOf("completion", [shell]), world, PROGRAM);
  return printed;
}

const without = (shell: string): string | false =>
  spawnSync(shell, ["-c", ":"]).status !== 0 && `${shell} is not installed`;

/** Runs a script. @returns the lines that it printed */
function runIn(shell: string, script: string, cwd = fileURLToPath(new URL(".", import.meta.url))): string[] {
  const { status, stdout, stderr } = spawnSync(shell, ["-c", script], { encoding: "utf8", cwd });
  assert.deepEqual([status, stderr], [0, ""]);
  return stdout.split("\n").slice(0, -1);
}

describe("completion", () => {
  const scripts = new Map<string, string>();
  before(async () => {
    for (const shell of ["bash", "zsh", "fish"]) scripts.set(shell, await scriptFor(shell));
  });

  it("names every command and every flag for every shell", () => {
    for (const [shell, script] of scripts) {
      let flags = 0;
      for (const { name } of PROGRAM.commands) {
        for (const word of name.split(" ")) assert.ok(script.includes(word), `${shell}: ${word}`);
        for (const { flag } of settingsOf(PROGRAM.settings, name)) {
          flags++;
          assert.ok(script.includes(shell === "fish" ? `-l ${flag} ` : `--${flag}`), `${shell}: ${flag}`);
        }
      }
      assert.ok(flags > 40);
    }
  });

  it("knows no other shell", async () => {
    await assert.rejects(scriptFor("tcsh"), UsageError);
    await assert.rejects(scriptFor("constructor"), UsageError);
  });

  /** What bash offers, in the folder of this file unless `cwd` is given. */
  function offersIn(cwd: string | undefined, words: readonly string[]): string[] {
    const list = words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
    const call = `COMP_WORDS=(orrery ${list}); COMP_CWORD=${words.length}; _orrery; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return runIn("bash", `${scripts.get("bash")}\n${call}`, cwd);
  }

  describe("bash", { skip: without("bash") }, () => {
    const offers = (...words: readonly string[]): string[] => offersIn(undefined, words);

    it("offers commands, then their verbs, then their flags", () => {
      assert.deepEqual(offers("k"), ["keys"]);
      assert.deepEqual(offers("keys", "d").sort(), ["delete", "disable"]);
      assert.deepEqual(offers("serve", "--rate-"), ["--rate-limit", "--rate-window"]);
      assert.deepEqual(offers("keys", "create", "--na"), ["--name"]);
    });

    it("offers what a flag takes: words, files or folders", () => {
      assert.deepEqual(offers("keys", "create", "--kind", ""), ["api", "cli"]);
      assert.deepEqual(offers("serve", "--keys", "completion"), ["completion.test.ts"]);
      assert.deepEqual(offers("serve", "--snapshot", "supp"), ["support"]);
      assert.deepEqual(offers("check", "supp"), ["support"]);
      assert.deepEqual(offers("serve", "--port", ""), [""]);
      assert.deepEqual(offers("serve", "--log-level", "d"), ["debug"]);
      assert.deepEqual(offers("serve", "--threads", ""), ["auto"]);
      assert.deepEqual(offers("completion", "z"), ["zsh"]);
      const scopes = ["read:worlds", "read:users", "read:instances"];
      assert.deepEqual(offers("keys", "create", "--scope", ""), scopes);
    });

    it("offers on and off after a boolean, and what comes next, since it needs no value", () => {
      assert.deepEqual(offers("serve", "--cors", "o"), ["on", "off"]);
      const flags = ["--access-log", "--access-log-sample", "--access-log-fields"];
      assert.deepEqual(offers("serve", "--cors", "--acc"), flags);
    });

    it("knows that bash takes words apart at colons and =", () => {
      assert.deepEqual(offers("keys", "create", "--scope", "read", ":", "w"), ["worlds"]);
      assert.deepEqual(offers("keys", "create", "--scope", "read", ":"), ["worlds", "users", "instances"]);
      assert.deepEqual(offers("keys", "create", "--scope", "=", "read", ":", "u"), ["users"]);
      assert.deepEqual(offers("serve", "--cors", "=", "of"), ["off"]);
      assert.deepEqual(offers("serve", "--log-level", "="), ["debug", "info", "warn", "error", "silent"]);
    });
  });

  it("zsh reads its script", { skip: without("zsh") }, () => {
    runIn("zsh", `autoload -U compinit; compinit -D -u; ${scripts.get("zsh")}\nwhence -w _orrery`);
  });

  it("fish offers commands, verbs, flags and words", { skip: without("fish") }, () => {
    const ask = (line: string): string[] =>
      runIn("fish", `${scripts.get("fish")}\ncomplete -C '${line}'`).map((offer) => offer.split("\t")[0]!);
    assert.deepEqual(ask("orrery k"), ["keys"]);
    assert.deepEqual(ask("orrery keys d").sort(), ["delete", "disable"]);
    assert.deepEqual(ask("orrery keys create --na"), ["--name"]);
    assert.deepEqual(ask("orrery keys create --kind "), ["api", "cli"]);
    assert.deepEqual(ask("orrery check supp"), ["support/"]);
    assert.deepEqual(ask("orrery completion "), ["bash", "fish", "zsh"]);
    assert.deepEqual(ask("orrery keys create --scope read:w"), ["read:worlds"]);
    assert.deepEqual(ask("orrery serve --cors=").sort(), ["--cors=off", "--cors=on"]);
  });

  describe("of files in bash", { skip: without("bash") }, () => {
    const folder = temporaryFolder({ after });
    before(() => {
      for (const file of ["my keys.json", "your*.json"]) writeFileSync(join(folder, file), "");
      for (const name of ["my rows", "it's 2: rows"]) mkdirSync(join(folder, name));
    });

    /** @param words as typed, with quotes */
    const offers = (...words: readonly string[]): string[] => offersIn(folder, words).sort();

    it("keeps names with spaces whole, after flags and as words", () => {
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
});
