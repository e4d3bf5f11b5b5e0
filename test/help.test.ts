/** What a command line gets that asks for help, or for a command that there is not. */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { killAll, run } from "./support/process.ts";

after(killAll);

test("help of a command is its --help", async () => {
  for (const words of [["serve"], ["keys"], ["keys", "create"]]) {
    const [help, flag] = await Promise.all([run(["help", ...words]), run([...words, "--help"])]);
    assert.deepEqual([help.status, help.stderr, help.stdout], [0, "", flag.stdout]);
    assert.match(help.stdout, new RegExp(`^Usage: orrery ${words.join(" ")}`, "m"));
  }
});

test("a command that there is not is named with the one that may be meant", async () => {
  const cases: [words: string[], says: string][] = [
    [["sevre"], 'there is no command "sevre"; did you mean "serve"?'],
    [["help", "chek"], 'there is no command "chek"; did you mean "check"?'],
    [["key", "list"], 'there is no command "key"; did you mean "keys"?'],
    [["keys", "delet", "x"], 'there is no command "keys delet"; did you mean "keys delete"?'],
    [["frobnicate"], 'there is no command "frobnicate"'],
  ];
  await Promise.all(
    cases.map(async ([words, says]) => {
      const { status, stdout, stderr } = await run(words);
      assert.deepEqual([status, stdout, stderr], [2, "", `orrery: ${says} (see orrery --help)\n`]);
    }),
  );
});
