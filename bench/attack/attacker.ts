/**
 * The attacking process: opens connections, sends a kind of attack over each,
 * says `{ over: … }` when all have ended. Started with the port, the number of
 * connections and that of requests on each, and the kind as JSON. A peer that
 * reads nothing hangs up by itself.
 */

import { once } from "node:events";
import { connect } from "node:net";
import type { Kind } from "./kinds.ts";

const [port, connections, requests, json] = process.argv.slice(2);
const kind = JSON.parse(json!) as Kind;

/** How long a peer that reads nothing stays. */
const DEAF_MS = 2500;
const PIECE = 1024;

const piece = Buffer.from(kind.small.repeat(PIECE), "latin1");
const pieces = Math.ceil(Number(requests) / PIECE);

/** Gives what the peer was told: how many answers, and whether the connection was reset. */
async function attack(): Promise<{ answers: number; reset: boolean }> {
  const socket = connect({ host: "127.0.0.1", port: Number(port), allowHalfOpen: true });
  const closed = new Promise<void>((resolve) => socket.once("close", resolve));
  let answers = 0;
  let reset = false;
  let ended = false;
  socket.on("error", () => {
    reset = true;
  });
  if (kind.deaf) setTimeout(() => socket.destroy(), DEAF_MS);
  else socket.on("data", (bytes) => (answers += bytes.toString("latin1").split("HTTP/1.1 ").length - 1));
  socket.on("end", () => {
    ended = true;
  });
  await once(socket, "connect");
  socket.write(kind.first);
  if (kind.afterAnswer) await once(socket, "data");
  for (let at = 0; at < pieces && !socket.destroyed; at++) {
    if (!socket.write(piece)) {
      await Promise.race([new Promise((resolve) => socket.once("drain", resolve)), closed]);
    }
  }
  // Who said all and was answered stays for the end of the connection, which lingers.
  const patience = setInterval(() => {
    if (!ended && answers < Number(requests)) return;
    clearInterval(patience);
    socket.end();
  }, 20);
  await closed;
  clearInterval(patience);
  return { answers, reset };
}

// Stays until it is ended.
process.on("message", async () => {
  const all = await Promise.all(Array.from({ length: Number(connections) }, attack));
  process.send!({
    over: {
      answers: all.reduce((sum, { answers }) => sum + answers, 0),
      resets: all.filter(({ reset }) => reset).length,
    },
  });
});
process.send!({ ready: true });
