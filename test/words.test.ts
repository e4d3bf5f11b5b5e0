/** Words while indexing: numbered, split and sorted without the engine's maps and strings, and just as these would. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  isWhiteSpace,
  lengthOf,
  reorderTexts,
  sortTexts,
  type Texts,
  TextsBuilder,
  WHITE_SPACE,
} from "../src/search/texts.ts";
import { WordDictionary } from "../src/search/word-dictionary.ts";
import { WordIndexBuilder } from "../src/search/word-index.ts";

/** Texts that share much: few characters, NUL, halves of pairs' range, and long common beginnings. */
const texts = fc
  .tuple(
    fc.array(
      fc.oneof(
        fc.string({ unit: fc.constantFrom("a", "b", "\0", "さ", "\uffff", "𝕒", "\ue000"), maxLength: 14 }),
        fc.string({ unit: "grapheme", maxLength: 8 }),
      ),
      { maxLength: 80 },
    ),
    fc.string({ unit: fc.constantFrom("a", "b", "\0"), maxLength: 40 }),
  )
  .map(([some, beginning]) => some.flatMap((text) => [text, beginning + text]));

function textsOf(all: readonly string[]): Texts {
  const builder = new TextsBuilder();
  for (const text of all) builder.add(text);
  return builder.finish();
}

function toStrings(all: Texts): string[] {
  return Array.from({ length: all.count }, (_, number) => {
    const start = all.starts[number]!;
    return String.fromCharCode(...all.units.subarray(start, start + lengthOf(all, number)));
  });
}

test("white space is what \\s matches", () => {
  for (let unit = 0; unit < 65_536; unit++) {
    assert.equal(isWhiteSpace(unit), /\s/u.test(String.fromCharCode(unit)), unit.toString(16));
  }
});

test("texts are sorted as strings are, equal ones by number", () => {
  fc.assert(
    fc.property(texts, (some) => {
      const all = textsOf(some);
      const expected = Array.from(some.keys()).sort((a, b) =>
        some[a]! < some[b]! ? -1 : some[a] === some[b] ? a - b : 1,
      );
      const order = sortTexts(all);
      assert.deepEqual([...order], expected);
      assert.deepEqual(toStrings(reorderTexts(all, order)), [...some].sort());
    }),
  );
});

test("many texts of few kinds are sorted, however they come", () => {
  const kinds = Array.from({ length: 300 }, (_, at) => "prefix/".repeat(at % 7) + String(at % 50));
  const all = Array.from({ length: 30_000 }, (_, at) => kinds[(at * at) % kinds.length]!);
  for (const some of [
    all,
    [...all].sort(),
    [...all].sort().reverse(),
    Array<string>(5000).fill("same text"),
  ]) {
    const sorted = textsOf(some);
    assert.deepEqual(toStrings(reorderTexts(sorted, sortTexts(sorted))), [...some].sort());
  }
});

test("words get numbers as they come, each but one", () => {
  const words = Array.from({ length: 50_000 }, (_, at) => ((at * 7919) % 20_011).toString(36));
  const numbers = new WordDictionary();
  const known = new Map<string, number>();
  for (const word of words) {
    const expected = known.get(word) ?? known.size;
    known.set(word, expected);
    assert.equal(numbers.numberOf(`<${word}>`, 1, 1 + word.length), expected);
  }
  assert.equal(numbers.count, known.size);
  assert.deepEqual(toStrings(numbers.finish()), [...known.keys()]);
});

test("the words of an index are those that splitting gives, in order, with their documents", () => {
  const spaces = [" ", "\t", "\u3000", "\u2028", "\ufeff", "  \n"];
  const field = fc
    .array(
      fc.tuple(
        fc.string({ unit: fc.constantFrom("a", "b", "é", "か", "𝕒"), maxLength: 4 }),
        fc.constantFrom(...spaces),
      ),
    )
    .map((parts) => parts.flat().join(""));
  fc.assert(
    fc.property(fc.array(fc.tuple(field, field), { maxLength: 12 }), (documents) => {
      const builder = new WordIndexBuilder();
      const expected = new Map<string, Map<number, number>>();
      for (const [document, fields] of documents.entries()) {
        builder.beginDocument();
        for (const [which, text] of fields.entries()) {
          builder.addField(text, which === 0);
          for (const word of text.split(WHITE_SPACE).filter((part) => part !== "")) {
            const entries = expected.get(word) ?? new Map<number, number>();
            expected.set(word, entries.set(document, (entries.get(document) ?? 0) | (which === 0 ? 1 : 0)));
          }
        }
      }
      const { wordPostings, trigrams } = builder.finish();
      const words = [...expected.keys()].sort();
      assert.deepEqual(toStrings(trigrams.texts), words);
      for (const [word, text] of words.entries()) {
        const entries = wordPostings.entries.subarray(
          wordPostings.starts[word]!,
          wordPostings.starts[word + 1]!,
        );
        assert.deepEqual(
          [...entries],
          Array.from(expected.get(text)!, ([document, flag]) => document * 2 + flag),
        );
      }
    }),
  );
});
