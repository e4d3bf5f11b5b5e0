/**
 * Removing a feature takes deleting its folder and the lines of `features.ts` that name it: the other sources still
 * compile, and the server still answers correctly.
 */

import assert from "node:assert/strict";
import { cpSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { temporaryFolder } from "../support/folders.ts";
import { start } from "../support/process.ts";
import { ROOT } from "../support/program.ts";

const FEATURES = ["admin", "docs-page", "generate", "shared-limits", "similar", "sources"];

/** Files that test only the core, and a part of the conformance suite, which needs the OpenAPI document of a feature. */
const CORE_TESTS = ["test/http.test.ts", "test/answer.test.ts"];
const CONFORMANCE = ["--test-name-pattern=the direct door", "test/conformance.test.ts"];

/** `features.ts` without a feature: without its imports and all that uses the imported names. */
function without(text: string, feature: string): string {
  let left = text;
  for (const [line, names] of text.matchAll(
    new RegExp(`^import \\{([^}]*)\\} from "\\./${feature}/.*\\n`, "gm"),
  )) {
    left = left.replace(line, "");
    for (const name of names!.match(/\w+(?=,|\s*$)/g)!) {
      const named = `(\\w+: |\\.\\.\\.)?\\b${name}\\b`;
      left = left.replace(new RegExp(`${named},|,\\s*${named}(?= \\{)|${named}`, "g"), "");
    }
  }
  return left;
}

function treeWithout(folder: string, feature: string): string {
  for (const name of ["src", "test", "data", "package.json", "tsconfig.json"])
    cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  rmSync(join(folder, "src", feature), { recursive: true });
  const list = join(folder, "src/features.ts");
  writeFileSync(list, without(readFileSync(list, "utf8"), feature));
  const { exclude } = JSON.parse(readFileSync(join(ROOT, "tsconfig.json"), "utf8")) as { exclude: string[] };
  writeFileSync(
    join(folder, "tsconfig.src.json"),
    JSON.stringify({ extends: "./tsconfig.json", include: ["src"], exclude }),
  );
  return folder;
}

async function run(folder: string, args: readonly string[]): Promise<string> {
  const { ended, stdout, stderr } = start(args, {}, [process.execPath], { cwd: folder });
  assert.equal((await ended).status, 0, stdout() + stderr());
  return stdout();
}

describe("without a feature", { concurrency: 2 }, () => {
  for (const feature of FEATURES) {
    it(`${feature}: the rest compiles and serves`, async (t) => {
      const folder = treeWithout(temporaryFolder(t), feature);
      const left = readFileSync(join(folder, "src/features.ts"), "utf8");
      assert.ok(!left.includes(`./${feature}/`) && left.includes("PROGRAM"), left);
      await run(folder, ["node_modules/typescript/bin/tsc", "-p", "tsconfig.src.json"]);
      for (const tests of feature === "docs-page" ? [CORE_TESTS] : [CORE_TESTS, CONFORMANCE])
        assert.match(
          await run(folder, ["--import=tsx", "--test", "--test-reporter=tap", ...tests]),
          /^# pass [1-9]/m,
        );
    });
  }
});
