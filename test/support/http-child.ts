/**
 * A server in a process of its own, for tests that may end it or keep it busy:
 * prints its port; stops at SIGTERM and prints how many milliseconds that took.
 */

import { cleanUp, serve } from "./http-server.ts";

const server = await serve();
process.once("SIGTERM", async () => {
  const began = performance.now();
  await cleanUp();
  process.stdout.write(`${Math.round(performance.now() - began)}\n`);
});
process.stdout.write(`${server.port}\n`);
