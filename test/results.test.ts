/** The document of the results: every part has its place and its result; the chart shows the figures of the table. */

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { ratiosOf } from "../bench/http/report.ts";
import { assemble, placesOf, type Result } from "../bench/report/assemble.ts";
import { PARTS, SMOKED } from "../bench/report/parts.ts";
import { summarize } from "../bench/report/summary.ts";
import { spread } from "../bench/support/output.ts";

const BENCH = join(process.cwd(), "bench");
const TEMPLATE = readFileSync(join(BENCH, "report/TEMPLATE.md"), "utf8");

const result = (part: string, output = "| a | b |\n| --- | --- |\n| 1 | 2 |\n"): Result => ({
  part,
  command: `npx tsx bench/${part}.ts`,
  seconds: 61.2,
  output,
});
const RUN = { commit: "abc1234", node: "v24.0.0", machine: "2 × some processor" };

const DRAWN = { picture: "", summary: "" };

describe("the document of the results", () => {
  it("has a place for each part, and a part for each place", () => {
    const names = PARTS.map(({ name }) => name);
    assert.deepEqual(placesOf(TEMPLATE), names);
    for (const { bench } of PARTS) assert.ok(existsSync(join(BENCH, bench)), bench);
    for (const name of SMOKED) assert.ok(names.includes(name), name);
  });

  it("says where its results come from", () => {
    const template = "<!-- run -->\n\n<!-- summary -->\n\n<!-- picture -->\n\n<!-- bench: flood -->\n";
    assert.equal(
      assemble(template, [result("flood")], RUN, { picture: "![x](y)", summary: "in short" }),
      "Commit abc1234, Node v24.0.0, 2 × some processor; 1 min 1 s in all.\n\nin short\n\n![x](y)\n\n" +
        "`npx tsx bench/flood.ts`; took 1 min 1 s.\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n",
    );
  });

  it("is not made when a part has no result", () => {
    const results = PARTS.map(({ name }) => result(name));
    assert.ok(assemble(TEMPLATE, results, RUN, DRAWN).length > 1000);
    assert.throws(() => assemble(TEMPLATE, results.slice(1), RUN, DRAWN), /^Error: http has no result$/);
  });
});

const runs = (...figures: number[]) => figures.map((perCpuSecond) => ({ perCpuSecond }) as never);

describe("figures", () => {
  it("of a ratio are those of the rounds in which both count", () => {
    const ours = { peer: "orrery", runs: [...runs(100, 10, 50), undefined] };
    const theirs = { peer: "bare", runs: [...runs(200, 10, 200), ...runs(1)] };
    assert.deepEqual(ratiosOf(ours, theirs), [0.5, 1, 0.25]);
  });

  it("of the summary are those of our server beside the fastest of each kind of peer", () => {
    const of = (peer: string, median: number) => ({ peer, perCpuSecond: [median, 1, 1e6] as const });
    const peers = [
      of("orrery", 1200),
      of("orrery --http node", 9),
      of("Fastify", 400),
      of("Fastify + SQLite", 600),
    ];
    const text = summarize({ workloads: [{ workload: "list-20", peers }] } as never);
    assert.match(text.split("\n")[2]!, /^\| Page of 20 worlds +\| +1,200 \| +– \| +2\.00 \| +– \|$/);
  });

  it("are medians with the lowest and the highest", () => {
    assert.equal(spread([3, 1, 2, Number.NaN], 1), "2.0 (1.0–3.0)");
    assert.equal(
      spread([1, 4], (value) => `${value} s`),
      "2.5 s (1 s–4 s)",
    );
    assert.equal(spread([], 1), "–");
  });
});
