/** A TCP connection whose bytes and end can be looked at. */

import { connect, type Socket } from "node:net";

/** A connection, what came, and how it ended. */
export interface RawClient {
  readonly socket: Socket;
  readonly text: () => string;
  readonly ended: () => boolean;
  readonly error: () => Error | undefined;
}

/** Connects to a port of this machine. */
export async function rawClient(port: number): Promise<RawClient> {
  const socket = connect(port, "127.0.0.1");
  let text = "";
  let ended = false;
  let failure: Error | undefined;
  socket.setEncoding("utf8");
  socket.on("data", (part: string) => {
    text += part;
  });
  socket.on("end", () => {
    ended = true;
  });
  socket.on("error", (error) => {
    failure = error;
  });
  await new Promise<void>((resolve) => socket.once("connect", resolve));
  return { socket, text: () => text, ended: () => ended, error: () => failure };
}
