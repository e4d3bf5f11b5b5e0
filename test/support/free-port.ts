/** A port for a program that cannot be asked which one it picked. */

import { once } from "node:events";
import { createServer } from "node:net";

/** Ports below the ones that the system gives to connections and for port 0: until the program listens, nobody takes it. */
const [FIRST, COUNT] = [12_000, 20_000];

/** A port of the loopback interface that was free just now. */
export async function freePort(): Promise<number> {
  const port = FIRST + Math.floor(Math.random() * COUNT);
  const server = createServer().listen(port, "127.0.0.1");
  const isFree = await once(server, "listening").then(
    () => true,
    () => false,
  );
  if (!isFree) return await freePort();
  server.close();
  await once(server, "close");
  return port;
}
