/** The document of the results: every part has its place, failures are said, pictures are drawn of what there is. */

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { HttpResults } from "../bench/http/report.ts";
import { ratioOf } from "../bench/http/report.ts";
import { assemble, type Outcome, placesOf } from "../bench/report/assemble.ts";
import { drawHttp } from "../bench/report/http-chart.ts";
import { PARTS } from "../bench/report/parts.ts";
import { drawSize } from "../bench/report/size-chart.ts";
import { markdown } from "../bench/support/output.ts";

const BENCH = join(process.cwd(), "bench");
const TEMPLATE = readFileSync(join(BENCH, "report/TEMPLATE.md"), "utf8");

const outcome = (changes: Partial<Outcome>): Outcome => ({
  part: "limit",
  command: "npx tsx bench/limit.ts",
  commit: "abc1234",
  node: "v24.0.0",
  machine: "2 × some processor",
  seconds: 61.2,
  output: "| a | b |\n| --- | --- |\n| 1 | 2 |\n",
  failure: undefined,
  ...changes,
});

describe("the document of the results", () => {
  it("has a place for each part, and a part for each place", () => {
    assert.deepEqual(placesOf(TEMPLATE, "bench").sort(), PARTS.map(({ name }) => name).sort());
    assert.deepEqual(placesOf(TEMPLATE, "picture"), ["http", "size"]);
    for (const { bench } of PARTS) assert.ok(existsSync(join(BENCH, bench)), bench);
  });

  it("says of each result where it comes from", () => {
    const text = assemble(
      "<!-- bench: limit -->\n",
      [outcome({}), outcome({ node: "v20.0.0", output: "plain" })],
      {},
    );
    const about =
      "`npx tsx bench/limit.ts`, commit abc1234, Node v24.0.0, 2 × some processor; took 1 min 1 s.";
    assert.ok(text.startsWith(`${about}\n\n| a | b |`), text);
    assert.ok(text.endsWith(`${about.replace("v24", "v20")}\n\n\`\`\`text\nplain\n\`\`\`\n`), text);
  });

  it("says what failed and what was left out", () => {
    const failed = outcome({ failure: "it ended with 1", output: "| half\nError: x" });
    const text = assemble(
      "<!-- bench: limit -->\n<!-- bench: cost -->\n<!-- picture: http -->",
      [failed],
      {},
    );
    assert.match(text, /\*\*No result: it ended with 1\.\*\*\n\n```text\n\| half\nError: x\n```/);
    assert.match(text, /\(Left out of this run\.\)\n\(No picture: /);
  });

  it("keeps what looks like a pattern of a replacement", () => {
    assert.match(assemble("<!-- bench: limit -->", [outcome({ output: "| $& $1 |" })], {}), /\| \$& \$1 \|/);
  });
});

describe("figures", () => {
  const runs = (...figures: number[]) => figures.map((perCpuSecond) => ({ perCpuSecond }) as never);

  it("of a ratio are the median of the rounds'", () => {
    const ours = { peer: "orrery", runs: [...runs(100, 10, 50), undefined] };
    const theirs = { peer: "bare", runs: [...runs(200, 10, 200), ...runs(1)] };
    // The medians' ratio would be 50 / 200.
    assert.equal(ratioOf(ours, theirs), 0.5);
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

describe("the pictures", () => {
  const peers = (...figures: number[]) =>
    ["orrery", "bare node:http", "nginx, a file"].map((peer, at) => ({
      peer,
      perCpuSecond: figures[at],
      runs: [],
    }));
  const http = {
    node: "v24.0.0",
    cpu: "2 × a < b",
    commit: "abc1234",
    users: 20_000,
    workloads: [
      { workload: "world-by-id", peers: peers(60_000, 70_000, 100_000) },
      { workload: "no-token", peers: peers(1, 2, 3) },
      { workload: "list-50", peers: peers(20_000, Number.NaN, 3) },
    ],
  } as unknown as HttpResults;

  it("of requests shows each server's figure", () => {
    const svg = drawHttp(http);
    assertDrawn(svg);
    for (const figure of ["60,000", "70,000", "20,000", "a &lt; b"]) assert.ok(svg.includes(figure), figure);
    for (const left of ["nginx", "100,000<", "no-token"]) assert.ok(!svg.includes(left), left);
  });

  it("of sizes shows what it costs at the largest", () => {
    const cost = {
      node: "v24.0.0",
      sizes: [2000, 1_000_000],
      workloads: [
        { workload: "world-by-id", costs: [{ micros: 13 }, { micros: 14.26 }] },
        { workload: "list-20", costs: [{ micros: 13 }, { micros: 14.27 }] },
      ],
    };
    const scale = {
      node: "v24.0.0",
      sizes: [
        { users: 10_000, microsARow: 37, bytesARow: 13_300 },
        { users: 1_000_000, microsARow: 7.9, bytesARow: 841 },
      ],
    };
    const svg = drawSize(cost, scale);
    assertDrawn(svg);
    for (const text of ["14.3 world by id", "14.3 page of 20", ">841<", ">7.9<", "13,300", ">1M<", ">2k<"]) {
      assert.ok(svg.includes(text), text);
    }
    // Labels that would lie on each other are moved apart.
    const heights = [...svg.matchAll(/y="([\d.]+)"[^>]*>14\.3 /g)].map(([, y]) => Number(y));
    assert.ok(Math.abs(heights[0]! - heights[1]!) >= 14, heights.join());
  });
});
