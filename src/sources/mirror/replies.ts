/** A mirror's replies, kept in its journal; and complete lists: each page once, all of one generation if the server names it. */

import { runAll, type Upstream } from "../../upstream/upstream.ts";
import { Coalesced } from "../../util/process/coalesced.ts";
import { SourceError } from "../../util/source-error.ts";
import type { Entry, Journal } from "./journal.ts";
import type { Read, RowPage } from "./rows.ts";

/** The server serves another generation than the requested one, or its list changed while it was read. */
export class ChangedError extends Error {
  override name = "ChangedError";
}

/** The error message for an unknown path, as opposed to an unknown resource. */
const NO_PATH = "Not found";
/** Maximum attempts at a missing resource when the data keep changing. */
const MOST_TRIES = 5;

/** Items per request: the maximum of the API. */
const PAGE_SIZE = 50;
/** Maximum rows of a list: one with an absurd total would be read without end. */
const MOST_ROWS = 100_000_000;

function pageTarget(path: string, limit: number, offset: number): string {
  return `${path}${path.includes("?") ? "&" : "?"}limit=${limit}&offset=${offset}`;
}

function problemWith(page: RowPage<object>, first: RowPage<object>, offset: number): string | undefined {
  if (page.total !== first.total) return `its total changed from ${first.total} to ${page.total}`;
  if (page.limit !== first.limit) return "the size of its pages changed";
  const wanted = Math.max(0, Math.min(page.limit, page.total - offset));
  return page.rows.length === wanted
    ? undefined
    : `a page has ${page.rows.length} rows in place of ${wanted}`;
}

/** Replies of one round. */
export class Replies {
  readonly #upstream: Upstream;
  readonly #journal: Journal;
  /** The generation of the latest reply. */
  newest: string | undefined;
  /** The generation of the lists; undefined when the server does not name it. */
  generation: string | undefined;
  readonly #inquiries = new Coalesced(async () => {
    const etag = this.newest;
    const reply = await this.#upstream.get("/stats", { ifNoneMatch: etag, statuses: [200, 304] });
    return reply.status === 304 ? etag : reply.etag;
  });

  constructor(upstream: Upstream, journal: Journal) {
    this.#upstream = upstream;
    this.#journal = journal;
    this.newest = [...journal.entries.values()].at(-1)?.etag;
  }

  /** Gives a reply. @param etag the required generation @throws {ChangedError} when another is served; `SourceError` */
  async #get<Value>(target: string, read: Read<Value>, etag?: string): Promise<Entry<Value>> {
    const known = this.#journal.entries.get(target);
    if (known !== undefined) return known as Entry<Value>;
    const reply = await this.#upstream.get(target, { ifMatch: etag, statuses: [200, 412] });
    const value = reply.status === 412 ? undefined : read(target, reply.body);
    if (value === undefined || (etag !== undefined && reply.etag !== etag)) {
      throw new ChangedError("the server's data changed while they were read");
    }
    return await this.#keep(target, reply.etag, value);
  }

  /** Gives a resource of any generation; null when the server has none, which one more request confirms. */
  async find<Value>(target: string, read: Read<Value>): Promise<Entry<Value | null>> {
    const known = this.#journal.entries.get(target);
    if (known !== undefined) return known as Entry<Value | null>;
    for (let tries = 1; tries <= MOST_TRIES; tries++) {
      const before = this.newest;
      const reply = await this.#upstream.get(target, { statuses: [200, 404] });
      if (reply.status === 200) return await this.#keep(target, reply.etag, read(target, reply.body));
      if ((reply.body as { error?: unknown }).error === NO_PATH) {
        const problem = `${target}: the server has no such path: it is no server of this API`;
        throw new SourceError(problem, { isLasting: true });
      }
      // A 404 carries no ETag. Its generation is known when the server serves the same one before and after it.
      const after = before === undefined ? undefined : await this.#inquiries.ask();
      if (after === before) return await this.#keep(target, after, null);
      this.newest = after;
    }
    throw new SourceError(`${target}: asked for ${MOST_TRIES} times; the server changes too often`);
  }

  /** Gets one reply, which must be of the lists' generation. @throws {ChangedError} when it is of another; `SourceError` */
  async one<Value>(target: string, read: Read<Value>): Promise<Value> {
    const { value, etag } = await this.#get(target, read, this.generation);
    // A reply from the journal may be of another generation.
    if (this.generation !== undefined && etag !== this.generation)
      throw new ChangedError("pages are of two generations");
    this.generation ??= etag;
    return value;
  }

  /** Reads every row of a list, in order. @throws {ChangedError} when its pages do not fit together; `SourceError` */
  async list<Row extends { readonly id: string }>(
    path: string,
    readPage: Read<RowPage<Row>>,
  ): Promise<readonly Row[]> {
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

  async #keep<Value>(target: string, etag: string | undefined, value: Value): Promise<Entry<Value>> {
    const entry = { at: Date.now(), etag, value };
    this.newest = etag;
    await this.#journal.put(target, entry);
    return entry;
  }
}
