/** A reload of a snapshot that changes at random equals a fresh start; `test/all/changing.test.ts` runs longer. */

import { test } from "node:test";
import { assertTried, changeAndCompare } from "./support/changing-rounds.ts";
import { temporaryFolder } from "./support/folders.ts";

test("after any change a reload is as good as a start, whatever was kept", async (t) => {
  assertTried(await changeAndCompare(temporaryFolder(t), 27, 18, false));
});
