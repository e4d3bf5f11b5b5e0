/** Pages beside the API: what answers requests for them. */

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
  /** Path of the page that people are led to. */
  readonly home: string;
  /** Whether a path may be one of the pages. */
  readonly mayHold: (path: string) => boolean;
  /**
   * Answers a request; undefined when there is no such page. At once but for the first requests, which wait until the
   * pages were read: an answer that comes later leaves in a write of its own. Rejects when they cannot be read.
   */
  readonly answer: (request: PageRequest) => Reply | undefined | Promise<Reply | undefined>;
}
