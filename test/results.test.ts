/** The document of the results: every part has its place and its result; the picture shows what the table has. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { type HttpResults, markdownTable, ratiosOf, toJson } from "../bench/http/report.ts";
import { assemble, placesOf, type Result } from "../bench/report/assemble.ts";
import { drawHttp } from "../bench/report/http-chart.ts";
import { PARTS, SMOKED } from "../bench/report/parts.ts";
import { missing } from "../bench/support/need.ts";
import { markdown, spread } from "../bench/support/output.ts";

const BENCH = join(process.cwd(), "bench");
const TEMPLATE = readFileSync(join(BENCH, "report/TEMPLATE.md"), "utf8");

const result = (part: string, output = "| a | b |\n| --- | --- |\n| 1 | 2 |\n"): Result => ({
  part,
  command: `npx tsx bench/${part}.ts`,
  seconds: 61.2,
  output,
});
const RUN = { commit: "abc1234", node: "v24.0.0", machine: "2 × some processor" };

describe("the document of the results", () => {
  it("has a place for each part, and a part for each place", () => {
    const names = PARTS.map(({ name }) => name);
    assert.deepEqual(placesOf(TEMPLATE), names);
    for (const { bench } of PARTS) assert.ok(existsSync(join(BENCH, bench)), bench);
    for (const name of SMOKED) assert.ok(names.includes(name), name);
    assert.ok(PARTS.reduce((sum, { minutes }) => sum + minutes, 0) < 90);
  });

  it("says where its results come from", () => {
    const text = assemble(
      "<!-- run -->\n\n<!-- picture -->\n\n<!-- bench: flood -->\n",
      [result("flood")],
      RUN,
      "![x](y)",
    );
    assert.equal(
      text,
      "Commit abc1234, Node v24.0.0, 2 × some processor; 1 min 1 s in all.\n\n![x](y)\n\n" +
        "`npx tsx bench/flood.ts`; took 1 min 1 s.\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n",
    );
  });

  it("is not made when a part has no result", () => {
    const results = PARTS.map(({ name }) => result(name));
    assert.ok(assemble(TEMPLATE, results, RUN, "").length > 1000);
    assert.throws(() => assemble(TEMPLATE, results.slice(1), RUN, ""), /^Error: http has no result$/);
  });

  it("keeps what looks like a pattern of a replacement", () => {
    assert.match(assemble("<!-- bench: flood -->", [result("flood", "| $& $1 |")], RUN, ""), /\| \$& \$1 \|/);
  });

  it("is not made by a run that names no part, nor with a program missing, and the line says the cure", () => {
    const ran = spawnSync(process.execPath, ["--import", "tsx", "bench/results.ts", "--only", "htp"], {
      encoding: "utf8",
    });
    assert.equal(ran.status, 1);
    assert.match(ran.stderr, /^no results: no part htp; --only takes http, http-million,/);
    const { PATH } = process.env;
    try {
      process.env.PATH = "/nowhere:/bin";
      assert.equal(missing([]), undefined);
      process.env.PATH = "/nowhere";
      const line =
        /^not installed: nginx, wrk\. Install with: apt-get install -y --no-install-recommends nginx-light wrk$/;
      assert.match(missing(["nginx", "wrk", "nginx"])!, line);
    } finally {
      process.env.PATH = PATH;
    }
  });
});

const runs = (...figures: number[]) => figures.map((perCpuSecond) => ({ perCpuSecond }) as never);

describe("figures", () => {
  it("of a ratio are those of the rounds in which both count", () => {
    const ours = { peer: "orrery", runs: [...runs(100, 10, 50), undefined] };
    const theirs = { peer: "bare", runs: [...runs(200, 10, 200), ...runs(1)] };
    assert.deepEqual(ratiosOf(ours, theirs), [0.5, 1, 0.25]);
  });

  it("are medians with the lowest and the highest", () => {
    assert.equal(spread([3, 1, 2, Number.NaN], 1), "2.0 (1.0–3.0)");
    assert.equal(
      spread([1, 4], (value) => `${value} s`),
      "2.5 s (1 s–4 s)",
    );
    assert.equal(spread([], 1), "–");
  });

  it("stand in columns", () => {
    const lines = markdown(
      ["", "µs"],
      [
        ["a | b", 12.5],
        ["c", undefined],
      ],
    ).split("\n");
    assert.deepEqual(lines, [
      "|        |   µs |",
      "| ------ | ---: |",
      "| a \\| b | 12.5 |",
      "| c      |    – |",
    ]);
  });
});

/** Opening and closing tags in their order, and no figure that is none. */
function assertDrawn(svg: string): void {
  assert.doesNotMatch(svg, /NaN|undefined|Infinity/);
  assert.match(svg, /prefers-color-scheme: dark/);
  assert.equal(svg.match(/<text/g)!.length, svg.match(/<\/text>/g)!.length);
  assert.doesNotMatch(svg, /https?:(?!\/\/www\.w3\.org\/2000\/svg")/);
}

describe("the picture of requests", () => {
  const peers = (...figures: number[]) =>
    ["orrery", "bare node:http", "nginx, a file"].map((peer, at) => ({
      peer,
      runs: runs(...[0.9, 1, 1.1].map((times) => figures[at]! * times)),
    }));
  const results = [
    { workload: "world-by-id", measured: peers(60_000, 70_000, 100_000) },
    { workload: "user-by-id", measured: peers(1, 2, 3) },
    { workload: "list-50", measured: peers(20_000, Number.NaN, 30_000) },
  ];
  const conditions = { node: "v24.0.0", cpu: "2 × a < b", commit: "abc1234", users: 20_000 } as HttpResults;

  it("shows each server's figure, and none that the table has not", () => {
    const svg = drawHttp(JSON.parse(JSON.stringify(toJson(results, conditions))) as HttpResults);
    assertDrawn(svg);
    for (const figure of ["60,000", "70,000", "100,000", "20,000", "a &lt; b", "nginx"]) {
      assert.ok(svg.includes(figure), figure);
    }
    assert.ok(!svg.includes("user-by-id"));
    const table = markdownTable(results, conditions);
    const bars = [...svg.matchAll(/font-size="12"[^>]*>([\d,]+)</g)].map(([, figure]) => figure!);
    assert.equal(bars.length, 5);
    for (const bar of bars) assert.ok(table.includes(` ${bar} (`), bar);
  });
});
