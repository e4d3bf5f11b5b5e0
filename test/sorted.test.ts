/** Binary search and galloping search find the place that looking at each one finds. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { endWhere, gallop, gallopWhere, lowerBound } from "../src/util/sorted.ts";

test("all four find the first place that is not below a value", () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat(40), { maxLength: 60 }),
      fc.nat(41),
      fc.nat(60),
      fc.integer({ min: 1, max: 9 }),
      (numbers, value, start, step) => {
        const values = Uint32Array.from(numbers).sort();
        const from = Math.min(start, values.length);
        const found = values.findIndex((one, at) => at >= from && one >= value);
        const expected = found < 0 ? values.length : found;
        const isBelow = (at: number): boolean => {
          assert.ok(at >= from && at < values.length, "no place outside is looked at");
          return values[at]! < value;
        };
        assert.equal(lowerBound(values, value, from, values.length), expected);
        assert.equal(gallop(values, value, from, values.length), expected);
        assert.equal(endWhere(from, values.length, isBelow), expected);
        assert.equal(gallopWhere(from, values.length, isBelow, step), expected);
      },
    ),
    { numRuns: 500 },
  );
});
