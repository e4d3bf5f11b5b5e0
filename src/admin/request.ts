/** What goes into and comes out of a request of the admin listener. */

/** One request that was let in: its host is known, its token was checked where one is asked for. */
export interface AdminAsk {
  /** What stands behind the first `?`, as it was sent. */
  readonly query: string;
  readonly accept: string | undefined;
  readonly acceptEncoding: string | undefined;
  readonly ifNoneMatch: string | undefined;
  /** Whether nobody waits for the reply any more. */
  readonly isGone: () => boolean;
}

/** One reply. `Content-Length`, `Cache-Control: no-store`, `X-Content-Type-Options` and the like are added where they are not given. */
export interface AdminReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
}

/** One row of the listener's table. */
export interface AdminRow {
  /** A GET row answers HEAD, too. */
  readonly method: "GET" | "POST";
  readonly path: string;
  /** Whether no token is asked for where there is one. */
  readonly isOpen?: true;
  /** Whether its body is sent without the token, too, with the status 401: a page that asks for it. */
  readonly asksForToken?: true;
  /** Whether it changes something: it wants the header `X-Orrery-Admin: 1`, which pages of other origins cannot send. */
  readonly isAction?: true;
  readonly answer: (ask: AdminAsk) => AdminReply | Promise<AdminReply>;
}

/** A reply in JSON, with a newline at its end for people at a terminal. */
export function jsonReply(status: number, value: unknown): AdminReply {
  return {
    status,
    headers: { "Content-Type": "application/json; charset=utf-8" },
    body: `${JSON.stringify(value)}\n`,
  };
}

/** An error in JSON. */
export function errorReply(status: number, error: string): AdminReply {
  return jsonReply(status, { error });
}
