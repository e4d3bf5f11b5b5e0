/** Times and ids, compared with plain code. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { formatTime, parseTime } from "../src/model/time.ts";
import { formatUuid, parseUuid } from "../src/model/uuid.ts";
import { isModelUuid, modelTime, modelTimeText } from "./conformance/model.ts";
import { textIn, weighted } from "./conformance/property.ts";

describe("times", () => {
  const two = (max: number) => fc.nat(max).map((value) => String(value).padStart(2, "0"));
  const fraction = textIn("0123456789", 12).map((digits) => `.${digits}`);
  const seconds = fc.oneof(
    fc.constant(""),
    fc.tuple(two(61), fc.oneof(fc.constant(""), fraction)).map(([value, rest]) => `:${value}${rest}`),
  );
  const zone = weighted(
    [3, fc.constant("Z")],
    [3, fc.tuple(fc.constantFrom("+", "-"), two(24), two(60)).map(([s, h, m]) => `${s}${h}:${m}`)],
    [1, fc.constantFrom("", "z", "+0100", "+01", " Z", "Z ", "−01:00", "+1:00", "-00:00", "UTC")],
  );
  const year = fc.oneof(
    fc.constantFrom("0000", "0004", "0100", "1900", "1969", "1970", "2000", "2024", "9999"),
    fc.nat(9999).map((value) => String(value).padStart(4, "0")),
  );
  const dayOfMonth = fc.oneof(two(32), fc.constantFrom("28", "29", "30", "31"));
  const likely = fc
    .tuple(year, two(13), dayOfMonth, two(24), two(60), seconds, zone)
    .map(([y, month, day, hour, minute, rest, z]) => `${y}-${month}-${day}T${hour}:${minute}${rest}${z}`);
  const damaged = fc
    .tuple(likely, fc.nat(35), fc.constantFrom("", "x", " ", "0", "-", ":", "\n", "٣", "T", "+"), fc.nat(1))
    .map(([whole, at, put, drop]) => whole.slice(0, at) + put + whole.slice(at + drop));

  test("are read as the naive reader reads them", () => {
    let good = 0;
    fc.assert(
      fc.property(weighted([4, likely], [1, damaged]), (some) => {
        const at = parseTime(some);
        assert.equal(at, modelTime(some), some);
        if (!Number.isNaN(at)) good++;
      }),
      { numRuns: 20_000 },
    );
    assert.ok(good > 5000, `only ${good} times are real`);
  });

  test("come back from their text", () => {
    const first = Date.UTC(2000, 0, 1) - 730_485 * 86_400_000;
    const milliseconds = fc.oneof(
      fc.integer({ min: first, max: 253_402_300_799_999 }),
      fc.constantFrom(first, -1, 0, 1, 253_402_300_799_999),
    );
    fc.assert(
      fc.property(milliseconds, (at) => {
        const written = formatTime(at);
        assert.equal(written, modelTimeText(at));
        assert.equal(parseTime(written), at);
      }),
      { numRuns: 5000 },
    );
    assert.equal(formatTime(first), "0000-01-01T00:00:00.000Z");
    assert.ok(Number.isNaN(parseTime("0000-01-01T00:00:00+00:01")));
    assert.ok(Number.isNaN(parseTime("9999-12-31T23:59:59-00:01")));
  });
});

describe("ids", () => {
  const word = fc.oneof(
    fc.integer({ min: 0, max: 0xffff_ffff }),
    fc.constantFrom(0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff),
  );
  const words = fc.tuple(word, word, word, word);
  const uuid = words.map((four) => formatUuid(Uint32Array.from(four), 0));

  test("come back from their text in any case", () => {
    fc.assert(
      fc.property(words, fc.nat(0xffff_ffff), (four, upper) => {
        const lower = formatUuid(Uint32Array.from([9, ...four]), 1);
        assert.ok(isModelUuid(lower) && lower === lower.toLowerCase());
        const digits = four.map((value) => value.toString(16).padStart(8, "0")).join("");
        assert.equal(lower.replaceAll("-", ""), digits, "digits in order");
        const letters = Array.from(lower, (c, at) => ((upper >>> (at % 32)) & 1 ? c.toUpperCase() : c));
        const read = new Uint32Array(6);
        assert.ok(parseUuid(letters.join(""), read, 1));
        assert.deepEqual([...read], [0, ...four, 0]);
      }),
      { numRuns: 3000 },
    );
  });

  test("are told from everything else", () => {
    const put = fc.constantFrom("", "g", "-", " ", "/", ":", "@", "`", "０", "é", "\u0130", "\0", "0", "aa");
    const almost = fc
      .tuple(uuid, fc.nat(36), put, fc.nat(2))
      .map(([id, at, insert, drop]) => id.slice(0, at) + insert + id.slice(at + drop));
    let good = 0;
    let bad = 0;
    fc.assert(
      fc.property(fc.oneof(almost, fc.string({ maxLength: 40 })), (some) => {
        const isId = parseUuid(some, new Uint32Array(4), 0);
        assert.equal(isId, isModelUuid(some), JSON.stringify(some));
        if (isId) good++;
        else bad++;
      }),
      { numRuns: 5000 },
    );
    assert.ok(good > 30 && bad > 1000, `${good} good, ${bad} bad`);
  });
});
