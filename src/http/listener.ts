/** The listener of the API: our own HTTP, or node:http on request. */

import type { State } from "../api/answer.ts";
import { createApiApp } from "./api.ts";
import { type HttpApp, type HttpOptions, HttpServer, type Listener } from "./server.ts";

export async function createListener(
  state: State,
  options: HttpOptions,
  host: Pick<HttpApp, "observe" | "collectGarbage">,
): Promise<Listener> {
  const app = { ...createApiApp(state), ...host };
  if (options.kind === "direct") return new HttpServer(app, options);
  // Imported on demand.
  const { createNodeListener } = await import("./node-server.ts");
  return createNodeListener(app, options);
}
