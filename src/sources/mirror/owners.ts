/**
 * Finds profiles of users in few requests. A request for one user gives one; a page of a search gives fifty, some of them wanted.
 *
 * A search for a letter lists the names that begin with it first, so in scripts of few letters first letters partition the users.
 * In scripts of many letters too few names share a first letter: there, the search is for letters that many names contain anywhere,
 * chosen from the names seen so far, else from names of worlds. A search continues while its pages show on average more than one
 * new wanted user; the rest are requested one by one. A server with another order of results costs requests, not correctness.
 *
 * Each request depends only on earlier replies: a mirror that continues from its journal makes the same requests.
 */

import type { User, World } from "../../model/model.ts";
import { fold } from "../../search/fold.ts";
import { runAll } from "../../upstream/upstream.ts";
import { PAGE_SIZE, pageTarget, type Replies } from "./replies.ts";
import { readUserOf, readUsers } from "./rows.ts";

/** Search only while a random page is expected to hold more than this many wanted users. */
const WORTH_WHILE = 2;
/** A way of searching ends after this many consecutive searches with a nearly useless first page. */
const MOST_USELESS = 4;

/** Letters of non-Latin scripts. Latin letters that are left begin no name, so they are skipped. */
const OTHER_LETTER = /^(?!\p{Script=Latin})\p{L}$/u;

type Way = "beginnings" | "anywhere";

export function userSearch(q: string): string {
  return `/users/search?${new URLSearchParams({ q })}`;
}

/** Letters by the number of texts that contain them, the most frequent first. */
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

interface Hunt {
  readonly users: Map<string, User>;
  readonly wanted: Set<string>;
  /** Names of the worlds of wanted owners, by owner. */
  readonly worldNames: ReadonlyMap<string, readonly string[]>;
  /** Letters already searched for, at the beginning of names and anywhere. */
  readonly tried: Readonly<Record<Way, Set<string>>>;
}

/** The letter to search for next; undefined when there is none. */
function nextLetter({ users, wanted, worldNames, tried }: Hunt, way: Way): string | undefined {
  const { beginnings, anywhere } = tried;
  const names = Array.from(users.values(), ({ displayName }) => lettersOf(displayName));
  // Unknown users resemble the known users whose first letter was not searched for.
  const others = names.filter(([first = ""]) => !beginnings.has(first));
  const shown = way === "beginnings" ? others.map((name) => name.slice(0, 1)) : others;
  const seen = others.length > 1 ? byFrequency(shown) : [];
  const ofWorlds = Array.from(wanted, (id) => (worldNames.get(id) ?? []).flatMap(lettersOf));
  const isNew = (letter: string): boolean =>
    !beginnings.has(letter) && !anywhere.has(letter) && (way === "beginnings" || OTHER_LETTER.test(letter));
  return seen.find(isNew) ?? byFrequency(ofWorlds).find(isNew);
}

/** Whether names that begin with the letter fill a page, stand only at its top (perhaps none), or are mixed with others. */
function beginningsIn(rows: readonly User[], letter: string): "all" | "first" | "mixed" {
  const begin = rows.map(({ displayName }) => fold(displayName).startsWith(letter));
  const others = begin.indexOf(false);
  if (others < 0) return "all";
  return begin.includes(true, others) ? "mixed" : "first";
}

/** Reads the pages of a search while they are useful. @returns whether the first one was */
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
    // The rest are names that begin with other letters, which have their own searches.
    const isPast = way === "beginnings" && beginningsIn(rows, letter) === "first";
    if (isLast || isPast || found + (before ?? found) <= 2) return offset > 0 || found > 1;
    before = found;
    offset += limit;
  }
}

/** Finds the owners of worlds. @param users known users; receives the found ones @param total number of users on the server */
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
