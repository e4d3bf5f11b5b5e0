/** The built program and its sources under tsx are equal: same answers, same output of every command. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import { temporaryFolder, writeSnapshot } from "../support/folders.ts";
import { type Program, start } from "../support/process.ts";
import { BUILT_PROGRAM, isBuilt, SOURCE_PROGRAM } from "../support/program.ts";
import { assertPassesOn } from "../support/runtimes.ts";

const FORMS = { source: SOURCE_PROGRAM, built: BUILT_PROGRAM };
type Form = keyof typeof FORMS;

const folder = temporaryFolder();

const startForm = (form: Form, args: readonly string[]): Program =>
  start(args, {}, [process.execPath, ...FORMS[form]]);

describe("the built program and its sources", () => {
  before(() => assert.ok(isBuilt(), "dist/ is older than src/: npm run build"));

  it("answer alike: the built one passes the conformance suite, as the sources do in `npm test`", () =>
    assertPassesOn({ path: process.execPath }, "test/conformance.test.ts", {
      variables: { ORRERY_TEST_PROGRAM: [process.execPath, ...BUILT_PROGRAM].join(" ") },
      atLeast: 20,
    }));

  it("say the same on every command line", async () => {
    const bad = writeSnapshot(join(folder, "bad"), { "users.ndjson": '{"id": 1}\n' });
    // The sources take a second to start each time, so outputs made from one table are requested once.
    const calls = [
      ...[[], ["--version"], ["nothing"], ["openapi"], ["serve", "--help"], ["keys", "create", "--help"]],
      ...[
        ["check", "data/sample", "--json"],
        ["check", bad],
      ],
      ...[
        ["serve", "--prot", "1"],
        ["keys", "list", "--keys", "none"],
      ],
    ];
    for (const call of calls) await sameOutcome(call);
  });
});

/** Runs a command in both forms: status, output and messages must be equal. */
async function sameOutcome(args: readonly string[]): Promise<void> {
  const [source, built] = await Promise.all(
    (["source", "built"] as const).map(async (form) => {
      const { ended, stdout, stderr } = startForm(form, args);
      return { ...(await ended), stdout: stdout(), stderr: stderr() };
    }),
  );
  assert.deepEqual(built, source, args.join(" "));
}
