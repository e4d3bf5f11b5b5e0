/** The list of mutants fits the code; `npm run mutants` tries them. */

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { MUTANTS, type Mutant, mutate } from "./mutants.ts";

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

test("a text that is gone, or stands twice, is an error", () => {
  const mutant: Mutant = { breaks: "it", file: "f", within: "g", text: "one", becomes: "two", tests: {} };
  const sourceOf = (body: string): string => `one();\nfunction g(\n  a: A,\n): B {\n  ${body}\n}\none();\n`;
  assert.equal(mutate(sourceOf("a one b"), mutant), sourceOf("a two b"));
  assert.equal(mutate(sourceOf("a one b"), { ...mutant, becomes: "$&$1" }), sourceOf("a $&$1 b"));
  for (const body of ["", "a two b", "one one"])
    assert.throws(() => mutate(sourceOf(body), mutant), /it: g holds/);
  assert.equal(mutate("const g = one;\nconst h = one;\n", mutant), "const g = two;\nconst h = one;\n");
  for (const source of ["", sourceOf("one") + sourceOf("one")])
    assert.throws(() => mutate(source, mutant), /declarations of g/);
});
