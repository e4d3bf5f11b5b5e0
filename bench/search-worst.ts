/**
 * The most expensive searches, found by hill climbing.
 *
 *     npx tsx bench/search-worst.ts [--smoke] [--worlds 250000] [--users 1000000] [--seconds 60]
 *
 * Texts are drawn on the spot: addresses that share most of their parts,
 * hashes, handles, CJK sentences and common words. For each table queries,
 * limits and offsets are changed at random, and a change that makes the search
 * dearer is kept: once by all CPU time, once by that of the longest stretch
 * between two yields, in which the thread does nothing else. A time is the least
 * of several runs, since others disturb some; it is that of the whole process,
 * so it has V8's own threads in it.
 */

import { readTerm } from "../src/search/fold.ts";
import type { ResultSet } from "../src/search/query/result-set.ts";
import type { Work } from "../src/search/shared/work.ts";
import { indexUsers, openUsers, searchUsers } from "../src/search/users.ts";
import { indexWorlds, openWorlds, searchWorlds } from "../src/search/worlds.ts";
import type { PageOf } from "../src/store/generation.ts";
import { createRandom, type Random } from "../src/util/random.ts";
import { drawUsers, drawWorlds } from "./search/texts.ts";
import { readOptions } from "./support/options.ts";

/** A search as a client asks for it. */
interface Asked {
  readonly query: string;
  readonly page: PageOf;
}

/** What a search costs, in milliseconds. */
interface Cost {
  readonly cpu: number;
  readonly stretch: number;
  readonly yields: number;
  readonly total: number;
}

type Measure = "cpu" | "stretch";
type Find = (term: string, page: PageOf) => Work<ResultSet>;

/** CPU time of the process since some moment, in milliseconds. */
function cpuSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** Runs of a search whose costs count, of which the least is taken. */
const RUNS = 3;

function runOnce(find: Find, { query, page }: Asked): Cost {
  const before = process.cpuUsage();
  const work = find(query, page);
  let stretch = 0;
  let yields = 0;
  for (;;) {
    const began = process.cpuUsage();
    const step = work.next();
    // What is read of the result is read without a pause, too.
    if (step.done) step.value.page(page);
    stretch = Math.max(stretch, cpuSince(began));
    if (step.done) return { cpu: cpuSince(before), stretch, yields, total: step.value.total };
    yields++;
  }
}

function costOf(find: Find, asked: Asked, runs = RUNS): Cost {
  const costs = Array.from({ length: runs }, () => runOnce(find, asked));
  const least = (of: Measure): number => Math.min(...costs.map((cost) => cost[of]));
  return { ...costs[0]!, cpu: least("cpu"), stretch: least("stretch") };
}

/** Changes searches at random. */
interface Mutator {
  readonly draw: () => Asked;
  readonly change: (asked: Asked) => Asked;
}

const MAX_TERMS = 10;

function createMutator(random: Random, texts: readonly string[], rows: number, mostTerms: number): Mutator {
  const piece = (): string => {
    const words = texts[random.below(texts.length)]!.split(/\s+/u);
    // Long words are those that share their parts.
    const [one, other] = [words[random.below(words.length)]!, words[random.below(words.length)]!];
    const word = one.length > other.length ? one : other;
    const from = random.chance(0.3) ? 0 : random.below(word.length);
    return word.slice(from, from + 1 + random.below(random.chance(0.5) ? 9 : 30));
  };
  const page = (): PageOf => ({
    limit: random.chance(0.5) ? 20 : 50,
    offset: random.chance(0.5) ? 0 : random.chance(0.5) ? random.below(2000) : random.below(rows),
  });
  const draw = (): Asked => {
    const terms = Array.from({ length: 1 + random.below(mostTerms) }, piece);
    return { query: terms.join(" "), page: page() };
  };
  function changeTerm(term: string): string {
    if (random.chance(0.3)) return piece();
    const text = texts[random.below(texts.length)]!;
    const at = text.indexOf(term);
    if (at < 0) return term.slice(random.below(3), term.length - random.below(3));
    const from = Math.max(0, at + random.below(5) - 2);
    return text.slice(from, at + term.length + random.below(5) - 2).split(/\s/u)[0]!;
  }
  function change({ query, page: before }: Asked): Asked {
    const terms = query.split(" ");
    for (let times = 1 + random.below(3); times > 0; times--) {
      const at = random.below(terms.length);
      const kind = random.below(6);
      if (kind === 0 && terms.length < mostTerms) terms.push(piece());
      else if (kind === 1 && terms.length > 1) terms.splice(at, 1);
      else if (kind === 2) return { query: terms.join(" "), page: page() };
      else terms[at] = changeTerm(terms[at]!);
    }
    return { query: terms.join(" "), page: before };
  }
  return { draw, change };
}

/** A search, ready to be run: what is left of its query once folded and cut. */
function folded({ query, page }: Asked): Asked | undefined {
  const term = readTerm(query);
  return term === "" ? undefined : { query: term, page };
}

/** Climbs until the time is over, from a new beginning whenever many changes in turn made nothing dearer. */
function climb(find: Find, mutator: Mutator, by: Measure, seconds: number, seeds: readonly Asked[]): void {
  const GIVE_UP = 60;
  const end = performance.now() + seconds * 1000;
  let worst: { asked: Asked; cost: Cost } | undefined;
  let tried = 0;
  const starts = [...seeds];
  while (performance.now() < end) {
    let asked = folded(starts.pop() ?? mutator.draw());
    if (asked === undefined) continue;
    let cost = costOf(find, asked);
    for (let failures = 0; failures < GIVE_UP && performance.now() < end; failures++) {
      const next = folded(mutator.change(asked));
      if (next === undefined) continue;
      tried++;
      // Once is enough for what is not dearer even then.
      if (costOf(find, next, 1)[by] <= cost[by]) continue;
      const nextCost = costOf(find, next);
      if (nextCost[by] <= cost[by]) continue;
      [asked, cost] = [next, nextCost];
      failures = 0;
    }
    if (worst === undefined || cost[by] > worst.cost[by]) worst = { asked, cost };
  }
  if (worst === undefined) return;
  const { asked } = worst;
  const { cpu, stretch, yields, total } = costOf(find, asked, RUNS * 3);
  const { limit, offset } = asked.page;
  console.log(`  worst by ${by === "cpu" ? "CPU time" : "stretch without a pause"}, of ${tried} searches:`);
  console.log(
    `    ${cpu.toFixed(1)} ms of CPU, ${stretch.toFixed(2)} ms without a pause, ${yields} yields, ${total} found`,
  );
  console.log(`    limit ${limit}, offset ${offset}, q=${JSON.stringify(asked.query)}`);
}

/** Searches that every text of a kind holds. */
function seedsOf(pieces: readonly string[], rows: number): Asked[] {
  const pages = [0, Math.floor(rows * 0.8)].map((offset) => ({ limit: 50, offset }));
  const queries = [...pieces, pieces.slice(0, MAX_TERMS).join(" ")];
  return queries.flatMap((query) => pages.map((page) => ({ query, page })));
}

/** As many pieces of a text as a query has terms. */
function piecesOf(text: string, units: number, step: number): string[] {
  return Array.from({ length: MAX_TERMS }, (_, at) => text.slice(at * step, at * step + units));
}

const values = readOptions({
  options: {
    smoke: { type: "boolean", default: false },
    worlds: { type: "string" },
    users: { type: "string" },
    seconds: { type: "string" },
  },
});

const worlds = Number(values.worlds ?? (values.smoke ? 3000 : 250_000));
const users = Number(values.users ?? (values.smoke ? 5000 : 1_000_000));
const seconds = Number(values.seconds ?? (values.smoke ? 1 : 60));
const random = createRandom(1, "worst");

function attack(name: string, find: Find, mutator: Mutator, seeds: readonly Asked[]): void {
  console.log(name);
  for (const by of ["cpu", "stretch"] as const) climb(find, mutator, by, seconds / 4, seeds);
}

if (users > 0) {
  const names = drawUsers(users);
  const index = openUsers(indexUsers(names.length, (row) => names[row]!));
  const find: Find = (term, page) => searchUsers(index, term, page);
  const seeds = seedsOf(["player", "a", "aaaaaaaaaaaa", "guest", "https://social.example"], users);
  attack(`${users} users`, find, createMutator(random, names, users, 2), seeds);
}
if (worlds > 0) {
  const { names, descriptions } = drawWorlds(worlds);
  const rows = Uint32Array.from(names, (_, row) => row);
  const index = openWorlds(
    indexWorlds(
      rows,
      (row) => names[row]!,
      (row) => descriptions[row]!,
    ),
  );
  const find: Find = (term, page) => searchWorlds(index, term, page);
  // Pieces of what nearly all addresses share at their beginnings, or behind what is their own; no piece within another.
  const beginnings = piecesOf("https://worlds.example.com/home/world/wrld_", 24, 2);
  const ends = piecesOf("?ref=description&lang=en", 15, 1);
  const seeds = [...seedsOf([...beginnings, "world", "e", "o"], worlds), ...seedsOf(ends, worlds)];
  attack(
    `${worlds} worlds`,
    find,
    createMutator(random, names.concat(descriptions), worlds, MAX_TERMS),
    seeds,
  );
}
