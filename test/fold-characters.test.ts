/** Folding character by character gives what folding a whole text does. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { fold } from "../src/search/fold.ts";
import { modelFold } from "./support/model.ts";

const LAST = 0x1ffff;
const SURROGATES = 0xd800;
const BEHIND_SURROGATES = 0xe000;
const UNASSIGNED = /^[\p{Cn}\p{Co}]$/u;

test("every character is folded as in a whole text, whatever stands around it", () => {
  for (let point = 0; point <= LAST; point++) {
    if (point === SURROGATES) point = BEHIND_SURROGATES;
    const character = String.fromCodePoint(point);
    if (UNASSIGNED.test(character)) continue;
    // Each of these takes up what composes with it, or is taken up: a letter, an open syllable, a kana, a mark.
    const text = `a${character}${character}가${character}か${character}é${character}Σ`;
    assert.equal(fold(text), modelFold(text), point.toString(16));
  }
});

test("texts of any characters are folded as a whole text is", () => {
  const any = fc.integer({ min: 0, max: LAST }).map((point) => String.fromCodePoint(point));
  const near = fc.constantFrom(..."aZéÉßſΣσςйЙİıか\u3099ﾊﾞ가\u1161\u11a8ﬁ㌀𝕬🐀\u200d\ufe0f\u0301Ω\u212b");
  const texts = fc.string({ unit: fc.oneof(any, near, near), maxLength: 30 });
  fc.assert(
    fc.property(texts, (text) => {
      assert.equal(fold(text), modelFold(text));
    }),
    { numRuns: 1000 },
  );
});

test("half of a surrogate pair is folded as a whole text is", () => {
  for (const text of ["a\ud83d", "\udc00É", "\ud83dÉ\udc00", "\ud83d\ud83d\udc00"]) {
    assert.equal(fold(text), modelFold(text));
  }
});
