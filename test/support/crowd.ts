/**
 * A crowd: connections that each send one small request again and again without
 * end, and read all that is answered. Started with the port, the number of
 * connections and the request; says `{ crowded: true }` when all stand and have
 * begun, and `{ received: BYTES }` whenever it is sent something.
 */

import { once } from "node:events";
import { connect } from "node:net";

const [port, connections, small] = process.argv.slice(2);

/** As long as what a server reads at a time. */
const PIECE_BYTES = 65_536;
const piece = Buffer.from(small!.repeat(Math.ceil(PIECE_BYTES / small!.length)), "latin1");

/** Where everything is read to: nobody looks at it. */
const buffer = new Uint8Array(PIECE_BYTES);
let received = 0;

async function flood(): Promise<void> {
  const onread = {
    buffer,
    callback(length: number): boolean {
      received += length;
      return true;
    },
  };
  const socket = connect({ host: "127.0.0.1", port: Number(port), onread });
  socket.on("error", (error) => {
    throw error;
  });
  await once(socket, "connect");
  const send = (): void => {
    while (socket.write(piece));
  };
  socket.on("drain", send);
  send();
}

await Promise.all(Array.from({ length: Number(connections) }, flood));
process.on("message", () => process.send!({ received }));
process.send!({ crowded: true });
