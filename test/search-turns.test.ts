/** Interleaved and dropped searches, compared with a scan; their memory while they wait, and the number of their pauses. */

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import fc from "fast-check";
import type { ResultSet } from "../src/search/result-set.ts";
import { keepWithTerm } from "../src/search/terms.ts";
import { indexUsers, openUsers, searchUsers } from "../src/search/users.ts";
import { runNow, type Work } from "../src/search/work.ts";
import { searchWorlds } from "../src/search/worlds.ts";
import type { PageOf } from "../src/store/generation.ts";
import { createRandom } from "../src/util/random.ts";
import { part, untilCovered } from "./support/long.ts";
import { classOf, openWorldsOf, scan, worldClassOf } from "./support/search-scan.ts";

const random = createRandom(3, "turns");
const ALPHABET = "abcdef0123456789";
const signs = (many: number): string =>
  Array.from({ length: many }, () => ALPHABET[random.below(ALPHABET.length)]).join("");

/** Nearly all worlds have an address with this common part; the address is longer than a chunk of a text. */
const SHARED = "https://worlds.example.com/home/world/wrld_";
const WORLDS = Array.from({ length: 20_000 }, (_, at) => {
  const address = random.chance(0.9)
    ? `${SHARED}${signs(24)}?ref=description`
    : `https://${signs(70)}${SHARED}`;
  if (at % 999 === 8) return { name: `extraordinary${at % 2 === 0 ? "" : ` ${at}`}`, description: "" };
  const name = at % 400 === 7 ? "world" : random.chance(0.8) ? `world ${at}` : `@user_${signs(6)}`;
  return {
    name,
    description: `${random.chance(0.5) ? "come to the" : "a"} extraordinary ${address} ${signs(3)}`,
  };
});
/** Most names exceed a chunk of a text, repeat a substring, and hold a surrogate that looks like the end of a text. */
const NAMES = Array.from({ length: 25_000 }, (_, at) => {
  if (at % 300 === 5) return "player";
  if (random.chance(0.2)) return `https://social.example.net/${signs(4)}`;
  return `${"ab".repeat(random.below(30))}player_of_the_🐀year_${random.chance(0.9) ? "x" : "y"}${signs(1)}`;
});

// Words too long for one slice.
WORLDS[100] = { name: "zq7", description: "a".repeat(5000) };
WORLDS[200] = { name: "zq7", description: `${"b".repeat(3000)}${"a".repeat(50)}${"b".repeat(3000)}` };
WORLDS[300] = { name: "zq7", description: "c".repeat(5000) };

/** Ten pieces of the address, none a substring of another. */
const PIECES = Array.from({ length: 10 }, (_, at) => SHARED.slice(at * 2, at * 2 + 24)).join(" ");

const WORLD_TERMS = [
  "world",
  "worl",
  "https:",
  SHARED,
  PIECES,
  "https://w ttps://wo /home/wor e/world/wrld_",
  "world 1 https://worlds come",
  "?ref=descri ef=descriptio escription the",
  "user_ https://worlds.exam",
  "com/home/world/wrld_a example.com/home 7",
  "world orld rld",
  "to the https://worlds.example.com",
  "extraordinary",
  "xtraordinary come",
  "12345 https://worlds.example.com/home/world/wrld_ world",
  "@user_a https://worlds.example.com/home/world/wrld_",
  `zq7 ${"a".repeat(40)}`,
];
const USER_TERMS = [
  "p",
  "player",
  "player_of_the_🐀year_",
  "player_of_the_🐀year_x",
  "abababababababababab",
  "ababababababplayer_of",
  "abplayer_of_the_🐀year_",
  "🐀year_",
  "ab",
  "l.example.net/a",
];

/** A search, and a scan's result for it. */
interface Case {
  readonly message: string;
  readonly start: () => Work<ResultSet>;
  readonly page: PageOf;
  readonly total: number;
  readonly rows: readonly number[];
}

function scanned(classes: readonly number[], page: PageOf): Pick<Case, "total" | "rows"> {
  const found = scan(classes.length, (at) => classes[at]!);
  return { total: found.length, rows: found.slice(page.offset, page.offset + page.limit) };
}

const PAGES = [
  { limit: 20, offset: 0 },
  { limit: 50, offset: 990 },
  { limit: 50, offset: 15_000 },
];

const worlds = openWorldsOf(WORLDS);
const users = openUsers(indexUsers(NAMES.length, (row) => NAMES[row]!));
const cases: Case[] = [];

function addCases(term: string, classes: readonly number[], find: (page: PageOf) => Work<ResultSet>): void {
  for (const page of PAGES) {
    const message = JSON.stringify({ term, page });
    cases.push({ message, start: () => find(page), page, ...scanned(classes, page) });
  }
}

before(() => {
  for (const term of WORLD_TERMS) {
    const classes = WORLDS.map((world) => worldClassOf(world, term));
    addCases(term, classes, (page) => searchWorlds(worlds, term, page));
  }
  for (const term of USER_TERMS) {
    const classes = NAMES.map((name) => (name.includes(term) ? classOf(name, term) : -1));
    addCases(term, classes, (page) => searchUsers(users, term, page));
  }
});

function check({ message, page, total, rows }: Case, matches: ResultSet): void {
  assert.equal(matches.total, total, message);
  assert.ok(matches.has(page), message);
  assert.deepEqual([...matches.page(page)], rows, message);
}

/** A step with one of the running searches. */
interface Turn {
  readonly which: number;
  readonly act: "steps" | "end" | "return" | "drop";
  readonly next: number;
  readonly steps: number;
}

const turn: fc.Arbitrary<Turn> = fc.record({
  which: fc.nat(5),
  act: fc.oneof(
    { weight: 12, arbitrary: fc.constant("steps" as const) },
    { weight: 2, arbitrary: fc.constantFrom("end" as const, "return" as const) },
    { weight: 1, arbitrary: fc.constant("drop" as const) },
  ),
  next: fc.nat(10_000),
  steps: fc.integer({ min: 1, max: 12 }),
});

describe("searches that take turns", () => {
  test("find what a scan finds, with any dropped in the middle", async () => {
    let ended = 0;
    let dropped = 0;
    const round = () =>
      fc.assert(
        fc.property(fc.array(turn, { minLength: 60, maxLength: 120, size: "max" }), (turns) => {
          const under: { readonly one: Case; readonly work: Work<ResultSet> }[] = [];
          for (const { which, act, next, steps } of turns) {
            if (under.length < 6) {
              const one = cases[next % cases.length]!;
              under.push({ one, work: one.start() });
            }
            const at = which % under.length;
            const { one, work } = under[at]!;
            if (act === "return" || act === "drop") {
              // Neither is resumed; only "return" tells the search.
              if (act === "return") work.return(undefined as never);
              under.splice(at, 1);
              dropped++;
              continue;
            }
            for (let step = 0; act === "end" || step < steps; step++) {
              const { done, value } = work.next();
              if (!done) continue;
              check(one, value);
              under.splice(at, 1);
              ended++;
              break;
            }
          }
          for (const { one, work } of under) check(one, runNow(work));
        }),
        { numRuns: part(12) },
      );
    await untilCovered(
      round,
      () => ended > part(60) && dropped > part(60),
      () => `${ended} ended, ${dropped} dropped`,
    );
  });

  test("hold little while they wait, whatever they were asked for", () => {
    // The first searches allocate the sets that later ones reuse.
    for (let times = 0; times < 2; times++) runNow(searchWorlds(worlds, PIECES, PAGES[0]));
    const held = process.memoryUsage().arrayBuffers;
    let most = 0;
    const work = searchWorlds(worlds, PIECES, PAGES[0]);
    while (!work.next().done) most = Math.max(most, process.memoryUsage().arrayBuffers - held);
    // At most a chunk of 16 KB for each term, and smaller objects.
    assert.ok(most < 300_000, `${most} bytes`);
  });
});

/** CPU time of this process so far, in milliseconds. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

test("a far page is found in many steps, and only read at the end", () => {
  const count = 60_000;
  const rows = Array.from({ length: count }, (_, row) => row);
  const index = openWorldsOf(rows.map((row) => ({ name: `world ${row}`, description: "" })));
  const page = { limit: 50, offset: 48_000 };
  const shares = [1, 2, 3, 4, 5].map(() => {
    const began = cpuMs();
    const work = searchWorlds(index, "world", page);
    let step = work.next();
    let yields = 0;
    for (; !step.done; step = work.next()) yields++;
    // The search reads each world at least once, and its name once more.
    assert.ok(yields >= (2 * count) / 10_000, `${yields} yields`);
    const found = cpuMs();
    assert.deepEqual([...step.value.page(page)], rows.slice(48_000, 48_050));
    return (cpuMs() - found) / (found - began);
  });
  assert.ok(Math.min(...shares) < 0.5, `${shares}`);
});

test("documents of very many short words are gone through with pauses", () => {
  const description = Array.from({ length: 50_000 }, (_, at) => `w${at}`).join(" ");
  const { words } = openWorldsOf([{ name: "", description }]);
  const work = keepWithTerm(words, { kind: "list", entries: Uint32Array.of(0) }, "longer than they are");
  let yields = 0;
  while (work.next().done !== true) yields++;
  assert.ok(yields >= 5, `${yields} yields`);
});
