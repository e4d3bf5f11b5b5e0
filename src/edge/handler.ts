/** The handler for servers of others: `http.createServer`, and hosts whose handlers are called in turn, as Express does. */

import type { IncomingMessage, ServerResponse } from "node:http";
import { isServed, type State } from "../answer.ts";
import { createNodeAdapter } from "./node.ts";

/**
 * Answers one request. With `next`, a function, requests whose paths are neither
 * the API's nor a page's are left to it; a third argument of another kind is
 * ignored, and all requests are answered.
 */
export type Handler = (
  request: IncomingMessage,
  response: ServerResponse,
  next?: (error?: unknown) => void,
) => void;

/** Makes the handler of a state. */
export function createHandler(state: State): Handler {
  const { handle } = createNodeAdapter(state);
  return (request, response, next) => {
    // The adapter has a third parameter of its own, which is none of the host's.
    if (typeof next !== "function" || isServed(request.url!, state)) handle(request, response);
    else next();
  };
}
