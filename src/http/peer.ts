/**
 * Whether the peer of a connection is still there, for requests whose answers take work.
 *
 * A peer that closed and a peer that only half-closed after its requests look alike: both send a FIN, and the second
 * still wants its answers. A peer that closed resets the connection when it receives anything more. So this sends an
 * interim response, which clients ignore; the next write, even an empty one, then reports the reset.
 */

import type { Socket } from "node:net";

const INTERIM = "HTTP/1.1 102 Processing\r\n\r\n";

const PROBE_MS = 15;

/**
 * Creates a check that also probes a peer that sent its FIN. Call it between two responses, which are written whole.
 * @param takesInterim whether the peer knows interim responses, as HTTP/1.0 does not
 */
export function watchPeer(socket: Socket, takesInterim: () => boolean): () => boolean {
  /** Time of the last probe, or of the first reason to probe. */
  let tried: number | undefined;
  let wasSentInterim = false;
  return () => {
    if (socket.destroyed) return true;
    // Unsent bytes will show whether the peer is gone.
    if (!socket.writable || socket.writableLength > 0) return false;
    if (!socket.readableEnded && !socket.isPaused()) return false;
    const now = performance.now();
    // Most searches end before a probe is due.
    tried ??= now;
    if (now - tried < PROBE_MS) return false;
    tried = now;
    const isInterim = socket.readableEnded && !wasSentInterim && takesInterim();
    wasSentInterim ||= isInterim;
    socket.write(isInterim ? INTERIM : "");
    return false;
  };
}
