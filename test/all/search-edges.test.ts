/** Searches at the edges: more documents than are read without a pause, and long random runs. The hits are those of a scan. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { createRandom } from "../../src/util/random.ts";
import {
  checkPages,
  checkUserSearch,
  classOf,
  openUsersOf,
  openWorldsOf,
  scan,
  worldClassOf,
} from "../support/search-scan.ts";

test("a long term in long words of one letter is found as a scan finds it", () => {
  const rows = 24;
  const worlds = Array.from({ length: rows }, (_, row) => ({
    name: `w${row}`,
    description: `${"z".repeat(4000 + row)}${row % 3 === 0 ? "y" : ""}`,
  }));
  for (const few of [undefined, 1]) {
    const find = openWorldsOf(worlds, few);
    for (const term of ["z".repeat(200), "z".repeat(30), `${"z".repeat(199)}y`, `${"z".repeat(100)} w7`])
      checkPages(
        find,
        term,
        scan(rows, (at) => worldClassOf(worlds[at]!, term)),
      );
  }
});

test("names of one letter are told from ones that only begin with the term or contain it", () => {
  const names = Array.from(
    { length: 450 },
    (_, row) => `${row % 5 === 0 ? "y" : ""}${"z".repeat(100 + (row % 150))}`,
  );
  for (const few of [undefined, 1]) {
    const find = openUsersOf(names, few);
    for (const term of [99, 150, 240].flatMap((units) => ["z".repeat(units), `y${"z".repeat(units)}`])) {
      const naive = scan(names.length, (at) => (names[at]!.includes(term) ? classOf(names[at]!, term) : -1));
      assert.ok(naive.length > 0);
      checkPages(find, term, naive);
    }
  }
});

test("lists and rankings of more documents than are read without a pause come out as a scan finds them", () => {
  const count = 2_000_000;
  const random = createRandom(4, "many");
  const names = Array.from(
    { length: count },
    () => "abcdefghijklmnopqrstuvwxyz0123456789"[random.below(36)]!,
  );
  const rows = Uint32Array.from({ length: count }, (_, row) => (row * 7919) % count);
  const users = openUsersOf(names);
  const worlds = openWorldsOf(
    names.map((name) => ({ name: "", description: name })),
    undefined,
    rows,
  );
  for (const term of ["a", "7"]) {
    const naive = [...names.keys()].filter((row) => names[row] === term);
    assert.ok(naive.length > 2 ** 15 && naive.length * 16 < count);
    checkPages(users, term, naive);
    checkPages(
      worlds,
      term,
      [...rows].filter((row) => names[row] === term),
    );
  }
});

test("users are found as a scan finds them, in every script, with many names", () => {
  const found = checkUserSearch({ mostNames: 1500, numRuns: 60 });
  assert.ok(found > 5000, `${found} found`);
});
