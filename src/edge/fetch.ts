/** The web-standard door: a `Request` in, a `Response` out. For Deno, Bun, workers and tests. */

import { answer, type State } from "../answer.ts";
import { splitHeaders } from "../headers.ts";

/** A handler for one web-standard request. Never rejects. */
export type FetchHandler = (request: Request) => Promise<Response>;

/** @internal Makes the door to a state. */
export function createFetchHandler(state: State): FetchHandler {
  return async ({ method, url, headers, signal }) => {
    const reply = await answer(
      {
        method,
        // A Request keeps the fragment, which is the client's own business.
        target: url.split("#", 1)[0]!,
        authorization: headers.get("authorization") ?? undefined,
        ifNoneMatch: headers.get("if-none-match") ?? undefined,
        ifMatch: headers.get("if-match") ?? undefined,
        now: Date.now(),
        isGone: () => signal.aborted,
      },
      state,
    );
    const list = splitHeaders(reply.headers);
    const sent = new Headers();
    for (let at = 0; at < list.length; at += 2) sent.append(list[at]!, list[at + 1]!);
    const empty = method === "HEAD" || reply.status === 204 || reply.status === 304;
    const body = empty ? null : new Uint8Array(Buffer.from(reply.body, "latin1"));
    return new Response(body, { status: reply.status, headers: sent });
  };
}
