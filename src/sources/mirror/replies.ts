/** Replies that a mirror works with: from its journal where they are there, else from the server, and then kept. */

import type { Upstream, UpstreamReply } from "../../upstream/upstream.ts";
import { SourceError } from "../../util/source-error.ts";
import type { Entry, Journal } from "./journal.ts";
import type { Read } from "./rows.ts";

/** The server serves another generation than the one that was asked for, or its list changed while it was read. */
export class ChangedError extends Error {
  override name = "ChangedError";
}

/** A value, and the generation that it is of. */
export interface Received<Value> {
  readonly value: Value;
  readonly etag: string | undefined;
}

/** A message that says that the path itself is unknown, not the resource. */
const NO_PATH = "Not found";
/** How often a resource that is not there is asked for again because the generation changed meanwhile. */
const MOST_TRIES = 5;

/** Replies. */
export class Replies {
  readonly #upstream: Upstream;
  readonly #journal: Journal;
  #newest: string | undefined;
  #lastInquiry: Promise<unknown> = Promise.resolve();
  /** An inquiry that has not been sent yet. */
  #nextInquiry: Promise<string | undefined> | undefined;

  constructor(upstream: Upstream, journal: Journal) {
    this.#upstream = upstream;
    this.#journal = journal;
    let latestAt = Number.NEGATIVE_INFINITY;
    for (const { at, etag } of journal.entries.values()) {
      if (at < latestAt) continue;
      latestAt = at;
      this.#newest = etag;
    }
  }

  /** The generation of the last reply that came. */
  get newest(): string | undefined {
    return this.#newest;
  }

  /**
   * Gives a reply.
   *
   * @param etag the generation that must answer, where one must; what is in the journal was asked for that way
   * @throws {ChangedError} when another generation is served; {@link SourceError}
   */
  async get<Value>(target: string, read: Read<Value>, etag?: string): Promise<Received<Value>> {
    const known = this.#kept<Value>(target);
    if (known !== undefined) return known;
    const reply = await this.#upstream.get(target, { ifMatch: etag, statuses: [200, 412] });
    const value = reply.status === 412 ? undefined : read(target, reply.body);
    if (value === undefined || (etag !== undefined && reply.etag !== etag)) {
      throw new ChangedError("the server's data changed while they were read");
    }
    return await this.#keep(target, reply, reply.etag, value);
  }

  /**
   * Gives a resource, of whatever generation; null as the value where the server has none, which one more request confirms
   * where the server names its generations.
   *
   * @throws {SourceError}
   */
  async find<Value>(target: string, read: Read<Value>): Promise<Received<Value | null>> {
    const known = this.#kept<Value | null>(target);
    if (known !== undefined) return known;
    for (let tries = 1; tries <= MOST_TRIES; tries++) {
      const before = this.#newest;
      const reply = await this.#upstream.get(target, { statuses: [200, 404] });
      if (reply.status === 200) return await this.#keep(target, reply, reply.etag, read(target, reply.body));
      if ((reply.body as { error?: unknown }).error === NO_PATH) {
        throw new SourceError(`${target}: the server has no such path: it is no server of this API`, {
          isLasting: true,
        });
      }
      // A 404 carries no tag. It is of the generation that was served before it, if the same one is served after it.
      const after = before === undefined ? undefined : await this.#inquire();
      if (after === before) return await this.#keep(target, reply, after, null);
      this.#newest = after;
    }
    throw new SourceError(`${target}: asked for ${MOST_TRIES} times; the server changes too often`);
  }

  /**
   * Asks which generation is served now, undefined where the server names none. Calls that come while a question is on its way
   * share the next one: an answer is of a moment after the call.
   */
  #inquire(): Promise<string | undefined> {
    if (this.#nextInquiry === undefined) {
      this.#nextInquiry = this.#lastInquiry.then(async () => {
        this.#nextInquiry = undefined;
        const etag = this.#newest;
        const reply = await this.#upstream.get("/stats", { ifNoneMatch: etag, statuses: [200, 304] });
        return reply.status === 304 ? etag : reply.etag;
      });
      this.#lastInquiry = this.#nextInquiry.catch(() => {});
    }
    return this.#nextInquiry;
  }

  async #keep<Value>(
    target: string,
    { at }: UpstreamReply,
    etag: string | undefined,
    value: Value,
  ): Promise<Received<Value>> {
    this.#newest = etag;
    await this.#journal.put(target, { at, etag, value });
    return { value, etag };
  }

  #kept<Value>(target: string): Received<Value> | undefined {
    return this.#journal.entries.get(target) as (Entry & { value: Value }) | undefined;
  }
}
