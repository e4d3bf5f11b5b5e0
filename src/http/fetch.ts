/** The web-standard adapter: a `Request` in, a `Response` out. For Deno, Bun, workers and tests. */

import { answer, type State } from "../api/answer.ts";
import { createResponder } from "./web-response.ts";

/** A handler for one web-standard request. Rejects only what is none. */
export type FetchHandler = (request: Request) => Promise<Response>;

/** @internal Makes the adapter to a state. */
export function createFetchHandler(state: State): FetchHandler {
  const respond = createResponder();
  return async (request) => {
    if (!(request instanceof Request)) throw new TypeError("fetch takes a Request");
    const { method, url, headers } = request;
    const fragment = url.indexOf("#");
    const reply = await answer(
      {
        method,
        // A Request keeps the fragment, which is the client's own business.
        target: fragment < 0 ? url : url.slice(0, fragment),
        authorization: headers.get("authorization") ?? undefined,
        ifNoneMatch: headers.get("if-none-match") ?? undefined,
        ifMatch: headers.get("if-match") ?? undefined,
        now: Date.now(),
        headers,
        // The signal is made when it is first asked for, which most requests never do.
        isGone: () => request.signal.aborted,
      },
      state,
    );
    return respond(reply, method === "HEAD");
  };
}
