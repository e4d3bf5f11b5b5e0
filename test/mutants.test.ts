/** The list of mutants fits the code; `npm run mutants` tries them. */

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { MUTANTS, mutate } from "./mutants.ts";

const pathOf = (file: string): string => fileURLToPath(new URL(`../${file}`, import.meta.url));

test("every mutant changes one place of a function, and names tests", () => {
  assert.ok(MUTANTS.length > 15);
  for (const mutant of MUTANTS) {
    const source = readFileSync(pathOf(mutant.file), "utf8");
    assert.notEqual(mutate(source, mutant), source, mutant.breaks);
    const tests = Object.entries(mutant.tests);
    assert.ok(tests.length > 0, mutant.breaks);
    for (const [file, name] of tests)
      assert.ok(existsSync(pathOf(`test/${file}.test.ts`)) && name !== "", `${file} ${name}`);
  }
  assert.equal(new Set(MUTANTS.map(({ breaks }) => breaks)).size, MUTANTS.length);
});
