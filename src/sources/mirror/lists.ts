/** Whole lists of another server: every page once, all of one generation where the server names it. */

import { runAll } from "../../upstream/upstream.ts";
import { SourceError } from "../../util/source-error.ts";
import type { Journal } from "./journal.ts";
import { ChangedError, type Replies } from "./replies.ts";
import type { Page, Read } from "./rows.ts";

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

/** Reads lists of one generation. */
export interface Lists {
  /**
   * Gives every row of a list, in its order.
   *
   * @param path with its query, without limit and offset
   * @throws {ChangedError} when its pages do not fit together; `SourceError`
   */
  readonly read: <Row extends Identified>(path: string, page: Read<Page<Row>>) => Promise<readonly Row[]>;
  /** The generation of the first reply; undefined where the server does not name it. */
  readonly generation: () => string | undefined;
  /** Has one reply count as of the generation. */
  readonly one: <Value>(target: string, read: Read<Value>) => Promise<Value>;
}

/** The target of a page. */
export function pageTarget(path: string, limit: number, offset: number): string {
  return `${path}${path.includes("?") ? "&" : "?"}limit=${limit}&offset=${offset}`;
}

/** What is wrong with a page beside the first one. */
function problemWith(page: Page<Identified>, first: Page<Identified>, offset: number): string | undefined {
  if (page.total !== first.total) return `its total changed from ${first.total} to ${page.total}`;
  if (page.limit !== first.limit) return "the size of its pages changed";
  const wanted = Math.max(0, Math.min(page.limit, page.total - offset));
  return page.rows.length === wanted
    ? undefined
    : `a page has ${page.rows.length} rows in place of ${wanted}`;
}

function createLists(replies: Replies): Lists {
  let generation: string | undefined;
  const get = async <Value>(target: string, read: Read<Value>): Promise<Value> => {
    const { value, etag } = await replies.get(target, read, generation);
    // What the journal holds may be of another one.
    if (generation !== undefined && etag !== generation)
      throw new ChangedError("pages are of two generations");
    generation ??= etag;
    return value;
  };

  async function read<Row extends Identified>(
    path: string,
    readPage: Read<Page<Row>>,
  ): Promise<readonly Row[]> {
    const pageAt = (limit: number, offset: number): Promise<Page<Row>> =>
      get(pageTarget(path, limit, offset), readPage);
    const check = (page: Page<Row>, first: Page<Row>, offset: number): void => {
      const problem = problemWith(page, first, offset);
      if (problem !== undefined) throw new ChangedError(`${path}: ${problem}`);
    };
    const first = await pageAt(PAGE_SIZE, 0);
    check(first, first, 0);
    const { total, limit } = first;
    if (total > MOST_ROWS) {
      throw new SourceError(`${path}: the server says that there are ${total} rows`, { isLasting: true });
    }
    const offsets = Array.from(
      { length: Math.max(0, Math.ceil(total / limit) - 1) },
      (_, at) => (at + 1) * limit,
    );
    const pages = new Map([[0, first]]);
    await runAll(offsets, async (offset) => {
      const page = await pageAt(limit, offset);
      check(page, first, offset);
      pages.set(offset, page);
    });
    const rows = [0, ...offsets].flatMap((offset) => pages.get(offset)!.rows);
    const ids = new Set(rows.map(({ id }) => id));
    if (ids.size !== rows.length) throw new ChangedError(`${path}: a row is in two pages`);
    return rows;
  }

  return { read, generation: () => generation, one: get };
}

/**
 * Reads several lists of one generation, from the beginning whenever it changes under way.
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
    const lists = createLists(replies);
    try {
      return { ...(await work(lists)), generation: lists.generation() };
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
