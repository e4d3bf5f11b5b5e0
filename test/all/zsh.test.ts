/** Completions by a real, interactive zsh when Tab is pressed. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { CommandIo } from "../../src/cli/command.ts";
import { PROGRAM } from "../../src/features.ts";
import { temporaryFolder } from "../support/folders.ts";
import { need } from "../support/need.ts";
import { optionsOf } from "../support/options.ts";

/** Ctrl-G writes the line into a file, and clears it. */
const RC = `
PROMPT= ; autoload -U compinit; compinit -D -u; source $ZDOTDIR/orrery.zsh
report() { print -r -- "[$BUFFER]" >> $ZDOTDIR/lines; BUFFER= }
zle -N report; bindkey '^G' report; bindkey '^I' complete-word
`;

/** Types lines into a zsh on a terminal of its own, Tab and Ctrl-G after each. Reads and drops its output. */
const TYPIST = `
zmodload zsh/zpty zsh/zselect
zpty -b shell zsh -i
integer count=0
for line; do
  count+=1
  zpty -w -n shell "$line"$'\\t\\x07'
  until [[ $(wc -l < $ZDOTDIR/lines) -ge $count ]]; do zpty -r -t shell printed; zselect -t 5; done
done
zpty -d shell
`;

const WANTED = {
  "orrery k": "orrery keys ",
  "orrery keys dis": "orrery keys disable ",
  "orrery serve --share-p": "orrery serve --share-port=",
  "orrery serve --cors=of": "orrery serve --cors=off ",
  "orrery completion z": "orrery completion zsh ",
  "orrery serve --log-level=si": "orrery serve --log-level=silent ",
  "orrery keys create --na": "orrery keys create --name=",
  "orrery keys create --kind=c": "orrery keys create --kind=cli ",
  "orrery check snap": "orrery check snapshot/",
  "orrery serve --keys=fil": "orrery serve --keys=file.json ",
};

test("zsh completes commands, verbs, flags, words, files and folders", { skip: need("zsh") }, async (t) => {
  const folder = temporaryFolder(t);
  mkdirSync(join(folder, "snapshot"));
  for (const [name, text] of Object.entries({ ".zshrc": RC, lines: "", "file.json": "" })) {
    writeFileSync(join(folder, name), text);
  }
  const print = (text: string): boolean => {
    writeFileSync(join(folder, "orrery.zsh"), text);
    return true;
  };
  const completion = PROGRAM.commands.find(({ name }) => name === "completion")!;
  await completion.run(optionsOf("completion", ["zsh"]), { print } as unknown as CommandIo, PROGRAM);
  const ran = spawnSync("zsh", ["-f", "-c", TYPIST, "zsh", ...Object.keys(WANTED)], {
    cwd: folder,
    encoding: "utf8",
    env: { PATH: process.env.PATH, HOME: folder, ZDOTDIR: folder, TERM: "dumb" },
    timeout: 120_000,
  });
  const lines = readFileSync(join(folder, "lines"), "utf8").split("\n").slice(0, -1);
  assert.deepEqual(
    lines,
    Object.values(WANTED).map((line) => `[${line}]`),
    ran.stderr,
  );
  assert.equal(ran.status, 0, ran.stderr);
});
