/** The admin listener of one server: it listens before anything is loaded, and until the last request is answered. */

import type { Admin, AdminGiven } from "../server/admin.ts";
import { adminConnectionLimit } from "../util/process/connection-limit.ts";
import type { AdminAddress } from "./address.ts";
import { listenForAdmin } from "./listener.ts";
import { createAdminRouter } from "./router.ts";
import { adminRows } from "./rows.ts";
import { WatchedServer } from "./watched.ts";

/** Where the listener is, and who may ask it. */
export interface AdminSettings {
  readonly address: AdminAddress;
  /** Asked for where it is given; visible ASCII. */
  readonly token?: string | undefined;
}

/**
 * Starts the admin listener.
 *
 * @throws the error of the system, such as EADDRINUSE
 */
export async function startAdmin({ address, token }: AdminSettings, given: AdminGiven): Promise<Admin> {
  const server = new WatchedServer(given);
  const answer = createAdminRouter(adminRows(server), { boundHost: address.host, token });
  const maxConnections = adminConnectionLimit();
  const { observe } = given;
  const listener = await listenForAdmin(address, { answer, maxConnections, observe });
  const { family, address: host, port } = listener.address;
  return {
    url: `http://${family === "IPv6" ? `[${host}]` : host}:${port}/`,
    maxConnections,
    observe: server.observe,
    snapshotEvents: server.snapshotEvents,
    onProgress: (share) => server.readiness.progress(share),
    takeState(opened) {
      server.opened = opened;
    },
    takeThreads(tell) {
      server.tell = tell;
    },
    startDraining: () => server.readiness.drain(),
    close: listener.close,
  };
}
