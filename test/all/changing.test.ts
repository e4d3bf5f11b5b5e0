/** Many reloads of a snapshot that changes at random. */

import { describe, test } from "node:test";
import { assertTried, changeAndCompare } from "../support/changing-rounds.ts";
import { temporaryFolder } from "../support/folders.ts";

describe("after any change a reload is as good as a start, whatever was kept", () => {
  for (const seed of [1, 3, 4]) {
    test(`seed ${seed}`, async (t) => {
      assertTried(await changeAndCompare(temporaryFolder(t), seed, 150, false));
    });
  }

  test("in threads", async (t) => {
    assertTried(await changeAndCompare(temporaryFolder(t), 8, 30, true));
  });
});
