/** Reloads of a snapshot that changes at random give what a start of its own gives; `test/all/changing.test.ts` goes on for longer. */

import { test } from "node:test";
import { assertTried, changeAndCompare } from "./support/changing-rounds.ts";
import { temporaryFolder } from "./support/folders.ts";

test("after any change a reload is as good as a start, whatever was kept", async (t) => {
  assertTried(await changeAndCompare(temporaryFolder(t), 2, 24, false), 3);
});
