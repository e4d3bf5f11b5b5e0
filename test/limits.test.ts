/** The hard limits: each can be reached; one more fails with one line, before it takes more memory. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it, test } from "node:test";
import { generateSnapshot } from "../src/generate/generate.ts";
import { indexTrigrams } from "../src/search/index-trigrams.ts";
import { TextsBuilder } from "../src/search/texts.ts";
import { NUMBER_SHIFT } from "../src/search/trigrams.ts";
import { indexUsers } from "../src/search/users.ts";
import { WordDictionary } from "../src/search/word-dictionary.ts";
import { WordIndexBuilder } from "../src/search/word-index.ts";
import { loadSnapshot } from "../src/snapshot/load.ts";
import { TextColumn } from "../src/store/bytes.ts";
import { ArrivingIds } from "../src/store/ids.ts";
import {
  checkLimit,
  LimitError,
  MOST_CODE_UNITS,
  MOST_FOUND_BYTES,
  MOST_OCCURRENCES,
  MOST_ROWS,
  MOST_TABLE_BYTES,
  MOST_TEXTS,
} from "../src/store/limits.ts";
import { countUp } from "../src/store/order.ts";
import { packBlock } from "../src/store/table.ts";
import { temporaryFolder } from "./support/folders.ts";

const WORD = 2 ** 32;

const told = (most: number, what: string) => ({ name: "LimitError", message: `more than ${most} ${what}` });

test("a count at its limit is well, and one above is not", () => {
  checkLimit(7, 7, "things");
  assert.throws(() => checkLimit(8, 7, "things"), told(7, "things"));
});

test("the limits are within what numbers and arrays can hold", () => {
  // An id takes four words; a slot holds row + 1.
  assert.ok(MOST_ROWS * 4 <= WORD && MOST_ROWS + 1 < WORD);
  // The offset after the last byte.
  assert.ok(MOST_TABLE_BYTES - 1 < WORD);
  assert.equal(MOST_TEXTS, 2 ** (32 - NUMBER_SHIFT));
  // Positions and posting numbers are 32-bit, and so is the sum of two in a binary search.
  assert.ok(MOST_CODE_UNITS * 2 <= WORD);
  // The index of an occurrence plus one must fit.
  assert.ok(MOST_OCCURRENCES + 1 < WORD);
  assert.ok(MOST_FOUND_BYTES / Uint32Array.BYTES_PER_ELEMENT < WORD);
});

describe("columns and tables", () => {
  it("take so many ids", () => {
    const ids = new ArrivingIds(1025);
    const id = new Uint32Array(4);
    for (id[0] = 0; id[0] < 1025; id[0]++) assert.equal(ids.add(id, 0), -1);
    assert.throws(() => ids.add(id, 0), told(1025, "rows"));
    // A known id does not count as a new row.
    id[0] = 3;
    assert.equal(ids.add(id, 0), 3);
    const few = new ArrivingIds(1024);
    for (id[0] = 0; id[0] < 1024; id[0]++) few.add(id, 0);
    assert.throws(() => few.add(id, 0), told(1024, "rows"));
  });

  it("take so many bytes of rows", () => {
    const mostBytes = 2 * 2 ** 24;
    const texts = new TextColumn([], mostBytes);
    const row = "x".repeat(80_000);
    // Chunks of 256 and 512 KiB; a row fits only if there is room for three bytes a character.
    const fits = 1 + Math.floor((2 ** 18 - 240_000) / 80_000) + 1 + Math.floor((2 ** 19 - 240_000) / 80_000);
    for (let at = 0; at < fits; at++) texts.push(row);
    assert.throws(() => texts.push(row), told(mostBytes, "bytes of visible rows"));
    assert.throws(() => texts.beginText(400_000), told(mostBytes, "bytes of visible rows"));
  });

  it("pack so many bytes of rows", () => {
    const texts = new TextColumn();
    for (const text of ["{1}", "{22}"]) texts.push(text);
    assert.equal(packBlock(texts, countUp(2), 10).bytes.length, 9);
    assert.throws(() => packBlock(texts, countUp(2), 9), told(9, "bytes of visible rows"));
  });
});

describe("an index", () => {
  it("takes so many code units of names", () => {
    const names = new TextsBuilder(2000);
    names.add("x".repeat(1000));
    names.add("y".repeat(998));
    assert.throws(() => names.add(""), told(2000, "characters of names"));
    assert.equal(names.finish().units.length, 2001 - 1);
  });

  it("takes so many names", () => {
    const never = (): string => assert.fail("a name was read");
    assert.throws(() => indexUsers(MOST_TEXTS + 1, never), told(MOST_TEXTS, "names of users"));
    const texts = new TextsBuilder();
    for (const text of ["a", "b", "x".repeat(129)]) texts.add(text);
    const all = texts.finish();
    // Five chunks: two texts of one, and one of three.
    assert.equal(indexTrigrams(all, undefined, 5).postings.length, 131);
    assert.throws(() => indexTrigrams(all, undefined, 4), LimitError);
  });

  it("takes so many distinct words", () => {
    const words = new WordDictionary(2, 4100);
    const numbers = ["aa", "bb", "aa"].map((word) => words.numberOf(word, 0, 2));
    assert.deepEqual(numbers, [0, 1, 0]);
    assert.throws(() => words.numberOf("cc", 0, 2), told(2, "distinct words"));
    const units = new WordDictionary(100, 4100);
    units.numberOf("x".repeat(4099), 0, 4099);
    assert.throws(() => units.numberOf("y", 0, 1), told(4100, "characters of distinct words"));
  });

  it("takes so many words of worlds", () => {
    const builder = new WordIndexBuilder(3);
    builder.beginDocument();
    builder.addField("a b a", true);
    builder.beginDocument();
    builder.addField("a", false);
    assert.throws(() => builder.addField("b", false), told(3, "words of worlds, each counted once a world"));
  });
});

it("a snapshot with more rows than a table can hold is refused with one line, until its files change", async (t) => {
  const out = join(temporaryFolder(t), "snapshot");
  await generateSnapshot({ out, users: 30, worlds: 12, instances: 5, seed: 1, gzip: false });
  const whole = await loadSnapshot(out);
  assert.ok(whole.ok);
  const most = Math.max(...whole.reports.map(({ rows }) => rows));
  assert.ok((await loadSnapshot(out, { limits: { rows: most } })).ok);
  for (const [limits, what] of [
    [{ rows: 1 }, "more than 1 rows"],
    [{ tableBytes: 1 }, "more than 1 bytes of visible rows"],
  ] as const) {
    const refused = await loadSnapshot(out, { limits });
    assert.ok(!refused.ok);
    assert.deepEqual(refused.problems, [`users.ndjson: ${what}`]);
    assert.equal(refused.fingerprint, whole.fingerprint);
    assert.equal(refused.died, undefined);
  }
});
