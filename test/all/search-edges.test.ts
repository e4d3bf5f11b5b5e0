/** Searches at the edges: more documents than are read without a pause, and texts that are hard to index. The hits are those of a scan. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { fold } from "../../src/search/fold.ts";
import { createRandom } from "../../src/util/random.ts";
import { checkPages, longestStretch, openUsersOf, openWorldsOf, scanWorlds } from "../support/search-scan.ts";

test("a long term in long words of one letter is found as a scan finds it", () => {
  const rows = 24;
  const worlds = Array.from({ length: rows }, (_, row) => ({
    name: `w${row}`,
    description: `${"z".repeat(4000 + row)}${row % 3 === 0 ? "y" : ""}`,
  }));
  for (const few of [undefined, 1]) {
    const find = openWorldsOf(worlds, few);
    for (const term of ["z".repeat(200), "z".repeat(30), `${"z".repeat(199)}y`, `${"z".repeat(100)} w7`])
      checkPages(find, term, scanWorlds(worlds, term));
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

/** Units of Chinese, Japanese and Korean scripts, without a space. */
function textWithoutSpaces(units: number, seed: number): string {
  const random = createRandom(seed, "no spaces");
  return String.fromCharCode(...Array.from({ length: units }, () => 0x4e00 + random.below(20_000)));
}

test("texts that are hard to index are found as a scan finds them, and no search goes on without a pause", () => {
  const address = "https://example.com/a-long-address/that-very-many-descriptions-have/index.html";
  // The fold drops accents, and keeps marks that enclose a letter.
  const accents = `e${"\u0301".repeat(80_000)}x`;
  const enclosing = `e${"\u20dd".repeat(80_000)}x`;
  const unspaced = Array.from({ length: 50 }, (_, at) => textWithoutSpaces(20_000, at));
  const given = [
    { name: accents, description: "" },
    { name: enclosing, description: "" },
    ...unspaced.map((description, at) => ({ name: `unspaced ${at}`, description })),
    ...Array.from({ length: 60_000 }, (_, at) => ({
      name: `w${at}`,
      description: `${at % 7 === 0 ? "see " : ""}${address}${at % 1000 === 0 ? "?last" : ""}`,
    })),
  ];
  const began = process.cpuUsage();
  const worlds = given.map(({ name, description }) => ({
    name: fold(name),
    description: fold(description),
  }));
  const find = openWorldsOf(worlds);
  const { user, system } = process.cpuUsage(began);
  // Linear time: a quadratic one would take minutes.
  assert.ok(user + system < 20e6, `folded and indexed in ${(user + system) / 1e6} s`);
  const terms = [
    address,
    address.slice(1),
    `${address}?last`,
    `see ${address}`,
    "very-many-descriptions-have/i",
    fold(accents),
    enclosing.slice(0, 250),
    enclosing.slice(-250),
    `${enclosing.slice(0, 200)}x`,
    unspaced[7]!.slice(500, 700),
    unspaced[7]!.slice(19_998),
    unspaced[7]!.slice(500, 700) + unspaced[8]![3],
  ];
  assert.equal(worlds[0]!.name, "ex");
  assert.equal(worlds[1]!.name, enclosing);
  for (const term of terms) {
    checkPages(find, term, scanWorlds(worlds, term));
    const { longest } = longestStretch(() => find(term, { limit: 50, offset: 0 }));
    // The bound is loose for busy machines.
    assert.ok(longest < 5, `${term.slice(0, 40)}: ${longest} ms`);
  }
});
