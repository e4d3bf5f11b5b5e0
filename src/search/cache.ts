/** Results of recent searches: an LRU cache bounded in bytes, in front of both searches. */

import { LRUCache } from "lru-cache";
import { copySlices, type Slices } from "../model/body.ts";
import { MOST_ON_PAGE } from "../model/model.ts";
import type { CacheCounts } from "../observe/events.ts";
import type { CountSearch, SearchOutcome } from "../observe/metrics/counters.ts";
import {
  BUSY,
  type Busy,
  type Caller,
  type Found,
  type PageOf,
  type Search,
  type SearchName,
} from "../store/generation.ts";
import type { Scheduler } from "./schedule.ts";
import type { Searches } from "./search.ts";
import type { Work } from "./work.ts";

/** Bytes that an entry costs beside its rows and its JSON; measured roughly. */
const ENTRY_BYTES = 200;

/** Results are kept in parts of so many, and of one page more, so that each page lies in a part. */
const PART = 256;

function partOf({ offset }: PageOf): PageOf {
  return { limit: PART + MOST_ON_PAGE, offset: offset - (offset % PART) };
}

interface Entry {
  readonly total: number;
  /** Results before the part. */
  readonly from: number;
  readonly rows: Uint32Array;
  /** The page that was requested last. */
  asked?: PageOf;
  readonly kept?: PageOf & { readonly json: string | Buffer };
}

function bytesOf({ rows, kept }: Entry, key: string): number {
  return rows.byteLength + (kept?.json.length ?? 0) + key.length * 2 + ENTRY_BYTES;
}

/** Up to this length, a ready text is sent faster than bytes. */
const TEXT_BYTES = 8192;

function isSamePage(a: PageOf | undefined, b: PageOf): boolean {
  return a?.offset === b.offset && a.limit === b.limit;
}

function rowsOf({ from, rows }: Entry, { limit, offset }: PageOf): Uint32Array {
  return rows.subarray(offset - from, offset - from + limit);
}

const PREFIXES = { users: "u", worlds: "w" } as const;

function keyOf(name: SearchName, term: string, page: PageOf): string {
  return `${PREFIXES[name]}${page.offset < PART ? "" : partOf(page).offset} ${term}`;
}

/** Kept results, and the searches that fill them. */
export class ResultCache {
  readonly #searches: Searches;
  readonly #maxBytes: number;
  readonly #entries: LRUCache<string, Entry>;

  /** @param maxBytes memory for results; 0 keeps none */
  constructor(searches: Searches, maxBytes: number) {
    this.#searches = searches;
    this.#maxBytes = maxBytes;
    // The cache rejects a limit of 0; nothing fits in 1 byte.
    this.#entries = new LRUCache({ maxSize: Math.max(maxBytes, 1), sizeCalculation: bytesOf });
  }

  size(): { readonly entries: number; readonly bytes: number } {
    return { entries: this.#entries.size, bytes: this.#entries.calculatedSize };
  }

  /** A page of a kept result; undefined when it is not known. */
  find(name: SearchName, term: string, page: PageOf): Found | undefined {
    const key = keyOf(name, term, page);
    const entry = this.#entries.get(key);
    return entry && this.#pageOf(key, entry, page);
  }

  /** Finds a page that is not known, unless it is by the time when the work begins. */
  *search(name: SearchName, term: string, page: PageOf): Work<Found> {
    const known = this.find(name, term, page);
    if (known !== undefined) return known;
    const { limit, offset } = page;
    const part = partOf(page);
    const { total, rows } = yield* this.#searches(name, term, part);
    const entry: Entry = { total, from: part.offset, rows, asked: { limit, offset } };
    // A part after the last result is requested once. The key is a copy: a slice of a request would keep all of its bytes.
    if (this.#maxBytes > 0 && (part.offset === 0 || rows.length > 0))
      this.#entries.set(Buffer.from(keyOf(name, term, page)).toString(), entry);
    return { total, rows: rowsOf(entry, page) };
  }

  /** A page that is requested twice in a row is kept as JSON: making it takes a sixth of the time of its reply. */
  #pageOf(key: string, entry: Entry, page: PageOf): Found {
    const { total, kept, asked } = entry;
    const rows = rowsOf(entry, page);
    if (kept !== undefined && isSamePage(kept, page)) return { total, rows, json: kept.json };
    const { limit, offset } = page;
    entry.asked = { limit, offset };
    if (!isSamePage(asked, page)) return { total, rows };
    const keepJson = (slices: Slices): void => {
      // Its own memory: a slice of the pool would keep all of the pool.
      const bytes = Buffer.allocUnsafeSlow(slices.length);
      copySlices(slices, bytes, 0);
      const json = slices.length < TEXT_BYTES ? bytes.toString("latin1") : bytes;
      const larger = { ...entry, kept: { limit, offset, json } };
      // The cache would drop an entry that became too large for it.
      if (bytesOf(larger, key) <= this.#maxBytes) this.#entries.set(key, larger);
    };
    return { total, rows, keepJson };
  }
}

/** @internal The outcome of a search without an answer. */
export function whyBusy(caller: Caller): SearchOutcome {
  return caller.isGone() ? "dropped" : "busy";
}

/** How the searches of a thread are bounded and counted. */
export interface SearchBounds {
  /** Memory for results; 0 keeps none. */
  readonly cacheBytes: number;
  readonly scheduler: Scheduler;
  readonly count: CountSearch | undefined;
}

/** @internal Both searches of a generation as requests run them: from the cache, or on this thread in slices. */
export class CachedSearch {
  readonly #cache: ResultCache;
  readonly #bounds: SearchBounds;
  readonly #counts = { hits: 0, misses: 0 };

  constructor(searches: Searches, bounds: SearchBounds) {
    this.#cache = new ResultCache(searches, bounds.cacheBytes);
    this.#bounds = bounds;
  }

  counts(): CacheCounts {
    return { ...this.#counts, ...this.#cache.size() };
  }

  readonly find: Search = (name, term, page, caller) => {
    const known = this.#cache.find(name, term, page);
    if (known !== undefined) {
      this.#counts.hits++;
      this.#bounds.count?.(name, "cached");
      return known;
    }
    this.#counts.misses++;
    const found = this.#bounds.scheduler.run(this.#cache.search(name, term, page), caller);
    if (found instanceof Promise) return found.then((later) => this.#counted(name, later, caller));
    return this.#counted(name, found, caller);
  };

  #counted(name: SearchName, found: Found | Busy, caller: Caller): Found | Busy {
    this.#bounds.count?.(name, found === BUSY ? whyBusy(caller) : "searched");
    return found;
  }
}
