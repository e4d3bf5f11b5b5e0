/**
 * Whether the peer of a connection is still there, for requests whose answers take work.
 *
 * A peer that closed and one that only half-closed after its requests look alike: both send a FIN, and the second still
 * wants its answers. The one that closed resets the connection when it is sent anything more. So it is sent an interim
 * response, which clients pass over; what the system then knows of the reset is told by the next write, an empty one
 * too.
 */

import type { Socket } from "node:net";

const INTERIM = "HTTP/1.1 102 Processing\r\n\r\n";

const PROBE_MS = 15;

/**
 * Makes a check that also tries a peer that sent its FIN. To be called between two responses, which are written whole.
 * @param takesInterim whether the peer knows interim responses, as HTTP/1.0 does not
 */
export function watchPeer(socket: Socket, takesInterim: () => boolean): () => boolean {
  /** When it was last tried, or first seen that there is a reason to. */
  let tried: number | undefined;
  let wasSentInterim = false;
  return () => {
    if (socket.destroyed) return true;
    // What is on its way will tell.
    if (!socket.writable || socket.writableLength > 0) return false;
    if (!socket.readableEnded && !socket.isPaused()) return false;
    const now = performance.now();
    // Most searches are done before it comes to that.
    tried ??= now;
    if (now - tried < PROBE_MS) return false;
    tried = now;
    const isInterim = socket.readableEnded && !wasSentInterim && takesInterim();
    wasSentInterim ||= isInterim;
    socket.write(isInterim ? INTERIM : "");
    return false;
  };
}
