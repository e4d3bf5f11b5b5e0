/** What listens for requests: node:http, or on Bun its own server. */

import type { State } from "../../answer.ts";
import type { Observe } from "../../observe.ts";
import { createHttpServer, type HttpLimits, type Listener, leave, listen, stopListening } from "./http.ts";

function createNodeListener(state: State, limits: HttpLimits, observe: Observe): Listener {
  const http = createHttpServer(state, limits);
  let stopBegan: number | undefined;
  return {
    async listen(host, port, sharing) {
      const address = await listen(http, host, port, sharing);
      // From here on an error of the listener, such as EMFILE at accept, must not end the process.
      http.server.on("error", (error) => observe({ kind: "defect", where: "listener", error }));
      return address;
    },
    stopListening() {
      stopBegan = performance.now();
      return stopListening(http);
    },
    leave: () => leave(http, stopBegan),
  };
}

/**
 * Makes a listener; it does not listen yet.
 *
 * @param observe told of errors of the listener while it listens
 */
export async function createListener(state: State, limits: HttpLimits, observe: Observe): Promise<Listener> {
  if (process.versions.bun === undefined) return createNodeListener(state, limits, observe);
  // Imported where it is needed.
  const { createBunListener } = await import("./bun.ts");
  return createBunListener(state, limits);
}
