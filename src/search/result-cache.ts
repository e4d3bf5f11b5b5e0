/** Results of searches that are kept: an LRU cache bounded in bytes. */

import { LRUCache } from "lru-cache";
import { copySlices, type Slices } from "../model/body.ts";
import type { Found, PageOf } from "../store/generation.ts";
import { pageOf, type ResultSet } from "./result-set.ts";

/** Bytes that an entry costs beside its rows and its JSON; measured roughly. */
const ENTRY_BYTES = 200;

/** Kept results, by the search and its term. */
export interface ResultCache {
  /** A page of a kept result; undefined when it is not known. */
  find(key: string, page: PageOf): Found | undefined;
  /** Whether a page is known; asking leaves everything as it is. */
  holds(key: string, page: PageOf): boolean;
  /** @param page the one that was asked for */
  keep(key: string, results: ResultSet, page: PageOf): void;
  /** How many are kept, and the memory they take. */
  readonly size: () => { readonly entries: number; readonly bytes: number };
}

interface Entry {
  readonly results: ResultSet;
  /** The page that was asked for last. */
  limit: number;
  offset: number;
  /** A page that is kept as JSON. */
  readonly kept?: PageOf & { readonly page: Found & { readonly json: string | Buffer } };
}

function bytesOf({ results, kept }: Entry, key: string): number {
  return results.bytes + (kept?.page.json.length ?? 0) + key.length * 2 + ENTRY_BYTES;
}

/** A text that is made already is sent quicker than bytes, as long as it is short. */
const TEXT_BYTES = 8192;

const FIRST_RESULT: PageOf = { limit: 1, offset: 0 };

/** Makes a cache for results. @param maxBytes memory for them; 0 keeps none */
export function createResultCache(maxBytes: number): ResultCache {
  const cache = new LRUCache<string, Entry>({
    // The cache takes no bound of 0; with 1 byte nothing fits.
    maxSize: Math.max(maxBytes, 1),
    sizeCalculation: bytesOf,
  });
  function keep(key: string, results: ResultSet, { limit, offset }: PageOf): void {
    // A page from far behind is asked for once.
    if (maxBytes === 0 || !results.has(FIRST_RESULT)) return;
    // Text of its own: a part of the bytes that were read with the request would keep all of these.
    cache.set(Buffer.from(key).toString(), { results, limit, offset });
  }

  /**
   * A page of a kept result. One that is asked for again, with no other between, is kept as JSON: to put it
   * together takes a sixth of the time of its reply.
   */
  function pageOfEntry(key: string, entry: Entry, asked: PageOf): Found {
    const { results, kept } = entry;
    const { limit, offset } = asked;
    if (kept !== undefined && kept.limit === limit && kept.offset === offset) return kept.page;
    const page = pageOf(results, asked);
    if (entry.limit !== limit || entry.offset !== offset) {
      entry.limit = limit;
      entry.offset = offset;
      return page;
    }
    const keepJson = (slices: Slices): void => {
      // Memory of its own: a part of the pool would keep all of that.
      const bytes = Buffer.allocUnsafeSlow(slices.length);
      copySlices(slices, bytes, 0);
      const json = slices.length < TEXT_BYTES ? bytes.toString("latin1") : bytes;
      const larger = { ...entry, kept: { limit, offset, page: { ...page, json } } };
      // The cache would throw out what has become too large for it.
      if (bytesOf(larger, key) <= maxBytes) cache.set(key, larger);
    };
    return { ...page, keepJson };
  }

  return {
    find(key, page) {
      const known = cache.get(key);
      return known?.results.has(page) ? pageOfEntry(key, known, page) : undefined;
    },
    holds: (key, page) => cache.peek(key)?.results.has(page) ?? false,
    keep,
    size: () => ({ entries: cache.size, bytes: cache.calculatedSize }),
  };
}
