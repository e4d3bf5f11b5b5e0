/**
 * Searches on the thread that serves.
 *
 * Most searches take less time than it takes to ask another thread for them, so
 * they are done here, over the shared index. Those that turn out to take longer
 * go to the search thread. Lookups come first: of each turn of the event loop
 * searches get a part, and those that are left wait for the next turn.
 */

import { setImmediate } from "node:timers";
import type { FindMatches, MatchSearch } from "../search/cache.ts";
import { AT_HAND, type Matches, SomeMatches } from "../search/matches.ts";
import type { Searches } from "../search/search.ts";
import { runInSlices, type Work } from "../search/slices.ts";
import type { Found, PageOf } from "../store/generation.ts";
import type { SearchName } from "./thread-messages.ts";

/** How long a search may take here before it goes elsewhere, in milliseconds, if its work yields as often. */
const MOST_MS = 0.5;
/** How long searches may take in a turn, in milliseconds; the last of them may go over it. */
const TURN_MS = 0.3;

interface Waiting {
  readonly name: SearchName;
  readonly term: string;
  readonly page: PageOf;
  readonly resolve: (matches: Matches | Promise<Matches>) => void;
  readonly reject: (error: unknown) => void;
}

/** Asks whoever does long searches for a page; undefined when there is nobody any more. */
export type AskForPage = (name: SearchName, term: string, page: PageOf) => Promise<Found | undefined>;

/** What long searches find stays where it was found, but for so many rows; pages behind them are asked for one by one. */
const WINDOW: PageOf = { limit: AT_HAND, offset: 0 };

/**
 * Makes a search that asks for everything. A generation that was replaced has
 * nobody to ask; what is left to be searched in it is done here, in slices.
 */
export function createFarSearch(searches: Searches, ask: AskForPage): MatchSearch {
  const search =
    (name: SearchName): FindMatches =>
    async (term, page) => {
      // To be sent whole results, a megabyte now and then, makes a thread collect garbage all the time.
      const asked = page.offset + page.limit <= WINDOW.limit ? WINDOW : page;
      const found = await ask(name, term, asked);
      return found === undefined
        ? runInSlices(searches[name](term, page))
        : new SomeMatches(found, asked.offset);
    };
  return { users: search("users"), worlds: search("worlds") };
}

/**
 * Makes a search that does here what is short.
 *
 * @param far takes what is long
 */
export function createNearSearch(searches: Searches, far: MatchSearch): MatchSearch {
  const waiting: Waiting[] = [];
  let turnHasBegun = false;
  let spent = 0;

  function nextTurn(): void {
    spent = 0;
    turnHasBegun = false;
    while (waiting.length > 0 && spent < TURN_MS) {
      const { name, term, page, resolve, reject } = waiting.shift()!;
      try {
        resolve(search(name, term, page));
      } catch (error) {
        reject(error);
      }
    }
    if (waiting.length > 0) beginTurn();
  }

  function beginTurn(): void {
    if (turnHasBegun) return;
    turnHasBegun = true;
    setImmediate(nextTurn);
  }

  function search(name: SearchName, term: string, page: PageOf): Matches | Promise<Matches> {
    beginTurn();
    const began = performance.now();
    const matches = runShort(searches[name](term, page), began);
    spent += performance.now() - began;
    return matches ?? far[name](term, page);
  }

  function searchInTurn(name: SearchName, term: string, page: PageOf): Matches | Promise<Matches> {
    if (spent < TURN_MS && waiting.length === 0) return search(name, term, page);
    return new Promise((resolve, reject) => {
      waiting.push({ name, term, page, resolve, reject });
      beginTurn();
    });
  }

  return {
    users: (term, page) => searchInTurn("users", term, page),
    worlds: (term, page) => searchInTurn("worlds", term, page),
  };
}

/** Does work that is short; undefined when it is not. */
function runShort<Result>(work: Work<Result>, began: number): Result | undefined {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
    if (step.value === "long" || performance.now() - began > MOST_MS) return undefined;
  }
}
