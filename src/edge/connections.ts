/**
 * What the HTTP door remembers of its connections, so that each request gets
 * exactly one answer, an answer that ends a connection arrives, and a shutdown
 * loses nothing.
 */

import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** One connection. */
export interface Connection {
  readonly socket: Socket;
  /** The newest response begun; when it is finished, all before it are. */
  newest: ServerResponse | undefined;
  /** The last answer of this connection was given, or is being given: nothing more may be sent. */
  closing: boolean;
}

/** All open connections. */
export type Connections = Map<Socket, Connection>;

/** How long a peer gets to take its last answer before the connection is destroyed. */
const LINGER_MS = 2000;

/** The record of a socket; made at first sight. */
export function connectionOf(connections: Connections, socket: Socket): Connection {
  const known = connections.get(socket);
  if (known !== undefined) return known;
  const connection: Connection = { socket, newest: undefined, closing: false };
  connections.set(socket, connection);
  socket.once("close", () => connections.delete(socket));
  return connection;
}

/** Whether a response is still on its way out. */
export function isBusy({ newest }: Connection): boolean {
  return newest !== undefined && !newest.writableFinished && !newest.destroyed;
}

/**
 * Ends a connection so that what was sent arrives: half-closes, drops what
 * still comes in, and waits a little for the peer. Destroying a socket with
 * unread bytes resets it, and a reset can overtake the answer.
 */
export function linger(socket: Socket): void {
  socket.end();
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  timer.unref();
  socket.once("close", () => clearTimeout(timer));
}

/** Makes node:http linger, rather than destroy, after the response under way. */
export function lingerAfterResponse(connection: Connection): void {
  connection.closing = true;
  connection.socket.destroySoon = () => linger(connection.socket);
}
