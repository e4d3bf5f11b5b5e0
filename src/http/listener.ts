/** The listener of the API: our own HTTP, or node:http on request. */

import type { State } from "../api/answer.ts";
import type { CoreValues } from "../settings/settings.ts";
import { createApiApp } from "./api.ts";
import { type HttpApp, type HttpLimits, HttpServer, type Listener } from "./server.ts";

export async function createListener(
  state: State,
  limits: HttpLimits & Pick<CoreValues<"serve">, "http">,
  host: Pick<HttpApp, "observe" | "collectGarbage">,
): Promise<Listener> {
  const app = { ...createApiApp(state), ...host };
  if (limits.http === "direct") return new HttpServer(app, limits);
  // Imported on demand.
  const { createNodeListener } = await import("./node-server.ts");
  return createNodeListener(app, limits);
}
