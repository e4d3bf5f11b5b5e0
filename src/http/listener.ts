/** The listener of the API: our own HTTP, or node:http on request. */

import type { State } from "../api/answer.ts";
import type { Observe } from "../observe/events.ts";
import type { CoreValues } from "../settings/settings.ts";
import { createApiApp } from "./api.ts";
import { type HttpLimits, HttpServer, type Listener } from "./server.ts";

export async function createListener(
  state: State,
  limits: HttpLimits & Pick<CoreValues<"serve">, "http">,
  observe: Observe,
): Promise<Listener> {
  const app = { ...createApiApp(state), observe };
  if (limits.http === "direct") return new HttpServer(app, limits);
  // Imported on demand.
  const { createNodeListener } = await import("./node-server.ts");
  return createNodeListener(app, limits);
}
