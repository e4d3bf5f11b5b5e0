/** Reading along what a counter server sends: what is announced is known before it is made, however it arrives. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { ReplyScanner } from "../src/shared-limits/reply-scanner.ts";

const { reply } = fc.letrec<{ reply: string; item: string }>((tie) => ({
  reply: fc.oneof(
    { maxDepth: 4 },
    tie("item"),
    fc.array(tie("reply"), { maxLength: 4 }).map((items) => `*${items.length}\r\n${items.join("")}`),
    fc
      .array(fc.tuple(tie("item"), tie("reply")), { maxLength: 3 })
      .map((pairs) => `%${pairs.length}\r\n${pairs.flat().join("")}`),
  ),
  item: fc.oneof(
    fc.integer().map((number) => `:${number}\r\n`),
    fc.string({ unit: "binary-ascii", maxLength: 40 }).map((text) => `$${text.length}\r\n${text}\r\n`),
    fc.constantFrom("+OK\r\n", "-ERR no\r\n", "_\r\n", "#t\r\n", ",1.5\r\n", "$-1\r\n", "*-1\r\n", "+\r\n"),
  ),
}));

describe("what a counter server announces", () => {
  test("is never more than what comes, and nothing is left behind a whole reply", () => {
    fc.assert(
      fc.property(fc.array(reply, { minLength: 1, maxLength: 4 }), fc.array(fc.nat(30)), (replies, cuts) => {
        const bytes = Buffer.from(replies.join(""), "latin1");
        const scanner = new ReplyScanner();
        let announced = 0;
        for (let at = 0, turn = 0; at < bytes.length; turn++) {
          const chunk = bytes.subarray(at, at + 1 + (cuts[turn] ?? 7));
          at += chunk.length;
          announced = scanner.scan(chunk);
          assert.ok(announced <= bytes.length - at, `${announced} with ${bytes.length - at} to come`);
        }
        assert.equal(announced, 0);
      }),
      { numRuns: 300 },
    );
  });

  for (const [text, least] of [
    ["*30000000\r\n", 90_000_000],
    ["*1\r\n*2\r\n*1000000\r\n", 3_000_000],
    ["%1000\r\n", 6000],
    ["$1073741824\r\nabc", 1_073_741_823],
  ] as const) {
    test(`is known at once: ${JSON.stringify(text)}`, () => {
      const scanner = new ReplyScanner();
      assert.ok(scanner.scan(Buffer.from(text)) >= least);
    });
  }

  for (const text of [
    ..."(=!|A\0",
    ...[
      "*1x",
      "*-\r\n",
      "*-2\r\n",
      "$-11\r\n",
      "*5-\r\n",
      "*9999999999",
      ":1\rx",
      "_x\r\n",
      "#\r\n",
      "#tt\r\n",
    ],
  ]) {
    test(`is no reply: ${JSON.stringify(text)}`, () => {
      assert.equal(new ReplyScanner().scan(Buffer.from(text)), Number.POSITIVE_INFINITY);
    });
  }
});
