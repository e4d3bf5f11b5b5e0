/** The start of a server, wherever it listens. */

import type { ListenOptions, Server } from "node:net";

/** Makes a server listen. @throws the error of the system, such as EADDRINUSE */
export function startListening(server: Server, options: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(options, () => {
      server.off("error", reject);
      resolve();
    });
  });
}
