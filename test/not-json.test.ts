/** Where a text stops being JSON. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseKeys } from "../src/auth/keys.ts";
import { notJson } from "../src/util/json.ts";

test("the line and the column of the first character that cannot be there are named", () => {
  const cases: readonly [text: string, line: number, column: number][] = [
    ["", 1, 1],
    ["{", 1, 2],
    ['{"keys": [\n  {"id": "a",\n   "kind" "api"}]}', 3, 11],
    ['{"a":1,}', 1, 8],
    ["[1 2]", 1, 4],
    ['{"a":\n\n tru}', 3, 2],
    ['"a\nb"', 1, 3],
    ["01", 1, 2],
    ["\n\n  // comment", 3, 3],
  ];
  for (const [text, line, column] of cases) {
    assert.throws(() => JSON.parse(text), SyntaxError, text);
    assert.equal(notJson(text), `not valid JSON at line ${line}, column ${column}`, text);
    if (line === 1) assert.equal(notJson(text, true), `not valid JSON at column ${column}`, text);
  }
});

/** The column in the message, from 0. */
const columnOf = (text: string): number => Number(/column (\d+)$/.exec(notJson(text, true))![1]) - 1;

test("what stands before the place can begin JSON, whatever is cut off or changed", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.nat(), fc.string({ maxLength: 2 }), (value, place, change) => {
      const whole = JSON.stringify(value);
      const at = place % whole.length;
      const text = whole.slice(0, at) + change + whole.slice(at + 1);
      try {
        JSON.parse(text);
      } catch {
        const column = columnOf(text);
        // The column is not before the number, word or escape that was changed.
        assert.ok(column >= text.slice(0, at).search(/[-+\w.\\]*$/), text);
        assert.equal(columnOf(text.slice(0, column)), column, text);
      }
    }),
  );
});

test("a deep text, and one with a long string, take no stack", () => {
  const deep = "[".repeat(200_000);
  assert.equal(columnOf(deep), deep.length);
  const long = `"${"x\\n".repeat(400_000)}`;
  assert.equal(columnOf(long), long.length);
});

test("a keys file says where, and quotes nothing", () => {
  const text = '\uFEFF{"keys": [\n  {"id": "secret" "name": "x"}\n]}';
  assert.throws(() => parseKeys(text), { message: "not valid JSON at line 2, column 19" });
});
