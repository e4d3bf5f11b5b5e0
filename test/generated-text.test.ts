import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { drawWorldTexts } from "../src/generate/text.ts";
import { fold } from "../src/search/fold.ts";
import { createRandom } from "../src/util/random.ts";

const WORLDS = 4000;

const texts = (() => {
  const random = createRandom(11, "texts");
  return Array.from({ length: WORLDS }, () => {
    const { name, description } = drawWorldTexts(random);
    return `${name} ${description ?? ""}`;
  });
})();

describe("texts of generated worlds", () => {
  it("hold words that no other world has, as real ones do", () => {
    const worlds = new Map<string, number>();
    let distinct = 0;
    for (const text of texts) {
      const words = new Set(fold(text).split(/\s+/u));
      distinct += words.size;
      for (const word of words) worlds.set(word, (worlds.get(word) ?? 0) + 1);
    }
    const own = [...worlds.values()].filter((many) => many === 1).length;
    assert.ok(own / WORLDS > 8 && own / WORLDS < 12, `${own / WORLDS} words of its own a world`);
    assert.ok(distinct / WORLDS > 25 && distinct / WORLDS < 50, `${distinct / WORLDS} words a world`);
  });

  const KINDS: readonly [what: string, pattern: RegExp, least: number, most: number][] = [
    ["an address", /https:\/\/|https˸⁄⁄/, 0.3, 0.7],
    ["a handle", /[@＠]\p{L}{3}|\p{L}#\d{4}\b/u, 0.2, 0.6],
    ["a hash or an id", /[0-9a-f]{16}|ID:|sha1:/, 0.1, 0.5],
    ["a hashtag", /[#＃]\p{Lu}/u, 0.1, 0.5],
    ["lines", /\n/, 0.3, 0.8],
    ["300 code units and no line's end", /^[^\n]{300,}$/, 0.05, 0.3],
    ["box drawing", /[\u2500-\u259f]/, 0.03, 0.3],
    ["full-width letters", /[\uff21-\uff5a]/, 0.01, 0.2],
    ["mathematical letters", /[\u{1d400}-\u{1d7ff}]/u, 0.02, 0.2],
    ["circled letters or small capitals", /[Ⓐ-ⓩᴀ-ᴢ]/, 0.005, 0.1],
    ["emoji", /\p{Extended_Pictographic}/u, 0.1, 0.5],
    ["20 CJK characters without a space", /[\u3040-\u30ff\u3400-\u9fff、。！・]{20}/, 0.15, 0.5],
    [
      "Latin and CJK letters",
      /[a-z]{3}.*[\u3040-\u9fff\uac00-\ud7af]|[\u3040-\u9fff\uac00-\ud7af].*[a-z]{3}/s,
      0.3,
      0.7,
    ],
  ];
  for (const [what, pattern, least, most] of KINDS) {
    it(`have ${what} in a share of worlds`, () => {
      const share = texts.filter((text) => pattern.test(text)).length / WORLDS;
      assert.ok(share >= least && share <= most, `share is ${share}, not ${least} to ${most}`);
    });
  }

  it("are well formed", () => {
    for (const text of texts) assert.ok(text.isWellFormed(), text);
  });
});

describe("streams of rows", () => {
  it("are the same whenever a row is drawn, and others for another row, seed or name", () => {
    const random = createRandom(5, "users");
    const draw = (row: number): string => {
      random.startRow(row);
      return [random.word(), random.word(), random.word(), random.word()].join();
    };
    const first = Array.from({ length: 5000 }, (_, row) => draw(row));
    assert.equal(new Set(first).size, 5000);
    assert.equal(new Set(first.map((words) => words.split(",")[0])).size, 5000);
    for (const row of [4999, 0, 17, 1]) assert.equal(draw(row), first[row]);
    for (const other of [
      createRandom(6, "users"),
      createRandom(5 + 2 ** 32, "users"),
      createRandom(5, "worlds"),
    ]) {
      other.startRow(17);
      assert.notEqual(String(other.word()), first[17]!.split(",")[0]);
    }
  });

  it("have no drift from row to row", () => {
    const random = createRandom(1, "worlds");
    for (const skipped of [0, 1, 7]) {
      let sum = 0;
      let ups = 0;
      let before = 0;
      for (let row = 0; row < 20_000; row++) {
        random.startRow(row);
        for (let at = 0; at < skipped; at++) random.word();
        const unit = random.unit();
        sum += unit;
        if (unit > before) ups++;
        before = unit;
      }
      assert.ok(Math.abs(sum / 20_000 - 0.5) < 0.01, `mean ${sum / 20_000}`);
      assert.ok(Math.abs(ups / 20_000 - 0.5) < 0.02, `${ups} rises`);
    }
  });
});
