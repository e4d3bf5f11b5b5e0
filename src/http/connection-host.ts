/** What a connection needs of its server: bounds, the application, and state that all connections share. */

import type { FaultName } from "../model/fault.ts";
import type { Ask, Peer, Reply } from "../model/message.ts";
import type { CoreValues } from "../settings/settings.ts";
import type { MAX_HEAD_BYTES } from "./head.ts";
import type { Turns } from "./turns.ts";
import type { Unsent } from "./unsent.ts";

/** Seconds for a head to arrive: enough on a bad line, and few for a client that sends a byte at a time. */
export const HEAD_TIMEOUT = 10;
/** Now and then a client must connect again, and may then reach another server. */
export const MAX_REQUESTS = 1_000_000;

/** Bounds of a connection: settings, and three constants that a caller may replace. Times are seconds. */
export interface ConnectionLimits
  extends Pick<CoreValues<"serve">, "requestTimeout" | "keepAliveTimeout" | "socketTimeout"> {
  /** {@link HEAD_TIMEOUT} when absent. */
  readonly headersTimeout?: number;
  /** {@link MAX_HEAD_BYTES} when absent. */
  readonly maxHeadBytes?: number;
  /** {@link MAX_REQUESTS} when absent. */
  readonly maxRequestsPerSocket?: number;
}

export interface ConnectionApp {
  /** Answers a request. Never throws and never rejects. */
  readonly answer: (ask: Ask) => Reply | Promise<Reply>;
  /** The reply to refused input. @param ask the request, if its head could be read */
  readonly refuse: (fault: FaultName, peer: Peer, ask: Ask | undefined) => Reply;
  /** A request begins. @returns its start, for the next two functions */
  readonly begin: () => number;
  readonly answered: (began: number, method: string, reply: Reply) => void;
  /** A request will not be answered: its peer is gone. */
  readonly aborted: (began: number, method: string, reply: Reply) => void;
}

export interface ConnectionHost {
  readonly app: ConnectionApp;
  readonly limits: ConnectionLimits;
  readonly keepAlive: string;
  readonly turns: Turns;
  readonly unsent: Unsent;
  /** Time of the newest sweep, in milliseconds. */
  readonly clock: number;
  /** Whether its peers are processes of this machine, over a Unix socket. */
  readonly isLocal: boolean;
  /** Whether the server is stopping: the last pending answer then closes the connection. */
  readonly isDraining: boolean;
  /** Whether requests that take work are treated as if their peers were gone. */
  readonly givesUpWork: boolean;
}
