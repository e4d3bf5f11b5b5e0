/** In a small index less is found beforehand: just below that size and just above it searches find the same as a scan. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { SMALL } from "../../src/search/ngram-documents.ts";
import type { ResultSet } from "../../src/search/result-set.ts";
import { runNow } from "../../src/search/work.ts";
import { indexWorlds, openWorlds, searchWorlds } from "../../src/search/worlds.ts";
import { createRandom } from "../../src/util/random.ts";

const random = createRandom(3, "small");
const word = (letters: string): string =>
  Array.from({ length: 2 + random.below(6) }, () => letters[random.below(letters.length)]).join("");

function classOf(text: string, term: string): number {
  return text === term ? 0 : text.startsWith(term) ? 1 : 2;
}

/** Rows by class, each class ascending. @param classAt -1 where a row does not match */
function scan(rows: number, classAt: (row: number) => number): number[] {
  const classes: number[][] = [[], [], [], []];
  for (let row = 0; row < rows; row++) classes[classAt(row)]?.push(row);
  return classes.flat();
}

function check(
  find: (page?: { limit: number; offset: number }) => ResultSet,
  naive: number[],
  message: string,
) {
  for (const offset of [0, 7, 900, naive.length - 3]) {
    if (offset < 0) continue;
    const page = { limit: 20, offset };
    const matches = find(page);
    assert.equal(matches.total, naive.length, message);
    assert.deepEqual([...matches.page(page)], naive.slice(offset, offset + 20), message);
  }
}

/** Terms of all kinds: parts of texts, which are rare or frequent, two words, and what is nowhere. */
function termsOf(texts: readonly string[]): string[] {
  const parts = Array.from({ length: 40 }, () => {
    const text = texts[random.below(texts.length)]!;
    const from = random.below(text.length);
    return text.slice(from, from + 1 + random.below(5)).trim();
  });
  const pairs = Array.from({ length: 10 }, () => `${word("abcd").slice(0, 2)} ${word("efg").slice(0, 1)}`);
  return [...new Set([..."abcdefgh", ...parts, ...pairs, "abcdefgh"])].filter((term) => term !== "");
}

describe("an index just below the size from which more is found beforehand, and one just above it", () => {
  test("finds worlds as a scan does", () => {
    const worlds: { name: string; description: string }[] = [];
    let entries = 0;
    while (entries < SMALL - 1) {
      const name = `${word("abcdefgh")} ${word("efgh")}`;
      const words = new Set(Array.from({ length: 12 }, () => word("abcd")));
      for (const each of name.split(" ")) words.delete(each);
      const own = new Set(name.split(" ")).size;
      const kept = [...words].slice(0, Math.max(SMALL - 1 - entries - own, 0));
      worlds.push({ name, description: kept.join(" ") });
      entries += own + kept.length;
    }
    // The last may have gone over it by the words of its name.
    if (entries >= SMALL) worlds.at(-1)!.name = worlds.at(-1)!.name.split(" ")[0]!;
    const known: number[] = [];
    for (const more of [0, 1]) {
      const all = more === 0 ? worlds : [...worlds, { name: "b", description: "" }];
      const ranking = Uint32Array.from(all, (_, row) => row);
      const index = openWorlds(
        indexWorlds(
          ranking,
          (row) => all[row]!.name,
          (row) => all[row]!.description,
        ),
      );
      assert.equal(index.words.wordPostings.entries.length, SMALL - 1 + more);
      const { dense, sparse } = index.words.ngramDocuments;
      known.push(dense.keys.length + sparse.keys.length);
      for (const term of termsOf(worlds.flatMap(({ name, description }) => [name, description]))) {
        const terms = term.split(" ");
        const naive = scan(all.length, (row) => {
          const { name, description } = all[row]!;
          if (!terms.every((each) => name.includes(each) || description.includes(each))) return -1;
          return terms.every((each) => name.includes(each)) ? classOf(name, term) : 3;
        });
        check((page) => runNow(searchWorlds(index, term, page)), naive, term);
      }
    }
    assert.ok(known[0]! > 10 && known[1]! > known[0]! * 2, `${known} known beforehand`);
  });
});
