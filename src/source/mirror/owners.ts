/**
 * The profiles of some users in few requests. A request for one user gives one; a page of a search gives fifty, of which some are
 * wanted. So users are looked for by searches for single letters as long as their pages show more than one that is wanted and
 * not known yet, and the others are asked for one by one.
 *
 * What is asked next follows from what was answered before alone: a mirror that goes on from its journal takes the same way.
 */

import type { User } from "../../model.ts";
import { PAGE_SIZE, pageTarget, runAll } from "./lists.ts";
import type { Replies } from "./replies.ts";
import { readUserOf, readUsers } from "./rows.ts";

/** A random page of a search is to hold at least so many wanted users, or searching is not begun. */
const WORTH_WHILE = 2;
/** So many searches in a row whose first page was of little use end the searching. */
const MOST_USELESS = 4;
/** Letters to begin with, before any name is known, and when the known names have no other. */
const COMMON = [..."aeinorstulmの一이김ا0123456789"];

/** The target of a page of a search for users. */
export function userSearch(q: string): string {
  return `/users/search?${new URLSearchParams({ q })}`;
}

/** Letters of names, the most frequent first. */
function lettersOf(users: Iterable<User>): readonly string[] {
  const counts = new Map<string, number>();
  for (const { displayName } of users) {
    for (const letter of new Set(displayName.normalize("NFKC").toLowerCase())) {
      if (letter.trim() !== "") counts.set(letter, (counts.get(letter) ?? 0) + 1);
    }
  }
  const byCount = [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
  return byCount.map(([letter]) => letter);
}

/** Goes through the pages of a search while they are of use. @returns whether the first one was */
async function search(
  replies: Replies,
  letter: string,
  users: Map<string, User>,
  wanted: Set<string>,
): Promise<boolean> {
  let before: number | undefined;
  for (let offset = 0; ; ) {
    const target = pageTarget(userSearch(letter), PAGE_SIZE, offset);
    const { rows, total, limit } = (await replies.get(target, readUsers)).value;
    let found = 0;
    for (const user of rows) {
      users.set(user.id, user);
      if (wanted.delete(user.id)) found++;
    }
    const isLast = rows.length === 0 || offset + limit >= total;
    if (isLast || wanted.size === 0 || found + (before ?? found) <= 2) return offset > 0 || found > 1;
    before = found;
    offset += limit;
  }
}

/**
 * Finds users.
 *
 * @param known users that are known already; those that are seen on the way are added
 * @param ids of those that are wanted
 * @param total how many users the server has
 */
export async function findOwners(
  replies: Replies,
  known: Map<string, User>,
  ids: Iterable<string>,
  total: number,
): Promise<void> {
  const wanted = new Set([...ids].filter((id) => !known.has(id)));
  const tried = new Set<string>();
  const isWorthWhile = (): boolean =>
    wanted.size > WORTH_WHILE && wanted.size * PAGE_SIZE > WORTH_WHILE * Math.max(1, total - known.size);
  for (let useless = 0; useless < MOST_USELESS && isWorthWhile(); ) {
    const letter = [...lettersOf(known.values()), ...COMMON].find((candidate) => !tried.has(candidate));
    if (letter === undefined) break;
    tried.add(letter);
    useless = (await search(replies, letter, known, wanted)) ? 0 : useless + 1;
  }
  // In the order of the list, so that it is the same each time.
  await runAll([...wanted], async (id) => {
    const { value } = await replies.find(`/users/${encodeURIComponent(id)}`, readUserOf(id));
    if (value !== null) known.set(value.id, value);
  });
}
