/** A new key's token that nobody would see: no key is made. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { place } from "./support/place.ts";
import { COMMAND } from "./support/program.ts";

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
