/** Lists: one page by a call, or every item by an iterator that turns the pages. */

import { ApiError, SnapshotChangedError } from "./errors.ts";
import type { Reply, Send } from "./send.ts";
import { targetOf, type Words } from "./target.ts";

/** Options of every call. */
export interface CallOptions {
  /** Ends the call, its waiting included; it rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** Options of a call that gives one page. */
export interface PageOptions extends CallOptions {
  /** Items, 1 to 50; 20 when absent. */
  readonly limit?: number;
  /** Items to skip; 0 when absent. */
  readonly offset?: number;
}

/** Options of an iteration over every item. */
export interface AllOptions extends CallOptions {
  /** Items a request, 1 to 50; 50 when absent. */
  readonly limit?: number;
  /** Items to skip; 0 when absent. */
  readonly offset?: number;
  /**
   * What to do when the server's data change before the end: end with {@link SnapshotChangedError}, or start over as
   * long as no item was given yet. For that the first page is held back until the second is there. "error" when absent.
   */
  readonly onChange?: "error" | "restart";
}

/** Which part of a list a reply shows. */
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

/** How often a list whose data change is begun again. */
const MOST_RESTARTS = 10;
/** What a request of {@link allOf} asks for; the most that the API gives. */
const LARGEST_PAGE = 50;

interface Turned<Item> extends Reply {
  readonly body: Page<Item>;
}

/** Every item of a list. The next page is asked for while the items of one are used. */
export async function* allOf<Item>(
  send: Send,
  path: string,
  words: Words & AllOptions,
): AsyncGenerator<Item, void, undefined> {
  const { limit = LARGEST_PAGE, offset = 0, signal } = words;
  const mayRestart = words.onChange === "restart";
  const turn = async (at: number, etag?: string | null): Promise<Turned<Item>> => {
    // If-Match never holds for a weak one.
    const ifMatch = etag?.startsWith('"') ? etag : undefined;
    const reply = await send(targetOf(path, { ...words, limit, offset: at }), { signal, ifMatch });
    // Strong or weak, what names the generation stands in quotes. A server that judged If-Match need not repeat it.
    if (etag && (reply.etag ?? ifMatch)?.split('"')[1] !== etag.split('"')[1])
      throw new SnapshotChangedError("Snapshot has changed");
    const { data, pagination } = reply.body as Partial<Page<Item>>;
    if (Array.isArray(data) && typeof pagination?.total === "number") return reply as Turned<Item>;
    throw new ApiError(200, "not JSON of this API");
  };
  for (let restarts = 0; ; restarts++) {
    let isGiven = false;
    try {
      let page = await turn(offset);
      const { etag } = page;
      for (let at = offset; ; ) {
        const { data, pagination } = page.body;
        at += data.length;
        const next = data.length > 0 && at < pagination.total ? turn(at, etag) : undefined;
        // Whoever stops before it is there does not hear of it; who goes on waits for it below.
        next?.catch(() => {});
        if (mayRestart && !isGiven) await next;
        for (const item of data) {
          isGiven = true;
          yield item;
        }
        if (next === undefined) return;
        page = await next;
      }
    } catch (error) {
      const again = error instanceof SnapshotChangedError && mayRestart && !isGiven;
      if (!again || restarts === MOST_RESTARTS) throw error;
    }
  }
}
