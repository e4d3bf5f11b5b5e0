/**
 * Records anew the texts that a refactoring must not change, and shows which files differ from the last commit.
 *
 *     npm run record              # all of them
 *     npm run record -- texts     # no replies: what a new setting or event changes
 */

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";

/** Runs tests that record. @param isLong draws the requests of `test:all`, which are recorded as hashes. @returns whether all passed */
async function record(files: readonly string[], isLong: boolean): Promise<boolean> {
  const env = { ...process.env, ORRERY_RECORD: "1", ...(isLong ? { ORRERY_TEST_LONG: "1" } : {}) };
  const args = ["--import", "tsx", "--test", "--test-reporter=dot", ...files];
  const [status] = await once(spawn(process.execPath, args, { env, stdio: "inherit" }), "close");
  return status === 0;
}

const replies = process.argv[2] === "texts" ? [] : ["test/conformance.test.ts"];
// At once, since each writes other files.
const passed = await Promise.all([
  record(["test/recorded.test.ts", ...replies], false),
  replies.length === 0 || record(replies, true),
]);
if (passed.includes(false)) process.exit(1);
spawnSync("git", ["diff", "--stat", "--", "test/golden", "docs", "README.md", "deploy"], {
  stdio: "inherit",
});
