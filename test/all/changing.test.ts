/** Many reloads of a snapshot that changes at random; and the log's report of the files that a process read. */

import assert from "node:assert/strict";
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { assertTried, changeAndCompare } from "../support/changing-rounds.ts";
import { bytesOf, instance, temporaryFolder } from "../support/folders.ts";
import { place } from "../support/place.ts";
import { serve } from "../support/process.ts";

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

test("the log says which tables were read and which were kept, at the watch and at SIGHUP", async (t) => {
  const { snapshot, keys } = place(t);
  const server = await serve(snapshot, keys, ["--watch", "0.2"]);
  const [first] = server.logs("snapshot-loaded");
  assert.deepEqual([first!.read, first!.kept], [["users", "worlds", "world-stats", "instances"], []]);
  const file = join(snapshot, "instances.ndjson");
  writeFileSync(`${file}.new`, bytesOf([instance(1), instance(2)]));
  renameSync(`${file}.new`, file);
  const second = await server.logged("snapshot-loaded", 2);
  assert.deepEqual([second.read, second.kept], [["instances"], ["users", "worlds", "world-stats"]]);
  server.child.kill("SIGHUP");
  const third = await server.logged("snapshot-unchanged");
  assert.deepEqual([third.read, third.kept], [[], ["users", "worlds", "world-stats", "instances"]]);
  await server.stop();
});
