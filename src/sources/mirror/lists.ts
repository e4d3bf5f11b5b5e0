/** Whole lists of another server: every page once, all of one generation where the server names it. */

import { runAll } from "../../upstream/upstream.ts";
import { SourceError } from "../../util/source-error.ts";
import type { Journal } from "./journal.ts";
import { ChangedError, type Replies } from "./replies.ts";
import type { Read, RowPage } from "./rows.ts";

/** Items that a request asks for: the most that the API gives. */
export const PAGE_SIZE = 50;
/** How often lists whose data change are begun again. */
const MOST_TRIES = 5;
/** Most rows of a list: one with an absurd total would be read without end. */
const MOST_ROWS = 100_000_000;

/** What identifies a row. */
interface Identified {
  readonly id: string;
}

/** The target of a page. */
export function pageTarget(path: string, limit: number, offset: number): string {
  return `${path}${path.includes("?") ? "&" : "?"}limit=${limit}&offset=${offset}`;
}

/** What is wrong with a page beside the first one. */
function problemWith(
  page: RowPage<Identified>,
  first: RowPage<Identified>,
  offset: number,
): string | undefined {
  if (page.total !== first.total) return `its total changed from ${first.total} to ${page.total}`;
  if (page.limit !== first.limit) return "the size of its pages changed";
  const wanted = Math.max(0, Math.min(page.limit, page.total - offset));
  return page.rows.length === wanted
    ? undefined
    : `a page has ${page.rows.length} rows in place of ${wanted}`;
}

/** Reads lists of one generation. */
export class Lists {
  readonly #replies: Replies;
  #generation: string | undefined;

  constructor(replies: Replies) {
    this.#replies = replies;
  }

  /** The generation of the first reply; undefined where the server does not name it. */
  get generation(): string | undefined {
    return this.#generation;
  }

  /** Has one reply count as of the generation. @throws {ChangedError} when it is of another; `SourceError` */
  async one<Value>(target: string, read: Read<Value>): Promise<Value> {
    const { value, etag } = await this.#replies.get(target, read, this.#generation);
    // What the journal holds may be of another one.
    if (this.#generation !== undefined && etag !== this.#generation)
      throw new ChangedError("pages are of two generations");
    this.#generation ??= etag;
    return value;
  }

  /**
   * Gives every row of a list, in its order.
   *
   * @param path with its query, without limit and offset
   * @throws {ChangedError} when its pages do not fit together; `SourceError`
   */
  async read<Row extends Identified>(path: string, readPage: Read<RowPage<Row>>): Promise<readonly Row[]> {
    const pageAt = async (limit: number, offset: number, given?: RowPage<Row>): Promise<RowPage<Row>> => {
      const page = await this.one(pageTarget(path, limit, offset), readPage);
      const problem = problemWith(page, given ?? page, offset);
      if (problem !== undefined) throw new ChangedError(`${path}: ${problem}`);
      return page;
    };
    const first = await pageAt(PAGE_SIZE, 0);
    const { total, limit } = first;
    if (total > MOST_ROWS) {
      throw new SourceError(`${path}: the server says that there are ${total} rows`, { isLasting: true });
    }
    const pages = [first];
    const numbers = Array.from({ length: Math.max(0, Math.ceil(total / limit) - 1) }, (_, at) => at + 1);
    await runAll(numbers, async (number) => {
      pages[number] = await pageAt(limit, number * limit, first);
    });
    const rows = pages.flatMap((page) => page.rows);
    const ids = new Set(rows.map(({ id }) => id));
    if (ids.size !== rows.length) throw new ChangedError(`${path}: a row is in two pages`);
    return rows;
  }
}

/**
 * Reads several lists of one generation, from the beginning whenever it changes meanwhile.
 *
 * @param isList whether a target of the journal belongs to them
 * @throws {SourceError} when it changes each time; what `work` throws
 */
export async function readLists<Result>(
  replies: Replies,
  journal: Journal,
  isList: (target: string) => boolean,
  work: (lists: Lists) => Promise<Result>,
): Promise<Result & { readonly generation: string | undefined }> {
  for (let tries = 1; ; tries++) {
    const lists = new Lists(replies);
    try {
      return { ...(await work(lists)), generation: lists.generation };
    } catch (error) {
      if (!(error instanceof ChangedError)) throw error;
      await journal.drop([...journal.entries.keys()].filter(isList));
      if (tries === MOST_TRIES) {
        throw new SourceError(
          `${error.message}: begun again ${MOST_TRIES} times; the server changes too often`,
        );
      }
    }
  }
}
