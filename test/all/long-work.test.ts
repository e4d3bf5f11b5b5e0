/** Searches over many long texts hold their thread for moments only. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { indexUsers, openUsers, searchUsers } from "../../src/search/users.ts";
import { runNow, type Work } from "../../src/search/work.ts";

/** Times every stretch between two yields; the longest, in milliseconds of CPU time. */
function longestStretch<Result>(work: Work<Result>): { longest: number; result: Result } {
  let longest = 0;
  for (;;) {
    const began = process.cpuUsage();
    const step = work.next();
    const { user, system } = process.cpuUsage(began);
    longest = Math.max(longest, (user + system) / 1000);
    if (step.done) return { longest, result: step.value };
  }
}

describe("long work", () => {
  test("is paused often, whatever the texts and the query", () => {
    // 60,000 different names that hold nothing but a long run of one letter: every gram is in all of them.
    const names = Array.from({ length: 60_000 }, (_, row) => `${"a".repeat(200)}${row.toString(36)}`);
    const index = openUsers(indexUsers(names.length, (row) => names[row]!));
    for (const term of [
      "a",
      "aa",
      "aaaa",
      "a".repeat(200),
      `${"a".repeat(199)}1`,
      "aa aa",
      "b".repeat(256),
    ]) {
      const count = names.filter((name) => name.includes(term)).length;
      runNow(searchUsers(index, term));
      const { longest, result } = longestStretch(searchUsers(index, term));
      assert.equal(result.total, count, term.slice(0, 9));
      // A stretch takes some 2 ms; the bound is loose for the sake of busy machines.
      assert.ok(longest < 200, `${term.slice(0, 9)}: ${longest} ms`);
    }
  });
});
