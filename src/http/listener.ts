/** The listener of the API: our own connection, or node:http where that is asked for. */

import type { State } from "../api/answer.ts";
import { createApiApp } from "./api.ts";
import { type HttpApp, type HttpOptions, HttpServer, type Listener } from "./server.ts";

export async function createListener(
  state: State,
  options: HttpOptions,
  host: Pick<HttpApp, "observe" | "collectGarbage">,
): Promise<Listener> {
  if (options.kind === "direct") return new HttpServer({ ...createApiApp(state), ...host }, options);
  // Imported where it is asked for.
  const { createNodeListener } = await import("./node-server.ts");
  return createNodeListener(state, options, host.observe);
}
