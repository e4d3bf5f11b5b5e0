/** Results of searches that are kept, bounded in bytes. */

import { LRUCache } from "lru-cache";
import type { Found, PageOf } from "../store/generation.ts";
import { type Matches, pageOf } from "./query/result-set.ts";

/** Bytes that an entry costs beside its rows and its text; measured roughly. */
const ENTRY_BYTES = 200;

/** Kept results, by the search and its term. */
export interface Results {
  /** A page of a kept result; undefined when it is not known. */
  find(key: string, page: PageOf): Found | undefined;
  /** @param page the one that was asked for */
  keep(key: string, matches: Matches, page: PageOf): void;
  /** How many are kept, and the memory they take. */
  readonly size: () => { readonly entries: number; readonly bytes: number };
}

/** A result. */
interface Entry {
  readonly matches: Matches;
  /** The page that was asked for last. */
  limit: number;
  offset: number;
  /** A page that is kept as JSON. */
  readonly kept?: PageOf & { readonly page: Found & { readonly text: string } };
}

/** Bytes of an entry; JSON is a one-byte text. */
function bytesOf({ matches, kept }: Entry, key: string): number {
  return matches.bytes + (kept?.page.text.length ?? 0) + key.length * 2 + ENTRY_BYTES;
}

const FIRST_MATCH: PageOf = { limit: 1, offset: 0 };

/**
 * Makes a place for results.
 *
 * @param maxBytes memory for them; 0 keeps none
 */
export function createResults(maxBytes: number): Results {
  const cache = new LRUCache<string, Entry>({
    // The cache takes no bound of 0; with 1 byte nothing fits.
    maxSize: Math.max(maxBytes, 1),
    sizeCalculation: bytesOf,
  });
  function keep(key: string, matches: Matches, { limit, offset }: PageOf): void {
    // A page from far behind is asked for once.
    if (maxBytes > 0 && matches.has(FIRST_MATCH)) cache.set(key, { matches, limit, offset });
  }

  /**
   * A page of a kept result. One that is asked for again, with no other of the
   * result between, is kept as JSON: to put it together takes a sixth of the
   * time of its reply.
   */
  function pageOfEntry(key: string, entry: Entry, asked: PageOf): Found {
    const { matches, kept } = entry;
    const { limit, offset } = asked;
    if (kept !== undefined && kept.limit === limit && kept.offset === offset) return kept.page;
    const page = pageOf(matches, asked);
    if (entry.limit !== limit || entry.offset !== offset) {
      entry.limit = limit;
      entry.offset = offset;
      return page;
    }
    const keepText = (joined: string): void => {
      // A flat copy: a text that was joined of many takes half as much memory again.
      const text = Buffer.from(joined, "latin1").toString("latin1");
      const larger = { ...entry, kept: { limit, offset, page: { ...page, text } } };
      // The cache would throw out what has become too large for it.
      if (bytesOf(larger, key) <= maxBytes) cache.set(key, larger);
    };
    return { ...page, keepText };
  }

  return {
    find(key, page) {
      const known = cache.get(key);
      return known?.matches.has(page) ? pageOfEntry(key, known, page) : undefined;
    },
    keep,
    size: () => ({ entries: cache.size, bytes: cache.calculatedSize }),
  };
}
