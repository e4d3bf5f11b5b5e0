/** Records anew the texts that a refactoring must not change, and shows which files differ from the last commit. */

import { spawnSync } from "node:child_process";

/** Runs tests that record. @param isLong draws the requests of `test:all`, which are recorded as hashes */
function record(files: readonly string[], isLong: boolean): void {
  const env = { ...process.env, ORRERY_RECORD: "1", ...(isLong ? { ORRERY_TEST_LONG: "1" } : {}) };
  const args = ["--import", "tsx", "--test", "--test-reporter=dot", ...files];
  const { status } = spawnSync(process.execPath, args, { env, stdio: "inherit" });
  if (status !== 0) process.exit(1);
}

record(["test/recorded.test.ts", "test/conformance.test.ts", "test/generate.test.ts"], false);
record(["test/conformance.test.ts"], true);
spawnSync("git", ["diff", "--stat", "--", "test/golden", "docs", "README.md", "deploy"], {
  stdio: "inherit",
});
