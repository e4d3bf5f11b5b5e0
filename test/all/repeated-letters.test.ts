/** Texts of one letter have a term at nearly every position: once it was found in one, the next is looked at. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { indexTrigrams } from "../../src/search/index-trigrams.ts";
import { TextsBuilder } from "../../src/search/texts.ts";
import { indexUsers, openUsers, searchUsers } from "../../src/search/users.ts";
import { runNow, type Work } from "../../src/search/work.ts";
import { indexWorlds, openWorlds, searchWorlds } from "../../src/search/worlds.ts";
import { checkResults, classOf, scan } from "../support/search-scan.ts";

/** How often work could pause. */
function stepsOf(work: Work<unknown>): number {
  let steps = 0;
  while (!work.next().done) steps++;
  return steps;
}

test("a long term in long words of one letter takes a few steps for each word", () => {
  const rows = 24;
  const texts = Array.from(
    { length: rows },
    (_, row) => `${"z".repeat(4000 + row)}${row % 3 === 0 ? "y" : ""}`,
  );
  for (const mostTrigrams of [undefined, 0]) {
    const index = openWorlds(
      indexWorlds(
        Uint32Array.from(texts, (_, row) => row),
        (row) => `w${row}`,
        (row) => texts[row]!,
        undefined,
        mostTrigrams,
      ),
    );
    for (const term of ["z".repeat(200), "z".repeat(30), `${"z".repeat(199)}y`, `${"z".repeat(100)} w7`]) {
      const parts = term.split(" ");
      const naive = scan(rows, (at) =>
        parts.every((part) => texts[at]!.includes(part) || `w${at}`.includes(part)) ? 3 : -1,
      );
      checkResults(runNow(searchWorlds(index, term)), naive, term);
      assert.ok(stepsOf(searchWorlds(index, term)) < rows * 4, term);
    }
  }
});

test("names of one letter are told from those that only begin with the term or contain it", () => {
  const names = Array.from(
    { length: 450 },
    (_, row) => `${row % 5 === 0 ? "y" : ""}${"z".repeat(100 + (row % 150))}`,
  );
  const builder = new TextsBuilder();
  for (const name of names) builder.add(name);
  const byBigrams = { trigrams: indexTrigrams(builder.finish(), 0) };
  for (const index of [indexUsers(names.length, (row) => names[row]!), byBigrams].map(openUsers)) {
    for (const units of [99, 150, 240]) {
      for (const term of ["z".repeat(units), `y${"z".repeat(units)}`]) {
        const naive = scan(names.length, (at) =>
          names[at]!.includes(term) ? classOf(names[at]!, term) : -1,
        );
        assert.ok(naive.length > 0);
        checkResults(runNow(searchUsers(index, term)), naive, term);
      }
    }
  }
});
