/**
 * A server in a process of its own, for tests that may end it or keep it busy, or
 * run it on another runtime: its argument is the options as JSON. It prints lines
 * of JSON when it listens and for each observation; at SIGTERM it stops and prints
 * how many milliseconds that took.
 */

import { type ChildLine, cleanUp, serveHere } from "./http-server.ts";

function tell(line: ChildLine): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

const server = await serveHere({
  ...JSON.parse(process.argv[2] ?? "{}"),
  observe: (observation) => tell({ kind: "observation", observation }),
});
process.once("SIGTERM", async () => {
  const began = performance.now();
  await cleanUp();
  tell({ kind: "stopped", ms: Math.round(performance.now() - began) });
});
const { stop: _, observations: __, ...listening } = server;
tell({ kind: "listening", server: listening });
