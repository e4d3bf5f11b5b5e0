/** Folding: compared with its plain definition, character by character, and in linear time. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { fold, foldingParts, MOST_MARKS } from "../src/search/fold.ts";
import { modelFold } from "./conformance/model.ts";

/** Marks of many combining classes, and marks that normalization creates or replaces. */
const MARKS = [
  ..."\u0300\u0301\u0307\u0308\u0316\u0323\u0327\u0328\u0334\u0338\u0344\u0345\u035c\u0483",
  ..."\u05b0\u05bc\u05c1\u05c4\u064b\u0651\u0670\u093c\u094d\u09bc\u09be\u0e38\u0e48\u0eb8\u0f39\u0f71\u0f72\u0f74\u0f80",
  ..."\u1037\u135f\u17d2\u1a60\u1ab0\u20d0\u20d2\u302a\u302e\u3099\u309a\ufb1e\ufe20",
  ..."\u{101fd}\u{110ba}\u{1d165}\u{1d16d}\u{1d17b}\u{1d242}\u{1e8d0}\u{1e94a}",
];

/** Characters between the marks: letters with case, with compatibility forms, or that compose with marks or jamo. */
const OTHERS = [
  ..."aeszZßÅÉıİſΣσςΐЙ か가각\u1100\u1161\u11a8ﾊｶ\uff9e\uff9f\u0e33\u0eb3\u0dd9\u0dcf\u09c7ｅﬁ㌀\ufdfa\ufb2c\u1e9b\u212b.'\u00ad",
  ..."\u{1d15e}\u{1d400}\u{1109b}",
];

const marks = fc
  .tuple(fc.array(fc.constantFrom(...MARKS), { minLength: 1, maxLength: 12 }), fc.nat(MOST_MARKS))
  .map(([some, count]) =>
    Array.from({ length: count }, (_, at) => some[(at * 7 + (at >>> 4)) % some.length]).join(""),
  );

const others = fc
  .array(fc.constantFrom(...OTHERS), { minLength: 1, maxLength: 20 })
  .map((some) => some.join(""));

/** Texts are folded by the plain definition. */
function assertFolded(texts: fc.Arbitrary<string>, numRuns: number): void {
  fc.assert(
    fc.property(texts, (text) => assert.equal(fold(text), modelFold(text))),
    { numRuns },
  );
}

test("a text with up to 1,000 marks in a row is folded by the plain definition", () => {
  const pairs = fc.array(fc.tuple(others, marks), { minLength: 1, maxLength: 4 });
  // Some of the letters are marks or become marks; the "x" keeps them from lengthening a run.
  const texts = fc
    .tuple(pairs, others)
    .map(([some, end]) => `${some.map(([other, run]) => `x${other}x${run}`).join("")}x${end}`);
  assertFolded(texts, 60);
});

test("no part of any text has many more marks than 1,000 in a row", () => {
  const halfwidth = ["\uff9e", "\uff9f"];
  const runs = fc.array(fc.constantFrom(...MARKS, ...halfwidth), { minLength: 1, maxLength: 3 });
  const long = fc.tuple(fc.string({ maxLength: 3 }), runs, fc.integer({ min: 1001, max: 5000 }));
  fc.assert(
    fc.property(fc.array(long, { minLength: 1, maxLength: 3 }), (all) => {
      const parted = all.map(([head, some, count]) => head + some.join("").repeat(count / some.length));
      const text = parted.join("");
      const parts = foldingParts(text);
      assert.equal(parts.join(""), text);
      for (const part of parts) {
        assert.ok(part.isWellFormed());
        for (const [run] of part.matchAll(/[\p{M}\uff9e\uff9f]+/gu)) assert.ok([...run].length <= MOST_MARKS);
      }
    }),
    { numRuns: 40 },
  );
});

test("many marks take time in proportion to their number", () => {
  const patterns = ["\u0300\u0323", "\u05b0\u05bc\u05c1", "\u0651\u064b", "\u{1d165}\u{1d16d}\u{1d17b}"];
  patterns.push("\u0f71\u0f72\u0f74", "\u0344", "\u{1611e}", "\u{16d67}", MARKS.join(""));
  for (const pattern of patterns) {
    const text = `e${pattern.repeat(65_536 / Buffer.byteLength(pattern))}`;
    const longest = Math.max(...foldingParts(text).map(({ length }) => length));
    assert.ok(longest <= 2 * MOST_MARKS, `a part of ${longest} units`);
    assert.equal(fold(text), foldingParts(text).map(modelFold).join(""));
  }
});

const LAST = 0x1ffff;

/** Unassigned, private, or half of a surrogate pair. */
const NO_CHARACTER = /^[\p{Cn}\p{Co}\p{Cs}]$/u;

/** Greek letters with an iota subscript, and that mark: their upper case has a letter more. */
const IOTA_SUBSCRIPT = /\u0345/;

test("every character is folded as in a whole text, once and for all, alike in both cases and all normal forms", () => {
  let exceptions = 0;
  for (let point = 0; point <= 0x10ffff; point++) {
    const character = String.fromCodePoint(point);
    // Unassigned and private characters are many, and alike.
    if (NO_CHARACTER.test(character) && point % 64 !== 0) continue;
    const folded = fold(character);
    // The neighbours cover all ways to compose: a letter, an open syllable, a kana, a mark.
    const around = `a${character}${character}가${character}か${character}é${character}Σ${character}b`;
    if (point <= LAST) assert.equal(fold(around), modelFold(around), point.toString(16));
    if (fold(folded) !== folded) assert.fail(`${point.toString(16)} is folded twice`);
    const cases = [character.toLowerCase(), character.toUpperCase()];
    if (cases.some((other) => fold(other) !== folded)) {
      assert.match(character.normalize("NFD"), IOTA_SUBSCRIPT);
      exceptions++;
    }
    for (const form of ["NFC", "NFD", "NFKC", "NFKD"]) {
      const normal = character.normalize(form);
      if (normal !== character) assert.equal(fold(normal), folded, `${form} of ${point.toString(16)}`);
    }
  }
  assert.equal(exceptions, 64);
});

test("texts of any characters are folded as a whole text is, once and for all, alike in all normal forms", () => {
  const any = fc.integer({ min: 0, max: LAST }).map((point) => String.fromCodePoint(point));
  const near = fc.constantFrom(
    ...MARKS,
    ...OTHERS,
    // Half of a surrogate pair, too.
    ...["\ud83d", "\udc00"],
    ..."aZéÉßſΣσςйЙİıか\u3099ﾊﾞ가\u1161\u11a8ﬁ㌀𝕬🐀\u200d\ufe0f\u0301Ω\u212b",
    ..."ワヽヴㅎ하\u1112\u1161\u11ab\u3099\u034f\u200b \t’`´″ıłÆيى\u0640\u20e3",
  );
  fc.assert(
    fc.property(fc.string({ unit: fc.oneof(near, near, any), maxLength: 12 }), (text) => {
      const folded = fold(text);
      assert.equal(folded, modelFold(text));
      assert.equal(fold(folded), folded);
      for (const form of ["NFC", "NFD", "NFKC", "NFKD"]) assert.equal(fold(text.normalize(form)), folded);
    }),
    { numRuns: 3000 },
  );
});

test("a query finds what people mean by it", () => {
  const pairs = [
    ["lukasz", "Łukasz"],
    ["ΟΔΟΣ", "ΟΔΟΣΑΚΗ"],
    ["STRASSE", "Straße"],
    ["don't", "don’t"],
    ["かふぇ", "カフェ"],
    ["하", "한글"],
    ["moon", "mo\u200bon\u00ad"],
    ["محمد", "مُحَمَّد"],
    ["two words", "two \t\u00a0\nwords"],
  ] as const;
  for (const [query, name] of pairs) assert.ok(fold(name).startsWith(fold(query)), `${query} in ${name}`);
  assert.equal(new Set(["İ", "ı", "I", "i"].map(fold)).size, 1);
  assert.equal(new Set(["か", "が", "カ"].map(fold)).size, 2);
  assert.equal(fold("\u0301\u200b\u0640"), "");
});
