/** Which requests to compare: some of every kind, drawn by a seed, so that the same seed asks the same of the same snapshot. */

import { formatUuid } from "../model/uuid.ts";
import { fold } from "../search/fold.ts";
import type { Store } from "../store/generation.ts";
import type { Block } from "../store/table.ts";
import { idText } from "../store/table.ts";
import { displayNameOf, worldNameOf } from "../store/texts.ts";
import { createRandom, type Random } from "../util/random.ts";

/** One request. */
export interface Probe {
  /** Path and query. */
  readonly target: string;
  /** The value of `Authorization`; null sends none, undefined the token's. */
  readonly authorization?: string | null;
}

/** What is known of the users of a snapshot. */
export interface UsersHere {
  /** Whether all users of the other server are in it. */
  readonly isComplete: boolean;
  /** Searches whose users are all in it. */
  readonly searches: readonly string[];
}

const PAGE = 50;
/** The share of pages in the sample, where there are so many. */
const PAGES_SHARE = 0.4;
/** How often each kind is drawn: what no list shows more often. */
const WEIGHTS = {
  worldStats: 8,
  user: 3,
  world: 1,
  instance: 1,
  worldInstances: 2,
  userWorlds: 2,
  instancesOfWorld: 1,
  findWorlds: 3,
  findUsers: 3,
  oddPage: 2,
} as const;

type Draw = () => string | undefined;

function targetOf(path: string, words: Readonly<Record<string, string | number>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(words)) query.set(name, String(value));
  return `${path}?${query}`;
}

/** What every server must refuse, or answer about itself. */
function fixedProbes(random: Random): Probe[] {
  const words = new Uint32Array(4).map(() => random.word());
  const unknown = formatUuid(words, 0);
  return [
    { target: "/stats" },
    { target: `/worlds/${unknown}` },
    { target: `/users/${unknown}` },
    { target: `/instances/${unknown}` },
    { target: "/worlds/search" },
    { target: "/stats", authorization: null },
    { target: "/worlds", authorization: "Bearer ?" },
    { target: `/worlds/${unknown}/stats` },
    { target: `/worlds/${unknown}/instances` },
    { target: `/users/${unknown}/worlds` },
    { target: "/users/search?q=" },
    { target: `/instances?worldId=${unknown}` },
    { target: targetOf("/worlds", { limit: 1, offset: 1_000_000_000 }) },
  ];
}

function shuffle<Item>(items: Item[], random: Random): Item[] {
  for (let at = items.length - 1; at > 0; at--) {
    const other = random.below(at + 1);
    [items[at], items[other]] = [items[other]!, items[at]!];
  }
  return items;
}

/** Pages of the whole lists and rankings. */
function pageProbes({ worlds, instances }: Store, random: Random, most: number): Probe[] {
  const worldPages = Math.max(1, Math.ceil(worlds.rows / PAGE));
  const lists = [
    { path: "/worlds", pages: worldPages },
    { path: "/instances", pages: Math.max(1, Math.ceil(instances.rows / PAGE)) },
    ...["all", "week", "month"].map((period) => ({
      path: `/worlds/popular?period=${period}`,
      pages: worldPages,
    })),
  ];
  const target = (path: string, page: number): string =>
    `${path}${path.includes("?") ? "&" : "?"}limit=${PAGE}&offset=${page * PAGE}`;
  const count = lists.reduce((sum, { pages }) => sum + pages, 0);
  if (count <= most) {
    return lists.flatMap(({ path, pages }) =>
      Array.from({ length: pages }, (_, at) => ({ target: target(path, at) })),
    );
  }
  const drawn = new Set<string>();
  for (let tries = 0; drawn.size < most && tries < 10 * most; tries++) {
    const { path, pages } = lists[random.below(lists.length)]!;
    drawn.add(target(path, random.below(pages)));
  }
  return Array.from(drawn, (drawnTarget) => ({ target: drawnTarget }));
}

/** Part of a text: some code points in a row. */
function partOf(text: string, random: Random): string {
  const letters = [...text];
  const length = 1 + random.below(Math.min(8, letters.length));
  const from = random.below(letters.length - length + 1);
  return letters.slice(from, from + length).join("");
}

/** Draws one of each kind; undefined where the snapshot has nothing of it. */
function drawsOf(store: Store, random: Random, usersHere: UsersHere): Record<keyof typeof WEIGHTS, Draw> {
  const { worlds, users, instances } = store;
  const rowOf = (block: Block): number | undefined =>
    block.rows === 0 ? undefined : random.below(block.rows);
  const withId = (block: Block, path: (id: string) => string): Draw => {
    return () => {
      const row = rowOf(block);
      return row === undefined ? undefined : path(idText(block, row));
    };
  };
  const page = (): { limit: number; offset: number } => ({
    limit: 1 + random.below(PAGE),
    offset: random.below(3),
  });

  function findUsers(): string | undefined {
    const row = rowOf(users);
    if (row === undefined) return undefined;
    const name = displayNameOf(users, row);
    if (usersHere.isComplete) return targetOf("/users/search", { q: partOf(name, random), ...page() });
    if (usersHere.searches.length === 0) return undefined;
    const q = usersHere.searches[random.below(usersHere.searches.length)]!;
    // Whoever is found by more of a name is found by less of it, so all of them are here.
    const folded = fold(name);
    const at = folded.indexOf(fold(q).trim());
    const longer = at < 0 ? q : folded.slice(at, at + fold(q).trim().length + random.below(3));
    return targetOf("/users/search", { q: longer, ...page() });
  }

  return {
    worldStats: withId(worlds, (id) => `/worlds/${id}/stats`),
    world: withId(worlds, (id) => `/worlds/${id}`),
    user: withId(users, (id) => `/users/${id}`),
    instance: withId(instances, (id) => `/instances/${id}`),
    worldInstances: withId(worlds, (id) => targetOf(`/worlds/${id}/instances`, page())),
    userWorlds: withId(users, (id) => targetOf(`/users/${id}/worlds`, page())),
    instancesOfWorld: withId(worlds, (id) => targetOf("/instances", { worldId: id, ...page() })),
    findUsers,
    findWorlds() {
      const row = rowOf(worlds);
      if (row === undefined) return undefined;
      return targetOf("/worlds/search", { q: partOf(worldNameOf(worlds, row), random), ...page() });
    },
    oddPage() {
      const limit = ["0", "-1", "7", "51", "1e1", "50"][random.below(6)]!;
      return targetOf(random.chance(0.5) ? "/worlds" : "/worlds/popular", {
        limit,
        offset: random.below(worlds.rows + 1),
      });
    },
  };
}

/**
 * Draws the requests.
 *
 * @param samples how many; fewer where the snapshot does not hold enough to ask for
 */
export function planProbes(store: Store, samples: number, seed: number, usersHere: UsersHere): Probe[] {
  const random = createRandom(seed, "verify");
  const probes = new Map<string, Probe>();
  const add = (probe: Probe): void => {
    const key = `${probe.authorization} ${probe.target}`;
    if (probes.size < samples) probes.set(key, probe);
  };
  const fixed = fixedProbes(random);
  const pages = pageProbes(store, random, Math.ceil(samples * PAGES_SHARE));
  // Of a small sample a part of each.
  const isSmall = samples < fixed.length + pages.length;
  for (const probe of isSmall ? shuffle([...fixed, ...pages], random) : [...fixed, ...pages]) add(probe);
  const draws = drawsOf(store, random, usersHere);
  const kinds = Object.entries(WEIGHTS).flatMap(([kind, weight]) =>
    Array.from({ length: weight }, () => kind as keyof typeof WEIGHTS),
  );
  for (let tries = 0; probes.size < samples && tries < 20 * samples; tries++) {
    const target = draws[kinds[tries % kinds.length]!]();
    if (target !== undefined) add({ target });
  }
  return [...probes.values()];
}
