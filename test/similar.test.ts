/** Similar search against the model: what is found lies within the distance, in the right order; what is exact is found. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { drawDisplayName } from "../src/generate/text.ts";
import { fold, readTerm } from "../src/search/fold.ts";
import { ListedResults } from "../src/search/result-set.ts";
import { runNow } from "../src/search/work.ts";

import { gramsOf, indexSimilarNames, LONGEST_NAME } from "../src/similar/names.ts";
import { MOST_SIMILAR, mostEdits, openSimilar } from "../src/similar/similar.ts";
import type { Store } from "../src/store/generation.ts";
import { codePointsOf, substringDistance, wholeDistance } from "../src/util/distance.ts";
import { createRandom } from "../src/util/random.ts";
import { modelFold } from "./support/model.ts";
import { modelClass, modelEdits, modelSubstringDistance, modelWholeDistance } from "./support/similar.ts";
import { NASTY_TEXTS } from "./support/snapshot.ts";

/** Few letters, so that texts are near each other; marks, pairs of surrogates and letters that fold to several. */
const letter = fc.constantFrom(
  "a",
  "b",
  "c",
  " ",
  "か",
  "가",
  "𝒳",
  "🐱",
  "é",
  "ß",
  "ﬁ",
  "が",
  "\u0301",
  "\u0001",
  "\0",
);
const text = fc.array(letter, { maxLength: 9 }).map((letters) => letters.join(""));

/** A search over names whose worlds are as popular as they stand in the list. */
function searchesOf(names: readonly string[]) {
  const folded = names.map(fold);
  const index = runNow(indexSimilarNames(names.length, (row) => folded[row]!));
  const popular = { all: Uint32Array.from(names, (_, row) => names.length - 1 - row) };
  const worldNames = [...folded].reverse();
  const worlds = runNow(indexSimilarNames(names.length, (place) => worldNames[popular.all[place]!]!));
  // The exact search, by definition; of worlds it finds more than names.
  const exact = (isWorld: boolean) => (term: string) => {
    const rows = [...folded.keys()].filter((row) => folded[row]!.includes(term));
    const classes = new Map(rows.map((row) => [row, modelClass(names[row]!, term, isWorld)]));
    return rows.sort((a, b) => classes.get(a)! - classes.get(b)! || a - b);
  };
  const yieldNothing = <Value>(value: Value) =>
    (function* () {
      yield undefined;
      return value;
    })();
  return openSimilar(
    { worlds: { rows: names.length } as Store["worlds"], popular: popular as Store["popular"] },
    { users: index, worlds },
    {
      users: (term) => yieldNothing(new ListedResults(Uint32Array.from(exact(false)(term)))),
      worlds: (term) => {
        const named = exact(true)(term).map((place) => popular.all[place]!);
        const others = [...names.keys()].filter((row) => !named.includes(row)).slice(0, 5);
        return yieldNothing(new ListedResults(Uint32Array.from([...named, ...others])));
      },
    },
  );
}

/** Compares what was found for a query with the model; gives the distances. */
function judge(
  names: readonly string[],
  query: string,
  table: "users" | "worlds",
  searches = searchesOf(names),
): number[] {
  const term = readTerm(query);
  const rows = [...runNow(searches[table](term))];
  // Row of the list of worlds by its place in `names`, which is their popularity.
  const places = table === "users" ? rows : rows.map((row) => names.length - 1 - row);
  const ranks = places.map((place): [number, number] => {
    const name = names[place]!;
    return [modelSubstringDistance(term, modelFold(name)), modelClass(name, term, table === "worlds")];
  });
  for (const [at, [distance, rankClass]] of ranks.entries()) {
    assert.ok(distance <= modelEdits(term), `${names[places[at]!]} is ${distance} away from ${query}`);
    if (at === 0) continue;
    const [before, beforeClass] = ranks[at - 1]!;
    const order = before - distance || beforeClass - rankClass || places[at - 1]! - places[at]!;
    assert.ok(order < 0, `${names[places[at - 1]!]} before ${names[places[at]!]}, looking for ${query}`);
  }
  assert.ok(rows.length <= MOST_SIMILAR);
  const exact = names.filter((name) => modelFold(name).includes(term)).length;
  const atZero = ranks.filter(([distance]) => distance === 0).length;
  assert.equal(atZero, Math.min(exact, MOST_SIMILAR));
  return ranks.map(([distance]) => distance);
}

describe("the distance", () => {
  it("is that of the recurrence", () => {
    fc.assert(
      fc.property(text, text, fc.nat(3), (query, name, most) => {
        const [from, to] = [codePointsOf(query), codePointsOf(name)];
        assert.equal(wholeDistance(from, to), modelWholeDistance(query, name));
        const expected = modelSubstringDistance(query, name);
        const got = substringDistance(from, to, most);
        assert.ok(expected <= most ? got === expected : got > most, `${got}, not ${expected}`);
      }),
      { numRuns: 600 },
    );
  });

  it("counts a swap as one edit, and code points, not units", () => {
    const near = (query: string, name: string): number =>
      substringDistance(codePointsOf(query), codePointsOf(name), 9);
    assert.equal(near("rabibt", "my rabbit 7"), 1);
    assert.equal(near("🐱🐶", "🐶🐱"), 1);
    assert.equal(near("ca", "abc"), 1);
    assert.equal(near("", "abc"), 0);
    assert.equal(near("abc", ""), 3);
    // Edited between its swapped neighbours: three edits here, two in the sense of Damerau and Levenshtein.
    assert.equal(wholeDistance(codePointsOf("ca"), codePointsOf("abc")), 3);
  });

  it("may be larger for longer queries", () => {
    assert.deepEqual([0, 1, 2, 3, 5, 6, 40].map(mostEdits), [0, 0, 0, 1, 1, 2, 2]);
  });
});

describe("n-grams", () => {
  it("are trigrams, and bigrams where a script has many letters", () => {
    assert.deepEqual(gramsOf("anna"), [" an", "ann", "nna", "na "]);
    assert.deepEqual(gramsOf("猫"), [" 猫", "猫 "]);
    assert.deepEqual(gramsOf("the猫🐱"), [" th", "the", "e猫", "猫🐱", "🐱 "]);
    assert.deepEqual(gramsOf(""), []);
  });
});

describe("similar search", () => {
  it("finds what lies within the distance, in order, and all that is exact", () => {
    fc.assert(
      fc.property(fc.array(text, { maxLength: 12 }), text, fc.boolean(), (names, query, isWorlds) => {
        if (readTerm(query) !== "") judge(names, query, isWorlds ? "worlds" : "users");
      }),
      { numRuns: 300 },
    );
  });

  it("finds names with a typing error, of any script", () => {
    const random = createRandom(3, "similar");
    const names = Array.from({ length: 1500 }, () => drawDisplayName(random));
    let asked = 0;
    let found = 0;
    const searches = searchesOf(names);
    for (let at = 0; at < names.length; at += 7) {
      const points = [...fold(names[at]!)];
      if (points.length < 5) continue;
      const place = random.below(points.length - 1);
      const kinds = [
        () => points.splice(place, 1),
        () => points.splice(place, 0, points[place + 1]!),
        () => points.splice(place, 1, points[0]!),
        () => points.splice(place, 2, points[place + 1]!, points[place]!),
      ];
      kinds[random.below(4)]!();
      const term = readTerm(points.join(""));
      const rows = runNow(searches.users(term)).subarray(0, 20);
      asked++;
      if (rows.some((row) => fold(names[row]!) === fold(names[at]!))) found++;
    }
    assert.ok(asked > 100 && found >= asked * 0.97, `${found} of ${asked}`);
  });

  it("takes any text for a query or a name", () => {
    const names = [...NASTY_TEXTS, ".*", "(a+)+$", "[", "\\", "x".repeat(300_000), "ﷺ".repeat(20)];
    const queries = [...names, "a".repeat(256), "ﷺ".repeat(256), "(a+)+$".repeat(60), "xyxyx".repeat(50)];
    // The model takes time in the length of both.
    const short = names.filter((name) => name.length < 100);
    const shortSearches = searchesOf(short);
    for (const query of queries) {
      if (readTerm(query) === "" || readTerm(query).length > 400) continue;
      for (const table of ["users", "worlds"] as const) judge(short, query, table, shortSearches);
    }
    const searches = searchesOf(names);
    for (const query of queries) if (readTerm(query) !== "") runNow(searches.users(readTerm(query)));
  });

  it("counts a thousand at most, and has the better ones", () => {
    const names = Array.from({ length: 2500 }, (_, at) => (at % 2 === 0 ? "the rabbit" : `rabbit ${at}`));
    const distances = judge(names, "rabbit", "users");
    assert.equal(distances.length, MOST_SIMILAR);
    const rows = runNow(searchesOf(names).users("rabbit"));
    assert.ok(
      rows.every((row) => row % 2 === 1),
      "those that begin with it come first",
    );
    assert.equal(judge(names, "rabibt", "users").length <= MOST_SIMILAR, true);
  });

  it("shows a name before the many that contain one as near", () => {
    const names = ["rabbit", ...Array.from({ length: 900 }, (_, at) => `rabbit_${at + 100}`)].reverse();
    const rows = [...runNow(searchesOf(names).users("rabit"))];
    assert.ok(rows.slice(0, 20).includes(900), rows.slice(0, 20).join());
  });

  it("puts fewer edits before a better class, of worlds too", () => {
    const names = ["cat - dogs", "bat dogs", "cat  dogs", "the cat dogs"];
    const rows = [...runNow(searchesOf(names).worlds("cat dogs"))];
    const found = rows.map((row) => names[names.length - 1 - row]);
    assert.deepEqual(found, ["the cat dogs", "cat  dogs", "bat dogs", "cat - dogs"]);
  });

  it("asks only the exact search for what is too short to be misspelt", () => {
    const names = ["ab", "ba", "xaby", "a"];
    assert.deepEqual([...runNow(searchesOf(names).users("ab"))], [0, 2]);
    assert.deepEqual([...runNow(searchesOf(names).users("🐱"))], []);
  });

  it("leaves out names that are too long, unless they are exact", () => {
    const names = [`rabbit${"x".repeat(LONGEST_NAME)}`, "rabbit"];
    assert.deepEqual([...runNow(searchesOf(names).users("rabibt"))], [1]);
    assert.deepEqual([...runNow(searchesOf(names).users("rabbit"))], [1, 0]);
  });
});
