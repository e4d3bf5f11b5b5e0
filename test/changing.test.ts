/** Reloads of a snapshot that changes at random give what a start of its own gives. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { changeAndCompare } from "./support/changing-rounds.ts";
import { temporaryFolder } from "./support/folders.ts";

test("after any change a reload is as good as a start, whatever it kept", async (t) => {
  const seen = await changeAndCompare(temporaryFolder(t), 2, 40, false);
  console.log(seen);
  assert.ok(seen.refused > 0, "nothing was refused");
});
