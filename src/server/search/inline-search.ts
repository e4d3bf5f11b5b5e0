/**
 * Inline search: on the serving thread. Searches get a time slice of each turn of the event loop, and the rest waits for
 * the next turn, in a fair queue; longer ones are offloaded to the search thread. One bound limits all that wait.
 */

import { setImmediate } from "node:timers";
import type { CountSearch } from "../../observe/metrics/counters.ts";
import { CachedSearch, type FindResults } from "../../search/cache.ts";
import { PartialResults, RETAINED, type ResultSet } from "../../search/result-set.ts";
import { type PendingSearches, UNBOUNDED } from "../../search/schedule/pending.ts";
import { Scheduler } from "../../search/schedule/scheduler.ts";
import { openSearch, type Searches, type SearchIndex } from "../../search/search.ts";
import type { Work } from "../../search/work.ts";
import { BUSY, type Busy, type PageOf, type SearchName } from "../../store/generation.ts";
import type { AskPage } from "./questions.ts";

/** Milliseconds after which an inline search is offloaded, checked whenever its work yields. */
const MOST_MS = 0.5;
/** The time slice of searches in a turn, in milliseconds; the last search may exceed it. */
const TURN_MS = 0.3;

/** The rows that a long search sends at once; later pages are requested one by one. */
const WINDOW: PageOf = { limit: RETAINED, offset: 0 };

/**
 * Makes a search that offloads everything. Without a thread to ask, as in a replaced generation, it searches on the
 * calling thread, in time slices.
 */
export function createOffloadedSearch(searches: Searches, ask?: AskPage): FindResults {
  const scheduler = new Scheduler<ResultSet>();
  return async (name, term, page, caller) => {
    // Receiving whole results, some of a megabyte, makes a thread collect garbage all the time.
    const asked = page.offset + page.limit <= WINDOW.limit ? WINDOW : page;
    const found = await ask?.(name, term, asked, caller);
    if (found === undefined) return scheduler.run(() => searches[name](term, page), caller);
    return found === BUSY ? BUSY : new PartialResults(found, asked.offset);
  };
}

/** Makes a search that runs short ones inline. @param offloaded takes the long ones @param pending bounds all that wait */
export function createInlineSearch(
  searches: Searches,
  offloaded: FindResults,
  pending: PendingSearches = UNBOUNDED,
): FindResults {
  const waiting = new FairQueue<() => void>();
  let turnHasBegun = false;
  let spent = 0;

  function nextTurn(): void {
    spent = 0;
    turnHasBegun = false;
    while (!waiting.isEmpty && spent < TURN_MS) waiting.shift()!();
    if (!waiting.isEmpty) beginTurn();
  }

  function beginTurn(): void {
    if (turnHasBegun) return;
    turnHasBegun = true;
    setImmediate(nextTurn);
  }

  /** Undefined when it takes too long. */
  function searchInline(name: SearchName, term: string, page: PageOf): ResultSet | undefined {
    beginTurn();
    const began = performance.now();
    const results = runShort(searches[name](term, page), began);
    spent += performance.now() - began;
    return results;
  }

  return (name, term, page, caller) => {
    const isFree = spent < TURN_MS && waiting.isEmpty;
    const atOnce = isFree ? searchInline(name, term, page) : undefined;
    if (atOnce !== undefined) return atOnce;
    const leave = pending.enter(caller.key);
    if (leave === undefined) return BUSY;
    if (isFree) return Promise.resolve(offloaded(name, term, page, caller)).finally(leave);
    const later = async (): Promise<ResultSet | Busy> => {
      if (caller.isGone()) return BUSY;
      return searchInline(name, term, page) ?? offloaded(name, term, page, caller);
    };
    const results = new Promise<ResultSet | Busy>((resolve) => {
      waiting.push(caller.key, () => resolve(later()));
    });
    beginTurn();
    return results.finally(leave);
  };
}

/** How the searches of a generation are bounded and counted. */
export interface SearchBounds {
  /** Memory for results; none when absent. */
  readonly cacheBytes?: number;
  /** Bounds the searches that wait; no bound when absent. */
  readonly pending?: PendingSearches;
  readonly count?: CountSearch | undefined;
}

/** Opens both searches of an index, with their cache. @param ask see {@link createOffloadedSearch} */
export function openCachedSearch(
  index: SearchIndex,
  { cacheBytes = 0, pending = UNBOUNDED, count }: SearchBounds,
  ask?: AskPage,
): CachedSearch {
  const searches = openSearch(index);
  const search = createInlineSearch(searches, createOffloadedSearch(searches, ask), pending);
  return new CachedSearch(search, cacheBytes, pending, count);
}

/** Runs work for {@link MOST_MS}; undefined when it takes longer. */
function runShort<Result>(work: Work<Result>, began: number): Result | undefined {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
    if (step.value === "long" || performance.now() - began > MOST_MS) {
      // Frees its buffers for other work.
      work.return(undefined as never);
      return undefined;
    }
  }
}

/** A fair queue: round robin over keys, first in first out within a key. */
export class FairQueue<Item> {
  /** By key, in order of turns; none is empty. */
  readonly #queues = new Map<number, Item[]>();

  get isEmpty(): boolean {
    return this.#queues.size === 0;
  }

  push(key: number, item: Item): void {
    const queue = this.#queues.get(key);
    if (queue === undefined) this.#queues.set(key, [item]);
    else queue.push(item);
  }

  shift(): Item | undefined {
    for (const [key, queue] of this.#queues) {
      const item = queue.shift()!;
      this.#queues.delete(key);
      if (queue.length > 0) this.#queues.set(key, queue);
      return item;
    }
    return undefined;
  }
}
