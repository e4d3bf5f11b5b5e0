/** The tests on the wire, all of them once more, over servers of two threads. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { findNode } from "../support/runtimes.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const node = findNode(24);

/** What failed, and why, without the hundreds that passed. */
function failuresOf(tap: string): string {
  return (tap.match(/^ *not ok [\s\S]*?^ *\.\.\.$/gm) ?? []).join("\n");
}

test("hostile input over two serving threads", { skip: "missing" in node && node.missing }, () => {
  assert.ok("path" in node);
  const { NODE_TEST_CONTEXT: _, ...environment } = process.env;
  const ran = spawnSync(
    node.path,
    ["--import", "tsx", "--test", "--test-reporter=tap", "test/http.test.ts"],
    {
      cwd: ROOT,
      encoding: "utf8",
      env: { ...environment, ORRERY_TEST_SERVING_THREADS: "2" },
      maxBuffer: 1 << 28,
    },
  );
  assert.equal(ran.status, 0, failuresOf(ran.stdout) + ran.stderr);
  assert.ok(Number(/^# pass (\d+)$/m.exec(ran.stdout)?.[1]) > 500);
});
