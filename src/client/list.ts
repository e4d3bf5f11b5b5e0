/** Lists: one page by a call, or every item by an iterator that turns the pages. */

import { ApiError, SnapshotChangedError } from "./errors.ts";
import type { CallOptions, GoodReply, Send } from "./send.ts";
import type { Words } from "./target.ts";

/** Options of a call that gives one page. */
export interface PageOptions extends CallOptions {
  /** Items a request, 1 to 50; when absent, 20, or 50 in an iteration over every item. */
  readonly limit?: number;
  /** Items to skip; 0 when absent. */
  readonly offset?: number;
}

/** Options of an iteration over every item. */
export interface AllOptions extends PageOptions {
  /**
   * What to do when the server's data change before the end: end with {@link SnapshotChangedError}, or start over if no
   * item was given yet. To start over, the first page is held back until the second has arrived. "error" when absent,
   * and with `ifMatch`.
   */
  readonly onChange?: "error" | "restart";
}

/** The part of a list in a reply. */
export interface Pagination {
  /** Items of the whole list. */
  readonly total: number;
  /** As the server applied it. */
  readonly limit: number;
  readonly offset: number;
}

/** One page. */
export interface Page<Item> {
  readonly data: Item[];
  readonly pagination: Pagination;
}

/** Most restarts of a list whose data change. */
const MOST_RESTARTS = 10;
/** Items in a request of {@link allOf}; the most that the API gives. */
const LARGEST_PAGE = 50;

interface PageReply<Item> extends GoodReply {
  readonly body: Page<Item> & { readonly match?: string };
}

/** A request for a list: its path, the caller's options, and other words of the query. */
export type ListCall = readonly [path: string, options?: AllOptions | undefined, more?: Words];

/** Every item of a list; requests a page ahead. @param route if it throws a TypeError, the iteration rejects with it */
export async function* allOf<Item>(send: Send, route: () => ListCall): AsyncGenerator<Item, void, undefined> {
  const [path, options, more] = route();
  const { limit = LARGEST_PAGE, offset = 0, signal, onChange, ifMatch } = options ?? {};
  let mayRestart = onChange === "restart" && !ifMatch;
  const leaving = new AbortController();

  /** One page, of the same generation as the first. @throws {SnapshotChangedError} when it is of another one */
  async function turn(at: number, first?: PageReply<Item>): Promise<PageReply<Item>> {
    const words = { ...more, limit, offset: at };
    const reply = (await send(path, options, words, first?.etag, leaving.signal)) as PageReply<Item>;
    const { data, pagination, match } = reply.body;
    if (!Array.isArray(data) || typeof pagination?.total !== "number")
      throw new ApiError(200, "not JSON of this API");
    if (first && match !== first.body.match) throw new SnapshotChangedError("Snapshot has changed");
    return reply;
  }

  try {
    for (let restarts = 0; ; restarts++) {
      try {
        const first = await turn(offset);
        let { body } = first;
        for (let at = offset; ; ) {
          at += body.data.length;
          const next = body.data.length && at < body.pagination.total && turn(at, first);
          // If the caller leaves first, a failure of `next` is ignored; else it is awaited below.
          if (next) next.catch(() => {});
          if (mayRestart) await next;
          for (const item of body.data) {
            signal?.throwIfAborted();
            mayRestart = false;
            yield item;
          }
          if (!next) return;
          ({ body } = await next);
        }
      } catch (error) {
        const again = error instanceof SnapshotChangedError && mayRestart;
        if (!again || restarts === MOST_RESTARTS) throw error;
      }
    }
  } finally {
    leaving.abort();
  }
}
