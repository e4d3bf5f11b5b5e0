/** Ports of the loopback interface: servers on free ones, and free ones for programs that cannot report the port they took. */

import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Server } from "node:net";

/** Listens on a port, by default a free one. @returns the port */
export async function listen(server: Server, port = 0): Promise<number> {
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

/** Serves HTTP until the test is over. @returns the origin */
export async function serveHttp(
  test: { after(done: () => void): void },
  listener: RequestListener,
): Promise<string> {
  const server = createServer({ requireHostHeader: false }, listener);
  test.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${await listen(server)}`;
}

/** Below the ports that the system gives to connections and for port 0, so that neither takes a port before the program does. */
const [FIRST, COUNT] = [12_000, 20_000];

export async function freePort(): Promise<number> {
  const port = FIRST + Math.floor(Math.random() * COUNT);
  const server = createTcpServer();
  const isFree = await listen(server, port).then(
    () => true,
    () => false,
  );
  if (!isFree) return await freePort();
  server.close();
  await once(server, "close");
  return port;
}
