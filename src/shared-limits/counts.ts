/**
 * Counts requests of keys at a counter server, before they are answered.
 *
 * One script call takes as many of the wanted requests as the limit allows. Requests of a key that arrive while a question
 * about it is under way are asked together in the next one, which waits for the answer, but at most {@link NEXT_MS}. A key that
 * has used up its limit is refused here until its window ends or its limit is raised.
 *
 * A key whose question had no answer in time counts alone for a second, within this replica's share; then the server is asked
 * again. Each question tells the known count, which includes requests counted alone. So a server that has lost its data learns
 * the count again. If several replicas counted alone, the highest of their counts holds.
 */

import { type Counters, countInWindow, type Quota, raiseUsage, usageOf, windowAt } from "../auth/limit.ts";
import type { CountedKey, SharedQuota } from "../auth/shared.ts";
import type { SharedLimitsFigures } from "../observe/metrics/table.ts";
import { isCount } from "../util/json.ts";

/** How long a key counts alone after a question without an answer, in milliseconds. */
const ALONE_MS = 1000;
/** A key's next question is sent so long after the one before, in milliseconds, even if that is not answered yet. */
const NEXT_MS = 5;
/** How long the server keeps a count beyond the length of a window, in seconds, for replicas whose clocks differ. */
const KEPT_SECONDS = 60;

/**
 * Arguments: wanted requests, limit, known count, seconds to keep the count. Returns the count before. Numbers are written
 * in full, since Lua would round large ones.
 */
export const COUNT_SCRIPT = `local used = math.max(tonumber(redis.call('GET', KEYS[1]) or 0), tonumber(ARGV[3]))
local taken = math.max(0, math.min(tonumber(ARGV[1]), tonumber(ARGV[2]) - used))
if taken > 0 then
  redis.call('SET', KEYS[1], string.format('%.0f', used + taken), 'EX', ARGV[4])
end
return used`;

/** Both reject without an answer in time, even if the server has counted. */
export interface CounterServer {
  /** Runs {@link COUNT_SCRIPT}. */
  readonly evaluate: (name: string, given: readonly string[]) => Promise<unknown>;
  readonly get: (name: string) => Promise<unknown>;
}

export interface SharedCountsOptions {
  /** Known counts at the server. These and `alone` are in memory that all threads of this process share. */
  readonly counters: Counters;
  readonly alone: Counters;
  readonly replicas: number;
  readonly server: CounterServer;
  readonly add: (figure: keyof SharedLimitsFigures) => void;
  /** A question had no answer. @param name of the count */
  readonly onFailure: (problem: string, name: string) => void;
  /** A clock in milliseconds that never steps back. */
  readonly now: () => number;
}

/** Requests of a key and a window that wait for the next question. */
interface Asking {
  readonly window: number;
  /** Of the newest request. */
  limit: number;
  waiting: ((quota: Quota) => void)[];
}

/** Name of a count. The braces make the id alone decide which server of a cluster holds it. */
function nameOf({ windowSeconds }: Counters, key: CountedKey, window: number): string {
  return `orrery:{${key.id}}:${windowSeconds}:${window}`;
}

function usedIn(counters: Counters, { slot }: CountedKey, window: number): number {
  const usage = usageOf(counters, slot);
  return usage.window === window ? usage.used : 0;
}

export class SharedCounts {
  readonly #options: SharedCountsOptions;
  /** By slot: the keys that the server is asked about. */
  readonly #asking = new Map<number, Asking>();
  /** By slot: until when a key counts alone, oldest first. */
  readonly #aloneUntil = new Map<number, number>();

  constructor(options: SharedCountsOptions) {
    this.#options = options;
  }

  readonly count = (key: CountedKey, limit: number, wall: number): Quota | Promise<Quota> => {
    const { window, used } = this.#known(key, wall);
    if (used >= limit) return this.#quota(window, limit, 0, false);
    if (this.#isAlone(key)) return this.#countAlone(key, window, limit);
    return new Promise((settle) => {
      let asking = this.#asking.get(key.slot);
      if (asking?.window === window) {
        asking.limit = limit;
        asking.waiting.push(settle);
        return;
      }
      asking = { window, limit, waiting: [settle] };
      this.#asking.set(key.slot, asking);
      void this.#ask(key, asking);
    });
  };

  /** The state that the next request would be judged by, by a new answer; counts nothing. */
  readonly read = async (key: CountedKey, limit: number, wall: number): Promise<SharedQuota> => {
    const { counters, alone, replicas, server, add } = this.#options;
    const { window } = this.#known(key, wall);
    const name = nameOf(counters, key, window);
    let counted: SharedQuota["counted"] = this.#isAlone(key) ? "alone" : "shared";
    if (counted === "shared") {
      add("asks");
      try {
        raiseUsage(counters, key.slot, window, countOf((await server.get(name)) ?? 0));
      } catch (error) {
        this.#fail(key, name, error);
        counted = "alone";
      }
    }
    const { used } = this.#known(key, wall);
    const share = Math.floor(limit / replicas) - usedIn(alone, key, window);
    const left = counted === "alone" ? Math.min(share, limit - used) : limit - used;
    return { counted, used, remaining: Math.max(0, left), reset: this.#endOf(window) };
  };

  /** The current window, and the requests known to be counted in it. A clock that steps back leaves the window open. */
  #known({ slot }: CountedKey, wall: number) {
    const { counters } = this.#options;
    const usage = usageOf(counters, slot);
    const window = windowAt(counters, wall);
    return usage.window >= window ? usage : { window, used: 0 };
  }

  async #ask(key: CountedKey, asking: Asking): Promise<void> {
    while (asking.waiting.length > 0) {
      const { window, limit, waiting } = asking;
      asking.waiting = [];
      let timer: NodeJS.Timeout | undefined;
      const next = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, NEXT_MS);
      });
      await Promise.race([this.#settle(key, window, limit, waiting), next]);
      clearTimeout(timer);
    }
    if (this.#asking.get(key.slot) === asking) this.#asking.delete(key.slot);
  }

  /** Settles requests by one answer. Those that waited while the key came to count alone do not wait again. */
  async #settle(key: CountedKey, window: number, limit: number, waiting: Asking["waiting"]): Promise<void> {
    const before = this.#isAlone(key) ? undefined : await this.#take(key, window, limit, waiting.length);
    for (const [at, settle] of waiting.entries()) {
      if (before === undefined) {
        settle(this.#countAlone(key, window, limit));
      } else {
        const used = before + at;
        settle(this.#quota(window, limit, Math.max(0, limit - used - 1), used < limit));
      }
    }
  }

  /** Takes requests at the server. @returns the count before; undefined without an answer */
  async #take(key: CountedKey, window: number, limit: number, wanted: number): Promise<number | undefined> {
    const { counters, server, add } = this.#options;
    const known = usedIn(counters, key, window);
    const name = nameOf(counters, key, window);
    const given = [wanted, limit, known, counters.windowSeconds + KEPT_SECONDS].map(String);
    add("asks");
    try {
      const before = countOf(await server.evaluate(name, given), known);
      raiseUsage(counters, key.slot, window, before + Math.max(0, Math.min(wanted, limit - before)));
      return before;
    } catch (error) {
      this.#fail(key, name, error);
      return undefined;
    }
  }

  #fail({ slot }: CountedKey, name: string, error: unknown): void {
    const { add, onFailure, now } = this.#options;
    add("failures");
    for (const [other, until] of this.#aloneUntil) {
      if (until > now()) break;
      this.#aloneUntil.delete(other);
    }
    this.#aloneUntil.delete(slot);
    this.#aloneUntil.set(slot, now() + ALONE_MS);
    onFailure((error as Error).message, name);
  }

  #isAlone({ slot }: CountedKey): boolean {
    return this.#aloneUntil.size > 0 && this.#options.now() < (this.#aloneUntil.get(slot) ?? 0);
  }

  /** Counts a request within this replica's share of the limit, and what the limit leaves. */
  #countAlone(key: CountedKey, window: number, limit: number): Quota {
    const { counters, alone, replicas, add } = this.#options;
    const isUsedUp = usedIn(counters, key, window) >= limit;
    const share = isUsedUp ? 0 : Math.floor(limit / replicas);
    const apart = countInWindow(alone, key.slot, share, window);
    const all = apart.passed ? countInWindow(counters, key.slot, limit, window) : apart;
    add(all.passed ? "alone" : "refused");
    return this.#quota(window, limit, Math.min(apart.remaining, all.remaining), all.passed);
  }

  #endOf(window: number): number {
    return (window + 1) * this.#options.counters.windowSeconds;
  }

  #quota(window: number, limit: number, remaining: number, passed: boolean): Quota {
    return { passed, limit, remaining, reset: this.#endOf(window) };
  }
}

/** Reads an answer. @param least it cannot be less @throws {Error} if it is no count */
export function countOf(answer: unknown, least = 0): number {
  const count = typeof answer === "string" ? Number(answer) : answer;
  if (!isCount(count) || count < least) throw new Error("the server answered something else than a count");
  return count;
}
