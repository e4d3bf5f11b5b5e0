/** How the dashboard shows figures, tested without a browser. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as format from "../src/admin/dashboard/format.ts";
import { forgetNow, isBehind, recall, remember, type ShownHistory } from "../src/admin/dashboard/history.ts";

describe("figures", () => {
  const written = (write: (value: number) => string, values: readonly number[]): string =>
    values.map(write).join(" | ").replaceAll("\u00a0", " ");

  it("have three digits and a unit", () => {
    const rates = [0, 0.0471, 0.999, 9.994, 9.996, 99.94, 99.96, 123_456];
    assert.equal(written(format.rate, rates), "0 | 0.05 | 1.00 | 9.99 | 10.0 | 99.9 | 100 | 123,456");
    const times = [0, 0.05, 12.34, 999, 1000, 61_500, 125_000];
    const spans = "0 ms | 0.05 ms | 12.3 ms | 999 ms | 1.00 s | 61.5 s | 2 min 5 s";
    assert.equal(written(format.millis, times), spans);
    const sizes = [0, 999, 1000, 67_108_864, 1.5e9, 9e15];
    assert.equal(written(format.bytes, sizes), "0 B | 999 B | 1.00 kB | 67.1 MB | 1.50 GB | 9,000 TB");
    assert.equal(written(format.percent, [0, 0.0004, 0.5, 1]), "0 % | 0.0 % | 50.0 % | 100 %");
    const keys = (many: number): string => format.counted(many, "key");
    assert.equal(written(keys, [1, 1200]), "1 key | 1,200 keys");
  });

  it("say durations in their two largest units", () => {
    const seconds = [-5, 0, 59.9, 60, 130, 3600, 3661, 90_000, 864_000];
    const texts = "0 s | 0 s | 59 s | 1 min | 2 min 10 s | 1 h | 1 h 1 min | 1 d 1 h | 10 d";
    assert.equal(written(format.duration, seconds), texts);
  });

  it("are a dash where there are none", () => {
    for (const write of [
      format.count,
      format.rate,
      format.millis,
      format.bytes,
      format.percent,
      format.duration,
    ])
      for (const nothing of [null, undefined, Number.NaN, Number.POSITIVE_INFINITY])
        assert.equal(write(nothing), format.NONE);
    assert.equal(format.moment(new Date("no time"), new Date()), format.NONE);
  });

  it("have a date when they are not of today", () => {
    const now = new Date(2026, 10, 22, 12, 0, 0);
    assert.equal(format.moment(new Date(2026, 10, 22, 9, 5, 7), now), "09:05:07");
    assert.match(format.moment(new Date(2026, 10, 21, 9, 5, 7), now), /21 Nov.*09:05:07/);
  });
});

describe("the history of charts", () => {
  it("has a gap where nothing is known", () => {
    const history: ShownHistory<number> = { moments: [], figures: [] };
    forgetNow(history, 99);
    remember(history, 100, 1);
    remember(history, 102, 2);
    // No answer, several times.
    for (const at of [104, 106, 108]) forgetNow(history, at);
    remember(history, 110, 3);
    // The page is not looked at for a minute.
    remember(history, 170, 4);
    assert.deepEqual(history.figures, [1, 2, undefined, 3, undefined, 4]);
    assert.deepEqual(history.moments, [100, 102, 104, 110, 140, 170]);
  });

  it("takes from the server's memory what it has not seen itself", () => {
    const history: ShownHistory<number> = { moments: [], figures: [] };
    assert.ok(isBehind(history, 100));
    for (const at of [100, 105]) recall(history, at, at);
    remember(history, 108, 108);
    assert.ok(!isBehind(history, 120));
    assert.ok(isBehind(history, 125));
    for (const at of [100, 105, 110, 115]) recall(history, at, -at);
    assert.deepEqual(history.figures, [100, 105, 108, -110, -115]);
  });
});
