/** Workloads: lists of prepared requests, drawn from the snapshot with a fixed seed. */

import { BASE_PATH } from "../../src/model/model.ts";
import { createRandom } from "../../src/util/random.ts";
import { type Rows, readRows } from "../peers/shared.ts";

/** The comparison of two servers' replies to the same request. */
export type Comparison =
  /** Status and JSON. */
  | "equal"
  /**
   * Status, and the envelope with the names of the fields. FlexSearch finds prefixes of words and stops at the limit,
   * SQLite folds other letters than orrery: neither items nor totals can be the same.
   */
  | "shape";

/** A request: its target, and the comparison of its replies. */
export interface Prepared {
  readonly path: string;
  readonly comparison: Comparison;
}

/** The caller: a key without a limit, no token, unknown tokens used once each, or a key that has used up its one request. */
export type Asker = "key" | "nobody" | "stranger" | "limited";

export interface Workload {
  readonly name: string;
  readonly requests: readonly Prepared[];
  readonly asker: Asker;
  /** The only status a reply may have. */
  readonly status: number;
  /** Settings of orrery that this workload needs. */
  readonly settings: readonly string[];
}

/** Workloads of the main table, of a quick check, and of the guard. */
export const MAIN = ["world-by-id", "list-20", "world-search", "mix"] as const;
export const SMOKE = ["mix"] as const;
export const GUARD = ["world-by-id", "list-20"] as const;

/** Enough that at a million rows the requested ones do not fit in a CPU cache. */
const REQUESTS = 32_000;
const DISTINCT_QUERIES = 10_000;

type Draw = (below: number) => number;

/** A prefix of a word, at least three letters: FTS5's trigrams and FlexSearch's prefixes find it, too. */
function word(text: string, draw: Draw): string {
  const words = text.split(/\s+/u).filter((some) => some.length >= 3);
  const some = words[draw(words.length)];
  return some === undefined ? "" : some.slice(0, 3 + draw(some.length - 2)).toWellFormed();
}

/** Distinct queries drawn from texts. With `twoWords` some queries have two, for searches that match words separately. */
function drawQueries(texts: readonly string[], many: number, twoWords: boolean, draw: Draw): string[] {
  const queries = new Set<string>();
  for (let tries = 0; queries.size < many && tries < many * 10; tries++) {
    const text = texts[draw(texts.length)]!;
    const first = word(text, draw);
    const second = twoWords && draw(3) === 0 ? word(text, draw) : "";
    const query = second === "" || second === first ? first : `${first} ${second}`;
    if (query !== "") queries.add(query);
  }
  return [...queries];
}

function times<Value>(count: number, make: (at: number) => Value): Value[] {
  return Array.from({ length: count }, (_, at) => make(at));
}

/** Functions that make one request a call. */
function makersFor(
  rows: Rows,
  draw: Draw,
): Record<"world" | "user" | "list20" | "list50" | "popular", () => string> {
  const { worlds, users } = rows;
  const offset = (limit: number): number => draw(Math.max(1, worlds.length - limit));
  return {
    world: () => `/worlds/${worlds[draw(worlds.length)]!.id}`,
    user: () => `/users/${users[draw(users.length)]!.id}`,
    list20: () => `/worlds?limit=20&offset=${offset(20)}`,
    list50: () => `/worlds?limit=50&offset=${offset(50)}`,
    popular: () => `/worlds/popular?period=week&limit=20&offset=${offset(20)}`,
  };
}

/** 70 % single resources, 15 % lists, 10 % searches, 5 % statistics, evenly spread. */
function mixed(make: ReturnType<typeof makersFor>, searches: readonly string[]): string[] {
  let asked = 0;
  return times(REQUESTS, (at) => {
    // 37 and 100 have no common factor: every hundred requests contain each place once, well shuffled.
    const place = (at * 37) % 100;
    if (place < 45) return make.world();
    if (place < 70) return make.user();
    if (place < 80) return make.list20();
    if (place < 85) return make.popular();
    if (place < 95) return searches[asked++ % searches.length]!;
    return "/stats";
  });
}

/** Makes all workloads. */
export function workloadsOf(snapshot: string): Workload[] {
  const rows = readRows(snapshot);
  const draw = createRandom(1, "workloads").below;
  const make = makersFor(rows, draw);
  const userNames = rows.users.map(({ displayName }) => displayName);
  const worldNames = rows.worlds.map(({ name }) => name);
  const asUserSearch = (q: string): string => `/users/search?q=${encodeURIComponent(q)}`;
  const asWorldSearch = (q: string): string => `/worlds/search?q=${encodeURIComponent(q)}`;
  const userQueries = drawQueries(userNames, DISTINCT_QUERIES, false, draw).map(asUserSearch);
  const worldQueries = drawQueries(worldNames, DISTINCT_QUERIES, true, draw).map(asWorldSearch);
  const searches = times(100, (at) => (at % 2 === 0 ? userQueries[at]! : worldQueries[at]!));

  const workload = (name: string, paths: readonly string[], more: Partial<Workload> = {}): Workload => ({
    name,
    requests: paths.map((path) => ({
      path: BASE_PATH + path,
      comparison: path.includes("/search?") ? "shape" : "equal",
    })),
    asker: "key",
    status: 200,
    settings: [],
    ...more,
  });
  // Each query differs from the last few thousand, but a long run repeats them: without a cache that does not matter.
  const uncached = { settings: ["--search-cache-bytes", "0"] };
  return [
    workload("world-by-id", times(REQUESTS, make.world)),
    workload("user-by-id", times(REQUESTS, make.user)),
    workload("stats", ["/stats"]),
    workload("list-20", times(REQUESTS, make.list20)),
    workload("list-50", times(REQUESTS, make.list50)),
    workload("popular", times(REQUESTS, make.popular)),
    workload("user-search-hot", userQueries.slice(0, 8)),
    workload("world-search-hot", worldQueries.slice(0, 8)),
    workload("user-search", userQueries, uncached),
    workload("world-search", worldQueries, uncached),
    workload("mix", mixed(make, searches)),
    workload("no-token", times(REQUESTS, make.world), { asker: "nobody", status: 401 }),
    workload("flood-401", times(REQUESTS, make.world), { asker: "stranger", status: 401 }),
    workload("flood-429", times(REQUESTS, make.world), { asker: "limited", status: 429 }),
  ];
}
