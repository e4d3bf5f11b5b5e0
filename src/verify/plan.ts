/** Chooses the requests to compare: some of every kind, drawn by a seed. The same seed and snapshot give the same requests. */

import type { ParameterName, Route } from "../api/handlers/route.ts";
import { ROUTES } from "../api/routes.ts";
import { PERIODS } from "../model/model.ts";
import { RESOURCES } from "../model/schema.ts";
import { formatUuid } from "../model/uuid.ts";
import { fold } from "../search/fold.ts";
import type { Store } from "../store/generation.ts";
import { type Block, idText } from "../store/table.ts";
import { displayNameOf, worldNameOf } from "../store/texts.ts";
import { createRandom, type Random } from "../util/random.ts";

export interface Probe {
  readonly target: string;
  /** The value of `Authorization`; null sends none, undefined the token's. */
  readonly authorization?: string | null;
}

/** Completeness of a snapshot's users. */
export interface UsersHere {
  /** Whether all users of the other server are in it. */
  readonly isComplete: boolean;
  /** Searches whose results are all in it. */
  readonly searches: readonly string[];
}

const PAGE = 50;
/** Maximum share of list pages in the sample. */
const PAGES_SHARE = 0.4;
/** Draws of an operation per round, 1 when absent: more for data that no list shows. */
const WEIGHTS: Readonly<Record<string, number>> = {
  getWorldStats: 8,
  getUser: 3,
  searchWorlds: 3,
  searchUsers: 3,
  listWorldInstances: 2,
  listUserWorlds: 2,
};
const ODD_LIMITS = ["0", "-1", "7", "51", "1e1", "50"];

interface Drawing {
  readonly store: Store;
  readonly random: Random;
  readonly usersHere: UsersHere;
}

type Words = Readonly<Record<string, string | number>>;

function targetOf(path: string, words: Words): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(words)) query.set(name, String(value));
  return query.size === 0 ? path : `${path}?${query}`;
}

/** Requests that every server must refuse, or answer about itself. */
function fixedProbes(random: Random): Probe[] {
  const unknown = formatUuid(
    new Uint32Array(4).map(() => random.word()),
    0,
  );
  const targets = ROUTES.flatMap(({ path, parameters }) => {
    if (path.includes(":id")) return [path.replace(":id", unknown)];
    if (parameters.includes("q")) return [path, `${path}?q=`];
    if (parameters.includes("worldId")) return [`${path}?worldId=${unknown}`];
    return parameters.length === 0 ? [path] : [];
  });
  return [
    ...targets.map((target) => ({ target })),
    { target: "/stats", authorization: null },
    { target: "/worlds", authorization: "Bearer ?" },
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

/** The table of an operation's rows if it has ids; otherwise the instances. */
function blockOf(store: Store, { reply }: Route): Block {
  const { table } = RESOURCES[reply.schema];
  return table === "users" || table === "worlds" ? store[table] : store.instances;
}

function pageProbes({ store, random }: Drawing, most: number): Probe[] {
  const lists = ROUTES.filter(({ path, parameters, reply }) => {
    return reply.envelope !== "one" && !path.includes(":id") && !parameters.includes("q");
  }).flatMap((route) => {
    const pages = Math.max(1, Math.ceil(blockOf(store, route).rows / PAGE));
    const words: readonly Words[] = route.parameters.includes("period")
      ? PERIODS.map((period) => ({ period }))
      : [{}];
    return words.map((own) => ({ path: route.path, words: own, pages }));
  });
  const targetAt = ({ path, words }: (typeof lists)[number], page: number): string =>
    targetOf(path, { ...words, limit: PAGE, offset: page * PAGE });
  const count = lists.reduce((sum, { pages }) => sum + pages, 0);
  if (count <= most) {
    return lists.flatMap((list) =>
      Array.from({ length: list.pages }, (_, page) => ({ target: targetAt(list, page) })),
    );
  }
  const drawn = new Set<string>();
  for (let tries = 0; drawn.size < most && tries < 10 * most; tries++) {
    const list = lists[random.below(lists.length)]!;
    drawn.add(targetAt(list, random.below(list.pages)));
  }
  return Array.from(drawn, (target) => ({ target }));
}

/** Some consecutive code points of a text. */
function partOf(text: string, random: Random): string {
  const letters = [...text];
  const length = 1 + random.below(Math.min(8, letters.length));
  const from = random.below(letters.length - length + 1);
  return letters.slice(from, from + length).join("");
}

function drawId({ random }: Drawing, block: Block): string | undefined {
  return block.rows === 0 ? undefined : idText(block, random.below(block.rows));
}

/** A search for users that the snapshot can answer completely; undefined without one. */
function drawUserQuery({ store: { users }, random, usersHere }: Drawing, row: number): string | undefined {
  const name = displayNameOf(users, row);
  const { isComplete, searches } = usersHere;
  if (isComplete) return partOf(name, random);
  if (searches.length === 0) return undefined;
  const q = searches[random.below(searches.length)]!;
  // A longer part of a name finds a subset of the users, so all of them are here.
  const folded = fold(name);
  const at = folded.indexOf(fold(q).trim());
  return at < 0 ? q : folded.slice(at, at + fold(q).trim().length + random.below(3));
}

function drawQuery(drawing: Drawing, route: Route): string | undefined {
  const { store, random } = drawing;
  const block = blockOf(store, route);
  if (block.rows === 0) return undefined;
  const row = random.below(block.rows);
  return block === store.users ? drawUserQuery(drawing, row) : partOf(worldNameOf(block, row), random);
}

/** Draws a value of each parameter; undefined when the snapshot has none. */
const DRAWS: Readonly<
  Record<Exclude<ParameterName, "match">, (drawing: Drawing, route: Route) => string | number | undefined>
> = {
  limit: ({ random }) =>
    random.chance(0.8) ? 1 + random.below(PAGE) : ODD_LIMITS[random.below(ODD_LIMITS.length)],
  offset: ({ store, random }, route) => random.below(random.chance(0.8) ? 3 : blockOf(store, route).rows + 1),
  period: ({ random }) => PERIODS[random.below(PERIODS.length)],
  worldId: (drawing) => drawId(drawing, drawing.store.worlds),
  q: drawQuery,
};

/** Draws a request of an operation; undefined when the snapshot has no data for it. */
function drawTarget(drawing: Drawing, route: Route): string | undefined {
  const { store } = drawing;
  let path: string = route.path;
  if (path.includes(":id")) {
    const id = drawId(drawing, store[path.split("/")[1] as "users" | "worlds" | "instances"]);
    if (id === undefined) return undefined;
    path = path.replace(":id", id);
  }
  const words: Record<string, string | number> = {};
  for (const name of route.parameters) {
    // Other servers need not support it.
    if (name === "match") continue;
    const value = DRAWS[name](drawing, route);
    if (value === undefined) return undefined;
    words[name] = value;
  }
  return targetOf(path, words);
}

/** Draws `samples` requests; fewer when the snapshot does not allow as many. */
export function planProbes(store: Store, samples: number, seed: number, usersHere: UsersHere): Probe[] {
  const random = createRandom(seed, "verify");
  const drawing = { store, random, usersHere };
  const probes = new Map<string, Probe>();
  const add = (probe: Probe): void => {
    const key = `${probe.authorization} ${probe.target}`;
    if (probes.size < samples) probes.set(key, probe);
  };
  const fixed = fixedProbes(random);
  const pages = pageProbes(drawing, Math.ceil(samples * PAGES_SHARE));
  // A small sample takes some of both.
  const isSmall = samples < fixed.length + pages.length;
  for (const probe of isSmall ? shuffle([...fixed, ...pages], random) : [...fixed, ...pages]) add(probe);
  const turns = ROUTES.flatMap((route) => Array<Route>(WEIGHTS[route.name] ?? 1).fill(route));
  for (let tries = 0; probes.size < samples && tries < 20 * samples; tries++) {
    const target = drawTarget(drawing, turns[tries % turns.length]!);
    if (target !== undefined) add({ target });
  }
  return [...probes.values()];
}
