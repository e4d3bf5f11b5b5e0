/** What serves requests of one thread, whatever the runtime. */

import type { AddressInfo } from "node:net";
import type { Sharing } from "./port.ts";

/** A server of one thread. */
export interface Listener {
  /**
   * Listens.
   *
   * @returns the address in use
   * @throws the error of the system, such as EADDRINUSE
   */
  readonly listen: (host: string, port: number, sharing: Sharing) => Promise<AddressInfo>;
  /** No new connections from now on, where that can be without a loss. Of several that share a port all do before one leaves. */
  readonly stopListening: () => Promise<void>;
  /** Resolves when what is in flight was answered and all connections have ended. */
  readonly leave: () => Promise<void>;
}
