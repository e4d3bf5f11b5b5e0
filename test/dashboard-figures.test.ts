/** How the dashboard shows figures, tested without a browser. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as format from "../src/admin/dashboard/format.ts";
import { extend, type Seen, span } from "../src/admin/dashboard/history.ts";
import type { Moment } from "../src/admin/status.ts";

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
    const rows = format.rowsText(1, 2000, 1).replaceAll("\u00a0", " ");
    assert.equal(rows, "1 user, 2,000 worlds, 1 instance");
  });

  it("say durations in their two largest units", () => {
    const seconds = [-5, 0, 59.9, 60, 130, 3600, 3661, 90_000, 864_000];
    const texts = "0 s | 0 s | 59 s | 1 min | 2 min 10 s | 1 h | 1 h 1 min | 1 d 1 h | 10 d";
    assert.equal(written(format.duration, seconds), texts);
  });

  it("are a dash where there are none", () => {
    const { count, rate, millis, bytes, percent, duration } = format;
    for (const write of [count, rate, millis, bytes, percent, duration])
      for (const nothing of [null, undefined, Number.NaN, Number.POSITIVE_INFINITY])
        assert.equal(write(nothing), format.NONE);
    assert.equal(format.moment(new Date("no time"), new Date()), format.NONE);
  });

  it("have a date when they are not of today", () => {
    const now = new Date(2026, 10, 22, 12, 0, 0);
    assert.equal(format.moment(new Date(2026, 10, 22, 9, 5, 7), now), "09:05:07");
    assert.match(format.moment(new Date(2026, 10, 21, 9, 5, 7), now), /21 Nov.*09:05:07/);
    assert.match(format.zoned.format(now), /22 Nov 2026,? (at )?12:00:00 [A-Z]{2,5}([+-][\d:]+)?$/);
  });
});

describe("the history of charts", () => {
  const BEGIN = Date.parse("2026-11-22T12:00:00Z");
  const momentsAt = (...times: readonly number[]): Moment[] =>
    times.map((at) => ({ now: new Date(BEGIN + at * 1000).toISOString() }) as Moment);
  const shown = (history: readonly Seen[]): (number | undefined)[] =>
    history.map(({ at, figures }) => (figures === undefined ? undefined : at - BEGIN / 1000));

  it("has a gap where nothing is known, and ten minutes", () => {
    const history: Seen[] = [];
    for (const at of [100, 102, 110, 170]) extend(history, momentsAt(at));
    assert.deepEqual(shown(history), [100, 102, 110, undefined, 170]);
    assert.equal(history[3]!.at, BEGIN / 1000 + 140);
    assert.deepEqual(span(history), [BEGIN / 1000 + 50, BEGIN / 1000 + 170]);
    extend(history, momentsAt(705));
    assert.deepEqual(shown(history), [110, undefined, 170, undefined, 705]);
  });

  it("takes from the server's memory what it has not seen itself", () => {
    const history: Seen[] = [];
    for (const times of [[100, 105], [108], [100, 105, 110, 115], []]) extend(history, momentsAt(...times));
    assert.deepEqual(shown(history), [100, 105, 108, 110, 115]);
  });

  it("begins anew when the server's clock went back", () => {
    const history: Seen[] = [];
    extend(history, momentsAt(100, 105));
    extend(history, momentsAt(50));
    assert.deepEqual(shown(history), [50]);
  });
});
