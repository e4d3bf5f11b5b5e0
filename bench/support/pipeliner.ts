/**
 * A client without a token: connections that each send one request again and again, without an end, and drop the answers.
 *
 *     node pipeliner.ts PORT CONNECTIONS REQUEST
 */

import { connect, type Socket } from "node:net";

const [port, connections, request] = process.argv.slice(2);
/** Some requests in one write: the server always has the next one. */
const BURST = Buffer.from(request!.repeat(64));

let bytes = 0;

function flood(socket: Socket): void {
  const send = (): void => {
    while (socket.write(BURST));
  };
  socket.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
  });
  socket.on("drain", send);
  // The server ends a connection after so many requests, or after a refusal.
  socket.on("error", () => {});
  socket.on("close", () => flood(connect(Number(port), "127.0.0.1")));
  send();
}

for (let at = 0; at < Number(connections); at++) flood(connect(Number(port), "127.0.0.1"));
process.on("message", () => process.send!({ bytes }));
process.send!({ flooding: true });
