/** The hard limits: arrays and numbers can hold them; one more fails with one line. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { it, test } from "node:test";
import { generateSnapshot } from "../src/generate/generate.ts";
import { wordsFor } from "../src/search/grams.ts";
import { loadSnapshot } from "../src/snapshot/load.ts";
import {
  checkLimit,
  MOST_CODE_UNITS,
  MOST_GRAMS,
  MOST_LIST_WORDS,
  MOST_ROWS,
  MOST_TABLE_BYTES,
  MOST_TEXTS,
} from "../src/store/limits.ts";
import { temporaryFolder } from "./support/folders.ts";

const WORD = 2 ** 32;

test("a count at its limit is well, and one above is not", () => {
  checkLimit(7, 7, "things");
  assert.throws(() => checkLimit(8, 7, "things"), { name: "LimitError", message: "more than 7 things" });
});

test("the limits are within what numbers and arrays can hold", () => {
  // An id takes four words; a slot holds row + 1.
  assert.ok(MOST_ROWS * 4 <= WORD && MOST_ROWS + 1 < WORD);
  // The offset after the last byte.
  assert.ok(MOST_TABLE_BYTES - 1 < WORD);
  // A difference in a list has at most 28 bits.
  assert.ok(MOST_TEXTS <= 2 ** 28);
  assert.equal(wordsFor(MOST_TEXTS), 2 ** 20);
  // One gram begins at each unit, and one before each text.
  assert.ok(MOST_CODE_UNITS + MOST_TEXTS < WORD);
  // The key of a gram is its number times 65,536, plus a unit.
  assert.ok(MOST_GRAMS * 65_536 <= Number.MAX_SAFE_INTEGER && MOST_GRAMS * 2 < WORD);
  assert.ok(MOST_LIST_WORDS - 1 < WORD);
});

it("a snapshot with more rows than a table can hold is refused with one line, until its files change", async (t) => {
  const out = join(temporaryFolder(t), "snapshot");
  await generateSnapshot({ out, users: 30, worlds: 12, instances: 5, seed: 1, gzip: false });
  const whole = await loadSnapshot(out);
  assert.ok(whole.ok);
  const most = Math.max(...whole.reports.map(({ rows }) => rows));
  assert.ok((await loadSnapshot(out, { limits: { rows: most } })).ok);
  for (const [limit, what] of Object.entries({ rows: "rows", tableBytes: "bytes of visible rows" })) {
    const refused = await loadSnapshot(out, { limits: { [limit]: 1 } });
    assert.ok(!refused.ok);
    assert.deepEqual(refused.problems, [`users.ndjson: more than 1 ${what}`]);
    assert.equal(refused.fingerprint, whole.fingerprint);
    assert.equal(refused.died, undefined);
  }
});
