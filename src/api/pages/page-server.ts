/** The interface for serving pages beside the API. */

import type { Reply } from "../../model/message.ts";

export interface PageRequest {
  /** Upper-case HTTP method. */
  readonly method: string;
  /** Without a query. */
  readonly path: string;
  readonly ifMatch: string | undefined;
  readonly ifNoneMatch: string | undefined;
  readonly acceptEncoding: string | undefined;
}

export interface PageServer {
  /** Path of the page to which people are led. */
  readonly home: string;
  /** Whether a path may be one of the pages. */
  readonly mayHold: (path: string) => boolean;
  /**
   * Answers a request; undefined when there is no such page. Answers at once, since a later answer takes a write of its
   * own; only the first requests wait until the pages are read. Rejects when they cannot be read.
   */
  readonly answer: (request: PageRequest) => Reply | undefined | Promise<Reply | undefined>;
}
