/**
 * The profiles of some users in few requests. A request for one user gives one; a page of a search gives fifty, some of them wanted.
 *
 * A search for a letter lists the names that begin with it first. So in scripts of few letters the first letters divide the users.
 * In scripts of many letters too few names begin with the same one: there, letters are searched for that many names hold anywhere,
 * chosen by the names that were seen, and at first by those of worlds. A search is read on while its pages show more than one new
 * wanted user; the rest is asked for one by one. A server that orders its searches otherwise makes this longer, not wrong.
 *
 * The next request follows from the answers before it alone: a mirror that goes on from its journal asks the same.
 */

import type { User, World } from "../../model/model.ts";
import { fold } from "../../search/fold.ts";
import { runAll } from "../../upstream/upstream.ts";
import type { Replies } from "./replies.ts";
import { PAGE_SIZE, pageTarget } from "./replies.ts";
import { readUserOf, readUsers } from "./rows.ts";

/** A random page of a search is to hold at least so many wanted users, or searching is not begun. */
const WORTH_WHILE = 2;
/** So many searches in a row whose first page was of little use end a way of searching. */
const MOST_USELESS = 4;

/** Letters of scripts that have many; of others those are left that no name begins with. */
const OTHER_LETTER = /^(?!\p{Script=Latin})\p{L}$/u;

/** Where in names a letter is looked for. */
type Way = "beginnings" | "anywhere";

/** The target of a page of a search for users. */
export function userSearch(q: string): string {
  return `/users/search?${new URLSearchParams({ q })}`;
}

/** The letters of texts, the most frequent first: each counts once a text. */
function byFrequency(texts: Iterable<readonly string[]>): readonly string[] {
  const counts = new Map<string, number>();
  for (const letters of texts) {
    for (const letter of new Set(letters)) {
      if (letter.trim() !== "") counts.set(letter, (counts.get(letter) ?? 0) + 1);
    }
  }
  const sorted = [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
  return sorted.map(([letter]) => letter);
}

function lettersOf(text: string): readonly string[] {
  return [...fold(text).trim()];
}

/** What is looked for, and what was. */
interface Hunt {
  readonly users: Map<string, User>;
  /** Ids of who is not found yet. */
  readonly wanted: Set<string>;
  /** Names of the worlds of wanted owners, by owner. */
  readonly worldNames: ReadonlyMap<string, readonly string[]>;
  /** Letters that were searched for at the beginning of names, and anywhere. */
  readonly tried: Readonly<Record<Way, Set<string>>>;
}

/** The letter to search for next; undefined when there is none. */
function nextLetter({ users, wanted, worldNames, tried }: Hunt, way: Way): string | undefined {
  const { beginnings, anywhere } = tried;
  const names = Array.from(users.values(), ({ displayName }) => lettersOf(displayName));
  // Users who are not known yet are like those whose beginnings were not searched for.
  const others = names.filter(([first = ""]) => !beginnings.has(first));
  const shown = way === "beginnings" ? others.map((name) => name.slice(0, 1)) : others;
  const seen = others.length > 1 ? byFrequency(shown) : [];
  const ofWorlds = Array.from(wanted, (id) => (worldNames.get(id) ?? []).flatMap(lettersOf));
  const isNew = (letter: string): boolean =>
    !beginnings.has(letter) && !anywhere.has(letter) && (way === "beginnings" || OTHER_LETTER.test(letter));
  return seen.find(isNew) ?? byFrequency(ofWorlds).find(isNew);
}

/** Where the names of a page stand relative to the letter that was searched for. */
function beginningsIn(rows: readonly User[], letter: string): "all" | "first" | "mixed" {
  const begin = rows.map(({ displayName }) => fold(displayName).startsWith(letter));
  const others = begin.indexOf(false);
  if (others < 0) return "all";
  return begin.includes(true, others) ? "mixed" : "first";
}

/** Goes through the pages of a search while they are of use. @returns whether the first one was */
async function search(replies: Replies, { users, wanted }: Hunt, letter: string, way: Way): Promise<boolean> {
  let before: number | undefined;
  for (let offset = 0; ; ) {
    const target = pageTarget(userSearch(letter), PAGE_SIZE, offset);
    const { rows, total, limit } = (await replies.get(target, readUsers)).value;
    let found = 0;
    for (const user of rows) {
      users.set(user.id, user);
      if (wanted.delete(user.id)) found++;
    }
    const isLast = rows.length === 0 || offset + limit >= total || wanted.size === 0;
    // After the names that begin with the letter come names that begin with other letters, which are searched for, too.
    const isPast = way === "beginnings" && beginningsIn(rows, letter) === "first";
    if (isLast || isPast || found + (before ?? found) <= 2) return offset > 0 || found > 1;
    before = found;
    offset += limit;
  }
}

/** Finds the owners of worlds. @param users known ones, to which others are added @param total how many the server has */
export async function findOwners(
  replies: Replies,
  users: Map<string, User>,
  worlds: readonly World[],
  total: number,
): Promise<void> {
  const worldNames = new Map<string, string[]>(worlds.map(({ ownerId }) => [ownerId, []]));
  for (const { ownerId, name } of worlds) worldNames.get(ownerId)!.push(name);
  const wanted = new Set([...worldNames.keys()].filter((id) => !users.has(id)));
  const hunt: Hunt = { users, wanted, worldNames, tried: { beginnings: new Set(), anywhere: new Set() } };
  const isWorthWhile = (): boolean =>
    wanted.size > WORTH_WHILE && wanted.size * PAGE_SIZE > WORTH_WHILE * Math.max(1, total - users.size);
  for (const way of ["beginnings", "anywhere"] as const) {
    for (let useless = 0; useless < MOST_USELESS && isWorthWhile(); ) {
      const letter = nextLetter(hunt, way);
      if (letter === undefined) break;
      hunt.tried[way].add(letter);
      useless = (await search(replies, hunt, letter, way)) ? 0 : useless + 1;
    }
  }
  await runAll([...wanted], async (id) => {
    const { value } = await replies.find(`/users/${encodeURIComponent(id)}`, readUserOf(id));
    if (value !== null) users.set(value.id, value);
  });
}
