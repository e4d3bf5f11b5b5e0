/** Whether a server can listen where it is told to, known before it loads anything. */

import { createServer, type ListenOptions } from "node:net";

/**
 * Listens for a moment. Where any free port will do there is nothing to try.
 *
 * @param reusePort share the port with servers that say so too
 * @throws the error of the system, such as EADDRINUSE
 */
export async function tryPort(host: string, port: number, reusePort = false): Promise<void> {
  if (port === 0) return;
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    // The types of the oldest Node that is supported do not know `reusePort`.
    server.listen({ host, port, ...(reusePort ? { reusePort } : {}) } as ListenOptions, resolve);
  });
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
}
