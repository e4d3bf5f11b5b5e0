/** A terminal: the progress bar stays below the lines of the log, and neither overwrites the other. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { keepStatusBelow } from "../src/cli/console.ts";
import { CLEAR_LINE, startProgress } from "../src/cli/progress.ts";

/** The rows that a terminal shows; long ones do not wrap here. */
function shown(output: string): string[] {
  const rows = [""];
  const parts = output.replaceAll(CLEAR_LINE, "\r").split(/(\r|\n)/);
  for (const part of parts) {
    if (part === "\r") rows[rows.length - 1] = "";
    else if (part === "\n") rows.push("");
    else rows[rows.length - 1] += part;
  }
  return rows;
}

describe("a status line", () => {
  it("stays below other lines, and goes when it is taken away", () => {
    let output = "";
    const { write, status } = keepStatusBelow((text) => {
      output += text;
    });
    write("one\n");
    status(`${CLEAR_LINE}50 %`);
    write("two\n");
    assert.deepEqual(shown(output), ["one", "two", "50 %"]);
    status(`${CLEAR_LINE}60 %`);
    write("three\n");
    assert.deepEqual(shown(output), ["one", "two", "three", "60 %"]);
    status(CLEAR_LINE);
    write("four\n");
    assert.deepEqual(shown(output), ["one", "two", "three", "four", ""]);
  });

  it("fits the terminal, since one that wraps cannot be cleared", (t) => {
    let now = 0;
    t.mock.method(performance, "now", () => now);
    for (const columns of [20, 45, 80, 200]) {
      const texts: string[] = [];
      const bar = startProgress(
        { isTerminal: true, columns, complain: (text) => texts.push(text) },
        "x".repeat(50),
      );
      now += 1000;
      for (const share of [0, 0.5, 1]) bar.show(share);
      bar.end();
      assert.equal(texts.length, 4);
      for (const text of texts) assert.ok(text.slice(CLEAR_LINE.length).length < columns, text);
      assert.equal(texts.at(-1), CLEAR_LINE);
    }
  });
});
